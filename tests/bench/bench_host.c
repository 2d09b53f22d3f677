/* bench_host.c - measures the time of the host that steps of the small model take on the virtual
 * device, in bf16-mixed at batch 4 and context 128: operators return immediately there, so it is
 * the time of the model, the allocator, the recorder and the scopes.
 *
 * bench_host [STEPS [WAY]]: for each way of recording, STEPS steps (3,000) after 50 unmeasured
 * ones; prints median, 10th and 90th percentile of forward, backward and optimizer, in us. WAY
 * measures only one way, for programs that count instructions: 0 not recorded, 1 without stacks, 2
 * with.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "device/device.h"
#include "model/layers/transformer.h"

enum { N_WARMUP = 50, N_PHASES = 3, N_WAYS = 3 };

static const char *const PHASES[N_PHASES] = {"forward", "backward", "optimizer"};
static const char *const WAYS[N_WAYS] = {"not recorded", "without stacks", "with stacks"};

/* The objects of a measurement, all owned. */
typedef struct setup {
    tide_device *device;
    tide_recorder *recorder; /* NULL: nothing is recorded */
    tide_cache *cache;
    tide_transformer *model;
} setup;

static tide_status open_setup(setup *on, int way, tide_error *error) {
    tide_transformer_config config;
    tide_transformer_config_init(&config);
    config.precision = TIDE_PRECISION_BF16_MIXED;
    config.model.batch_size = 4;
    config.model.context_length = 128;
    TIDE_TRY(tide_device_open("virtual", NULL, &on->device, error));
    if (way > 0) {
        tide_recorder_config recording;
        tide_recorder_config_init(&recording);
        recording.capture_stacks = way == 2;
        TIDE_TRY(tide_recorder_create(&recording, &on->recorder, error));
    }
    TIDE_TRY(tide_cache_create(on->device, on->recorder, NULL, &on->cache, error));
    TIDE_TRY(tide_transformer_create(&config, on->cache, on->recorder, &on->model, error));
    return tide_transformer_setup(on->model, error);
}

static tide_status run_phase(tide_transformer *model, int phase, tide_error *error) {
    if (phase == 0) {
        TIDE_TRY(tide_transformer_forward(model, error));
        return tide_transformer_loss(model, error);
    }
    return phase == 1 ? tide_transformer_backward(model, error)
                      : tide_transformer_optimize(model, error);
}

/* us of each phase. */
static tide_status step(const setup *on, size_t i, double ret_us[N_PHASES], tide_error *error) {
    tide_scope outer = tide_scope_begin(on->recorder, TIDE_SCOPE_STEP, "step", (int32_t)i);
    for (int phase = 0; phase < N_PHASES; phase++) {
        int64_t begin_ns = tide_clock_now_ns();
        tide_scope scope = tide_scope_begin(on->recorder, TIDE_SCOPE_PHASE, PHASES[phase], -1);
        TIDE_TRY(run_phase(on->model, phase, error));
        tide_scope_end(on->recorder, scope);
        ret_us[phase] = (double)(tide_clock_now_ns() - begin_ns) * 1e-3;
    }
    TIDE_TRY(tide_transformer_end_step(on->model, error));
    tide_scope_end(on->recorder, outer);
    return TIDE_OK;
}

static int compare(const void *a, const void *b) {
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

static tide_status measure(const setup *on, size_t n_steps, double *samples, tide_error *error) {
    double us[N_PHASES];
    for (size_t i = 0; i < N_WARMUP + n_steps; i++) {
        TIDE_TRY(step(on, i, us, error));
        for (size_t phase = 0; phase < N_PHASES && i >= N_WARMUP; phase++) {
            samples[phase * n_steps + i - N_WARMUP] = us[phase];
        }
    }
    return TIDE_OK;
}

int main(int argc, char **argv) {
    size_t n_steps = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 3000;
    int only = argc > 2 ? (int)strtol(argv[2], NULL, 10) : -1; /* -1: all ways */
    double *samples = calloc(n_steps * N_PHASES, sizeof(*samples));
    if (n_steps < 10 || only < -1 || only >= N_WAYS || samples == NULL) {
        fprintf(stderr, "usage: bench_host [STEPS, 10 at least [WAY, 0 to 2]]\n");
        free(samples);
        return 2;
    }
    tide_status status = TIDE_OK;
    for (int way = 0; way < N_WAYS && status == TIDE_OK; way++) {
        if (only >= 0 && way != only) {
            continue;
        }
        tide_error error = {""};
        setup on = {.device = NULL};
        status = open_setup(&on, way, &error);
        if (status == TIDE_OK) {
            status = measure(&on, n_steps, samples, &error);
        }
        for (size_t phase = 0; phase < N_PHASES && status == TIDE_OK; phase++) {
            double *of = samples + phase * n_steps;
            qsort(of, n_steps, sizeof(*of), compare);
            printf("%-15s %-10s median %6.1f us, 10 %% below %6.1f, 90 %% below %6.1f\n", WAYS[way],
                   PHASES[phase], of[n_steps / 2], of[n_steps / 10], of[n_steps * 9 / 10]);
        }
        if (status != TIDE_OK) {
            fprintf(stderr, "bench_host: %s\n", error.message);
        }
        tide_transformer_destroy(on.model);
        tide_cache_destroy(on.cache);
        tide_recorder_destroy(on.recorder);
        tide_device_close(on.device);
    }
    free(samples);
    return status == TIDE_OK ? 0 : 1;
}
