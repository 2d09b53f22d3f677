/* test_growth.c - when memory counts as growing from step to step: lines that keep blocks of most
 * steps, and runs that must not count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/explain/growth.h"
#include "support/made_snapshot.h"

enum { MAX_ROWS = 512, MAX_STEPS = 32, FRAME_TRAIN = 0, FRAME_OPTIMIZER, N_FRAMES };

#define MIB (UINT64_C(1) << 20)

static const char *const STRINGS[] = {
    "step",      "train",   "/me/train.py", "/opt/lib/python3.11/site-packages/torch/optim/adam.py",
    "optimizer", "forward", "backward",     "ProfilerStep#1"};
enum { STEP, TRAIN, TRAIN_FILE, OPTIMIZER_FILE, OPTIMIZER, FORWARD, BACKWARD, PROFILER };

/* A run of steps, each with at least one row. Stack 0 is a line of the program, stack 1 an
 * optimizer's code that this line called, stack 2 another way to the same line. */
typedef struct run {
    tide_event events[MAX_ROWS];
    size_t n;
    tide_scope_row scopes[2 * MAX_STEPS];
    size_t n_scopes, n_steps;
    uint64_t next;
} run;

static const tide_frame_row FRAMES[] = {{.function = TRAIN, .file = TRAIN_FILE, .line = 7},
                                        {.function = STEP, .file = OPTIMIZER_FILE, .line = 9}};
static const tide_stack_row STACKS[] = {{.parent = TIDE_NONE, .frame = FRAME_TRAIN},
                                        {.parent = 0, .frame = FRAME_OPTIMIZER},
                                        {.parent = 0, .frame = FRAME_TRAIN}};

static void begin_step(run *of) {
    of->scopes[of->n_scopes] = (tide_scope_row){.name = STEP,
                                                .begin_ns = (int64_t)of->n_steps,
                                                .duration_ns = 1,
                                                .device_begin_ns = -1,
                                                .device_duration_ns = -1,
                                                .parent = TIDE_NONE,
                                                .index = (int32_t)of->n_steps,
                                                .kind = TIDE_SCOPE_STEP};
    of->n_scopes++;
    of->n_steps++;
}

static tide_event *add(run *of, tide_action action, uint64_t address, uint64_t n_bytes) {
    assert_true(of->n < MAX_ROWS);
    tide_event *row = &of->events[of->n];
    *row = made_event(action, address, n_bytes, n_bytes);
    row->time_ns = (int64_t)of->n++;
    row->scope = (uint32_t)of->n_scopes - 1;
    return row;
}

static uint64_t alloc(run *of, uint64_t n_bytes, uint32_t stack) {
    uint64_t address = ++of->next << 32;
    add(of, TIDE_ACTION_ALLOC, address, n_bytes)->stack = stack;
    return address;
}

static void release(run *of, uint64_t address, uint64_t n_bytes) {
    add(of, TIDE_ACTION_FREE_REQUESTED, address, n_bytes);
    add(of, TIDE_ACTION_FREE_COMPLETED, address, n_bytes);
}

/* The result of the rule; its words go to `text`. */
static tide_growth found;

static int64_t grows(run *of, char text[256]) {
    const made_tables tables = {.strings = STRINGS,
                                .n_strings = sizeof(STRINGS) / sizeof(STRINGS[0]),
                                .scopes = of->scopes,
                                .n_scopes = of->n_scopes,
                                .frames = FRAMES,
                                .n_frames = N_FRAMES,
                                .stacks = STACKS,
                                .n_stacks = 3,
                                .n_devices = 1};
    tide_snapshot *snapshot = made_snapshot(NULL, &tables, of->events, of->n);
    tide_lifetimes lifetimes;
    tide_steps steps;
    tide_text to = tide_text_in(text, 256);
    assert_int_equal(tide_lifetimes_init(&lifetimes, snapshot, tide_hostmem_default(), NULL),
                     TIDE_OK);
    assert_int_equal(tide_steps_init(&steps, snapshot, &lifetimes, 0), TIDE_OK);
    assert_int_equal(tide_growth_init(&found, snapshot, &lifetimes, &steps), TIDE_OK);
    tide_growth_add(&found, snapshot, &steps, &to);
    int64_t bytes_per_step = found.bytes_per_step;
    tide_growth_fini(&found);
    tide_steps_fini(&steps);
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(snapshot);
    return bytes_per_step;
}

/* Each of these is a program; `step` is the number of the step. */
static void keeps(run *of, size_t step) {
    (void)step;
    alloc(of, 6 * MIB, 0);
}

static void keeps_after_two(run *of, size_t step) {
    release(of, alloc(of, 30 * MIB, 2), 30 * MIB);
    if (step >= 2) {
        alloc(of, 4 * MIB, 0);
    }
}

static void repeats(run *of, size_t step) {
    (void)step;
    release(of, alloc(of, 30 * MIB, 0), 30 * MIB);
}

static void goes_up(run *of, size_t step) {
    uint64_t n_bytes = (step + 1) * 10 * MIB;
    release(of, alloc(of, n_bytes, 0), n_bytes);
}

static uint64_t before; /* of the two programs below */

/* The result of the last step stays until the next one, and is larger each time. */
static void replaces(run *of, size_t step) {
    uint64_t next = alloc(of, (step + 1) * 10 * MIB, 0);
    if (before != 0) {
        release(of, before, step * 10 * MIB);
    }
    before = next;
}

static void makes_state(run *of, size_t step) {
    (void)step;
    alloc(of, 8 * MIB, 1);
}

static void keeps_every_third(run *of, size_t step) {
    repeats(of, step);
    if (step % 3 == 0) {
        alloc(of, 6 * MIB, 0);
    }
}

static void keeps_little(run *of, size_t step) {
    if (step == 0) {
        alloc(of, 500 * MIB, 2);
    }
    alloc(of, 512, 0);
}

static uint64_t ring[5];

static void keeps_the_last_five(run *of, size_t step) {
    if (ring[step % 5] != 0) {
        release(of, ring[step % 5], 6 * MIB);
    }
    ring[step % 5] = alloc(of, 6 * MIB, 0);
}

static void growth_is_told_by_rule(void **state) {
    (void)state;
    static const struct {
        void (*step)(run *of, size_t step);
        size_t n_steps;
        int64_t bytes_per_step;
        const char *words;
    } CASES[] = {
        {keeps, 8, 6 * MIB,
         "by 6.00 MiB a step at train (train.py:7), in 8 of 8 steps since step 0"},
        {keeps, 5, 6 * MIB,
         "by 6.00 MiB a step at train (train.py:7), in 5 of 5 steps since step 0"},
        {keeps, 4, 0, ""},
        {keeps_after_two, 8, 4 * MIB,
         "by 4.00 MiB a step at train (train.py:7), in 6 of 6 steps since step 2"},
        {repeats, 8, 0, ""},
        {goes_up, 8, 0, ""},
        {replaces, 8, 0, ""},
        {makes_state, 8, 0, ""},
        {keeps_every_third, 24, 0, ""},
        {keeps_little, 20, 0, ""},
        {keeps_the_last_five, 16, 0, ""},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        static run of;
        char text[256] = "";
        memset(&of, 0, sizeof(of));
        memset(ring, 0, sizeof(ring));
        before = 0;
        for (size_t step = 0; step < CASES[i].n_steps; step++) {
            begin_step(&of);
            CASES[i].step(&of, step);
        }
        int64_t growth = grows(&of, text);
        if (growth != CASES[i].bytes_per_step || strcmp(text, CASES[i].words) != 0) {
            fail_msg("case %zu: %lld, \"%s\"", i, (long long)growth, text);
        }
    }
}

static void parameters_and_gradients_do_not_count(void **state) {
    (void)state;
    static const uint8_t CATEGORIES[] = {TIDE_PARAMETER, TIDE_GRADIENT, TIDE_OPTIMIZER_STATE,
                                         TIDE_WORKSPACE};
    for (size_t i = 0; i < sizeof(CATEGORIES); i++) {
        static run of;
        char text[256] = "";
        memset(&of, 0, sizeof(of));
        for (size_t step = 0; step < 8; step++) {
            begin_step(&of);
            alloc(&of, 6 * MIB, 0);
            of.events[of.n - 1].category = CATEGORIES[i];
        }
        assert_int_equal(grows(&of, text), 0);
    }
}

/* The document of a recorded program without an optimizer: its steps are calls of a module. */
static void calls_are_no_steps(void **state) {
    (void)state;
    static const uint32_t PHASES[] = {TIDE_NONE, BACKWARD, OPTIMIZER, FORWARD};
    static const bool IS_TOLD[] = {false, false, true, true};
    for (size_t i = 0; i < sizeof(PHASES) / sizeof(PHASES[0]); i++) {
        tide_snapshot *snapshot = NULL;
        tide_lifetimes lifetimes;
        tide_steps steps;
        static run of;
        memset(&of, 0, sizeof(of));
        for (size_t step = 0; step < 8; step++) {
            begin_step(&of);
            alloc(&of, 6 * MIB, 0);
        }
        if (PHASES[i] != TIDE_NONE) {
            of.scopes[of.n_scopes++] = (tide_scope_row){.name = PHASES[i],
                                                        .begin_ns = 9,
                                                        .duration_ns = 1,
                                                        .device_begin_ns = -1,
                                                        .device_duration_ns = -1,
                                                        .parent = (uint32_t)of.n_steps - 1,
                                                        .index = -1,
                                                        .kind = TIDE_SCOPE_PHASE};
        }
        const made_tables tables = {.strings = STRINGS,
                                    .n_strings = sizeof(STRINGS) / sizeof(STRINGS[0]),
                                    .scopes = of.scopes,
                                    .n_scopes = of.n_scopes,
                                    .frames = FRAMES,
                                    .n_frames = N_FRAMES,
                                    .stacks = STACKS,
                                    .n_stacks = 3,
                                    .n_devices = 1};
        snapshot = made_snapshot(NULL, &tables, of.events, of.n);
        snapshot->run.implementation = "pytorch";
        assert_int_equal(tide_lifetimes_init(&lifetimes, snapshot, tide_hostmem_default(), NULL),
                         TIDE_OK);
        assert_int_equal(tide_steps_init(&steps, snapshot, &lifetimes, 0), TIDE_OK);
        assert_int_equal(tide_growth_init(&found, snapshot, &lifetimes, &steps), TIDE_OK);
        assert_int_equal(found.is_known, IS_TOLD[i]);
        assert_int_equal(found.n_lines > 0, IS_TOLD[i]);
        tide_growth_fini(&found);
        tide_steps_fini(&steps);
        tide_lifetimes_fini(&lifetimes);
        tide_snapshot_destroy(snapshot);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(growth_is_told_by_rule),
                                       cmocka_unit_test(parameters_and_gradients_do_not_count),
                                       cmocka_unit_test(calls_are_no_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
