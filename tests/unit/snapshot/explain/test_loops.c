/* test_loops.c - loops seen in call stacks: jumps back, loops in loops, loops on one line, and what
 * must not count as one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/explain/loops.h"
#include "support/made_snapshot.h"

enum { LINES = 20, MAX_ROWS = 256, N_FRAMES = 3 * LINES, N_STACKS = 2 * LINES + 2 * LINES * LINES };
enum { MAIN = 0, STEP, MODULE, MAIN_FILE, MODULE_FILE, BACKWARD };

static const char *const STRINGS[] = {
    "main",
    "step",
    "Module._call_impl",
    "/me/train.py",
    "/opt/lib/python3.11/site-packages/torch/nn/modules/module.py",
    "backward"};

static tide_frame_row frames[N_FRAMES];
static tide_stack_row stacks[N_STACKS];

/* A line of main; of step, which a line of main calls; of PyTorch's, which a line of main calls. */
static uint32_t at(uint32_t line) {
    return line;
}
static uint32_t in_step(uint32_t caller, uint32_t line) {
    return LINES + caller * LINES + line;
}
static uint32_t in_module(uint32_t caller, uint32_t line) {
    return LINES + LINES * LINES + caller * LINES + line;
}

/* A line of step, which autograd calls in a thread of its own. */
static uint32_t in_hook(uint32_t line) {
    return LINES + 2 * LINES * LINES + line;
}

static void make_stacks(void) {
    static const struct {
        uint32_t function, file;
    } KINDS[] = {{MAIN, MAIN_FILE}, {STEP, MAIN_FILE}, {MODULE, MODULE_FILE}};
    for (uint32_t kind = 0; kind < 3; kind++) {
        for (uint32_t line = 0; line < LINES; line++) {
            frames[kind * LINES + line] = (tide_frame_row){
                .function = KINDS[kind].function, .file = KINDS[kind].file, .line = (int32_t)line};
        }
    }
    for (uint32_t line = 0; line < LINES; line++) {
        stacks[at(line)] = (tide_stack_row){.parent = TIDE_NONE, .frame = line};
        stacks[in_hook(line)] = (tide_stack_row){.parent = TIDE_NONE, .frame = LINES + line};
        for (uint32_t inner = 0; inner < LINES; inner++) {
            stacks[in_step(line, inner)] =
                (tide_stack_row){.parent = at(line), .frame = LINES + inner};
            stacks[in_module(line, inner)] =
                (tide_stack_row){.parent = at(line), .frame = 2 * LINES + inner};
        }
    }
}

typedef struct found {
    tide_snapshot *snapshot;
    tide_stack_facts facts;
    tide_loops loops;
} found;

/* The loops of allocations with these stacks, one a row. `variants`: of the stacks, by their
 * instructions; NULL: not recorded. */
static bool has_backward; /* the rows of hooks are in a backward pass */

static void find_exactly(const uint32_t *of, const uint16_t *variants, size_t n, found *ret) {
    static tide_event events[MAX_ROWS];
    assert_true(n <= MAX_ROWS);
    for (size_t i = 0; i < n; i++) {
        events[i] = made_event(TIDE_ACTION_ALLOC, (i + 1) << 20, 512, 512);
        events[i].stack = of[i];
        events[i].scope = has_backward && of[i] >= in_hook(0) ? 0 : TIDE_NONE;
    }
    const tide_scope_row backward = {
        .parent = TIDE_NONE, .name = BACKWARD, .kind = TIDE_SCOPE_PHASE};
    const made_tables tables = {.strings = STRINGS,
                                .n_strings = sizeof(STRINGS) / sizeof(STRINGS[0]),
                                .frames = frames,
                                .n_frames = N_FRAMES,
                                .stacks = stacks,
                                .n_stacks = N_STACKS,
                                .scopes = &backward,
                                .n_scopes = has_backward,
                                .n_devices = 1};
    ret->snapshot = made_snapshot(NULL, &tables, events, n);
    ret->snapshot->event_variant = variants;
    assert_int_equal(tide_stack_facts_init(&ret->facts, ret->snapshot, tide_hostmem_default()),
                     TIDE_OK);
    assert_int_equal(tide_loops_init(&ret->loops, &ret->facts), TIDE_OK);
}

static void find(const uint32_t *of, size_t n, found *ret) {
    find_exactly(of, NULL, n, ret);
}

static void release(found *of) {
    tide_loops_fini(&of->loops);
    tide_stack_facts_fini(&of->facts);
    tide_snapshot_destroy(of->snapshot);
}

/* The only loop that is exact, or NULL. */
static const tide_loop *exact_loop(const found *of) {
    const tide_loop *loop = NULL;
    for (size_t i = 0; i < of->loops.n_loops; i++) {
        if (!of->loops.loops[i].is_one_line) {
            assert_null(loop);
            loop = &of->loops.loops[i];
        }
    }
    return loop;
}

static void a_jump_back_is_a_loop(void **state) {
    (void)state;
    const uint32_t rows[] = {at(3), at(8), at(9), at(8), at(9), at(8), at(9), at(8), at(9), at(12)};
    const uint32_t starts[] = {1, 3, 5, 7};
    found of;
    find(rows, sizeof(rows) / sizeof(rows[0]), &of);
    const tide_loop *loop = exact_loop(&of);
    assert_non_null(loop);
    assert_int_equal(loop->first_line, 8);
    assert_int_equal(loop->last_line, 9);
    assert_int_equal(loop->function, MAIN);
    assert_int_equal(loop->n_starts, 4);
    assert_memory_equal(loop->starts, starts, sizeof(starts));
    assert_int_equal(loop->end, 9); /* line 12 is past its last line */
    release(&of);
}

/* Hooks that autograd calls in its own thread do not end the loop; other code with an outermost
 * call of its own does. */
static void hooks_of_a_backward_pass(void **state) {
    (void)state;
    const uint32_t rows[] = {at(8), in_hook(3), at(9), at(8), in_hook(3), at(9),
                             at(8), in_hook(3), at(9), at(8), in_hook(3), at(9)};
    found of;
    has_backward = true;
    find(rows, sizeof(rows) / sizeof(rows[0]), &of);
    const tide_loop *loop = exact_loop(&of);
    assert_non_null(loop);
    assert_int_equal(loop->first_line, 8);
    assert_int_equal(loop->last_line, 9);
    assert_int_equal(loop->n_starts, 4);
    assert_int_equal(of.loops.n_loops, 1);
    release(&of);
    has_backward = false;
    find(rows, sizeof(rows) / sizeof(rows[0]), &of);
    assert_null(exact_loop(&of));
    release(&of);
}

static void three_passes_are_too_few(void **state) {
    (void)state;
    const uint32_t rows[] = {at(8), at(9), at(8), at(9), at(8), at(9), at(12)};
    found of;
    find(rows, sizeof(rows) / sizeof(rows[0]), &of);
    assert_null(exact_loop(&of));
    release(&of);
}

static void calls_inside_a_loop_do_not_end_it(void **state) {
    (void)state;
    const uint32_t rows[] = {at(8), in_step(9, 3), in_step(9, 2), at(8),        in_step(9, 3),
                             at(8), in_step(9, 3), at(8),         in_step(9, 4)};
    found of;
    find(rows, sizeof(rows) / sizeof(rows[0]), &of);
    const tide_loop *loop = exact_loop(&of);
    assert_non_null(loop);
    assert_int_equal(loop->first_line, 8);
    assert_int_equal(loop->depth, 0);
    assert_int_equal(loop->n_starts, 4);
    release(&of);
}

static void loops_nest(void **state) {
    (void)state;
    uint32_t rows[MAX_ROWS];
    size_t n = 0;
    size_t n_inner = 0;
    size_t n_outer = 0;
    for (size_t epoch = 0; epoch < 4; epoch++) {
        rows[n++] = at(5);
        for (size_t batch = 0; batch < 5; batch++) {
            rows[n++] = at(7);
            rows[n++] = at(8);
        }
        rows[n++] = at(10);
    }
    found of;
    find(rows, n, &of);
    for (size_t i = 0; i < of.loops.n_loops; i++) {
        const tide_loop *loop = &of.loops.loops[i];
        n_inner += loop->first_line == 7 && loop->last_line == 8 && loop->n_starts == 5;
        n_outer += loop->first_line == 5 && loop->last_line == 10 && loop->n_starts == 4;
    }
    assert_int_equal(n_inner, 4);
    assert_int_equal(n_outer, 1);
    release(&of);
}

static void layers_are_no_passes(void **state) {
    (void)state;
    uint32_t rows[MAX_ROWS];
    size_t n = 0;
    for (uint32_t layer = 0; layer < 12; layer++) {
        rows[n++] = in_module(9, 3);
        rows[n++] = in_module(9, 1);
    }
    found of;
    find(rows, n, &of);
    assert_int_equal(of.loops.n_loops, 0);
    release(&of);
}

static void a_repeated_stack_on_one_line_is_a_pass(void **state) {
    (void)state;
    uint32_t rows[MAX_ROWS];
    size_t n = 0;
    for (uint32_t pass = 0; pass < 6; pass++) {
        rows[n++] = in_step(9, 3);
        rows[n++] = in_step(9, 5);
    }
    rows[n++] = at(10);
    found of;
    find(rows, n, &of);
    const tide_loop *of_main = NULL;
    for (size_t i = 0; i < of.loops.n_loops; i++) {
        of_main = of.loops.loops[i].function == MAIN ? &of.loops.loops[i] : of_main;
    }
    assert_non_null(of_main);
    assert_true(of_main->is_one_line);
    assert_int_equal(of_main->first_line, 9);
    assert_int_equal(of_main->n_starts, 6);
    assert_int_equal(of_main->end, 12);
    release(&of);
}

/* Two calls on one line: "for x in data: step(x); step(-x)". */
static void calls_on_one_line_are_known_by_their_instructions(void **state) {
    (void)state;
    uint32_t rows[12];
    uint16_t variants[12];
    for (size_t i = 0; i < 12; i++) {
        rows[i] = in_step(9, 3);
        variants[i] = i % 2;
    }
    for (int has_variants = 0; has_variants < 2; has_variants++) {
        found of;
        find_exactly(rows, has_variants != 0 ? variants : NULL, 12, &of);
        const tide_loop *loop = NULL;
        for (size_t i = 0; i < of.loops.n_loops; i++) {
            loop = of.loops.loops[i].function == MAIN ? &of.loops.loops[i] : loop;
        }
        assert_non_null(loop);
        assert_true(loop->is_one_line);
        assert_int_equal(loop->n_starts, has_variants != 0 ? 6 : 12);
        release(&of);
    }
}

static void a_new_call_begins_anew(void **state) {
    (void)state;
    uint32_t rows[MAX_ROWS];
    size_t n = 0;
    for (uint32_t caller = 2; caller < 6; caller++) { /* each call of step makes two passes */
        rows[n++] = in_step(caller, 3);
        rows[n++] = in_step(caller, 4);
        rows[n++] = in_step(caller, 3);
        rows[n++] = in_step(caller, 4);
    }
    found of;
    find(rows, n, &of);
    assert_null(exact_loop(&of));
    release(&of);
}

static int set_up(void **state) {
    (void)state;
    make_stacks();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jump_back_is_a_loop),
        cmocka_unit_test(hooks_of_a_backward_pass),
        cmocka_unit_test(three_passes_are_too_few),
        cmocka_unit_test(calls_inside_a_loop_do_not_end_it),
        cmocka_unit_test(loops_nest),
        cmocka_unit_test(layers_are_no_passes),
        cmocka_unit_test(a_repeated_stack_on_one_line_is_a_pass),
        cmocka_unit_test(calls_on_one_line_are_known_by_their_instructions),
        cmocka_unit_test(a_new_call_begins_anew)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
