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

static const char *text_of(const tide_recording *recording, uint32_t string) {
    return string == TIDE_NONE ? "-" : recording->strings[string];
}

static void expect_same_scope(const tide_recording *a, const tide_recording *b, size_t i) {
    const tide_scope_row *left = &a->scopes[i];
    const tide_scope_row *right = &b->scopes[i];
    assert_string_equal(text_of(a, left->name), text_of(b, right->name));
    assert_int_equal(left->kind, right->kind);
    assert_int_equal(left->index, right->index);
    assert_int_equal(left->parent, right->parent);
    assert_int_equal(left->thread, right->thread);
}

/* Both runs are made by one and the same call, so even the return addresses agree. */
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

static void expect_same_event(const tide_recording *a, const tide_recording *b, size_t i) {
    const tide_event *left = &a->events[i];
    const tide_event *right = &b->events[i];
    assert_int_equal(left->action, right->action);
    assert_true(left->address == right->address);
    assert_true(left->requested_bytes == right->requested_bytes);
    assert_true(left->block_bytes == right->block_bytes);
    assert_string_equal(text_of(a, left->name), text_of(b, right->name));
    assert_int_equal(left->category, right->category);
    assert_int_equal(left->stream, right->stream);
    assert_int_equal(left->device, right->device);
    assert_int_equal(left->scope, right->scope);
    expect_same_stack(a, b, left->stack, right->stack);
}

static void expect_same_runs(const tide_workload_config *config) {
    static const char *const DEVICES[2] = {"cpu", "virtual"};
    recorded_run runs[2];
    recorded_runs_start(runs, DEVICES, 2, config);
    const tide_recording *a = &runs[0].state.recording;
    const tide_recording *b = &runs[1].state.recording;
    assert_true(a->n_events > 50);
    assert_int_equal(a->n_events, b->n_events);
    assert_int_equal(a->n_scopes, b->n_scopes);
    for (size_t i = 0; i < a->n_scopes; i++) {
        expect_same_scope(a, b, i);
    }
    for (size_t i = 0; i < a->n_events; i++) {
        expect_same_event(a, b, i);
    }
    /* The cpu did compute: there are times, and a loss near log(V), what uniform guesses cost. */
    assert_true(runs[0].result.host_ms[TIDE_TIMED_STEP][0] > 0);
    assert_true(runs[0].result.device_ms[TIDE_TIMED_FORWARD][0] > 0);
    if (config->mode != TIDE_FORWARD) {
        double guess = config->architecture == TIDE_MLP ? 0 : log((double)config->model.vocab_size);
        assert_true(fabs(runs[0].result.loss - guess) < 3);
        assert_true(runs[0].result.device_ms[TIDE_TIMED_BACKWARD][0] > 0);
    } else {
        assert_true(isnan(runs[0].result.loss));
        assert_true(runs[0].result.device_ms[TIDE_TIMED_BACKWARD][0] == -1);
    }
    recorded_run_end(&runs[0]);
    recorded_run_end(&runs[1]);
}

/* All modes, attentions and recompute settings; clipping in half of them. */
static void expect_same_modes_in(const tide_model_config *model, tide_precision precision) {
    for (int variant = 0; variant < 16; variant++) {
        tide_workload_config config;
        tide_workload_config_init(&config);
        config.model = *model;
        config.precision = precision;
        config.warmup_steps = 1;
        config.steps = 2;
        config.mode = (variant & 3) == 3 ? TIDE_FORWARD : (tide_mode)(variant & 3);
        config.keep_graph = (variant & 3) == 3;
        config.attention = (variant & 4) != 0 ? TIDE_ATTENTION_NAIVE : TIDE_ATTENTION_FLASH;
        config.recompute = (variant & 8) != 0 ? TIDE_RECOMPUTE_BLOCK : TIDE_RECOMPUTE_NONE;
        config.clip_grad_norm = (variant & 4) != 0 ? 1 : 0;
        expect_same_runs(&config);
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
                                                TIDE_PRECISION_BF16_TRUE};
    static const size_t SHAPES[][3] = {{7, 2, 3}, {24, 4, 10}, {600, 3, 33}};
    for (size_t i = 0; i < 3 * 3 * 4; i++) {
        tide_workload_config config;
        tide_workload_config_init(&config);
        config.architecture = TIDE_MLP;
        config.model = (tide_model_config){.size = "mlp",
                                           .d_model = SHAPES[i / 12][0],
                                           .n_layers = SHAPES[i / 12][1],
                                           .batch_size = SHAPES[i / 12][2]};
        config.precision = PRECISIONS[i / 4 % 3];
        config.mode = i % 4 == 3 ? TIDE_FORWARD : (tide_mode)(i % 4);
        config.keep_graph = i % 4 == 3;
        config.clip_grad_norm = i % 8 == 2 ? 1 : 0;
        config.warmup_steps = 1;
        config.steps = 8; /* so that the shortest has events enough to compare */
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
        cmocka_unit_test(tiny_runs_are_the_same),
        cmocka_unit_test(larger_runs_are_the_same),
        cmocka_unit_test(one_token_is_enough),
        cmocka_unit_test(mlps_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
