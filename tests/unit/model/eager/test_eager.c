/* test_eager.c - the forecast of PyTorch's memory: the memory that forward keeps equals the closed
 * forms to the byte, for all sizes, contexts, batches, precisions and editions; also categories and
 * refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocator/cache.h"
#include "device/cards.h"
#include "device/device.h"
#include "eager_run.h"
#include "model/eager/eager.h"
#include "model/precision.h"
#include "recorder/recorder.h"
#include "support/hostmem_fault.h"

/* ---- what forward keeps ---- */

/* docs/model/pytorch-forecast.md, "What a block keeps"; a bool is 0 or 1. */
static uint64_t kept_by_forward(const tide_eager_config *config) {
    const tide_model_config *m = &config->model;
    const uint64_t S = m->context_length;
    const uint64_t T = m->batch_size * S;
    const uint64_t N = T * m->d_model;
    const uint64_t F = T * m->d_ff;
    const uint64_t rows = T * m->n_heads;
    const uint64_t A = rows * S;
    const uint64_t V = m->vocab_size;
    const uint64_t d = m->d_model;
    const uint64_t gathered = config->edition == TIDE_EDITION_2025 ? 8 * S * (d / m->n_heads) : 0;
    const uint64_t statistics = 8 * T + S * S + 12 * rows + gathered;
    if (tide_precision_is_mixed(config->precision)) {
        uint64_t block = 34 * N + 10 * F + 6 * A + statistics + 2 * (4 * d * d + 3 * d * m->d_ff);
        return m->n_layers * block + 10 * N + 4 * T + 2 * T * V + 2 * V * d;
    }
    return m->n_layers * (40 * N + 20 * F + 8 * A + statistics) + 12 * N + 4 * T + 4 * T * V;
}

static void check_kept(const tide_eager_config *config) {
    eager_run r = eager_run_open("virtual", config);
    tide_error error = {""};
    assert_int_equal(tide_eager_forward(r.eager, &error), TIDE_OK);
    uint64_t kept = tide_eager_kept_bytes(r.eager);
    if (kept != kept_by_forward(config)) {
        fail_msg("%s, context %zu, batch %zu, %s, edition %s: %llu bytes kept, not %llu",
                 config->model.size, config->model.context_length, config->model.batch_size,
                 tide_precision_name((int)config->precision),
                 tide_edition_name((int)config->edition), (unsigned long long)kept,
                 (unsigned long long)kept_by_forward(config));
    }
    /* exp and the negated log-softmax in fp32, row sums, indices; and the loss itself. */
    const uint64_t T = config->model.batch_size * config->model.context_length;
    assert_int_equal(tide_eager_loss(r.eager, &error), TIDE_OK);
    assert_int_equal(tide_eager_kept_bytes(r.eager) - kept,
                     8 * T * config->model.vocab_size + 12 * T + 4);
    assert_int_equal(tide_eager_end_step(r.eager, &error), TIDE_OK);
    assert_int_equal(tide_eager_kept_bytes(r.eager), 4);
    eager_run_close(&r);
}

static void test_forward_keeps_the_closed_forms(void **state) {
    (void)state;
    static const size_t CONTEXTS[] = {128, 256, 512, 1024, 2048};
    static const size_t BATCHES[] = {1, 4, 7};
    static const tide_precision PRECISIONS[] = {TIDE_PRECISION_FP32, TIDE_PRECISION_BF16_MIXED,
                                                TIDE_PRECISION_FP16_MIXED};
    for (size_t s = 0; tide_model_preset_name(s) != NULL; s++) {
        for (size_t c = 0; c < 5; c++) {
            for (size_t b = 0; b < 3; b++) {
                for (size_t p = 0; p < 3; p++) {
                    for (int edition = 0; edition < TIDE_N_EDITIONS; edition++) {
                        tide_eager_config config =
                            eager_run_config(tide_model_preset_name(s), CONTEXTS[c], BATCHES[b],
                                             PRECISIONS[p], (tide_edition)edition);
                        check_kept(&config);
                    }
                }
            }
        }
    }
}

/* With scaled_dot_product_attention in place of the scores, and with a checkpoint around each
 * block, the bytes follow from the definitions of both. */
static uint64_t kept_by_variant(const tide_eager_config *config) {
    const tide_model_config *m = &config->model;
    const uint64_t T = m->batch_size * m->context_length;
    const uint64_t N = T * m->d_model;
    const uint64_t F = T * m->d_ff;
    const uint64_t rows = T * m->n_heads;
    const uint64_t V = m->vocab_size;
    const uint64_t d = m->d_model;
    const uint64_t L = m->n_layers;
    const uint64_t gathered =
        config->edition == TIDE_EDITION_2025 ? 8 * m->context_length * (d / m->n_heads) : 0;
    bool is_mixed = tide_precision_is_mixed(config->precision);
    uint64_t ends = is_mixed ? 10 * N + 4 * T + 2 * T * V + 2 * V * d : 12 * N + 4 * T + 4 * T * V;
    uint64_t copies = is_mixed ? 2 * (4 * d * d + 3 * d * m->d_ff) : 0;
    if (config->recompute == TIDE_RECOMPUTE_BLOCK) {
        return L * (4 * N + copies) + ends;
    }
    uint64_t block = is_mixed ? 34 * N + 10 * F : 40 * N + 20 * F;
    return L * (block + 8 * T + 4 * rows + gathered + copies) + ends;
}

static void test_variants_keep_what_they_define(void **state) {
    (void)state;
    static const tide_precision PRECISIONS[] = {TIDE_PRECISION_FP32, TIDE_PRECISION_BF16_MIXED,
                                                TIDE_PRECISION_FP16_MIXED};
    for (size_t i = 0; i < 18; i++) {
        tide_eager_config config = eager_run_config("medium", 256, 4, PRECISIONS[i % 3],
                                                    (tide_edition)(i / 3 % TIDE_N_EDITIONS));
        config.recompute = i >= 6 ? TIDE_RECOMPUTE_BLOCK : TIDE_RECOMPUTE_NONE;
        config.attention = i < 12 ? TIDE_ATTENTION_FLASH : TIDE_ATTENTION_NAIVE;
        eager_run r = eager_run_open("virtual:h100-80", &config);
        tide_error error = {""};
        assert_int_equal(tide_eager_forward(r.eager, &error), TIDE_OK);
        /* In a run that recomputes, autocast's cache of the forward pass is released with the loss.
         */
        assert_int_equal(tide_eager_kept_bytes(r.eager), kept_by_variant(&config));
        eager_run_step(&r, TIDE_TRAIN);
        eager_run_step(&r, TIDE_TRAIN);
        assert_true(tide_eager_least_bytes(&config, TIDE_TRAIN, 2) <=
                    tide_eager_peak_bytes(r.eager));
        eager_run_close(&r);
    }
}

/* ---- categories ---- */

static size_t n_events_of(const tide_recording *recording, tide_category category) {
    size_t n = 0;
    for (size_t i = 0; i < recording->n_events; i++) {
        const tide_event *event = &recording->events[i];
        n += event->action == TIDE_ACTION_ALLOC && event->category == (uint8_t)category ? 1 : 0;
    }
    return n;
}

static size_t n_blocks_of(const tide_cache_state *state, tide_category category) {
    size_t n = 0;
    for (size_t i = 0; i < state->n_blocks; i++) {
        const tide_block_row *block = &state->blocks[i];
        n += block->state == TIDE_BLOCK_ALLOCATED && block->category == (uint8_t)category ? 1 : 0;
    }
    return n;
}

/* After forward and loss no temporary is alive, and every activation is. */
static void test_categories_tell_what_stays(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        tide_eager_config config = eager_run_config(
            "small", 64, 2, i % 2 == 0 ? TIDE_PRECISION_FP32 : TIDE_PRECISION_BF16_MIXED,
            i < 2 ? TIDE_EDITION_2025 : TIDE_EDITION_2026);
        tide_recorder_config recording;
        tide_recorder *recorder = NULL;
        tide_device *device = NULL;
        tide_cache *cache = NULL;
        tide_eager *eager = NULL;
        tide_cache_state copy;
        tide_error error = {""};
        tide_recorder_config_init(&recording);
        recording.capture_stacks = false;
        recording.log_path = "";
        assert_int_equal(tide_device_open("virtual", NULL, &device, &error), TIDE_OK);
        assert_int_equal(tide_recorder_create(&recording, &recorder, &error), TIDE_OK);
        assert_int_equal(tide_cache_create(device, recorder, NULL, &cache, &error), TIDE_OK);
        assert_int_equal(tide_eager_create(&config, cache, recorder, &eager, &error), TIDE_OK);
        assert_int_equal(tide_eager_setup(eager, &error), TIDE_OK);
        assert_int_equal(tide_eager_forward(eager, &error), TIDE_OK);
        assert_int_equal(tide_eager_loss(eager, &error), TIDE_OK);
        assert_int_equal(tide_cache_copy_state(cache, tide_hostmem_default(), &copy, &error),
                         TIDE_OK);
        assert_true(n_events_of(&copy.recording, TIDE_TEMPORARY) > 0);
        assert_int_equal(n_blocks_of(&copy, TIDE_TEMPORARY), 0);
        assert_true(n_blocks_of(&copy, TIDE_ACTIVATION) > 0);
        assert_int_equal(n_blocks_of(&copy, TIDE_ACTIVATION),
                         n_events_of(&copy.recording, TIDE_ACTIVATION));
        tide_cache_state_fini(&copy);
        tide_eager_destroy(eager);
        tide_cache_destroy(cache);
        tide_recorder_destroy(recorder);
        tide_device_close(device);
    }
}

/* ---- failures ---- */

static tide_status run_steps(tide_eager *eager, tide_error *error) {
    tide_status status = tide_eager_setup(eager, error);
    for (int i = 0; i < 2 && status == TIDE_OK; i++) {
        TIDE_TRY(tide_eager_forward(eager, error));
        TIDE_TRY(tide_eager_loss(eager, error));
        TIDE_TRY(tide_eager_backward(eager, error));
        TIDE_TRY(tide_eager_optimize(eager, error));
        status = tide_eager_end_step(eager, error);
    }
    return status;
}

static void test_each_failing_host_allocation_is_told(void **state) {
    (void)state;
    tide_eager_config config =
        eager_run_config("small", 16, 1, TIDE_PRECISION_FP16_MIXED, TIDE_EDITION_2025);
    config.model.n_layers = 2;
    config.recompute = TIDE_RECOMPUTE_BLOCK;
    tide_device *device = NULL;
    assert_int_equal(tide_device_open("virtual", NULL, &device, NULL), TIDE_OK);
    bool completed = false;
    for (size_t fail_call = 1; !completed; fail_call++) {
        tide_hostmem_fault fault;
        tide_cache_config settings;
        tide_cache *cache = NULL;
        tide_eager *eager = NULL;
        tide_error error = {""};
        tide_hostmem_fault_init(&fault, fail_call);
        tide_cache_config_init(&settings);
        settings.mem = &fault.mem;
        tide_status status = tide_cache_create(device, NULL, &settings, &cache, &error);
        if (status == TIDE_OK) {
            status = tide_eager_create(&config, cache, NULL, &eager, &error);
        }
        if (status == TIDE_OK) {
            status = run_steps(eager, &error);
        }
        assert_true(status == TIDE_OK || status == TIDE_NO_MEMORY);
        completed = fault.n_calls < fail_call;
        tide_eager_destroy(eager);
        tide_cache_destroy(cache);
        assert_int_equal(fault.n_live, 0);
    }
    tide_device_close(device);
}

static void test_no_room_on_the_device_is_an_answer(void **state) {
    (void)state;
    tide_eager_config config =
        eager_run_config("small", 256, 4, TIDE_PRECISION_BF16_MIXED, TIDE_EDITION_2026);
    static const size_t LIMITS_MIB[] = {64, 512, 600, 900, 1200, 1700, 2100};
    for (size_t i = 0; i < sizeof(LIMITS_MIB) / sizeof(LIMITS_MIB[0]); i++) {
        tide_device *device = NULL;
        tide_cache_config settings;
        tide_cache *cache = NULL;
        tide_eager *eager = NULL;
        tide_error error = {""};
        tide_cache_config_init(&settings);
        settings.memory_limit_bytes = LIMITS_MIB[i] << 20;
        assert_int_equal(tide_device_open("virtual", NULL, &device, NULL), TIDE_OK);
        assert_int_equal(tide_cache_create(device, NULL, &settings, &cache, &error), TIDE_OK);
        assert_int_equal(tide_eager_create(&config, cache, NULL, &eager, &error), TIDE_OK);
        assert_int_equal(run_steps(eager, &error), TIDE_DEVICE_OOM);
        assert_non_null(strstr(error.message, "out of memory"));
        tide_eager_destroy(eager);
        tide_cache_stats stats;
        tide_cache_get_stats(cache, &stats);
        assert_int_equal(stats.requested_bytes[TIDE_POOL_ALL].current, 0);
        tide_cache_destroy(cache);
        tide_device_close(device);
    }
}

static void test_what_is_not_known_is_refused(void **state) {
    (void)state;
    tide_eager_config config =
        eager_run_config("small", 16, 1, TIDE_PRECISION_BF16_TRUE, TIDE_EDITION_2026);
    tide_device *device = NULL;
    tide_cache *cache = NULL;
    tide_eager *eager = NULL;
    tide_error error = {""};
    assert_int_equal(tide_device_open("cpu", NULL, &device, &error), TIDE_OK);
    assert_int_equal(tide_cache_create(device, NULL, NULL, &cache, &error), TIDE_OK);
    assert_int_equal(tide_eager_create(&config, cache, NULL, &eager, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "bf16-true"));
    config.precision = TIDE_PRECISION_FP32;
    assert_int_equal(tide_eager_create(&config, cache, NULL, &eager, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "virtual"));
    tide_cache_destroy(cache);
    tide_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward_keeps_the_closed_forms),
        cmocka_unit_test(test_variants_keep_what_they_define),
        cmocka_unit_test(test_categories_tell_what_stays),
        cmocka_unit_test(test_each_failing_host_allocation_is_told),
        cmocka_unit_test(test_no_room_on_the_device_is_an_answer),
        cmocka_unit_test(test_what_is_not_known_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
