/* test_causes_waste.c - the patterns of memory that the program does not need: graphs that no
 * backward pass uses, wide masks, Jacobians in one pass, copies of the weights. Each fires on the
 * facts of its program and is silent on those of programs that resemble it.
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
    program.mode = TIDE_AUTOGRAD_ON;
    return 0;
}

/* ---- a graph that no backward pass uses ---- */

enum { N_LAYERS = 4, N_KEPT = 3 };

/* What the layers of a teacher keep at line 18, `n_kept` tensors each, and how it ends. The peak is
 * in between. */
static void teach(int n_kept, bool is_trained) {
    uint64_t blocks[N_LAYERS * N_KEPT];
    uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "backward");
    peak_text(&program, 18, "t = teacher(x)");
    peak_put(&program, 100, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    for (int i = 0; i < N_LAYERS * n_kept; i++) {
        uint32_t line =
            peak_module(&program, peak_at(&program, 18), "Net.forward", USER, 40 + i % n_kept);
        blocks[i] = peak_put(&program, 50, line, NONE, TIDE_ACTIVATION);
    }
    for (int i = 0; i < N_LAYERS * n_kept; i++) {
        peak_free_in(&program, blocks[i], is_trained ? phase : NONE);
    }
}

static void untrained_fires(void **state) {
    (void)state;
    teach(N_KEPT, false);
    peak_has(&program, "untrained_graph",
             "600.00 MiB of the peak (86 %) is the autograd graph of the forward pass at main "
             "(train.py:18), `t = teacher(x)`: gradients are enabled there, and no backward pass "
             "uses it.");
}

/* The line that calls the modules is named first, then its outermost caller that is no training,
 * though more is alive below the caller. */
static void untrained_names_the_inner_line(void **state) {
    (void)state;
    uint32_t outer = peak_at(&program, 18);
    uint32_t inner = peak_call(&program, outer, "evaluate", USER, 30);
    for (int i = 0; i < N_LAYERS * N_KEPT; i++) {
        uint32_t line = peak_module(&program, inner, "Net.forward", USER, 40 + i % N_KEPT);
        peak_put(&program, 50, line, NONE, TIDE_ACTIVATION);
    }
    peak_put(&program, 20, peak_module(&program, outer, "Net.forward", USER, 40), NONE,
             TIDE_ACTIVATION);
    peak_has(&program, "untrained_graph",
             "620.00 MiB of the peak (100 %) is the autograd graph of the forward pass at evaluate "
             "(train.py:30), called at main (train.py:18): gradients are enabled");
}

static void untrained_is_silent_if_trained(void **state) {
    (void)state;
    teach(N_KEPT, true);
    peak_lacks(&program, "untrained_graph");
}

/* With gradients disabled there is no graph, and a recording that lacks the mode shows none. */
static void untrained_is_silent_without_gradients(void **state) {
    (void)state;
    program.mode = TIDE_AUTOGRAD_OFF;
    teach(N_KEPT, false);
    peak_lacks(&program, "untrained_graph");
    clear(NULL);
    program.mode = TIDE_AUTOGRAD_UNKNOWN;
    teach(N_KEPT, false);
    peak_lacks(&program, "untrained_graph");
}

/* Autocast makes its copies of weights with gradients enabled, also where they are disabled. */
static void untrained_is_silent_on_copies_of_autocast(void **state) {
    (void)state;
    uint32_t line = peak_module(&program, peak_at(&program, 18), "Net.forward", USER, 40);
    program.mode = TIDE_AUTOGRAD_OFF;
    peak_free(&program, peak_put(&program, 1, line, NONE, TIDE_ACTIVATION));
    program.mode = TIDE_AUTOGRAD_ON;
    teach(N_KEPT, false);
    peak_lacks(&program, "untrained_graph");
}

/* A list of what each layer of a frozen model returns is no graph. */
static void untrained_is_silent_on_results(void **state) {
    (void)state;
    teach(1, false);
    peak_lacks(&program, "untrained_graph");
}

/* ---- losses that are added up ---- */

/* A loop of `n` passes over lines 7 and 8, and one backward pass after it. A pass carries a state
 * if `call` says that, and `sum_bytes` are what line 8 makes. */
static void add_up(int n, const char *call, const char *sum, uint64_t sum_bytes, bool is_trained) {
    uint64_t blocks[16];
    uint32_t forward = peak_module(&program, peak_at(&program, 7), "Net.forward", USER, 40);
    uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "backward");
    const peak_block part = {sum_bytes, peak_at(&program, 8), NONE, TIDE_TEMPORARY, NULL};
    peak_text(&program, 7, call);
    peak_text(&program, 8, sum);
    peak_put(&program, 50, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    for (int i = 0; i < n; i++) {
        blocks[i] = peak_put(&program, 100, forward, NONE, TIDE_ACTIVATION);
        (void)peak_alloc(&program, &part);
    }
    peak_put(&program, 10, peak_at(&program, 12), NONE, TIDE_TEMPORARY);
    for (int i = 0; i < n; i++) {
        peak_free_in(&program, blocks[i], is_trained ? phase : NONE);
    }
}

static void summed_fires(void **state) {
    (void)state;
    add_up(8, "out = net(x)", "losses.append(f(out))", 4, true);
    peak_has(&program, "summed_losses",
             "800.00 MiB of the peak (93 %) belongs to the graphs of 8 passes of the loop at main "
             "(train.py:7-8): their losses are added up at main (train.py:8), "
             "`losses.append(f(out))`, and one backward pass after the loop uses all of them.");
}

static void summed_is_silent_on_others(void **state) {
    (void)state;
    add_up(8, "h = cell(x, h)", "losses.append(f(h))", 4, true); /* passes depend on one another */
    peak_lacks(&program, "summed_losses");
    clear(NULL);
    add_up(8, "out = net(x)", "outs.append(f(out))", 4096, true); /* no losses: they are joined */
    peak_lacks(&program, "summed_losses");
    clear(NULL);
    add_up(8, "out = net(x)", "losses.append(f(out))", 4, false); /* no backward pass */
    peak_lacks(&program, "summed_losses");
    clear(NULL);
    add_up(3, "out = net(x)", "losses.append(f(out))", 4, true); /* few passes */
    peak_lacks(&program, "summed_losses");
}

/* ---- results that a list collects ---- */

static void collect(int n, const char *text) {
    uint32_t forward = peak_module(&program, peak_at(&program, 9), "Net.forward", USER, 40);
    peak_text(&program, 9, text);
    peak_put(&program, 50, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    for (int i = 0; i < n; i++) {
        peak_put(&program, 100, forward, NONE, TIDE_ACTIVATION);
    }
}

static void collected_fires(void **state) {
    (void)state;
    program.mode = TIDE_AUTOGRAD_OFF;
    collect(9, "parts.append(net(x))");
    peak_has(&program, "results_collected",
             "900.00 MiB of the peak (95 %) is 9 results that a list collects on the card, at main "
             "(train.py:9), `parts.append(net(x))`.");
}

static void collected_is_silent_on_others(void **state) {
    (void)state;
    collect(9, "parts.append(net(x))"); /* gradients are enabled: a graph */
    peak_lacks(&program, "results_collected");
    clear(NULL);
    program.mode = TIDE_AUTOGRAD_OFF;
    collect(9, "y = net(x)");
    peak_lacks(&program, "results_collected");
    clear(NULL);
    program.mode = TIDE_AUTOGRAD_OFF;
    collect(9, "words.append(net(x).argmax(-1).cpu())"); /* of the host */
    peak_lacks(&program, "results_collected");
    clear(NULL);
    program.mode = TIDE_AUTOGRAD_OFF;
    collect(5, "parts.append(net(x))");
    peak_lacks(&program, "results_collected");
}

/* ---- one_hot ---- */

/* A line that makes `first` MiB, then `second` MiB. */
static void mask(const char *text, uint64_t first, uint64_t second) {
    uint32_t line = peak_at(&program, 10);
    peak_text(&program, 10, text);
    peak_put(&program, 200, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    peak_put(&program, first, line, NONE, TIDE_TEMPORARY);
    peak_put(&program, second, line, NONE, TIDE_TEMPORARY);
}

static void one_hot_fires(void **state) {
    (void)state;
    mask("m = F.one_hot(y, 150).float()", 400, 200);
    peak_has(&program, "one_hot",
             "400.00 MiB of the peak (50 %) is the result of one_hot at main (train.py:10), `m = "
             "F.one_hot(y, 150).float()`: it is int64");
}

/* A mask of one byte; and a line whose large tensor is made from the result. */
static void one_hot_is_silent_on_others(void **state) {
    (void)state;
    mask("m = torch.zeros(n, 150, dtype=torch.bool).scatter_(1, y, True)", 400, 200);
    peak_lacks(&program, "one_hot");
    clear(NULL);
    mask("m = x[:, None] * F.one_hot(y, 150)", 200, 400);
    peak_lacks(&program, "one_hot");
}

/* ---- a Jacobian in one pass ---- */

/* The basis has 4096 columns of four bytes. */
static void differentiate(uint64_t n_rows, uint64_t result_mib) {
    uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "backward");
    uint32_t call = peak_call(&program, peak_at(&program, 9), "jacrev.<locals>.wrapper_fn",
                              TORCH "_functorch/eager_transforms.py", 776);
    uint32_t make = peak_call(&program, call, "_chunked_standard_basis_for_",
                              TORCH "_functorch/eager_transforms.py", 907);
    const peak_block basis = {n_rows * 4096 * 4, make, NONE, TIDE_TEMPORARY, NULL};
    peak_put(&program, 50, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    for (uint64_t made = 0; made < 4096; made += n_rows) {
        (void)peak_alloc(&program, &basis);
    }
    for (int i = 0; i < 4; i++) {
        peak_put(&program, 100, NONE, phase, TIDE_TEMPORARY);
    }
    peak_put(&program, result_mib, NONE, phase, TIDE_TEMPORARY);
}

static void jacobian_fires(void **state) {
    (void)state;
    differentiate(4096, 100);
    peak_has(&program, "jacobian_together",
             "564.00 MiB of the peak (92 %) was allocated for the Jacobian at main (train.py:9): "
             "all its 4096 rows are computed together");
}

/* With chunk_size=64; and a result that is nearly all of it. */
static void jacobian_is_silent_in_chunks(void **state) {
    (void)state;
    differentiate(64, 100);
    peak_lacks(&program, "jacobian_together");
    clear(NULL);
    differentiate(4096, 4000);
    peak_lacks(&program, "jacobian_together");
}

/* ---- copies of the weights ---- */

/* Four weights of 40 and 60 MiB, and `n` copies of blocks of `first` and 60 MiB at line 11. */
static void keep(const char *text, int n, uint64_t first) {
    peak_text(&program, 11, text);
    for (int i = 0; i < 2; i++) {
        peak_put(&program, 40, peak_at(&program, 3), NONE, TIDE_PARAMETER);
        peak_put(&program, 60, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    }
    for (int i = 0; i < 2 * n; i++) {
        peak_put(&program, first, peak_at(&program, 11), NONE, TIDE_UNKNOWN);
        peak_put(&program, 60, peak_at(&program, 11), NONE, TIDE_UNKNOWN);
    }
}

static void copies_fire(void **state) {
    (void)state;
    keep("best = {k: v.clone() for k, v in net.state_dict().items()}", 2, 40);
    peak_has(&program, "weight_copies",
             "400.00 MiB of the peak (67 %) is 2 copies of the weights on the card, made at main "
             "(train.py:11), `best = {k: v.clone() for k, v in net.state_dict().items()}`: the old "
             "copy is still there while the new one is made.");
    clear(NULL);
    keep("saved.append([p.clone() for p in net.parameters()])", 1, 40);
    peak_has(&program, "weight_copies", "is a copy of the weights on the card");
}

/* Other sizes, another operator, and gradients. */
static void copies_are_silent_on_others(void **state) {
    (void)state;
    keep("best = {k: v.clone() for k, v in net.state_dict().items()}", 0, 40);
    peak_put(&program, 40, peak_at(&program, 11), NONE, TIDE_UNKNOWN); /* a part of the model */
    peak_lacks(&program, "weight_copies");
    clear(NULL);
    keep("x = y.clone()", 2, 41);
    peak_lacks(&program, "weight_copies");
    clear(NULL);
    keep("x = net(y)", 2, 40);
    peak_lacks(&program, "weight_copies");
    clear(NULL);
    keep("old = [p.grad.clone() for p in net.parameters()]", 2, 40);
    peak_lacks(&program, "weight_copies");
}

#define TEST(name) cmocka_unit_test_setup(name, clear)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(untrained_fires),
        TEST(untrained_names_the_inner_line),
        TEST(untrained_is_silent_if_trained),
        TEST(untrained_is_silent_without_gradients),
        TEST(untrained_is_silent_on_copies_of_autocast),
        TEST(untrained_is_silent_on_results),
        TEST(summed_fires),
        TEST(summed_is_silent_on_others),
        TEST(collected_fires),
        TEST(collected_is_silent_on_others),
        TEST(one_hot_fires),
        TEST(one_hot_is_silent_on_others),
        TEST(jacobian_fires),
        TEST(jacobian_is_silent_in_chunks),
        TEST(copies_fire),
        TEST(copies_are_silent_on_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
