/* test_causes_tensors.c - the patterns of large tensors at the peak, logits and attention: each
 * fires on the facts of its program and is silent on those of programs that resemble it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "peak_program.h"

static peak_program program;

static int clear(void **state) {
    (void)state;
    memset(&program, 0, sizeof(program));
    return 0;
}

/* ---- large tensors ---- */

/* The logits, what cross_entropy makes of them, and their gradient. */
static void head(const char *node) {
    uint32_t line = peak_module(&program, peak_at(&program, 9), "LM.forward", USER, 15);
    uint32_t layer = peak_scope(&program, NONE, TIDE_SCOPE_LAYER, "head");
    uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "backward");
    uint32_t operation = peak_scope(&program, phase, TIDE_SCOPE_OPERATOR, node);
    peak_put(&program, 50, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    peak_put(&program, 200, line, layer, TIDE_ACTIVATION);
    peak_put(&program, 200, line, NONE, TIDE_ACTIVATION);
    peak_put(&program, 200, NONE, operation, TIDE_TEMPORARY);
}

static void logits_fire(void **state) {
    (void)state;
    head("LogSoftmaxBackward0");
    peak_has(&program, "logits", "3 tensors of 200.00 MiB make up 600.00 MiB of the peak (92 %)");
    peak_has(&program, "logits", "made at LM.forward (train.py:15) and in its backward pass");
}

/* Equal activations of other operators are none. */
static void logits_are_silent_without_a_loss(void **state) {
    (void)state;
    head("GeluBackward0");
    peak_lacks(&program, "logits");
}

/* A tensor that a line makes twice as large as the result of `module`; `n_halves` of it exist. */
static void widen(const char *module, int n_halves) {
    uint32_t call = peak_module(&program, peak_at(&program, 9), "LM.forward", USER, 15);
    uint32_t line = peak_module(&program, peak_at(&program, 9), "LM.forward", USER, 16);
    uint32_t linear =
        peak_module(&program, call, "Linear.forward", TORCH "nn/modules/linear.py", 130);
    uint32_t layer = peak_scope(&program, NONE, TIDE_SCOPE_LAYER, module);
    for (int i = 0; i < n_halves; i++) {
        peak_put(&program, 100, linear, layer, TIDE_ACTIVATION);
    }
    peak_put(&program, 200, line, NONE, TIDE_ACTIVATION);
}

static void double_width_fires(void **state) {
    (void)state;
    widen("lm_head", 1);
    peak_has(&program, "double_width_copy",
             "made at LM.forward (train.py:16) from a tensor of 100.00 MiB "
             "(LM.forward (train.py:15))");
}

/* Two halves that are joined; and a result that is doubled by an unknown operator. */
static void double_width_is_silent_on_joined_halves(void **state) {
    (void)state;
    widen("lm_head", 2);
    peak_lacks(&program, "double_width_copy");
    clear(NULL);
    widen("up.conv", 1);
    peak_lacks(&program, "double_width_copy");
}

/* Two large tensors of a call of the program's line, among others. */
static void pair(const char *function, const char *file, uint64_t others_mib) {
    uint32_t line = peak_module(&program, peak_at(&program, 9), "Net.forward", USER, 40);
    uint32_t inner = peak_module(&program, line, function, file, 500);
    peak_put(&program, 200, inner, NONE, TIDE_ACTIVATION);
    peak_put(&program, 200, inner, NONE, TIDE_ACTIVATION);
    for (int i = 0; i < 40; i++) {
        peak_free(&program,
                  peak_put(&program, others_mib, peak_at(&program, 7), NONE, TIDE_TEMPORARY));
    }
}

static void blow_up_fires(void **state) {
    (void)state;
    pair("pairwise", USER, 2);
    peak_has(&program, "blow_up", "2 tensors of pairwise (train.py:500) make up 400.00 MiB");
}

/* The backward pass of the line's operator makes more of them. */
static void blow_up_counts_the_backward_pass(void **state) {
    (void)state;
    uint32_t line = peak_module(&program, peak_at(&program, 9), "Net.forward", USER, 40);
    uint32_t layer = peak_scope(&program, NONE, TIDE_SCOPE_LAYER, "pairs");
    uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "backward");
    uint32_t module = peak_scope(&program, phase, TIDE_SCOPE_LAYER, "pairs");
    peak_put(&program, 200, line, layer, TIDE_ACTIVATION);
    for (int i = 0; i < 40; i++) {
        peak_free(&program, peak_put(&program, 2, peak_at(&program, 7), NONE, TIDE_TEMPORARY));
    }
    peak_put(&program, 300, NONE, module, TIDE_TEMPORARY);
    peak_has(&program, "blow_up", "2 tensors of Net.forward (train.py:40) make up 500.00 MiB");
}

/* Layers that one line calls are no operators of the line. */
static void blow_up_is_silent_on_layers(void **state) {
    (void)state;
    pair("Conv2d.forward", TORCH "nn/modules/conv.py", 2);
    peak_lacks(&program, "blow_up");
}

static void blow_up_is_silent_among_large_tensors(void **state) {
    (void)state;
    pair("pairwise", USER, 40); /* the peak has the first of them: a fifth of the line's tensors */
    peak_lacks(&program, "blow_up");
}

/* ---- attention ---- */

/* What nn.MultiheadAttention keeps; without weights it calls the fused kernel. */
static void attend(bool has_weights) {
    uint32_t line = peak_module(&program, peak_at(&program, 9), "Net.forward", USER, 50);
    uint32_t call =
        peak_call(&program, line, "multi_head_attention_forward", TORCH "nn/functional.py", 6000);
    uint32_t softmax = peak_call(&program, call, "softmax", TORCH "nn/functional.py", 2100);
    peak_put(&program, 100, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    peak_put(&program, 100, call, NONE, TIDE_ACTIVATION);
    if (has_weights) {
        peak_put(&program, 100, softmax, NONE, TIDE_ACTIVATION);
    }
}

static void attention_weights_fire(void **state) {
    (void)state;
    attend(true);
    peak_has(&program, "attention_weights",
             "Attention matrices of 100.00 MiB each make up 200.00 MiB of the peak "
             "(67 %). nn.MultiheadAttention makes them at Net.forward "
             "(train.py:50)");
}

static void attention_weights_are_silent_without_weights(void **state) {
    (void)state;
    attend(false);
    peak_lacks(&program, "attention_weights");
}

/* Scores on two lines of a function, by a product and what `last` is. */
static void compute_scores_in(const char *function, const char *file, const char *last) {
    uint32_t product = peak_module(&program, peak_at(&program, 9), function, file, 60);
    uint32_t line = peak_module(&program, peak_at(&program, 9), function, file, 61);
    uint32_t inner = peak_call(&program, line, last, TORCH "nn/functional.py", 2100);
    uint32_t layer = peak_scope(&program, NONE, TIDE_SCOPE_LAYER, "attn");
    peak_put(&program, 100, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    peak_put(&program, 10, product, layer, TIDE_ACTIVATION);
    peak_put(&program, 50, product, layer, TIDE_ACTIVATION);
    peak_put(&program, 50, inner, layer, TIDE_ACTIVATION);
}

static void compute_scores(const char *function, const char *last) {
    compute_scores_in(function, USER, last);
}

static void attention_by_hand_fires(void **state) {
    (void)state;
    compute_scores("Attention.forward", "softmax");
    peak_has(&program, "attention_by_hand",
             "They are made one operator at a time at Attention.forward (train.py:60), "
             "Attention.forward (train.py:61).");
}

static void attention_by_hand_needs_a_softmax(void **state) {
    (void)state;
    compute_scores("Attention.forward", "gelu");
    peak_lacks(&program, "attention_by_hand");
    clear(NULL);
    compute_scores("Router.forward", "softmax");
    peak_lacks(&program, "attention_by_hand");
}

/* Also in a library of models. */
static void attention_by_hand_is_known_in_libraries(void **state) {
    (void)state;
    compute_scores_in("eager_attention_forward",
                      "/opt/lib/python3.11/site-packages/transformers/gpt2.py", "softmax");
    peak_has(&program, "attention_by_hand",
             "at eager_attention_forward (gpt2.py:60), "
             "eager_attention_forward (gpt2.py:61).");
}

/* A method of tensors has no frame: the node of its backward pass shows it. */
static void attention_by_hand_knows_softmax_by_its_node(void **state) {
    (void)state;
    compute_scores("Attention.forward", "gelu");
    uint32_t module = peak_scope(&program, NONE, TIDE_SCOPE_LAYER, "attn");
    uint32_t node = peak_scope(&program, module, TIDE_SCOPE_OPERATOR, "SoftmaxBackward0");
    peak_put(&program, 50, NONE, node, TIDE_TEMPORARY);
    peak_has(&program, "attention_by_hand", "make up 100.00 MiB of the peak (38 %)");
}

#define TEST(name) cmocka_unit_test_setup(name, clear)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(logits_fire),
        TEST(logits_are_silent_without_a_loss),
        TEST(double_width_fires),
        TEST(double_width_is_silent_on_joined_halves),
        TEST(blow_up_fires),
        TEST(blow_up_counts_the_backward_pass),
        TEST(blow_up_is_silent_on_layers),
        TEST(blow_up_is_silent_among_large_tensors),
        TEST(attention_weights_fire),
        TEST(attention_weights_are_silent_without_weights),
        TEST(attention_by_hand_fires),
        TEST(attention_by_hand_needs_a_softmax),
        TEST(attention_by_hand_is_known_in_libraries),
        TEST(attention_by_hand_knows_softmax_by_its_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
