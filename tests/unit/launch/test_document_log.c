/* test_document_log.c - the document of a live recording: scopes (step > phase > module > node),
 * categories with how sure they are, and devices, out of a made log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/text/text.h"
#include "programs/launch/document/document.h"
#include "snapshot/document/categories.h"
#include "snapshot/document/validate.h"
#include "support/made_log.h"

#define MIB (UINT64_C(1) << 20)
#define AT (UINT64_C(0x7f00) << 32) /* a segment */

enum { TEXT_BYTES = 2048 };

static void open_log(made_log *log) {
    made_log_open(log, 128, 0);
    made_log_event(log, TIDE_ACTION_SEGMENT_ALLOC, AT, 200 * MIB);
}

/* The document of the log, which is removed. It must be writable as a file. */
static tide_snapshot *read_log(const made_log *log, const tide_left *process) {
    static const tide_left_list NOTHING = {.n_inexact = 0};
    static const tide_launch_config CONFIG = {.cards = NULL};
    char place[TIDE_PLACE_BYTES];
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    tide_left left = *process;
    left.log_path = log->path;
    left.command = left.torch = left.cuda = left.python = left.exception = left.backend = "";
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
    made_log_close(log);
    return read_log(log, &(tide_left){.pid = 7, .rank = -1});
}

/* ---- what a row says ---- */

/* Block n, of 1.5 MiB. */
static void alloc(made_log *log, int n) {
    made_log_event(log, TIDE_ACTION_ALLOC, AT + (uint64_t)n * 2 * MIB, 3 * MIB / 2);
}

static void release(made_log *log, int n) {
    made_log_event(log, TIDE_ACTION_FREE, AT + (uint64_t)n * 2 * MIB, 3 * MIB / 2);
}

typedef struct place {
    const char *module, *node; /* NULL: none */
    uint32_t sequence;
    uint16_t thread;
} place;

static void alloc_in(made_log *log, int n, place in) {
    tide_live_row row = made_row(TIDE_ACTION_ALLOC, AT + (uint64_t)n * 2 * MIB, 3 * MIB / 2);
    row.module = in.module != NULL ? made_log_string(log, in.module) : TIDE_NONE;
    row.node = in.node != NULL ? made_log_string(log, in.node) : TIDE_NONE;
    row.sequence = in.sequence;
    row.thread = in.thread;
    made_log_add(log, row);
}

static void label(made_log *log, int n, const char *category, const char *name, int certainty) {
    made_log_label(log, AT + (uint64_t)n * 2 * MIB, category, name, certainty);
}

/* ---- what became of it ---- */

/* "step 3 > forward > h.0.mlp"; "-": none. */
static void say_scope(const tide_snapshot *snapshot, uint32_t scope, tide_text *to) {
    if (scope == TIDE_NONE) {
        tide_text_add(to, "-");
        return;
    }
    const tide_scope_row *row = &snapshot->scopes[scope];
    if (row->parent != TIDE_NONE) {
        say_scope(snapshot, row->parent, to);
        tide_text_add(to, " > ");
    }
    tide_text_add(to, "%s", tide_snapshot_text(snapshot, row->name));
    if (row->index >= 0) {
        tide_text_add(to, " %d", (int)row->index);
    }
}

/* The scopes of the allocations. */
static void expect_scopes(const tide_snapshot *snapshot, const char *expected) {
    char said[TEXT_BYTES];
    tide_text text = tide_text_in(said, sizeof(said));
    for (size_t i = 0; i < snapshot->n_events; i++) {
        if (snapshot->events.action[i] == TIDE_ACTION_ALLOC) {
            tide_text_add(&text, "%s", text.n_used > 0 ? ", " : "");
            say_scope(snapshot, tide_index_at(&snapshot->events.scope, i), &text);
        }
    }
    assert_string_equal(said, expected);
}

static void say_category(const tide_snapshot *snapshot, uint8_t category, uint8_t certainty,
                         uint32_t name, tide_text *to) {
    tide_text_add(to, "%s%s", to->n_used > 0 ? ", " : "",
                  tide_snapshot_category(snapshot, category));
    tide_text_add(to, "%s",
                  certainty == TIDE_CERTAINTY_NAMED  ? "!"
                  : certainty == TIDE_CERTAINTY_RULE ? "?"
                                                     : "");
    if (name != TIDE_NONE) {
        tide_text_add(to, " %s", tide_snapshot_text(snapshot, name));
    }
}

/* The allocations: "parameter! w, temporary?": certain, by a rule. */
static void expect_categories(const tide_snapshot *snapshot, const char *expected) {
    char said[TEXT_BYTES];
    tide_text text = tide_text_in(said, sizeof(said));
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event event = tide_event_at(snapshot, i);
        if (event.action == TIDE_ACTION_ALLOC) {
            say_category(snapshot, event.category, snapshot->event_certainty[i], event.name, &text);
        }
    }
    assert_string_equal(said, expected);
}

static void expect_blocks(const tide_snapshot *snapshot, const tide_block_row *blocks,
                          const uint8_t *certainty, size_t n_blocks, const char *expected) {
    char said[TEXT_BYTES];
    tide_text text = tide_text_in(said, sizeof(said));
    for (size_t i = 0; i < n_blocks; i++) {
        if (blocks[i].state != TIDE_BLOCK_FREE) {
            say_category(snapshot, blocks[i].category, certainty[i], blocks[i].name, &text);
        }
    }
    assert_string_equal(said, expected);
}

/* ---- scopes ---- */

static void an_event_lies_in_step_phase_module_and_node(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    alloc_in(&log, 0, (place){.module = "h.0"});
    made_log_mark(&log, "step begins", 0);
    alloc_in(&log, 1, (place){.module = "h.0.mlp", .sequence = 5});
    alloc(&log, 2);
    made_log_mark(&log, "backward begins", 0);
    alloc_in(&log, 3,
             (place){.node = "N5torch8autograd9generated14AddmmBackward0E", .sequence = 4});
    made_log_mark(&log, "backward ends", 0);
    made_log_mark(&log, "optimizer begins", 0);
    alloc(&log, 4);
    made_log_mark(&log, "step ends", 0);
    tide_snapshot *snapshot = close_and_read(&log);
    expect_scopes(snapshot, "h.0, step 0 > forward > h.0.mlp, step 0 > forward, step 0 > backward "
                            "> h.0.mlp > AddmmBackward0, step 0 > optimizer");
    for (size_t i = 0; i < snapshot->n_scopes; i++) {
        const tide_scope_row *row = &snapshot->scopes[i];
        bool is_place = row->kind == TIDE_SCOPE_LAYER || row->kind == TIDE_SCOPE_OPERATOR;
        assert_true(is_place == (row->duration_ns == TIDE_SCOPE_NO_INTERVAL));
    }
    tide_snapshot_destroy(snapshot);
}

/* A node belongs to the module whose call created it: the last module called before its number was
 * assigned, on any thread. */
static void a_node_belongs_to_the_module_that_made_it(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    alloc_in(&log, 0, (place){.module = "a", .sequence = 1});
    alloc_in(&log, 1, (place){.module = "b", .sequence = 4});
    alloc_in(&log, 2, (place){.module = "c", .sequence = 6, .thread = 1});
    alloc_in(&log, 3, (place){.node = "4Mine", .sequence = 5, .thread = 2});
    alloc_in(&log, 4, (place){.node = "4Mine", .sequence = 4, .thread = 2});
    alloc_in(&log, 5, (place){.node = "4Mine", .sequence = 2, .thread = 2});
    alloc_in(&log, 6, (place){.node = "4Mine", .sequence = UINT32_MAX, .thread = 2});
    /* A hook calls a module while the node runs; that module is the better source. */
    alloc_in(&log, 7, (place){.node = "4Mine", .module = "d", .sequence = 5, .thread = 2});
    tide_snapshot *snapshot = close_and_read(&log);
    expect_scopes(snapshot, "a, b, c, c > Mine, b > Mine, a > Mine, Mine, d > Mine");
    tide_snapshot_destroy(snapshot);
}

static void names_of_nodes_are_those_that_people_know(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    alloc_in(&log, 0, (place){.node = "N5torch8autograd14AccumulateGradE"});
    alloc_in(&log, 1, (place){.node = "3Foo"});
    alloc_in(&log, 2, (place){.node = "N99torchE"}); /* no name as in C++ */
    alloc_in(&log, 3, (place){.node = "CompiledFunctionBackward"});
    tide_snapshot *snapshot = close_and_read(&log);
    expect_scopes(snapshot, "AccumulateGrad, Foo, N99torchE, CompiledFunctionBackward");
    tide_snapshot_destroy(snapshot);
}

static void the_programs_own_steps_replace_those_of_the_optimizer(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_mark(&log, "own step", 0);
    alloc(&log, 0);
    made_log_mark(&log, "step begins", 0);
    made_log_mark(&log, "optimizer begins", 0);
    alloc(&log, 1);
    made_log_mark(&log, "step ends", 0);
    alloc(&log, 2);
    made_log_mark(&log, "own step", 1);
    alloc(&log, 3);
    made_log_mark(&log, "own step", 2);
    tide_snapshot *snapshot = close_and_read(&log);
    expect_scopes(snapshot, "step 1 > forward, step 1 > optimizer, step 1 > forward, step 2 > "
                            "forward");
    tide_snapshot_destroy(snapshot);
}

static void calls_are_steps_where_nothing_is_optimised(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_mark(&log, "step begins", 0); /* of the loop that never optimises */
    made_log_mark(&log, "call begins", 0);
    alloc(&log, 0);
    made_log_mark(&log, "call begins", 1);
    alloc(&log, 1);
    made_log_mark(&log, "program ends", 0);
    tide_snapshot *snapshot = close_and_read(&log);
    expect_scopes(snapshot, "step 0, step 1");
    tide_snapshot_destroy(snapshot);
}

/* An event of a step in which the process was killed is in that step. */
static void a_killed_process_keeps_its_open_step(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_mark(&log, "step begins", 0);
    made_log_mark(&log, "optimizer begins", 0);
    made_log_mark(&log, "step ends", 0);
    made_log_mark(&log, "step begins", 1);
    alloc(&log, 0);
    made_log_kill(&log);
    tide_snapshot *snapshot = read_log(&log, &(tide_left){.pid = 7, .rank = -1, .was_cut = true});
    assert_string_equal(snapshot->run.outcome, TIDE_SNAPSHOT_CRASHED);
    expect_scopes(snapshot, "step 1 > forward");
    tide_snapshot_destroy(snapshot);
}

static void steps_keep_their_numbers_when_rows_are_dropped(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 9, 16);
    made_log_event(&log, TIDE_ACTION_SEGMENT_ALLOC, AT, 200 * MIB);
    for (int i = 0; i < 40; i++) {
        made_log_mark(&log, "step begins", (uint64_t)i);
        alloc(&log, 0);
        made_log_mark(&log, "optimizer begins", 0);
        release(&log, 0);
        made_log_mark(&log, "step ends", 0);
    }
    made_log_mark(&log, "step begins", 40);
    alloc(&log, 1);
    made_log_mark(&log, "optimizer begins", 0);
    made_log_mark(&log, "step ends", 0);
    tide_snapshot *snapshot = close_and_read(&log);
    expect_scopes(snapshot, "step 39 > forward, step 40 > forward");
    assert_int_equal(snapshot->n_dropped, 40 * 5 + 5 - 9);
    tide_snapshot_destroy(snapshot);
}

/* ---- categories ---- */

/* A call of cuDNN names its work area; that is no name of the block, which keeps its own. */
static void calls_of_cudnn_are_no_names(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_label(&log, 0, "cudnn work area", "0 700 5 0 1", TIDE_CERTAINTY_RULE);
    alloc(&log, 0);
    label(&log, 0, "workspace", "w", TIDE_CERTAINTY_NAMED);
    label(&log, 0, "cudnn work area", "300 800 5 0 0", TIDE_CERTAINTY_RULE);
    label(&log, 0, "cudnn work area", "300 200 5 0 0",
          TIDE_CERTAINTY_RULE); /* more than the most */
    label(&log, 0, "cudnn work area", "300 800 5 9 0", TIDE_CERTAINTY_RULE); /* no such device */
    label(&log, 0, "cudnn work area", "300", TIDE_CERTAINTY_RULE);
    tide_snapshot *snapshot = close_and_read(&log);
    expect_categories(snapshot, "workspace! w");
    assert_int_equal(snapshot->n_area_calls, 2);
    const tide_snapshot_area_call *calls = snapshot->area_calls;
    assert_int_equal(calls[0].event, 1);
    assert_int_equal(calls[0].address, 0);
    assert_int_equal(calls[0].most_bytes, 700);
    assert_true(calls[0].is_benchmark);
    assert_false(calls[1].is_benchmark);
    assert_int_equal(calls[1].event, 2);
    assert_int_equal(calls[1].address, AT);
    assert_int_equal(calls[1].likely_bytes, 300);
    assert_int_equal(calls[1].most_bytes, 800);
    assert_int_equal(calls[1].stream, 5);
    tide_snapshot_destroy(snapshot);
}

static void a_category_says_how_it_is_known(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    alloc(&log, 0);
    label(&log, 0, "parameter", "w", TIDE_CERTAINTY_NAMED);
    label(&log, 0, "input", "",
          TIDE_CERTAINTY_RULE); /* ignored: the earlier label is more certain */
    alloc(&log, 1);
    label(&log, 1, "workspace", "", TIDE_CERTAINTY_RULE);
    alloc(&log, 2);
    alloc(&log, 3);
    label(&log, 3, "kv cache", "k", TIDE_CERTAINTY_NAMED); /* tidemark's, with a space */
    alloc(&log, 6);
    label(&log, 6, "rope table", "r", TIDE_CERTAINTY_NAMED); /* the program's own */
    made_log_mark(&log, "step begins", 0);
    alloc(&log, 4);
    alloc(&log, 5);
    release(&log, 5);
    made_log_mark(&log, "backward begins", 0);
    release(&log, 4);
    made_log_mark(&log, "backward ends", 0);
    made_log_mark(&log, "optimizer begins", 0);
    made_log_mark(&log, "step ends", 0);
    tide_snapshot *snapshot = close_and_read(&log);
    expect_categories(snapshot,
                      "parameter! w, workspace?, unknown, kv_cache! k, rope table! r, activation?, "
                      "temporary?");
    expect_blocks(snapshot, snapshot->end_blocks, snapshot->end_block_certainty,
                  snapshot->n_end_blocks,
                  "parameter! w, workspace?, unknown, kv_cache! k, rope table! r");
    tide_snapshot_destroy(snapshot);
}

static void a_label_is_of_the_block_that_lives_then(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    label(&log, 0, "gradient", "nothing lives here yet", TIDE_CERTAINTY_NAMED);
    alloc(&log, 0);
    label(&log, 0, "gradient", "w.grad", TIDE_CERTAINTY_NAMED);
    release(&log, 0);
    label(&log, 0, "gradient", "nothing lives here any more", TIDE_CERTAINTY_NAMED);
    alloc(&log, 0);
    label(&log, 0, "optimizer_state", "w.exp_avg", TIDE_CERTAINTY_NAMED);
    tide_snapshot *snapshot = close_and_read(&log);
    expect_categories(snapshot, "gradient! w.grad, optimizer_state! w.exp_avg");
    tide_snapshot_destroy(snapshot);
}

static void a_block_from_before_the_rows_is_named(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 2, 16);
    made_log_event(&log, TIDE_ACTION_SEGMENT_ALLOC, AT, 200 * MIB);
    alloc(&log, 0);
    label(&log, 0, "parameter", "w", TIDE_CERTAINTY_NAMED);
    alloc(&log, 1);
    label(&log, 1, "input", "", TIDE_CERTAINTY_RULE);
    alloc(&log, 2);
    alloc(&log, 3);
    label(&log, 2, "gradient", "w.grad",
          TIDE_CERTAINTY_NAMED); /* reported after its row was dropped */
    tide_snapshot *snapshot = close_and_read(&log);
    expect_blocks(snapshot, snapshot->start_blocks, snapshot->start_block_certainty,
                  snapshot->n_start_blocks, "parameter! w, parameter_or_older?, gradient! w.grad");
    expect_blocks(snapshot, snapshot->end_blocks, snapshot->end_block_certainty,
                  snapshot->n_end_blocks,
                  "parameter! w, parameter_or_older?, gradient! w.grad, unknown");
    tide_snapshot_destroy(snapshot);
}

/* ---- devices ---- */

static void each_device_has_what_the_package_told(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_text(&log, "device.0.name", "NVIDIA H100");
    made_log_text(&log, "device.0.total_bytes", "85899345920");
    made_log_text(&log, "device.1.compute_capability", "90");
    made_log_text(&log, "software.torch", "2.14.1");
    tide_live_row row = made_row(TIDE_ACTION_SEGMENT_ALLOC, AT + 400 * MIB, 2 * MIB);
    row.event.device = 1;
    made_log_add(&log, row);
    tide_snapshot *snapshot = close_and_read(&log);
    assert_int_equal(snapshot->n_devices, 2);
    assert_string_equal(snapshot->devices[0].kind, "cuda");
    assert_string_equal(snapshot->devices[0].name, "NVIDIA H100");
    assert_int_equal(snapshot->devices[0].total_bytes, INT64_C(85899345920));
    assert_int_equal(snapshot->devices[0].compute_capability, -1);
    assert_int_equal(snapshot->devices[1].compute_capability, 90);
    assert_int_equal(snapshot->devices[1].total_bytes, -1);
    assert_string_equal(snapshot->run.implementation, "pytorch");
    tide_snapshot_destroy(snapshot);
}

static void what_cannot_be_listened_to_is_said(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_text(&log, "live.python_stacks", "Python 3.19 is not known here");
    made_log_text(&log, "live.limited", "PyTorch 9.9.0 is not known here");
    tide_snapshot *snapshot = close_and_read(&log);
    assert_int_equal(snapshot->n_inexact, 2);
    assert_string_equal(snapshot->inexact[0].call, TIDE_LIVE_RECORDING);
    assert_string_equal(snapshot->inexact[0].what, "PyTorch 9.9.0 is not known here");
    assert_string_equal(snapshot->inexact[1].what, "Python 3.19 is not known here");
    assert_int_equal(snapshot->inexact[1].bound_bytes, -1);
    tide_snapshot_destroy(snapshot);
}

/* Its stream is in the table, though all its rows are gone. */
static tide_snapshot *read_with_dropped_device(bool has_pinned) {
    made_log log;
    made_log_open(&log, 2, 16);
    made_log_stream(&log, 0, 0, 0);
    made_log_stream(&log, 1, 1, 0);
    tide_live_row row = made_row(TIDE_ACTION_SEGMENT_ALLOC, AT + 400 * MIB, 2 * MIB);
    row.event.device = 1;
    row.event.stream = 1;
    made_log_add(&log, row);
    row.event.action = TIDE_ACTION_SEGMENT_FREE;
    made_log_add(&log, row);
    made_log_event(&log, TIDE_ACTION_SEGMENT_ALLOC, AT, 200 * MIB);
    alloc(&log, 0);
    if (has_pinned) {
        made_log_call(&log, 2, 4096, 4096, "cudaHostAlloc", "others");
    }
    return close_and_read(&log);
}

static void a_device_whose_rows_were_dropped_is_still_one(void **state) {
    (void)state;
    tide_snapshot *snapshot = read_with_dropped_device(false);
    assert_int_equal(snapshot->n_devices, 2);
    tide_snapshot_destroy(snapshot);
    snapshot = read_with_dropped_device(true); /* pinned memory is not mistaken for it */
    assert_int_equal(snapshot->n_devices, 3);
    assert_string_equal(snapshot->devices[1].kind, "cuda");
    assert_string_not_equal(snapshot->devices[2].kind, "cuda");
    tide_snapshot_destroy(snapshot);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_lies_in_step_phase_module_and_node),
        cmocka_unit_test(a_node_belongs_to_the_module_that_made_it),
        cmocka_unit_test(names_of_nodes_are_those_that_people_know),
        cmocka_unit_test(the_programs_own_steps_replace_those_of_the_optimizer),
        cmocka_unit_test(calls_are_steps_where_nothing_is_optimised),
        cmocka_unit_test(a_killed_process_keeps_its_open_step),
        cmocka_unit_test(steps_keep_their_numbers_when_rows_are_dropped),
        cmocka_unit_test(calls_of_cudnn_are_no_names),
        cmocka_unit_test(a_category_says_how_it_is_known),
        cmocka_unit_test(a_label_is_of_the_block_that_lives_then),
        cmocka_unit_test(a_block_from_before_the_rows_is_named),
        cmocka_unit_test(each_device_has_what_the_package_told),
        cmocka_unit_test(what_cannot_be_listened_to_is_said),
        cmocka_unit_test(a_device_whose_rows_were_dropped_is_still_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
