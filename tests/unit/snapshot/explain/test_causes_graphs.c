/* test_causes_graphs.c - the patterns of graphs: backward passes that record one, and the lines of
 * the loop that keeps one.
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

/* ---- backward passes that record a graph ---- */

/* Four inner steps at lines 7 and 8: a forward pass, and a backward pass with that mode, whose
 * blocks have that stack. */
static void adapt(uint8_t mode, uint32_t stack, uint64_t mib) {
    uint32_t forward = peak_module(&program, peak_at(&program, 7), "Net.forward", USER, 40);
    uint32_t grads =
        peak_call(&program, peak_at(&program, 8), "_make_grads", TORCH "autograd/__init__.py", 200);
    uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "backward");
    peak_text(&program, 7, "error = f(net(x))");
    peak_text(&program, 8, "g = torch.autograd.grad(error, ps, create_graph=True)");
    peak_put(&program, 50, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    for (int i = 0; i < 4; i++) {
        const peak_block one = {4, grads, NONE, TIDE_TEMPORARY, NULL};
        program.mode = TIDE_AUTOGRAD_ON;
        peak_put(&program, 100, forward, NONE, TIDE_ACTIVATION);
        (void)peak_alloc(&program, &one);
        program.mode = mode;
        peak_put(&program, mib, stack, phase, TIDE_TEMPORARY);
    }
}

static void second_order_fires(void **state) {
    (void)state;
    adapt(TIDE_AUTOGRAD_ON, NONE, 50);
    peak_has(&program, "second_order_graph",
             "200.00 MiB of the peak (31 %) was made in backward passes that record a graph of "
             "their own (`create_graph=True`), at main (train.py:8), `g = torch.autograd.grad("
             "error, ps, create_graph=True)`.");
    peak_lacks(&program, "summed_losses"); /* no sum keeps these graphs */
}

static void second_order_is_silent_on_others(void **state) {
    (void)state;
    adapt(TIDE_AUTOGRAD_OFF, NONE, 50); /* a usual backward pass */
    peak_lacks(&program, "second_order_graph");
    clear(NULL);
    adapt(TIDE_AUTOGRAD_UNKNOWN, NONE, 50); /* a recording that lacks the mode */
    peak_lacks(&program, "second_order_graph");
    clear(NULL);
    adapt(TIDE_AUTOGRAD_ON, NONE, 10); /* little of the peak */
    peak_lacks(&program, "second_order_graph");
    clear(NULL);
    adapt(TIDE_AUTOGRAD_ON, peak_at(&program, 30), 50); /* Python code, such as a checkpoint */
    peak_lacks(&program, "second_order_graph");
}

/* ---- the line of a growth ---- */

/* Nine passes over lines 48 to 51 of `play`, which keep 60, 20 and 20 MiB. */
static void play(void) {
    uint32_t main_call = peak_at(&program, 54);
    uint32_t first = peak_module(&program, peak_call(&program, main_call, "play", USER, 48),
                                 "Policy.forward", USER, 40);
    uint32_t second = peak_module(&program, peak_call(&program, main_call, "play", USER, 50),
                                  "World.forward", USER, 20);
    uint32_t third = peak_call(&program, main_call, "play", USER, 51);
    for (int i = 0; i < 9; i++) {
        for (int j = 0; j < 3; j++) {
            peak_put(&program, 20, first, NONE, TIDE_ACTIVATION);
        }
        peak_put(&program, 20, second, NONE, TIDE_ACTIVATION);
        peak_put(&program, 20, third, NONE, TIDE_ACTIVATION);
    }
}

/* All of it was allocated below the call of the function that has the loop, which names nothing. */
static void growth_names_a_line_of_the_loop(void **state) {
    (void)state;
    play();
    peak_has(&program, "graph_kept",
             "The loop at play (train.py:48-51) keeps 100.00 MiB on each iteration, 800.00 MiB in "
             "8 so far, 60 % of it allocated at Policy.forward (train.py:40)");
}

#define TEST(name) cmocka_unit_test_setup(name, clear)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(second_order_fires),
        TEST(second_order_is_silent_on_others),
        TEST(growth_names_a_line_of_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
