/* test_snapshot_words.c - what reports state about a run that failed. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/words/snapshot_words.h"

static void assert_says(const char *outcome, const char *name, const char *expected) {
    tide_report report;
    char *text = NULL;
    size_t n_bytes = 0;
    tide_snapshot *made = NULL;
    FILE *out = open_memstream(&text, &n_bytes);
    assert_non_null(out);
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    made->run.outcome = outcome;
    tide_report_init(&report, "test");
    tide_say_unfinished(&report, made, name);
    assert_int_equal(tide_report_print(&report, (tide_format){.is_wide = true}, out, stderr, NULL),
                     TIDE_OK);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, expected);
    free(text);
    tide_report_fini(&report);
    tide_snapshot_destroy(made);
}

static void unfinished_runs_are_said(void **state) {
    (void)state;
    assert_says("completed", NULL, "");
    assert_says("stopped", NULL,
                "note: the run was stopped before its end, where its peak may lie\n");
    assert_says("stopped", "b", "note: b was stopped before its end, where its peak may lie\n");
    assert_says("crashed", NULL,
                "note: recovered from the log of a program that ended without closing it: its peak "
                "may lie later\n");
    assert_says("running", "b",
                "note: b was taken while the run went on: its peak may have come later\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unfinished_runs_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
