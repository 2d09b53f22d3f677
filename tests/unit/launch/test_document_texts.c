/* test_document_texts.c - what the package reports of a program in words: the text of its lines,
 * the types of its parameters, and the facts for `tidemark plan`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/launch/document/document.h"
#include "support/made_log.h"

#define MIB (UINT64_C(1) << 20)
#define AT (UINT64_C(0x7f00) << 32) /* a segment */

static tide_snapshot *close_and_read(made_log *log) {
    tide_launch_log read = {.rank = -1};
    tide_error error = {""};
    made_log_close(log);
    if (tide_launch_read_log(log->path, &read, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    made_log_remove(log);
    return read.snapshot;
}

static void expect_source(const tide_snapshot *snapshot, size_t i, uint64_t line, const char *text,
                          bool is_cut) {
    assert_true(snapshot->source[i].line == line);
    assert_string_equal(tide_snapshot_text(snapshot, (uint32_t)snapshot->source[i].file),
                        "train.py");
    assert_string_equal(snapshot->source[i].text, text);
    assert_int_equal(snapshot->source[i].is_cut, is_cut);
}

static void lines_of_frames_have_their_text(void **state) {
    (void)state;
    char text[256];
    memset(text, 'x', sizeof(text));
    text[201] = '\0';
    made_log log;
    made_log_open(&log, 16, 0);
    made_log_event(&log, TIDE_ACTION_SEGMENT_ALLOC, AT, 2 * MIB);
    tide_live_row row = made_row(TIDE_ACTION_ALLOC, AT, 512);
    row.event.stack = made_log_stack(&log, "step", 5); /* lines 10 to 14 */
    made_log_add(&log, row);
    made_log_text(&log, "source.whole.12.train.py", "loss = f(x)");
    made_log_text(&log, "source.cut.10.train.py", "y = [1, 2");
    made_log_text(&log, "source.whole.90.train.py", "no frame has this line");
    made_log_text(&log, "source.whole.11.other.py", "nor this file");
    made_log_text(&log, "source.whole.13.train.py", text);   /* too long */
    made_log_text(&log, "source.whole.x14.train.py", "odd"); /* not a line */
    made_log_text(&log, "source.omitted", "17");
    tide_snapshot *snapshot = close_and_read(&log);
    assert_int_equal(snapshot->n_source, 2);
    expect_source(snapshot, 0, 10, "y = [1, 2", true);
    expect_source(snapshot, 1, 12, "loss = f(x)", false);
    assert_true(snapshot->n_source_omitted == 17);
    tide_snapshot_destroy(snapshot);
}

static void types_of_parameters_are_read(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 16, 0);
    made_log_event(&log, TIDE_ACTION_SEGMENT_ALLOC, AT, 2 * MIB);
    made_log_event(&log, TIDE_ACTION_ALLOC, AT, 512);
    made_log_text(&log, "parameters.bfloat16", "1024 3");
    made_log_text(&log, "parameters.float32", "4096 2");
    made_log_text(&log, "parameters.odd", "many");
    tide_snapshot *snapshot = close_and_read(&log);
    assert_int_equal(snapshot->n_parameter_types, 2);
    assert_string_equal(snapshot->parameter_types[0].name, "float32");
    assert_true(snapshot->parameter_types[0].bytes == 4096);
    assert_true(snapshot->parameter_types[0].n_tensors == 2);
    assert_string_equal(snapshot->parameter_types[1].name, "bfloat16");
    tide_snapshot_destroy(snapshot);
}

static void facts_for_plans_are_read(void **state) {
    (void)state;
    made_log log;
    made_log_open(&log, 16, 0);
    made_log_event(&log, TIDE_ACTION_SEGMENT_ALLOC, AT, 2 * MIB);
    made_log_event(&log, TIDE_ACTION_ALLOC, AT, 512);
    made_log_text(&log, "plan.can.fused", "AdamW train.py:5");
    made_log_text(&log, "plan.did.bf16", "parameters of GPT");
    made_log_text(&log, "plan.model", "GPT train.py:4");
    made_log_text(&log, "plan.", "no fact");
    made_log_text(&log, "planned.fused", "not a fact either");
    made_log_text(&log, "plan.can.fused", "AdamW train.py:6"); /* a later text replaces it */
    made_log_text(&log, "plan.did.bf16", "");                  /* withdrawn */
    tide_snapshot *snapshot = close_and_read(&log);
    assert_int_equal(snapshot->n_plan, 2);
    assert_string_equal(snapshot->plan[0].name, "can.fused");
    assert_string_equal(snapshot->plan[0].text, "AdamW train.py:6");
    assert_string_equal(snapshot->plan[1].name, "model");
    tide_snapshot_destroy(snapshot);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_frames_have_their_text),
        cmocka_unit_test(types_of_parameters_are_read),
        cmocka_unit_test(facts_for_plans_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
