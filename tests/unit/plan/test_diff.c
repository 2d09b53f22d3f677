/* test_diff.c - lines of changes as a patch, which is applied by patch(1) and compared. */
#define _GNU_SOURCE /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/files/text_file.h"
#include "programs/plan/diff.h"

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int begin(void **state) {
    static char folder[64];
    (void)snprintf(folder, sizeof(folder), "/tmp/tidemark_diff_XXXXXX");
    *state = folder;
    return mkdtemp(folder) != NULL && chdir(folder) == 0 ? 0 : -1;
}

static int end(void **state) {
    char *folder = *state;
    (void)remove("train.py");
    (void)remove("made.diff");
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* Applies the patch of these insertions to train.py, and compares it. */
static void check(const char *const (*changes)[2], size_t n, const char *before,
                  const char *expected) {
    tide_plan_diff diff;
    tide_error error = {""};
    char *text = NULL;
    char *after = NULL;
    write_file("train.py", before);
    tide_plan_diff_init(&diff);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(tide_plan_diff_add(&diff, changes[i][0], changes[i][1], &error), TIDE_OK);
    }
    assert_int_equal(tide_plan_diff_text(&diff, &text, &error), TIDE_OK);
    write_file("made.diff", text);
    assert_int_equal(system("patch -s -f -p1 -i made.diff"), 0);
    assert_int_equal(tide_text_file_read("train.py", 1 << 20, &after, NULL, &error), TIDE_OK);
    assert_string_equal(after, expected);
    diff.mem->release(diff.mem->ctx, text);
    diff.mem->release(diff.mem->ctx, after);
    tide_plan_diff_fini(&diff);
}

static void test_lines_are_indented_like_their_statement(void **state) {
    (void)state;
    const char *const changes[][2] = {{"a()\n\nb()", "train.py:3"}};
    check(changes, 1,
          "def main():\n    optimizer = AdamW(model,\n                      lr=1)\n    go()\n",
          "def main():\n    optimizer = AdamW(model,\n                      lr=1)\n    a()\n\n    "
          "b()\n"
          "    go()\n");
}

static void test_lines_go_before_a_statement(void **state) {
    (void)state;
    const char *const changes[][2] = {{"a()", "before train.py:1"}, {"z()", "train.py:2"}};
    check(changes, 2, "one()\ntwo()\n", "a()\none()\ntwo()\nz()\n");
}

static void test_several_places_and_several_hunks(void **state) {
    (void)state;
    const char *const changes[][2] = {
        {"# at train.py:2\na()\n# at before train.py:20\nb()\nc()", ""},
        {"second()", "train.py:2"}};
    char before[512] = "";
    char expected[512] = "";
    int n_before = 0;
    int n_expected = 0;
    for (int i = 1; i <= 22; i++) {
        n_before += snprintf(before + n_before, sizeof(before) - (size_t)n_before, "l%d()\n", i);
        n_expected +=
            snprintf(expected + n_expected, sizeof(expected) - (size_t)n_expected, "%sl%d()\n%s",
                     i == 20 ? "b()\nc()\n" : "", i, i == 2 ? "a()\nsecond()\n" : "");
    }
    check(changes, 2, before, expected);
}

static void test_file_without_a_newline_at_its_end(void **state) {
    (void)state;
    const char *const changes[][2] = {{"a()", "train.py:1"}};
    check(changes, 1, "one()\ntwo()", "one()\na()\ntwo()");
    tide_plan_diff diff;
    tide_error error = {""};
    write_file("train.py", "one()\ntwo()");
    tide_plan_diff_init(&diff);
    assert_int_equal(tide_plan_diff_add(&diff, "a()", "train.py:2", &error), TIDE_UNSUPPORTED);
    tide_plan_diff_fini(&diff);
}

static void test_other_folders_are_refused(void **state) {
    (void)state;
    tide_plan_diff diff;
    tide_error error = {""};
    tide_plan_diff_init(&diff);
    static const char *const PLACES[] = {"/usr/train.py:3", "../train.py:3", "train.py",
                                         "missing.py:3", ""};
    for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]); i++) {
        assert_int_equal(tide_plan_diff_add(&diff, "a()", PLACES[i], &error), TIDE_UNSUPPORTED);
    }
    assert_int_equal(diff.n, 0);
    tide_plan_diff_fini(&diff);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines_are_indented_like_their_statement, begin, end),
        cmocka_unit_test_setup_teardown(test_lines_go_before_a_statement, begin, end),
        cmocka_unit_test_setup_teardown(test_several_places_and_several_hunks, begin, end),
        cmocka_unit_test_setup_teardown(test_file_without_a_newline_at_its_end, begin, end),
        cmocka_unit_test_setup_teardown(test_other_folders_are_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
