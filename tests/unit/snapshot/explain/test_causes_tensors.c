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

/* The cure of logits depends on who makes them. */
static void logits_of_a_transducer_and_of_data_parallel(void **state) {
    (void)state;
    head("LogSoftmaxBackward0");
    peak_cured_by(&program, "logits", "a fused linear cross-entropy");
    uint32_t line = peak_module(&program, peak_at(&program, 9), "LM.forward", USER, 15);
    const peak_block named = {200 * MIB, line, NONE, TIDE_ACTIVATION, "lp [32, 9, 8, 42] float32"};
    (void)peak_alloc(&program, &named);
    peak_cured_by(&program, "logits", "`torchaudio.functional.rnnt_loss`");
    clear(NULL);
    head("LogSoftmaxBackward0");
    uint32_t gather = peak_call(&program, peak_at(&program, 9), "gather",
                                TORCH "nn/parallel/scatter_gather.py", 130);
    peak_put(&program, 200, gather, NONE, TIDE_ACTIVATION);
    peak_has(&program, "logits", "DataParallel gathers the outputs of all cards on this one.");
    peak_cured_by(&program, "logits", "compute the loss in `forward` of the wrapped module");
}

/* The forward pass has a log_softmax, the backward pass one more tensor and a request. */
static void ask_for_logits(const char *function, uint64_t asked_mib) {
    uint32_t line = peak_module(&program, peak_at(&program, 9), "LM.forward", USER, 15);
    uint32_t loss = peak_call(&program, line, function, TORCH "nn/functional.py", 2321);
    uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "backward");
    uint32_t gather = peak_scope(&program, phase, TIDE_SCOPE_OPERATOR, "GatherBackward0");
    peak_put(&program, 50, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    peak_put(&program, 200, loss, NONE, TIDE_ACTIVATION);
    peak_put(&program, 195, NONE, gather, TIDE_TEMPORARY);
    peak_fail(&program, asked_mib * MIB, 10 * MIB, NONE, gather);
}

static void logits_that_are_asked_for(void **state) {
    (void)state;
    ask_for_logits("log_softmax", 200);
    peak_has(&program, "logits",
             "The request for 200.00 MiB has the size of the logits, and 2 tensors of about this "
             "size hold 395.00 MiB of the 445.00 MiB allocated");
    clear(NULL);
    ask_for_logits("log_softmax", 100);
    peak_lacks(&program, "logits");
    clear(NULL);
    ask_for_logits("gelu", 200);
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
static void named_pair(const char *function, const char *file, uint64_t others_mib,
                       const char *name) {
    uint32_t line = peak_module(&program, peak_at(&program, 9), "Net.forward", USER, 40);
    uint32_t inner = peak_module(&program, line, function, file, 500);
    const peak_block large = {200 * MIB, inner, NONE, TIDE_ACTIVATION, name};
    (void)peak_alloc(&program, &large);
    (void)peak_alloc(&program, &large);
    for (int i = 0; i < 40; i++) {
        peak_free(&program,
                  peak_put(&program, others_mib, peak_at(&program, 7), NONE, TIDE_TEMPORARY));
    }
}

static void pair(const char *function, const char *file, uint64_t others_mib) {
    named_pair(function, file, others_mib, NULL);
}

static void blow_up_fires(void **state) {
    (void)state;
    pair("pairwise", USER, 2);
    peak_has(&program, "blow_up", "2 tensors of pairwise (train.py:500) make up 400.00 MiB");
}

static void blow_up_names_repeat(void **state) {
    (void)state;
    peak_text(&program, 500, "m = m[None].repeat(n, 1, 1)");
    pair("pairwise", USER, 2);
    peak_cured_by(&program, "blow_up", "`.expand` instead of `.repeat`");
    clear(NULL);
    peak_text(&program, 500, "d = x.unsqueeze(1) - y.unsqueeze(0)");
    pair("pairwise", USER, 2);
    peak_cured_by(&program, "blow_up", "`torch.cdist(x, y)`");
}

static void blow_up_names_the_math_attention(void **state) {
    (void)state;
    named_pair("pairwise", USER, 2, "safe_softmax [4, 4, 2560, 2560] bfloat16");
    peak_cured_by(&program, "blow_up", "inputs that a fused kernel takes");
    clear(NULL); /* keys and values that the line repeats */
    peak_text(&program, 500, "x = F.scaled_dot_product_attention(q, k.repeat_interleave(8, 1), v)");
    named_pair("pairwise", USER, 2, "clone [4, 4, 2560, 2560] bfloat16");
    peak_cured_by(&program, "blow_up", "look at the shapes in this line");
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

/* ---- results of the pass before ---- */

enum { N_PASSES = 6 };

/* A training loop at lines 20 to 22, whose results live until the next pass has made its own if
 * `is_held`. The backward pass comes after that. */
static void train(bool is_held, bool has_backward, uint64_t backward_mib) {
    uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "backward");
    uint64_t old = 0;
    uint64_t old_second = 0;
    peak_text(&program, 21, "out = net(x)");
    peak_put(&program, 200, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    for (int i = 0; i < N_PASSES; i++) {
        uint32_t line = peak_module(&program, peak_at(&program, 21), "Net.forward", USER, 40);
        peak_free(&program, peak_put(&program, 1, peak_at(&program, 20), NONE, TIDE_INPUT));
        uint64_t made = peak_put(&program, 55, line, NONE, TIDE_ACTIVATION);
        uint64_t second = peak_put(&program, 45, line, NONE, TIDE_ACTIVATION);
        if (old != 0) {
            peak_free(&program, old);
            peak_free(&program, old_second);
        }
        peak_free_in(
            &program,
            peak_put(&program, backward_mib, NONE, has_backward ? phase : NONE, TIDE_TEMPORARY),
            NONE);
        peak_free(&program, peak_put(&program, 1, peak_at(&program, 22), NONE, TIDE_TEMPORARY));
        if (!is_held) {
            peak_free(&program, made);
            peak_free(&program, second);
        }
        old = is_held ? made : 0;
        old_second = second;
    }
}

static void old_results_fire(void **state) {
    (void)state;
    train(true, true, 10);
    peak_has(&program, "old_results_alive",
             "100.00 MiB of the peak (25 %) are results of the pass before, which stay alive until "
             "this pass has made its own, at Net.forward (train.py:40): the loop still holds what "
             "it got at main (train.py:21), `out = net(x)`.");
}

static void old_results_are_silent_if_freed(void **state) {
    (void)state;
    train(false, true, 10);
    peak_lacks(&program, "old_results_alive");
    clear(NULL);
    train(true, false, 10); /* a state that each pass needs, as in sampling */
    peak_lacks(&program, "old_results_alive");
    clear(NULL);
    train(true, true, 60); /* later, without the old results, the pass needs nearly as much */
    peak_lacks(&program, "old_results_alive");
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
        TEST(logits_of_a_transducer_and_of_data_parallel),
        TEST(logits_that_are_asked_for),
        TEST(double_width_fires),
        TEST(double_width_is_silent_on_joined_halves),
        TEST(blow_up_fires),
        TEST(blow_up_names_repeat),
        TEST(blow_up_names_the_math_attention),
        TEST(old_results_fire),
        TEST(old_results_are_silent_if_freed),
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
