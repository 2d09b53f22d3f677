/* training_run.h - a transformer that a test trains step by step, without a workload around it. A
 * failure ends the test. For tests that include cmocka.h. */
#ifndef TIDE_TESTS_TRAINING_RUN_H
#define TIDE_TESTS_TRAINING_RUN_H

#include <stddef.h>

#include "allocator/cache.h"
#include "device/device.h"
#include "model/layers/transformer.h"

typedef struct training {
    tide_device *device; /* all owned */
    tide_cache *cache;
    tide_transformer *transformer;
} training;

/* On the device of that name, filled from the config's seed. */
static inline training training_start(const char *spec, const tide_transformer_config *config) {
    training run = {NULL, NULL, NULL};
    assert_int_equal(tide_device_open(spec, NULL, &run.device, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(run.device, NULL, NULL, &run.cache, NULL), TIDE_OK);
    assert_int_equal(tide_transformer_create(config, run.cache, NULL, &run.transformer, NULL),
                     TIDE_OK);
    assert_int_equal(tide_transformer_setup(run.transformer, NULL), TIDE_OK);
    assert_int_equal(tide_transformer_fill(run.transformer, NULL), TIDE_OK);
    return run;
}

static inline void training_end(training *run) {
    tide_transformer_destroy(run->transformer);
    tide_cache_destroy(run->cache);
    tide_device_close(run->device);
}

/* A step up to its gradients. */
static inline void training_half_step(const training *run) {
    assert_int_equal(tide_transformer_forward(run->transformer, NULL), TIDE_OK);
    assert_int_equal(tide_transformer_loss(run->transformer, NULL), TIDE_OK);
    assert_int_equal(tide_transformer_backward(run->transformer, NULL), TIDE_OK);
}

/* A whole step. The host waits for nothing in it. */
static inline void training_step(const training *run) {
    training_half_step(run);
    assert_int_equal(tide_transformer_optimize(run->transformer, NULL), TIDE_OK);
    assert_int_equal(tide_transformer_end_step(run->transformer, NULL), TIDE_OK);
}

#endif
