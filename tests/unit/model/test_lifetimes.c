/* test_lifetimes.c - every tensor of a step is allocated and released where
 * docs/model/memory-model.md says, with the category and size it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "recorded_run.h"

/* One tensor of the second step: where its life begins and ends. */
typedef struct life {
    const char *name;
    tide_category category;
    uint64_t bytes;
    const char *begin; /* scope path inside the step */
    const char *end;   /* likewise; NULL: outlives the run */
} life;

/* Sizes of tiny_model in bytes, fp32: N = 20 x 24, F = 20 x 56. */
enum {
    N4 = 20 * 24 * 4,
    F4 = 20 * 56 * 4,
    ROWS4 = 20 * 4,
    HEADS4 = 2 * 3 * 10 * 4,
    PROBS4 = 2 * 3 * 10 * 10 * 4,
    SCRATCH4 = 24 * 4,
    CC4 = 24 * 24 * 4,
    CF4 = 24 * 56 * 4,
    VC4 = 97 * 24 * 4,
    LOGITS4 = 20 * 97 * 4,
    ROPE4 = 2 * 10 * 4 * 4,
    CHUNKS4 = 21 * 4 /* every gradient is below 65,536 elements: a partial sum each */
};

#define A TIDE_ACTIVATION
#define T TIDE_TEMPORARY
#define G TIDE_GRADIENT

static const life TRAIN_FLASH[] = {
    {"embedded", A, N4, "forward/embedding", "backward/layer 0/ln1"},
    {"layers.1.ln1", A, N4, "forward/layer 1/ln1", "backward/layer 1/attention"},
    {"layers.1.ln1.rstd", A, ROWS4, "forward/layer 1/ln1", "backward/layer 1/ln1"},
    {"layers.1.attn.q", A, N4, "forward/layer 1/attention", "backward/layer 1/attention"},
    {"layers.1.attn.k", A, N4, "forward/layer 1/attention", "backward/layer 1/attention"},
    {"layers.1.attn.v", A, N4, "forward/layer 1/attention", "backward/layer 1/attention"},
    {"layers.1.attn.out", A, N4, "forward/layer 1/attention", "backward/layer 1/attention"},
    {"layers.1.attn.lse", A, HEADS4, "forward/layer 1/attention", "backward/layer 1/attention"},
    {"layers.1.mid", A, N4, "forward/layer 1/attention", "backward/layer 1/ln2"},
    {"layers.1.ln2", A, N4, "forward/layer 1/ln2", "backward/layer 1/ffn"},
    {"layers.1.ln2.rstd", A, ROWS4, "forward/layer 1/ln2", "backward/layer 1/ln2"},
    {"layers.1.ffn.gate", A, F4, "forward/layer 1/ffn", "backward/layer 1/ffn"},
    {"layers.1.ffn.up", A, F4, "forward/layer 1/ffn", "backward/layer 1/ffn"},
    {"layers.1.ffn.product", A, F4, "forward/layer 1/ffn", "backward/layer 1/ffn"},
    {"layers.0.out", A, N4, "forward/layer 0/ffn", "backward/layer 1/ln1"},
    {"layers.1.out", A, N4, "forward/layer 1/ffn", "backward/ln_final"},
    {"ln_final", A, N4, "forward/ln_final", "backward/lm_head"},
    {"ln_final.rstd", A, ROWS4, "forward/ln_final", "backward/ln_final"},
    {"logits", A, LOGITS4, "forward/lm_head", "backward/lm_head"},
    {"row_losses", A, ROWS4, "forward/loss", "forward/loss"},
    {"loss", A, 4, "forward/loss", ""},
    {"ln_final.grad", T, N4, "backward/lm_head", "backward/ln_final"},
    {"ln_final.scratch", T, SCRATCH4, "backward/ln_final", "backward/ln_final"},
    {"residual.grad", T, N4, "backward/ln_final", "backward/embedding"},
    {"layers.1.ffn.product.grad", T, F4, "backward/layer 1/ffn", "backward/layer 1/ffn"},
    {"layers.1.ffn.gate.grad", T, F4, "backward/layer 1/ffn", "backward/layer 1/ffn"},
    {"layers.1.ffn.up.grad", T, F4, "backward/layer 1/ffn", "backward/layer 1/ffn"},
    {"layers.1.ln2.grad", T, N4, "backward/layer 1/ffn", "backward/layer 1/ln2"},
    {"layers.1.ln2.scratch", T, SCRATCH4, "backward/layer 1/ln2", "backward/layer 1/ln2"},
    {"layers.1.attn.out.grad", T, N4, "backward/layer 1/attention", "backward/layer 1/attention"},
    {"layers.1.attn.scratch", T, HEADS4, "backward/layer 1/attention",
     "backward/layer 1/attention"},
    {"layers.1.attn.q.grad", T, N4, "backward/layer 1/attention", "backward/layer 1/attention"},
    {"layers.1.attn.k.grad", T, N4, "backward/layer 1/attention", "backward/layer 1/attention"},
    {"layers.1.attn.v.grad", T, N4, "backward/layer 1/attention", "backward/layer 1/attention"},
    {"layers.1.ln1.grad", T, N4, "backward/layer 1/attention", "backward/layer 1/ln1"},
    {"layers.1.ln1.scratch", T, SCRATCH4, "backward/layer 1/ln1", "backward/layer 1/ln1"},
    {"lm_head.weight.grad", G, VC4, "backward/lm_head", "optimizer"},
    {"ln_final.weight.grad", G, 96, "backward/ln_final", "optimizer"},
    {"layers.1.ffn.w2.weight.grad", G, CF4, "backward/layer 1/ffn", "optimizer"},
    {"layers.1.ffn.w1.weight.grad", G, CF4, "backward/layer 1/ffn", "optimizer"},
    {"layers.1.ffn.w3.weight.grad", G, CF4, "backward/layer 1/ffn", "optimizer"},
    {"layers.1.ln2.weight.grad", G, 96, "backward/layer 1/ln2", "optimizer"},
    {"layers.1.attn.output_proj.weight.grad", G, CC4, "backward/layer 1/attention", "optimizer"},
    {"layers.1.attn.q_proj.weight.grad", G, CC4, "backward/layer 1/attention", "optimizer"},
    {"layers.1.attn.k_proj.weight.grad", G, CC4, "backward/layer 1/attention", "optimizer"},
    {"layers.1.attn.v_proj.weight.grad", G, CC4, "backward/layer 1/attention", "optimizer"},
    {"layers.1.ln1.weight.grad", G, 96, "backward/layer 1/ln1", "optimizer"},
    {"token_embeddings.weight.grad", G, VC4, "backward/embedding", "optimizer"},
    {"clip.scratch", T, CHUNKS4, "optimizer/clip", "optimizer/clip"},
    {"clip.norm", T, 4, "optimizer/clip", "optimizer/clip"},
};

/* The rows that differ from the table above. */
static const life TRAIN_NAIVE[] = {
    {"layers.1.attn.probs", A, PROBS4, "forward/layer 1/attention", "backward/layer 1/attention"},
    {"layers.1.attn.probs.grad", T, PROBS4, "backward/layer 1/attention",
     "backward/layer 1/attention"},
    {"layers.1.attn.out", A, N4, "forward/layer 1/attention", "backward/layer 1/attention"},
};

static const life TRAIN_MIXED[] = {
    {"layers.1.attn.q", A, N4 / 2, "forward/layer 1/attention", "backward/layer 1/attention"},
    {"layers.1.mid", A, N4, "forward/layer 1/attention", "backward/layer 1/ln2"},
    {"logits", A, LOGITS4 / 2, "forward/lm_head", "backward/lm_head"},
    {"lm_head.weight.bf16", TIDE_WEIGHT_COPY, VC4 / 2, "forward/weight copies", "backward/lm_head"},
    {"layers.1.ffn.w1.weight.bf16", TIDE_WEIGHT_COPY, CF4 / 2, "forward/weight copies",
     "backward/layer 1/ffn"},
    {"layers.1.attn.q_proj.weight.bf16", TIDE_WEIGHT_COPY, CC4 / 2, "forward/weight copies",
     "backward/layer 1/attention"},
    {"residual.grad", T, N4, "backward/ln_final", "backward/embedding"},
    {"residual.grad.bf16", T, N4 / 2, "backward/layer 1/ffn", "backward/layer 1/ffn"},
    {"layers.1.ffn.w1.weight.grad", G, CF4, "backward/layer 1/ffn", "optimizer"},
};

/* The copies live through it; the last block and the head make theirs at the first use. */
static const life RECOMPUTE_MIXED[] = {
    {"layers.0.ffn.w1.weight.bf16", TIDE_WEIGHT_COPY, CF4 / 2, "forward/weight copies",
     "backward/layer 0/ffn"},
    {"layers.1.ffn.w1.weight.bf16", TIDE_WEIGHT_COPY, CF4 / 2, "forward/layer 1/ffn",
     "backward/layer 1/ffn"},
    {"lm_head.weight.bf16", TIDE_WEIGHT_COPY, VC4 / 2, "forward/lm_head", "backward/lm_head"},
};

static const life TRAIN_FP16[] = {
    {"logits", A, LOGITS4 / 2, "forward/lm_head", "backward/lm_head"},
    {"lm_head.weight.fp16", TIDE_WEIGHT_COPY, VC4 / 2, "forward/weight copies", "backward/lm_head"},
    {"layers.1.mid", A, N4, "forward/layer 1/attention", "backward/layer 1/ln2"},
    {"residual.grad.fp16", T, N4 / 2, "backward/layer 1/ffn", "backward/layer 1/ffn"},
    {"layers.1.ffn.w1.weight.grad", G, CF4, "backward/layer 1/ffn", "optimizer"},
    {"scaler.found_inf", T, 4, "optimizer/unscale", ""},
};

static const life TRAIN_BF16[] = {
    {"layers.1.mid", A, N4 / 2, "forward/layer 1/attention", "backward/layer 1/ln2"},
    {"layers.1.ln1.rstd", A, ROWS4, "forward/layer 1/ln1", "backward/layer 1/ln1"},
    {"residual.grad", T, N4 / 2, "backward/ln_final", "backward/embedding"},
    {"layers.1.ffn.w1.weight.grad", G, CF4 / 2, "backward/layer 1/ffn", "optimizer"},
};

/* The forward phase makes and releases it as if nothing were kept; backward recomputes it. */
static const life TRAIN_RECOMPUTE[] = {
    {"layers.1.attn.q", A, N4, "forward/layer 1/attention", "forward/layer 1/attention"},
    {"layers.0.out", A, N4, "forward/layer 0/ffn", "backward/layer 1/ln1"},
    {"layers.1.ffn.product", A, F4, "forward/layer 1/ffn", "forward/layer 1/ffn"},
    {"layers.1.attn.lse", A, HEADS4, "backward/layer 1/recompute/attention",
     "backward/layer 1/attention"},
    {"layers.1.ln2.rstd", A, ROWS4, "backward/layer 1/recompute/ln2", "backward/layer 1/ln2"},
};

static const life FORWARD[] = {
    {"embedded", A, N4, "forward/embedding", "forward/layer 0/attention"},
    {"layers.1.ln1", A, N4, "forward/layer 1/ln1", "forward/layer 1/attention"},
    {"layers.1.attn.q", A, N4, "forward/layer 1/attention", "forward/layer 1/attention"},
    {"layers.1.mid", A, N4, "forward/layer 1/attention", "forward/layer 1/ffn"},
    {"layers.1.ffn.gate", A, F4, "forward/layer 1/ffn", "forward/layer 1/ffn"},
    {"layers.1.out", A, N4, "forward/layer 1/ffn", "forward"},
    {"ln_final", A, N4, "forward/ln_final", "forward/lm_head"},
    {"logits", A, LOGITS4, "forward/lm_head", ""},
};

static const life KEEP_GRAPH[] = {
    {"embedded", A, N4, "forward/embedding", ""},
    {"layers.1.attn.q", A, N4, "forward/layer 1/attention", ""},
    {"layers.1.attn.lse", A, HEADS4, "forward/layer 1/attention", ""},
    {"ln_final", A, N4, "forward/ln_final", ""},
    {"ln_final.rstd", A, ROWS4, "forward/ln_final", ""},
    {"logits", A, LOGITS4, "forward/lm_head", ""},
};

static const life FORWARD_BACKWARD[] = {
    {"lm_head.weight.grad", G, VC4, "backward/lm_head", ""},
    {"token_embeddings.weight.grad", G, VC4, "backward/embedding", ""},
};

#undef A
#undef T
#undef G

/* Whether `event` is in the scope `path` of step 0, which follows a warm-up step. */
static void expect_scope(const recorded_run *run, size_t event, const char *path,
                         const char *name) {
    const tide_recording *recording = &run->state.recording;
    char expected[SCOPE_PATH];
    char actual[SCOPE_PATH];
    (void)snprintf(expected, sizeof(expected), "step 0%s%s", path[0] == '\0' ? "" : "/", path);
    scope_path(recording, recording->events[event].scope, actual);
    if (strcmp(actual, expected) != 0) {
        fail_msg("%s: in %s, expected in %s", name, actual, expected);
    }
}

/* Finds the first event with this action and name in the measured step. */
static size_t find_in_step(const recorded_run *run, tide_action action, const char *name) {
    const tide_recording *recording = &run->state.recording;
    for (size_t n = 0;; n++) {
        size_t i = find_event(recording, action, name, n);
        if (i == recording->n_events) {
            fail_msg("%s is not there", name);
        }
        char path[SCOPE_PATH];
        scope_path(recording, recording->events[i].scope, path);
        if (strncmp(path, "step 0", 6) == 0) {
            return i;
        }
    }
}

static void check_lives(const tide_workload_config *config, const life *lives, size_t n_lifetimes) {
    recorded_run run;
    recorded_run_start(&run, "virtual", config, TIDE_UNLIMITED, TIDE_OK);
    for (size_t i = 0; i < n_lifetimes; i++) {
        size_t begin = find_in_step(&run, TIDE_ACTION_ALLOC, lives[i].name);
        size_t end = find_in_step(&run, TIDE_ACTION_FREE, lives[i].name);
        const tide_event *alloc = &run.state.recording.events[begin];
        expect_scope(&run, begin, lives[i].begin, lives[i].name);
        expect_scope(&run, end, lives[i].end, lives[i].name);
        assert_int_equal(alloc->category, lives[i].category);
        assert_true(alloc->requested_bytes == lives[i].bytes);
        assert_true(begin < end);
    }
    recorded_run_end(&run);
}

#define CHECK(config, lives) check_lives((config), (lives), sizeof(lives) / sizeof((lives)[0]))

static tide_workload_config tiny_run(tide_mode mode) {
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.model = tiny_model();
    config.mode = mode;
    config.warmup_steps = 1;
    config.steps = 1;
    return config;
}

static void training_with_flash_attention(void **state) {
    (void)state;
    tide_workload_config config = tiny_run(TIDE_TRAIN);
    config.clip_grad_norm = 1;
    CHECK(&config, TRAIN_FLASH);
}

static void training_with_naive_attention(void **state) {
    (void)state;
    tide_workload_config config = tiny_run(TIDE_TRAIN);
    config.attention = TIDE_ATTENTION_NAIVE;
    CHECK(&config, TRAIN_NAIVE);
}

static void training_in_bf16(void **state) {
    (void)state;
    tide_workload_config config = tiny_run(TIDE_TRAIN);
    config.precision = TIDE_PRECISION_BF16_MIXED;
    CHECK(&config, TRAIN_MIXED);
    config.recompute = TIDE_RECOMPUTE_BLOCK;
    CHECK(&config, RECOMPUTE_MIXED);
    config = tiny_run(TIDE_TRAIN);
    config.precision = TIDE_PRECISION_BF16_TRUE;
    CHECK(&config, TRAIN_BF16);
}

static void training_in_fp16(void **state) {
    (void)state;
    tide_workload_config config = tiny_run(TIDE_TRAIN);
    config.precision = TIDE_PRECISION_FP16_MIXED;
    CHECK(&config, TRAIN_FP16);
}

static void training_with_recompute(void **state) {
    (void)state;
    tide_workload_config config = tiny_run(TIDE_TRAIN);
    config.recompute = TIDE_RECOMPUTE_BLOCK;
    CHECK(&config, TRAIN_RECOMPUTE);
}

static void forward_modes(void **state) {
    (void)state;
    tide_workload_config config = tiny_run(TIDE_FORWARD);
    CHECK(&config, FORWARD);
    config.keep_graph = true;
    CHECK(&config, KEEP_GRAPH);
    config = tiny_run(TIDE_FORWARD_BACKWARD);
    CHECK(&config, FORWARD_BACKWARD);
}

static bool is_there(const recorded_run *run, const char *name) {
    const tide_recording *recording = &run->state.recording;
    return find_event(recording, TIDE_ACTION_ALLOC, name, 0) != recording->n_events;
}

/* Row statistics exist only for backward, and mode forward has no loss. */
static void forward_makes_nothing_for_backward(void **state) {
    (void)state;
    static const char *const NAMES[] = {
        "layers.0.ln1.rstd", "layers.0.attn.lse", "ln_final.rstd", "layers.0.ln2.rstd", "loss",
        "row_losses"};
    tide_workload_config config = tiny_run(TIDE_FORWARD);
    recorded_run run;
    recorded_run_start(&run, "virtual", &config, TIDE_UNLIMITED, TIDE_OK);
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        assert_false(is_there(&run, NAMES[i]));
    }
    recorded_run_end(&run);
}

/* Allocated once, in setup or in the first optimizer phase, and still alive at the end. */
static void persistent_tensors_live_on(void **state) {
    (void)state;
    static const struct {
        const char *name;
        const char *path;
        tide_category category;
        uint64_t bytes;
    } ROWS[] = {
        {"gemm.workspace", "setup", TIDE_WORKSPACE, 0},
        {"tokens", "setup", TIDE_INPUT, 80},
        {"targets", "setup", TIDE_INPUT, 80},
        {"rope", "setup", TIDE_INPUT, ROPE4},
        {"layers.0.ln1.weight", "setup", TIDE_PARAMETER, 96},
        {"lm_head.weight", "setup", TIDE_PARAMETER, VC4},
        {"lm_head.weight.exp_avg", "warmup 0/optimizer/adamw", TIDE_OPTIMIZER_STATE, VC4},
        {"lm_head.weight.exp_avg_sq", "warmup 0/optimizer/adamw", TIDE_OPTIMIZER_STATE, VC4},
    };
    tide_workload_config config = tiny_run(TIDE_TRAIN);
    recorded_run run;
    recorded_run_start(&run, "virtual", &config, TIDE_UNLIMITED, TIDE_OK);
    const tide_recording *recording = &run.state.recording;
    assert_false(is_there(&run, ROWS[0].name)); /* without a card there is no GEMM library */
    for (size_t i = 1; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        char path[SCOPE_PATH];
        size_t event = find_event(recording, TIDE_ACTION_ALLOC, ROWS[i].name, 0);
        assert_true(event < recording->n_events);
        scope_path(recording, recording->events[event].scope, path);
        assert_string_equal(path, ROWS[i].path);
        assert_int_equal(recording->events[event].category, ROWS[i].category);
        assert_true(recording->events[event].requested_bytes == ROWS[i].bytes);
        assert_true(find_event(recording, TIDE_ACTION_ALLOC, ROWS[i].name, 1) ==
                    recording->n_events);
        assert_true(find_event(recording, TIDE_ACTION_FREE, ROWS[i].name, 0) ==
                    recording->n_events);
    }
    recorded_run_end(&run);
}

/* Wherever the mathematics allow it, a saved tensor is released before the next temporary is
 * allocated. */
static void releases_come_before_allocations(void **state) {
    (void)state;
    static const struct {
        const char *released;
        const char *allocated;
    } ROWS[] = {
        {"ln_final", "ln_final.grad"},
        {"logits", "residual.grad"},
        {"layers.1.ffn.product", "layers.1.ffn.product.grad"},
        {"layers.1.ffn.gate", "layers.1.ln2.grad"},
        {"layers.1.ffn.gate.grad", "layers.1.ffn.w3.weight.grad"},
        {"layers.1.attn.q", "layers.1.ln1.grad"},
        {"layers.1.attn.q.grad", "layers.1.attn.k_proj.weight.grad"},
    };
    tide_workload_config config = tiny_run(TIDE_TRAIN);
    recorded_run run;
    recorded_run_start(&run, "virtual", &config, TIDE_UNLIMITED, TIDE_OK);
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        assert_true(find_in_step(&run, TIDE_ACTION_FREE, ROWS[i].released) <
                    find_in_step(&run, TIDE_ACTION_ALLOC, ROWS[i].allocated));
    }
    recorded_run_end(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_with_flash_attention),
        cmocka_unit_test(training_with_naive_attention),
        cmocka_unit_test(training_in_bf16),
        cmocka_unit_test(training_in_fp16),
        cmocka_unit_test(training_with_recompute),
        cmocka_unit_test(forward_modes),
        cmocka_unit_test(forward_makes_nothing_for_backward),
        cmocka_unit_test(persistent_tensors_live_on),
        cmocka_unit_test(releases_come_before_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
