/* test_peak_words.c - the sentence of the peak: the line that each block belongs to.
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

/* A block of the backward pass without a module: its place is the node of autograd. */
static void peak_is_by_line(void **state) {
    char lines[PEAK_TEXT];
    char kinds[PEAK_TEXT];
    (void)state;
    uint32_t line = peak_module(&program, peak_at(&program, 9), "LM.forward", USER, 15);
    uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "backward");
    uint32_t node = peak_scope(&program, phase, TIDE_SCOPE_OPERATOR, "LogSoftmaxBackward0");
    peak_put(&program, 50, peak_at(&program, 3), NONE, TIDE_PARAMETER);
    peak_put(&program, 400, line, NONE, TIDE_ACTIVATION);
    peak_put(&program, 200, NONE, node, TIDE_TEMPORARY);
    peak_sentences(&program, lines, kinds);
    assert_string_equal(lines, "The peak, 650.00 MiB, is 400.00 MiB of activations at LM.forward "
                               "(train.py:15); 200.00 MiB of temporaries in LogSoftmaxBackward0; "
                               "50.00 MiB of parameters at main (train.py:3).");
    assert_string_equal(kinds, "By kind: 400.00 MiB of activations, 200.00 MiB of temporaries, "
                               "50.00 MiB of parameters.");
}

/* Blocks of the backward pass belong to the line of their module's forward call. */
static void backward_belongs_to_its_line(void **state) {
    char lines[PEAK_TEXT];
    char kinds[PEAK_TEXT];
    (void)state;
    uint32_t line = peak_module(&program, peak_at(&program, 9), "Net.forward", USER, 30);
    uint32_t layer = peak_scope(&program, NONE, TIDE_SCOPE_LAYER, "a");
    uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "backward");
    uint32_t module = peak_scope(&program, phase, TIDE_SCOPE_LAYER, "a");
    peak_put(&program, 10, line, layer, TIDE_ACTIVATION);
    peak_put(&program, 90, NONE, module, TIDE_TEMPORARY);
    peak_sentences(&program, lines, kinds);
    assert_string_equal(lines, "All of the peak, 100.00 MiB, is at Net.forward (train.py:30), "
                               "mostly its backward pass.");
}

/* The recorder counts operators after a module's call as the module's. Activations of such an
 * operator that the backward pass frees later show where its blocks belong; others do not. */
static void backward_of_operators_after_the_module(void **state) {
    char lines[PEAK_TEXT];
    char kinds[PEAK_TEXT];
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        clear(NULL);
        uint32_t line = peak_module(&program, peak_at(&program, 9), "Net.forward", USER, 30);
        uint32_t layer = peak_scope(&program, NONE, TIDE_SCOPE_LAYER, "net");
        uint32_t phase = peak_scope(&program, NONE, TIDE_SCOPE_PHASE, "backward");
        uint32_t module = peak_scope(&program, phase, TIDE_SCOPE_LAYER, "net");
        uint64_t inner = peak_put(&program, 10, line, layer, TIDE_ACTIVATION);
        uint64_t outer = peak_put(&program, 20, peak_at(&program, 12), NONE, TIDE_ACTIVATION);
        peak_put(&program, 90, NONE, module, TIDE_TEMPORARY);
        peak_free_in(&program, outer, i == 0 ? phase : NONE); /* NONE: a variable held it */
        peak_put(&program, 80, NONE, module, TIDE_TEMPORARY);
        peak_free_in(&program, inner, phase);
        peak_sentences(&program, lines, kinds);
        assert_string_equal(
            lines, i == 0 ? "The peak, 180.00 MiB, is 90.00 MiB at Net.forward (train.py:30), "
                            "mostly its backward pass; 90.00 MiB of temporaries at main "
                            "(train.py:12), mostly its backward pass."
                          : "All of the peak, 180.00 MiB, is at Net.forward (train.py:30), mostly "
                            "its backward pass.");
    }
}

/* A thread of autograd in a file of PyTorch has frames of C++ alone. */
static void operation_is_named_by_its_frame(void **state) {
    char lines[PEAK_TEXT];
    char kinds[PEAK_TEXT];
    (void)state;
    uint32_t engine = peak_call(&program, NONE, "torch::autograd::Engine::thread_main(...)", "", 0);
    uint32_t node =
        peak_call(&program, engine, "torch::autograd::generated::PowBackward0::apply(...)", "", 0);
    peak_put(&program, 100, node, NONE, TIDE_GRADIENT);
    peak_sentences(&program, lines, kinds);
    assert_string_equal(lines, "All of the peak, 100.00 MiB, is in PowBackward0.");
}

/* Frames of PyTorch's Python code are no place. */
static void pytorch_is_never_named(void **state) {
    char lines[PEAK_TEXT];
    char kinds[PEAK_TEXT];
    (void)state;
    uint32_t spawn =
        peak_call(&program, NONE, "main", "/opt/lib/python3.11/multiprocessing/spawn.py", 9);
    uint32_t storage = peak_call(&program, spawn, "_new_shared", TORCH "storage.py", 419);
    peak_put(&program, 100, storage, NONE, TIDE_UNKNOWN);
    peak_sentences(&program, lines, kinds);
    assert_string_equal(lines, "All of the peak, 100.00 MiB, is at an unknown line.");
}

/* A command in a bin folder starts a library from one line: the library's lines count. */
static void launcher_swallows_no_lines(void **state) {
    char lines[PEAK_TEXT];
    char kinds[PEAK_TEXT];
    (void)state;
    uint32_t command = peak_call(&program, NONE, "<module>", "/opt/bin/tune.py", 8);
    uint32_t click = peak_call(&program, command, "invoke",
                               "/opt/lib/python3.11/site-packages/click/core.py", 1500);
    uint32_t first =
        peak_call(&program, click, "load", "/opt/lib/python3.11/site-packages/tunes/model.py", 40);
    uint32_t second =
        peak_call(&program, click, "fit", "/opt/lib/python3.11/site-packages/tunes/loop.py", 70);
    peak_put(&program, 60, first, NONE, TIDE_PARAMETER);
    peak_put(&program, 40, second, NONE, TIDE_ACTIVATION);
    peak_sentences(&program, lines, kinds);
    assert_string_equal(lines, "The peak, 100.00 MiB, is 60.00 MiB of parameters at load "
                               "(model.py:40); 40.00 MiB of activations at fit (loop.py:70).");
}

/* A user's script that calls a library keeps its own lines. */
static void script_keeps_its_lines(void **state) {
    char lines[PEAK_TEXT];
    char kinds[PEAK_TEXT];
    (void)state;
    uint32_t inner = peak_call(&program, peak_at(&program, 9), "fit",
                               "/opt/lib/python3.11/site-packages/tunes/loop.py", 70);
    peak_put(&program, 100, inner, NONE, TIDE_ACTIVATION);
    peak_sentences(&program, lines, kinds);
    assert_string_equal(lines, "All of the peak, 100.00 MiB, is at main (train.py:9).");
}

/* Without modules, a block of the backward pass belongs to the line of the activations that are
 * freed before and after it, if both have one line. */
static void backward_is_inferred_between_neighbours(void **state) {
    char lines[PEAK_TEXT];
    char kinds[PEAK_TEXT];
    uint64_t activations[4];
    (void)state;
    program.is_pickle = true;
    for (int i = 0; i < 4; i++) {
        uint32_t line =
            peak_module(&program, peak_at(&program, 9), "Net.forward", USER, i < 2 ? 30 : 31);
        activations[i] = peak_put(&program, 10, line, NONE, TIDE_UNKNOWN);
    }
    peak_free(&program, activations[0]);
    peak_put(&program, 100, NONE, NONE, TIDE_UNKNOWN); /* between two of line 30 */
    peak_free(&program, activations[1]);
    peak_put(&program, 200, NONE, NONE, TIDE_UNKNOWN); /* between line 30 and line 31 */
    peak_free(&program, activations[2]);
    peak_put(&program, 300, peak_at(&program, 40), NONE, TIDE_UNKNOWN); /* ends the backward pass */
    peak_put(&program, 400, NONE, NONE, TIDE_UNKNOWN); /* nothing is freed before */
    peak_free(&program, activations[3]);
    peak_sentences(&program, lines, kinds);
    assert_string_equal(lines, "The peak, 1010.00 MiB, is 600.00 MiB at an unknown line; 300.00 "
                               "MiB at main (train.py:40); 100.00 MiB at Net.forward "
                               "(train.py:30), mostly its backward pass (100.00 MiB inferred).");
}

/* Blocks without a call stack, and a remainder of many lines. */
static void rest_is_elsewhere(void **state) {
    char lines[PEAK_TEXT];
    char kinds[PEAK_TEXT];
    (void)state;
    peak_put(&program, 60, NONE, NONE, TIDE_UNKNOWN);
    for (int i = 0; i < 40; i++) {
        peak_put(&program, 1, peak_at(&program, 100 + i), NONE, TIDE_UNKNOWN);
    }
    peak_sentences(&program, lines, kinds);
    assert_string_equal(lines, "The peak, 100.00 MiB, is 60.00 MiB at an unknown line; 40.00 MiB "
                               "elsewhere.");
    assert_string_equal(kinds, "");
}

/* Neither does a thread of a library take them away. */
static void script_keeps_its_lines_beside_threads(void **state) {
    char lines[PEAK_TEXT];
    char kinds[PEAK_TEXT];
    (void)state;
    uint32_t inner = peak_call(&program, peak_at(&program, 9), "fit",
                               "/opt/lib/python3.11/site-packages/tunes/loop.py", 70);
    uint32_t thread =
        peak_call(&program, NONE, "fetch", "/opt/lib/python3.11/site-packages/tunes/loader.py", 20);
    peak_put(&program, 20, inner, NONE, TIDE_ACTIVATION);
    peak_put(&program, 80, thread, NONE, TIDE_INPUT);
    peak_sentences(&program, lines, kinds);
    assert_string_equal(lines, "The peak, 100.00 MiB, is 80.00 MiB of inputs at fetch "
                               "(loader.py:20); 20.00 MiB of activations at main (train.py:9).");
}

#define TEST(name) cmocka_unit_test_setup(name, clear)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(peak_is_by_line),
        TEST(backward_belongs_to_its_line),
        TEST(backward_of_operators_after_the_module),
        TEST(operation_is_named_by_its_frame),
        TEST(pytorch_is_never_named),
        TEST(launcher_swallows_no_lines),
        TEST(script_keeps_its_lines),
        TEST(script_keeps_its_lines_beside_threads),
        TEST(backward_is_inferred_between_neighbours),
        TEST(rest_is_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
