/* test_events_equal.c - the cpu device and the virtual device record the same events, row for row:
 * order, addresses, sizes, categories, names, streams, scopes and call stacks, in every precision
 * that the cpu computes. Only times differ.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "recorded_run.h"
#include "support/same_recordings.h"

/* The same call starts both runs, so even the return addresses agree. */
static void expect_same_stack(const tide_recording *a, const tide_recording *b, uint32_t left,
                              uint32_t right) {
    assert_int_equal(left == TIDE_NONE, right == TIDE_NONE);
    if (left == TIDE_NONE) {
        return;
    }
    size_t n_frames = a->stack_first[left + 1] - a->stack_first[left];
    assert_int_equal(n_frames, b->stack_first[right + 1] - b->stack_first[right]);
    assert_memory_equal(&a->pcs[a->stack_first[left]], &b->pcs[b->stack_first[right]],
                        n_frames * sizeof(uint64_t));
}

static void expect_same_runs(const tide_workload_config *config) {
    static const char *const DEVICES[2] = {"cpu", "virtual"};
    recorded_run runs[2];
    recorded_runs_start(runs, DEVICES, 2, config);
    const tide_recording *a = &runs[0].state.recording;
    const tide_recording *b = &runs[1].state.recording;
    expect_same_scopes(a, b);
    expect_same_events(a, 0, b, 0);
    for (size_t i = 0; i < a->n_events; i++) {
        expect_same_stack(a, b, a->events[i].stack, b->events[i].stack);
    }
    /* The cpu really computed: it has times (with a graph only the step's), and a loss near log(V),
     * the loss of uniform guesses. */
    assert_true(runs[0].result.host_ms[TIDE_TIMED_STEP][0] > 0);
    assert_true(runs[0].result.device_ms[TIDE_TIMED_FORWARD][0] > 0 || config->cuda_graph);
    if (config->mode != TIDE_FORWARD) {
        double guess = config->architecture == TIDE_MLP ? 0 : log((double)config->model.vocab_size);
        assert_true(fabs(runs[0].result.loss - guess) < 3);
        assert_true(runs[0].result.device_ms[TIDE_TIMED_BACKWARD][0] > 0 || config->cuda_graph);
    } else {
        assert_true(isnan(runs[0].result.loss));
        assert_true(runs[0].result.device_ms[TIDE_TIMED_BACKWARD][0] == -1);
    }
    recorded_run_end(&runs[0]);
    recorded_run_end(&runs[1]);
}

static void expect_same_modes_in(const tide_model_config *model, tide_precision precision) {
    for (int variant = 0; variant < 16; variant++) {
        tide_workload_config config = workload_variant(model, precision, variant);
        config.warmup_steps = 1;
        config.steps = 2;
        expect_same_runs(&config);
        if (config.mode == TIDE_FORWARD) {
            config.model.no_head = true;
            expect_same_runs(&config);
        }
    }
}

/* sizes: V, C, F, L, H, T, B. */
static tide_model_config model_of(const size_t sizes[7]) {
    return (tide_model_config){.size = "custom",
                               .vocab_size = sizes[0],
                               .d_model = sizes[1],
                               .d_ff = sizes[2],
                               .n_layers = sizes[3],
                               .n_heads = sizes[4],
                               .context_length = sizes[5],
                               .batch_size = sizes[6],
                               .rope_theta = 10000};
}

static void expect_same_modes(const tide_model_config *model) {
    expect_same_modes_in(model, TIDE_PRECISION_FP32);
    expect_same_modes_in(model, TIDE_PRECISION_BF16_MIXED);
    expect_same_modes_in(model, TIDE_PRECISION_BF16_TRUE);
    expect_same_modes_in(model, TIDE_PRECISION_FP16_MIXED);
}

static void tiny_runs_are_the_same(void **state) {
    (void)state;
    tide_model_config model = tiny_model();
    expect_same_modes(&model);
}

/* Blocks above and below 1 MiB, segments of both pools, splits and a reused cache. */
static void larger_runs_are_the_same(void **state) {
    (void)state;
    const tide_model_config model = model_of((size_t[]){2001, 192, 520, 3, 4, 96, 3});
    expect_same_modes(&model);
}

/* All modes and precisions of the MLP; one layer, and blocks of both pools. */
static void mlps_are_the_same(void **state) {
    (void)state;
    static const tide_precision PRECISIONS[] = {TIDE_PRECISION_FP32, TIDE_PRECISION_BF16_MIXED,
                                                TIDE_PRECISION_BF16_TRUE,
                                                TIDE_PRECISION_FP16_MIXED};
    static const size_t SHAPES[][3] = {{7, 2, 3}, {24, 4, 10}, {600, 3, 33}};
    for (size_t i = 0; i < 3 * 4 * 4; i++) {
        tide_workload_config config;
        tide_workload_config_init(&config);
        config.architecture = TIDE_MLP;
        config.model = (tide_model_config){.size = "mlp",
                                           .d_model = SHAPES[i / 16][0],
                                           .n_layers = SHAPES[i / 16][1],
                                           .batch_size = SHAPES[i / 16][2]};
        config.precision = PRECISIONS[i / 4 % 4];
        config.mode = i % 4 == 3 ? TIDE_FORWARD : (tide_mode)(i % 4);
        config.keep_graph = i % 4 == 3;
        config.clip_grad_norm = i % 8 == 2 ? 1 : 0;
        config.warmup_steps = 1;
        config.steps = 8; /* so that the shortest run has enough events to compare */
        expect_same_runs(&config);
    }
}

/* Steps as graphs, in each mode, with both kinds of attention, recompute and clipping. */
static void captured_steps_are_the_same(void **state) {
    (void)state;
    const tide_model_config model = model_of((size_t[]){101, 24, 40, 3, 2, 7, 2});
    for (int variant = 0; variant < 16; variant++) {
        tide_workload_config config = workload_variant(&model, TIDE_PRECISION_BF16_MIXED, variant);
        config.cuda_graph = true;
        config.warmup_steps = 2;
        config.steps = 2;
        expect_same_runs(&config);
    }
}

static void one_token_is_enough(void **state) {
    (void)state;
    const tide_model_config model = model_of((size_t[]){1, 2, 1, 1, 1, 1, 1});
    expect_same_modes(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_runs_are_the_same),      cmocka_unit_test(larger_runs_are_the_same),
        cmocka_unit_test(one_token_is_enough),         cmocka_unit_test(mlps_are_the_same),
        cmocka_unit_test(captured_steps_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
