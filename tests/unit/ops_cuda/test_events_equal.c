/* test_events_equal.c - the cuda device and the virtual device of its card record the same events,
 * row for row: order, sizes, categories, names, streams and scopes, and addresses as distances from
 * the first segment. Only times differ, and the address where the memory begins. The cpu device has
 * the same scopes, and the same rows of blocks once the workspace for products is left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/cards.h"
#include "fake_cublas/fake_cublas.h"
#include "fake_cudart/fake_cudart.h"
#include "support/same_recordings.h"
#include "unit/model/recorded_run.h"

/* Where a recording's memory begins: its first row is the purchase of a segment. */
static uint64_t base_of(const tide_recording *recording) {
    assert_int_equal(recording->events[0].action, TIDE_ACTION_SEGMENT_ALLOC);
    return recording->events[0].address;
}

/* The first row of a block from the i-th on that is not the workspace's. */
static size_t next_request(const tide_recording *recording, size_t i) {
    while (i < recording->n_events && (recording->events[i].action > TIDE_ACTION_FREE_COMPLETED ||
                                       recording->events[i].category == TIDE_WORKSPACE)) {
        i++;
    }
    return i;
}

static void expect_same_requests(const tide_recording *a, const tide_recording *b) {
    size_t k = next_request(b, 0);
    for (size_t i = next_request(a, 0); i < a->n_events; i = next_request(a, i + 1)) {
        assert_true(k < b->n_events);
        expect_same_request(a, i, b, k);
        k = next_request(b, k + 1);
    }
    assert_int_equal(k, b->n_events);
}

static void expect_same_runs(const tide_workload_config *config) {
    static const char *const DEVICES[3] = {"cuda", "virtual:h100-80", "cpu"};
    const bool has_cpu = config->precision != TIDE_PRECISION_TF32; /* which the cpu refuses */
    recorded_run runs[3];
    tide_fake_cudart_reset();
    tide_fake_cublas_reset();
    tide_fake_cudart_state()->capacity_bytes =
        (size_t)tide_card_find("h100-80")->total_bytes / TIDE_DEVICE_GRANULE * TIDE_DEVICE_GRANULE;
    recorded_runs_start(runs, DEVICES, has_cpu ? 3 : 2, config);
    const tide_recording *cuda = &runs[0].state.recording;
    const tide_recording *card = &runs[1].state.recording;
    expect_same_scopes(cuda, card);
    expect_same_events(cuda, base_of(cuda), card, base_of(card));
    assert_true(runs[0].result.device_ms[TIDE_TIMED_STEP][0] >= 0); /* it was timed */
    assert_int_equal(tide_fake_cublas_state()->n_without_workspace, 0);
    if (has_cpu) {
        expect_same_scopes(cuda, &runs[2].state.recording);
        expect_same_requests(cuda, &runs[2].state.recording);
        recorded_run_end(&runs[2]);
    }
    recorded_run_end(&runs[0]);
    recorded_run_end(&runs[1]);
    assert_int_equal(tide_fake_cudart_state()->n_segments, 0);
    assert_int_equal(tide_fake_cudart_state()->n_events, 0);
}

static void every_variant(const tide_model_config *model, tide_precision precision, int step) {
    for (int variant = 0; variant < 16; variant += step) {
        tide_workload_config config = workload_variant(model, precision, variant);
        config.warmup_steps = 0;
        config.steps = 2;
        expect_same_runs(&config);
    }
}

static void fp32(void **state) {
    (void)state;
    const tide_model_config model = tiny_model();
    every_variant(&model, TIDE_PRECISION_FP32, 1);
}

static void other_precisions(void **state) {
    (void)state;
    const tide_model_config model = tiny_model();
    every_variant(&model, TIDE_PRECISION_TF32, 5);
    every_variant(&model, TIDE_PRECISION_BF16_MIXED, 5);
    every_variant(&model, TIDE_PRECISION_BF16_TRUE, 5);
    every_variant(&model, TIDE_PRECISION_FP16_MIXED, 5);
}

/* Blocks above and below 1 MiB, segments of both pools, splits and a reused cache. */
static void a_larger_run(void **state) {
    (void)state;
    const tide_model_config model = {.size = "custom",
                                     .vocab_size = 4001,
                                     .d_model = 96,
                                     .d_ff = 130,
                                     .n_layers = 1,
                                     .n_heads = 2,
                                     .context_length = 40,
                                     .batch_size = 2,
                                     .rope_theta = 10000};
    every_variant(&model, TIDE_PRECISION_FP32, 16);
}

/* A captured step: on cuda a graph, elsewhere the same calls again. */
static void captured_steps(void **state) {
    (void)state;
    const tide_model_config model = tiny_model();
    for (int variant = 0; variant < 16; variant += 3) {
        tide_workload_config config = workload_variant(&model, TIDE_PRECISION_BF16_MIXED, variant);
        config.warmup_steps = 1;
        config.steps = 2;
        config.cuda_graph = true;
        expect_same_runs(&config);
        assert_int_equal(tide_fake_cudart_state()->n_graph_launches, 2);
        assert_int_equal(tide_fake_cudart_state()->n_graphs, 0);
        assert_int_equal(tide_fake_cudart_state()->n_streams, 0);
    }
}

static void mlps(void **state) {
    (void)state;
    for (int i = 0; i < 4 * TIDE_N_PRECISIONS; i++) {
        tide_workload_config config;
        tide_workload_config_init(&config);
        config.architecture = TIDE_MLP;
        config.model =
            (tide_model_config){.size = "mlp", .d_model = 24, .n_layers = 3, .batch_size = 10};
        config.precision = (tide_precision)(i / 4);
        config.mode = i % 4 == 3 ? TIDE_FORWARD : (tide_mode)(i % 4);
        config.keep_graph = i % 4 == 3;
        config.clip_grad_norm = i % 8 == 2 ? 1 : 0;
        config.warmup_steps = 0;
        config.steps = 6; /* so that the shortest run has enough events to compare */
        expect_same_runs(&config);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp32),         cmocka_unit_test(other_precisions),
        cmocka_unit_test(a_larger_run), cmocka_unit_test(captured_steps),
        cmocka_unit_test(mlps),
    };
    return cmocka_run_group_tests_name("ops_cuda.events_equal", tests, NULL, NULL);
}
