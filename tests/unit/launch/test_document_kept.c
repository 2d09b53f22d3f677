/* test_document_kept.c - names of activations: from the graphs of backward passes that were read,
 * at the same places in other steps, and with the variables of the program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utime.h>

#include <cmocka.h>

#include "common/text/text.h"
#include "programs/launch/document/document.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/document/validate.h"
#include "support/made_log.h"

#define MIB (UINT64_C(1) << 20)
#define AT (UINT64_C(0x7f00) << 32) /* a segment */

enum { TEXT_BYTES = 2048 };

static void open_log(made_log *log) {
    made_log_open(log, 128, 0);
    made_log_event(log, TIDE_ACTION_SEGMENT_ALLOC, AT, 200 * MIB);
}

static tide_snapshot *close_and_read_of(made_log *log, bool was_cut) {
    static const tide_left_list NOTHING = {.n_inexact = 0};
    static const tide_launch_config CONFIG = {.cards = NULL};
    char place[TIDE_PLACE_BYTES];
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    tide_left left = {.pid = 7, .rank = -1, .log_path = log->path, .was_cut = was_cut};
    left.command = left.torch = left.cuda = left.python = left.exception = left.backend = "";
    made_log_close(log);
    if (tide_launch_document(&left, &NOTHING, &CONFIG, &snapshot, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    made_log_remove(log);
    if (tide_snapshot_validate(snapshot, place, &error) != TIDE_OK) {
        fail_msg("%s: %s", place, error.message);
    }
    return snapshot;
}

static tide_snapshot *close_and_read(made_log *log) {
    return close_and_read_of(log, false);
}

/* A block of n_bytes at place n of the segment, from a stack. */
static void alloc(made_log *log, int n, uint32_t stack, uint64_t n_bytes) {
    tide_live_row row = made_row(TIDE_ACTION_ALLOC, AT + (uint64_t)n * 2 * MIB, n_bytes);
    row.event.stack = stack;
    made_log_add(log, row);
}

static void release(made_log *log, int n, uint64_t n_bytes) {
    made_log_event(log, TIDE_ACTION_FREE, AT + (uint64_t)n * 2 * MIB, n_bytes);
}

/* As python/tidemark/graph.py names a block. */
static void keep(made_log *log, int n, const char *name) {
    made_log_label(log, AT + (uint64_t)n * 2 * MIB, "", name, TIDE_CERTAINTY_UNKNOWN);
}

/* The names of the rows with this action, "-": none. */
static void expect_names(const tide_snapshot *snapshot, int action, const char *expected) {
    char said[TEXT_BYTES];
    tide_text text = tide_text_in(said, sizeof(said));
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event event = tide_event_at(snapshot, i);
        if (event.action == action) {
            tide_text_add(&text, "%s%s", text.n_used > 0 ? ", " : "",
                          event.name != TIDE_NONE ? tide_snapshot_text(snapshot, event.name) : "-");
        }
    }
    assert_string_equal(said, expected);
}

static void a_graph_names_blocks_without_a_name(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    alloc(&log, 0, TIDE_NONE, MIB);
    made_log_label(&log, AT, "parameter", "w", TIDE_CERTAINTY_NAMED);
    made_log_mark(&log, "step begins", 0);
    alloc(&log, 1, TIDE_NONE, MIB);
    alloc(&log, 2, TIDE_NONE, MIB);
    keep(&log, 0, "argument of mm [2] float32");
    keep(&log, 1, "mm [2] float32");
    keep(&log, 1, "a second name");
    keep(&log, 2, "relu [2] float32");
    made_log_label(&log, AT + 4 * MIB, "buffer", "mean", TIDE_CERTAINTY_NAMED);
    made_log_mark(&log, "backward begins", 0);
    release(&log, 1, MIB);
    made_log_mark(&log, "backward ends", 0);
    made_log_mark(&log, "optimizer begins", 0);
    made_log_mark(&log, "step ends", 0);
    tide_snapshot *snapshot = close_and_read(&log);
    expect_names(snapshot, TIDE_ACTION_ALLOC, "w, mm [2] float32, mean");
    expect_names(snapshot, TIDE_ACTION_FREE_REQUESTED, "");
    expect_names(snapshot, TIDE_ACTION_FREE, "mm [2] float32");
    assert_string_equal(tide_snapshot_category(snapshot, snapshot->events.category[2]),
                        "activation");
    tide_snapshot_destroy(snapshot);
}

/* Steps: in each, place 1 makes what the graph keeps and place 2 a temporary tensor and one that
 * the graph keeps. Only the first graph is read. */
static void a_step(made_log *log, const uint32_t *stacks, bool is_read, uint64_t n_bytes) {
    made_log_mark(log, "step begins", 0);
    alloc(log, 1, stacks[0], n_bytes);
    alloc(log, 2, stacks[1], n_bytes);
    alloc(log, 3, stacks[1], n_bytes);
    release(log, 2, n_bytes);
    if (is_read) {
        keep(log, 1, "mm [2] float32");
        keep(log, 3, "exp [2] float32");
    }
    made_log_mark(log, "backward begins", 0);
    release(log, 1, n_bytes);
    release(log, 3, n_bytes);
    made_log_mark(log, "backward ends", 0);
    made_log_mark(log, "optimizer begins", 0);
    made_log_mark(log, "step ends", 0);
}

static void other_steps_have_the_names_of_their_places(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    const uint32_t stacks[2] = {made_log_stack(&log, "f", 1), made_log_stack(&log, "g", 1)};
    a_step(&log, stacks, false, MIB);
    a_step(&log, stacks, true, MIB);
    a_step(&log, stacks, false, MIB);
    a_step(&log, stacks, false, MIB / 2);
    tide_snapshot *snapshot = close_and_read(&log);
    expect_names(snapshot, TIDE_ACTION_ALLOC,
                 "mm [2] float32, -, exp [2] float32, mm [2] float32, -, exp [2] float32, "
                 "mm [2] float32, -, exp [2] float32, -, -, -");
    tide_snapshot_destroy(snapshot);
}

static void a_place_with_two_names_gives_none(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    uint32_t stack = made_log_stack(&log, "f", 1);
    alloc(&log, 1, stack, MIB);
    alloc(&log, 4, TIDE_NONE, MIB / 2);
    alloc(&log, 2, stack, MIB);
    keep(&log, 1, "mm [2] float32");
    keep(&log, 2, "exp [2] float32");
    made_log_mark(&log, "backward begins", 0);
    alloc(&log, 5, TIDE_NONE, MIB / 2);
    alloc(&log, 3, stack, MIB);
    tide_snapshot *snapshot = close_and_read(&log);
    expect_names(snapshot, TIDE_ACTION_ALLOC, "mm [2] float32, -, exp [2] float32, -, -");
    tide_snapshot_destroy(snapshot);
}

/* As python/tidemark/graph.py describes a result that the graph does not keep. */
static void mention(made_log *log, const char *name) {
    made_log_label(log, 0, "", name, TIDE_CERTAINTY_UNKNOWN);
}

static void results_that_are_not_kept_are_found_by_their_order(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    for (int n = 1; n <= 9; n++) {
        alloc(&log, n, TIDE_NONE, n == 4 ? MIB / 4 : MIB);
    }
    release(&log, 3, MIB);
    keep(&log, 1, "mm [262144] float32");
    mention(&log, "add [262144] float32");
    mention(&log, "to_copy [65536] bfloat16");
    mention(&log, "sin [512, 512] float32");
    mention(&log, "eq [512, 512] bool");
    keep(&log, 5, "exp [262144] float32");
    mention(&log, "neg [262144] float32"); /* of one of two blocks */
    keep(&log, 8, "cos [262144] float32");
    keep(&log, 2, "argument of add [262144] float32"); /* not in order */
    mention(&log, "sum [131072] int64");
    made_log_mark(&log, "backward begins", 0);
    tide_snapshot *snapshot = close_and_read(&log);
    expect_names(
        snapshot, TIDE_ACTION_ALLOC,
        "mm [262144] float32, argument of add [262144] float32, -, eq [512, 512] bool, exp "
        "[262144] float32, -, -, cos [262144] float32, sum [131072] int64");
    tide_snapshot_destroy(snapshot);
    open_log(&log);
    for (int n = 1; n <= 4; n++) {
        alloc(&log, n, TIDE_NONE, MIB);
    }
    release(&log, 2, MIB);
    keep(&log, 1, "mm [262144] float32");
    mention(&log, "add [262144] float32");
    mention(&log, "sin [512, 512] float32");
    keep(&log, 4, "exp [262144] float32");
    made_log_mark(&log, "backward begins", 0);
    snapshot = close_and_read(&log);
    expect_names(snapshot, TIDE_ACTION_ALLOC,
                 "mm [262144] float32, add [262144] float32, sin [512, 512] float32, exp [262144] "
                 "float32");
    tide_snapshot_destroy(snapshot);
}

static void names_by_rule_identify_no_block(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    alloc(&log, 0, TIDE_NONE, MIB);
    made_log_label(&log, AT, "parameter", "w", TIDE_CERTAINTY_NAMED);
    made_log_mark(&log, "step begins", 0);
    alloc(&log, 1, TIDE_NONE, MIB);
    keep(&log, 1, "mm [2] float32");
    made_log_mark(&log, "backward begins", 0);
    release(&log, 1, MIB);
    made_log_mark(&log, "backward ends", 0);
    made_log_mark(&log, "optimizer begins", 0);
    made_log_mark(&log, "step ends", 0);
    tide_snapshot *snapshot = close_and_read(&log);
    tide_lifetimes lifetimes;
    tide_error error = {""};
    assert_int_equal(tide_lifetimes_init(&lifetimes, snapshot, snapshot->arena.mem, &error),
                     TIDE_OK);
    assert_int_equal(lifetimes.n_lifetimes, 2);
    assert_string_equal(
        tide_snapshot_text(snapshot, tide_lifetime_own_name(&lifetimes.lifetimes[0])), "w");
    assert_int_equal(tide_lifetime_own_name(&lifetimes.lifetimes[1]), TIDE_NONE);
    tide_lifetimes_fini(&lifetimes);
    tide_snapshot_destroy(snapshot);
}

/* ---- variables ---- */

/* Writes a program, last changed a day ago or in a day. */
static void write_program(const char *path, const char *text, bool is_old) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    time_t when = time(NULL) + (is_old ? -86400 : 86400);
    assert_int_equal(utime(path, &(struct utimbuf){when, when}), 0);
}

static tide_snapshot *with_variables(bool is_old) {
    static const char PROGRAM[] = "h = self.up(x)\n"
                                  "q, k = self.qk(h)\n"
                                  "y = self.ln(h)\n"
                                  "z = f(g(y))\n"
                                  "t = f(y)\n";
    char path[64];
    made_log log;
    (void)snprintf(path, sizeof(path), "/tmp/tidemark-kept-%ld.py", (long)getpid());
    write_program(path, PROGRAM, is_old);
    open_log(&log);
    uint32_t lines[6] = {0};
    for (uint32_t i = 1; i <= 5; i++) {
        lines[i] = made_log_stack_at(&log, path, i);
    }
    made_log_mark(&log, "step begins", 0);
    alloc(&log, 1, lines[1], MIB);
    alloc(&log, 2, lines[2], MIB);
    alloc(&log, 3, lines[3], MIB); /* then what a norm makes besides its result */
    alloc(&log, 4, lines[3], MIB / 2);
    alloc(&log, 5, lines[4], MIB); /* a temporary tensor, then two that nothing names */
    release(&log, 5, MIB);
    alloc(&log, 6, lines[4], MIB);
    alloc(&log, 7, lines[4], MIB);
    alloc(&log, 8, lines[5], MIB); /* one alone */
    alloc(&log, 9, lines[1], MIB); /* the last of a line that a graph knows */
    alloc(&log, 10, lines[1], MIB);
    alloc(&log, 11, lines[5], MIB); /* two that nothing names */
    alloc(&log, 12, lines[5], MIB);
    keep(&log, 1, "addmm [2, 3] float32");
    keep(&log, 2, "addmm [2, 3] float32");
    keep(&log, 3, "native_layer_norm [2, 3] float32");
    keep(&log, 4, "native_layer_norm.result1 [2] float32");
    keep(&log, 9, "mul [2, 3] float32");
    made_log_mark(&log, "backward begins", 0);
    tide_snapshot *snapshot = close_and_read(&log);
    (void)unlink(path);
    return snapshot;
}

static void a_line_names_the_result_of_its_call(void **state) {
    (void)state;
    tide_snapshot *snapshot = with_variables(true);
    expect_names(snapshot, TIDE_ACTION_ALLOC,
                 "h [2, 3] float32 (addmm), addmm [2, 3] float32, y [2, 3] float32 "
                 "(native_layer_norm), native_layer_norm.result1 [2] float32, -, -, -, t, mul [2, "
                 "3] float32, h, -, -");
    tide_snapshot_destroy(snapshot);
}

static void a_newer_file_is_not_read(void **state) {
    (void)state;
    tide_snapshot *snapshot = with_variables(false);
    expect_names(snapshot, TIDE_ACTION_ALLOC,
                 "addmm [2, 3] float32, addmm [2, 3] float32, native_layer_norm [2, 3] float32, "
                 "native_layer_norm.result1 [2] float32, -, -, -, -, mul [2, 3] float32, -, -, -");
    tide_snapshot_destroy(snapshot);
}

/* The line's call is not over, so its variable has no value. */
static void a_call_that_did_not_end_names_nothing(void **state) {
    (void)state;
    char path[64];
    (void)snprintf(path, sizeof(path), "/tmp/tidemark-kept-%ld.py", (long)getpid());
    write_program(path, "h = f(x)\nh = f(x)\n", true);
    for (int is_killed = 0; is_killed <= 1; is_killed++) {
        made_log log;
        open_log(&log);
        const uint32_t lines[2] = {made_log_stack_at(&log, path, 1),
                                   made_log_stack_at(&log, path, 2)};
        alloc(&log, 1, lines[0], MIB);
        if (!is_killed) {
            made_log_event(&log, TIDE_ACTION_OOM, 0, MIB);
        }
        alloc(&log, 2, lines[1], MIB);
        tide_snapshot *snapshot = close_and_read_of(&log, is_killed != 0);
        expect_names(snapshot, TIDE_ACTION_ALLOC, is_killed ? "h, -" : "-, h");
        tide_snapshot_destroy(snapshot);
    }
    (void)unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_names_blocks_without_a_name),
        cmocka_unit_test(other_steps_have_the_names_of_their_places),
        cmocka_unit_test(a_place_with_two_names_gives_none),
        cmocka_unit_test(results_that_are_not_kept_are_found_by_their_order),
        cmocka_unit_test(names_by_rule_identify_no_block),
        cmocka_unit_test(a_line_names_the_result_of_its_call),
        cmocka_unit_test(a_call_that_did_not_end_names_nothing),
        cmocka_unit_test(a_newer_file_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
