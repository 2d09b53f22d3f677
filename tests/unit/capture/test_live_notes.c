/* test_live_notes.c - notes beside the events in the log of a live recording: marks, labels, driver
 * calls, pools and Python frames, each in its place among the remaining events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/recover.h"
#include "common/text/text.h"
#include "support/made_log.h"

#define MIB (UINT64_C(1) << 20)
#define AT (UINT64_C(0x7f00) << 32) /* a segment */

enum { TEXT_BYTES = 1024 };

/* What was recovered; finish it. */
typedef struct found {
    tide_snapshot *snapshot;
    tide_recover_report report;
    tide_recover_notes notes;
} found;

static found recover(const made_log *log) {
    found of = {.snapshot = NULL};
    tide_error error = {""};
    if (tide_recover_with_notes(log->path, NULL, &of.snapshot, &of.report, &of.notes, &error) !=
        TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return of;
}

static found close_and_recover(made_log *log) {
    made_log_close(log);
    found of = recover(log);
    made_log_remove(log);
    assert_int_equal(of.report.n_damaged + of.report.n_unfit + of.report.n_missing, 0);
    return of;
}

static void finish(const found *of) {
    tide_snapshot_destroy(of->snapshot);
}

static void alloc(made_log *log, uint64_t offset, uint64_t n_bytes) {
    made_log_event(log, TIDE_ACTION_ALLOC, AT + offset, n_bytes);
}

static void release(made_log *log, uint64_t offset, uint64_t n_bytes) {
    made_log_event(log, TIDE_ACTION_FREE, AT + offset, n_bytes);
}

static void buy(made_log *log, uint64_t n_bytes) {
    made_log_event(log, TIDE_ACTION_SEGMENT_ALLOC, AT, n_bytes);
}

/* "2:w=parameter!": after the second event the block got that name and category, both certain. */
static void expect_labels(const found *of, const char *expected) {
    char said[TEXT_BYTES];
    tide_text text = tide_text_in(said, sizeof(said));
    for (size_t i = 0; i < of->notes.n_labels; i++) {
        const tide_recover_label *label = &of->notes.labels[i];
        tide_text_add(&text, "%s%zu:%s=%s%s", i > 0 ? " " : "", label->n_before, label->name,
                      label->category, label->certainty == TIDE_CERTAINTY_NAMED ? "!" : "");
    }
    assert_string_equal(said, expected);
}

/* "2:step begins 7" */
static void expect_marks(const found *of, const char *expected) {
    char said[TEXT_BYTES];
    tide_text text = tide_text_in(said, sizeof(said));
    for (size_t i = 0; i < of->notes.n_marks; i++) {
        const tide_recover_mark *mark = &of->notes.marks[i];
        tide_text_add(&text, "%s%zu:%s %d", i > 0 ? ", " : "", mark->n_before, mark->name,
                      (int)mark->number);
    }
    assert_string_equal(said, expected);
}

/* "2:cudaMalloc 512 PyTorch" */
static void expect_calls(const found *of, const char *expected) {
    char said[TEXT_BYTES];
    tide_text text = tide_text_in(said, sizeof(said));
    for (size_t i = 0; i < of->notes.n_calls; i++) {
        const tide_recover_call *call = &of->notes.calls[i];
        tide_text_add(&text, "%s%zu:%s %d %s", i > 0 ? ", " : "", call->n_before, call->function,
                      (int)call->row.requested_bytes, call->owner);
    }
    assert_string_equal(said, expected);
}

/* ---- a whole log ---- */

static void what_is_no_event_stands_between_the_events(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 64, 0);
    made_log_mark(&log, "step begins", 0);
    made_log_call(&log, 0, AT, 2 * MIB, "cudaMalloc", "PyTorch");
    buy(&log, 2 * MIB);
    alloc(&log, 0, 512);
    made_log_label(&log, AT, "parameter", "h.0.weight", TIDE_CERTAINTY_NAMED);
    made_log_mark(&log, "backward begins", 3);
    release(&log, 0, 512);
    made_log_call(&log, 2, 64, 4096, "cudaHostAlloc", "others");
    made_log_label(&log, AT, "input", "", TIDE_CERTAINTY_RULE);
    found of = close_and_recover(&log);
    assert_int_equal(of.snapshot->n_events, 5); /* pinned memory has events of its own */
    assert_int_equal(of.notes.pinned_device, 1);
    assert_int_equal(of.snapshot->events.device[2], 0);
    assert_int_equal(of.snapshot->events.device[3], 1);
    assert_int_equal(of.snapshot->events.device[4], 1);
    expect_marks(&of, "0:step begins 0, 2:backward begins 3");
    expect_labels(&of, "2:h.0.weight=parameter! 5:=input");
    expect_calls(&of, "0:cudaMalloc 2097152 PyTorch, 3:cudaHostAlloc 4096 others");
    assert_int_equal(of.notes.calls[0].action, 0);
    assert_int_equal(of.notes.calls[1].action, 2);
    assert_int_equal(of.notes.labels[0].address, AT);
    finish(&of);
}

/* PyTorch has rows for these also. */
static void marks_of_pytorchs_own_are_events(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 64, 0);
    buy(&log, 2 * MIB);
    made_log_mark(&log, "snapshot", 0);
    made_log_mark(&log, "annotate", 0);
    made_log_mark(&log, "anything else", 5);
    found of = close_and_recover(&log);
    assert_int_equal(of.snapshot->n_events, 3);
    assert_string_equal(
        tide_snapshot_text(of.snapshot, tide_index_at(&of.snapshot->events.name, 1)), "snapshot");
    assert_string_equal(
        tide_snapshot_text(of.snapshot, tide_index_at(&of.snapshot->events.name, 2)), "annotate");
    expect_marks(&of, "3:anything else 5");
    finish(&of);
}

static void each_event_keeps_what_its_thread_did(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 64, 0);
    tide_live_row row = made_row(TIDE_ACTION_SEGMENT_ALLOC, AT, 2 * MIB);
    made_log_add(&log, row);
    row = made_row(TIDE_ACTION_ALLOC, AT, 512);
    row.sequence = 17;
    row.node = made_log_string(&log, "13AddmmBackward0");
    row.module = made_log_string(&log, "h.0.mlp");
    row.thread = 3;
    row.pool =
        (uint16_t)(made_log_pool(&log, 0, 4) | TIDE_AUTOGRAD_INFERENCE << TIDE_LOG_POOL_BITS);
    made_log_mark(&log, "step begins", 0); /* the rows of the extras are those of the events */
    made_log_add(&log, row);
    row.module = 999;                       /* the journal lacks it */
    row.pool = 9 | 7 << TIDE_LOG_POOL_BITS; /* this mode does not exist */
    row.event.address += 512;
    made_log_add(&log, row);
    found of = close_and_recover(&log);
    const tide_recover_extra *extras = of.notes.extras;
    assert_int_equal(of.snapshot->n_events, 3);
    assert_int_equal(extras[0].node, TIDE_NONE);
    assert_int_equal(extras[0].module, TIDE_NONE);
    assert_int_equal(extras[1].sequence, 17);
    assert_string_equal(tide_snapshot_text(of.snapshot, extras[1].node), "13AddmmBackward0");
    assert_string_equal(tide_snapshot_text(of.snapshot, extras[1].module), "h.0.mlp");
    assert_int_equal(extras[1].thread, 3);
    assert_int_equal(extras[2].module, TIDE_NONE);
    assert_int_equal(of.snapshot->event_pool[0], 0);
    assert_int_equal(of.snapshot->event_pool[1], 1);
    assert_int_equal(of.snapshot->event_pool[2], 0); /* this pool does not exist */
    assert_int_equal(of.snapshot->event_mode[0], TIDE_AUTOGRAD_UNKNOWN);
    assert_int_equal(of.snapshot->event_mode[1], TIDE_AUTOGRAD_INFERENCE);
    assert_int_equal(of.snapshot->event_mode[2], TIDE_AUTOGRAD_UNKNOWN);
    assert_int_equal(of.snapshot->n_pools, 1);
    assert_int_equal(of.snapshot->pools[0].id[0], 0);
    assert_int_equal(of.snapshot->pools[0].id[1], 4);
    finish(&of);
}

static void stacks_are_of_pythons_frames(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 64, 0);
    buy(&log, 2 * MIB);
    tide_live_row row = made_row(TIDE_ACTION_ALLOC, AT, 512);
    row.event.stack = made_log_stack(&log, "Model.forward", 3);
    made_log_add(&log, row);
    found of = close_and_recover(&log);
    const tide_snapshot *snapshot = of.snapshot;
    assert_int_equal(of.report.n_references_lost, 0);
    char name[64];
    uint32_t stack = tide_index_at(&snapshot->events.stack, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_not_equal(stack, TIDE_NONE);
        const tide_frame_row *frame = &snapshot->frames[snapshot->stacks[stack].frame];
        (void)snprintf(name, sizeof(name), "Model.forward.%d", i);
        assert_string_equal(tide_snapshot_text(snapshot, frame->function), name);
        assert_string_equal(tide_snapshot_text(snapshot, frame->file), "train.py");
        assert_int_equal(frame->line, 10 + i);
        stack = snapshot->stacks[stack].parent;
    }
    assert_int_equal(stack, TIDE_NONE);
    finish(&of);
}

/* Two instructions of one line are two frames of the log and one of the document. */
static void stacks_of_one_line_are_distinguished(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 64, 0);
    buy(&log, 2 * MIB);
    uint32_t stacks[2] = {made_log_stack(&log, "f", 2), made_log_stack(&log, "f", 2)};
    for (uint64_t i = 0; i < 3; i++) {
        tide_live_row row = made_row(TIDE_ACTION_ALLOC, AT + i * 512, 512);
        row.event.stack = stacks[i % 2];
        made_log_add(&log, row);
    }
    made_log_event(&log, TIDE_ACTION_FREE, AT, 512);
    found of = close_and_recover(&log);
    const tide_snapshot *snapshot = of.snapshot;
    assert_int_equal(tide_index_at(&snapshot->events.stack, 1),
                     tide_index_at(&snapshot->events.stack, 2));
    assert_non_null(snapshot->event_variant);
    assert_int_equal(snapshot->event_variant[1], 0);
    assert_int_equal(snapshot->event_variant[2], 1);
    assert_int_equal(snapshot->event_variant[3], 0);
    assert_int_equal(snapshot->event_variant[4], 0);
    finish(&of);
}

static void the_last_text_of_a_key_counts(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 64, 0);
    made_log_text(&log, "run.command", "python a.py");
    made_log_text(&log, "live.account.0.end.bytes", "1 total\n");
    made_log_text(&log, "live.account.0.end.bytes", "2 total\n");
    buy(&log, 2 * MIB);
    found of = close_and_recover(&log);
    const char *last = "";
    for (size_t i = 0; i < of.notes.n_texts; i++) {
        if (strcmp(of.notes.texts[i].key, "live.account.0.end.bytes") == 0) {
            last = of.notes.texts[i].value;
        }
    }
    assert_string_equal(last, "2 total\n");
    finish(&of);
}

/* ---- how the process ended ---- */

static void a_log_may_have_no_event(void **state) {
    (void)state;
    made_log log;
    tide_snapshot *snapshot = NULL;
    tide_recover_report report;
    tide_error error = {""};
    made_log_open(&log, 64, 0);
    made_log_mark(&log, "step begins", 0);
    made_log_close(&log);
    found of = recover(&log);
    assert_int_equal(of.snapshot->n_events, 0);
    expect_marks(&of, "0:step begins 0");
    finish(&of);
    /* A caller that does not ask for the notes gets an error: there are no events. */
    assert_int_equal(tide_recover(log.path, NULL, &snapshot, &report, &error), TIDE_FORMAT);
    assert_non_null(strstr(error.message, "no event of process"));
    made_log_remove(&log);
}

static void the_log_says_how_its_process_ended(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 64, 0);
    buy(&log, 2 * MIB);
    found of = recover(&log);
    assert_true(of.report.is_live && !of.report.is_closed);
    assert_string_equal(of.snapshot->run.outcome, TIDE_SNAPSHOT_RUNNING);
    finish(&of);
    alloc(&log, 0, 512);
    made_log_kill(&log);
    of = recover(&log);
    assert_true(!of.report.is_live && !of.report.is_closed);
    assert_string_equal(of.snapshot->run.outcome, TIDE_SNAPSHOT_CRASHED);
    assert_int_equal(of.snapshot->n_events, 2);
    made_log_remove(&log);
    finish(&of);
}

/* ---- a log that has dropped rows ---- */

static void what_was_dropped_is_counted(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 3, 8);
    made_log_mark(&log, "step begins", 0);
    buy(&log, 2 * MIB);
    alloc(&log, 0, 512);
    made_log_mark(&log, "step ends", 0);
    made_log_mark(&log, "step begins", 1);
    alloc(&log, 512, 512);
    made_log_mark(&log, "step ends", 1);
    found of = close_and_recover(&log);
    assert_int_equal(of.report.n_dropped, 4);
    assert_int_equal(of.snapshot->n_dropped, 4);
    assert_int_equal(of.snapshot->n_events, 1);
    expect_marks(&of, "0:step begins 1, 1:step ends 1");
    finish(&of);
}

static void a_block_keeps_its_label_when_its_rows_are_dropped(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 1, 16);
    buy(&log, 2 * MIB);
    alloc(&log, 0, 512);
    made_log_label(&log, AT, "input", "", TIDE_CERTAINTY_RULE);
    made_log_label(&log, AT, "parameter", "w", TIDE_CERTAINTY_NAMED);
    made_log_label(&log, AT, "activation", "",
                   TIDE_CERTAINTY_RULE); /* ignored: the earlier label is more certain */
    alloc(&log, 512, 512);
    made_log_label(&log, AT + 512, "gradient", "w.grad", TIDE_CERTAINTY_NAMED);
    release(&log, 512, 512);
    alloc(&log, 512, 512); /* another block, which is unnamed */
    alloc(&log, 1024, 512);
    made_log_label(&log, AT + 1024, "input", "", TIDE_CERTAINTY_RULE);
    alloc(&log, 1536, 512);
    found of = close_and_recover(&log);
    assert_int_equal(of.snapshot->n_events, 1);
    expect_labels(&of, "0:w=parameter! 0:=input");
    finish(&of);
}

static void what_the_driver_had_given_comes_first(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 2, 16);
    made_log_call(&log, 0, AT, 2 * MIB, "cudaMalloc", "PyTorch");
    buy(&log, 2 * MIB);
    made_log_call(&log, 0, 4096, 100, "cudaMalloc", "cuBLAS");
    made_log_call(&log, 1, 4096, 0, "cudaFree", "cuBLAS");
    made_log_call(&log, 2, 8192, 200, "cudaHostAlloc", "others");
    alloc(&log, 0, 512);
    made_log_call(&log, 0, 12288, 300, "cudaMalloc", "NCCL");
    found of = close_and_recover(&log);
    assert_int_equal(of.snapshot->n_events, 1);
    expect_calls(&of, "0:cudaMalloc 2097152 PyTorch, 0:cudaHostAlloc 200 others, 1:cudaMalloc 300 "
                      "NCCL");
    finish(&of);
}

/* The process may end between the two steps in which a ring overwrites its oldest row. */
static void a_row_that_is_in_the_base_already_counts_once(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 6, 16);
    buy(&log, 10 * MIB);
    alloc(&log, 0, 10 * MIB);
    release(&log, 0, 10 * MIB);
    made_log_event(&log, TIDE_ACTION_SEGMENT_FREE, AT, 10 * MIB);
    buy(&log, 20 * MIB);
    alloc(&log, 0, 9 * MIB + MIB / 2); /* it must not end at the segment that is gone */
    assert_non_null(tide_event_log_row_begin(&log.log));
    atomic_store(&log.file.header->counters.n_folded, 0);
    made_log_kill(&log);
    found of = recover(&log);
    made_log_remove(&log);
    assert_int_equal(of.report.n_unfit, 0);
    assert_int_equal(of.report.n_dropped, 1);
    assert_int_equal(of.snapshot->n_events, 5);
    assert_int_equal(of.snapshot->n_start_segments, 1);
    assert_int_equal(of.snapshot->n_end_blocks, 2);
    assert_int_equal(of.snapshot->end_blocks[0].block_bytes, 9 * MIB + MIB / 2);
    finish(&of);
}

/* A larger ring overwrites rows in pairs. The process may end before, between or after the two. */
static void rows_that_are_folded_together_count_once(void **state) {
    (void)state;
    enum { N_ROWS = 1024 };
    for (uint64_t n_folded = 1; n_folded <= 2; n_folded++) {
        made_log log;
        made_log_open(&log, N_ROWS, N_ROWS);
        buy(&log, 10 * MIB);
        for (uint64_t i = 0; i + 1 < N_ROWS; i++) {
            alloc(&log, i * 512, 512);
        }
        assert_int_equal(tide_event_log_n_kept(&log.log), N_ROWS);
        assert_non_null(tide_event_log_row_begin(&log.log));
        assert_int_equal(tide_event_log_n_kept(&log.log), N_ROWS - 2);
        atomic_store(&log.file.header->counters.n_folded, n_folded);
        made_log_kill(&log);
        found of = recover(&log);
        made_log_remove(&log);
        assert_int_equal(of.report.n_unfit + of.report.n_event_counters_damaged, 0);
        assert_int_equal(of.report.n_dropped, 2);
        assert_int_equal(of.snapshot->n_events, N_ROWS - 2);
        assert_int_equal(of.snapshot->n_start_segments, 1);
        finish(&of);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_folded_together_count_once),
        cmocka_unit_test(what_is_no_event_stands_between_the_events),
        cmocka_unit_test(marks_of_pytorchs_own_are_events),
        cmocka_unit_test(each_event_keeps_what_its_thread_did),
        cmocka_unit_test(stacks_are_of_pythons_frames),
        cmocka_unit_test(stacks_of_one_line_are_distinguished),
        cmocka_unit_test(the_last_text_of_a_key_counts),
        cmocka_unit_test(a_log_may_have_no_event),
        cmocka_unit_test(the_log_says_how_its_process_ended),
        cmocka_unit_test(what_was_dropped_is_counted),
        cmocka_unit_test(a_block_keeps_its_label_when_its_rows_are_dropped),
        cmocka_unit_test(what_the_driver_had_given_comes_first),
        cmocka_unit_test(a_row_that_is_in_the_base_already_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
