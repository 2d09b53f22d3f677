/* test_assumed.c - the file of assumed values that a process leaves in the run's folder. */
#define _GNU_SOURCE /* mkdtemp, nftw, setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/virtual_cuda/values/assumed.h"
#include "programs/wire/run_assumed.h"
#include "unit/virtual_cuda/test_folder.h"

static char folder[] = "/tmp/assumed.XXXXXX";

static int begin(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL || setenv("TIDEMARK_RUN_FOLDER", folder, 1) != 0;
}

static int end(void **state) {
    (void)state;
    return remove_folder(folder);
}

typedef char row[TIDE_RUN_ASSUMED_ROW_BYTES];

/* The rows that a process left, each ended by a 0 in place of the blanks; 0 without a file. */
static size_t rows_of(long pid, row *ret, size_t n_room) {
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/%ld.assumed", folder, pid);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return 0;
    }
    size_t n = fread(ret, sizeof(*ret), n_room, file);
    assert_int_equal(fclose(file), 0);
    for (size_t i = 0; i < n; i++) {
        size_t last = sizeof(row) - 1;
        assert_int_equal(ret[i][last], '\n');
        while (last > 0 && ret[i][last - 1] == ' ') {
            last--;
        }
        ret[i][last] = '\0';
    }
    return n;
}

static void the_latest_figures_of_a_line_count(void **state) {
    (void)state;
    row rows[8];
    tidemark_values_assumed("loss.py:31", "mask", 10, 10, 100, 1, 8, 720);
    tidemark_values_assumed("loss.py:31", "truth value", 1, 1, 0, 1, 0, 0);
    tidemark_values_assumed("loss.py:40", "mask", 1, 2, 3, 4, 5, 6);
    tidemark_values_assumed("loss.py:31", "mask", 9, 12, 100, 2, 8, 728);
    assert_int_equal(rows_of(getpid(), rows, 8), 3);
    assert_string_equal(rows[0], "loss.py:31\tmask\t9\t12\t100\t2\t8\t728");
    assert_string_equal(rows[1], "loss.py:31\ttruth value\t1\t1\t0\t1\t0\t0");
    assert_string_equal(rows[2], "loss.py:40\tmask\t1\t2\t3\t4\t5\t6");
}

static void a_child_has_its_own_file(void **state) {
    (void)state;
    row of;
    int status = -1;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        tidemark_values_assumed("a\tb\n", "number", 3, 4, 0, 5, 0, 0);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(rows_of(pid, &of, 1), 1);
    assert_string_equal(of, "a b \tnumber\t3\t4\t0\t5\t0\t0");
}

static void texts_and_rows_have_a_limit(void **state) {
    (void)state;
    char text[2 * TIDE_RUN_ASSUMED_PLACE];
    static row rows[TIDE_RUN_ASSUMED_ROWS + 8];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    tidemark_values_assumed(text, text, 1, 1, 1, 1, 1, 1);
    tidemark_values_assumed(text, text, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, -2);
    for (int i = 0; i < TIDE_RUN_ASSUMED_ROWS; i++) {
        (void)snprintf(text, sizeof(text), "many.py:%d", i);
        tidemark_values_assumed(text, "number", i, i, 0, 1, 0, 0);
    }
    assert_int_equal(rows_of(getpid(), rows, TIDE_RUN_ASSUMED_ROWS + 8), TIDE_RUN_ASSUMED_ROWS);
    assert_int_equal(strcspn(rows[3], "\t"), TIDE_RUN_ASSUMED_PLACE - 1);
    assert_int_equal(strcspn(strchr(rows[3], '\t') + 1, "\t"), TIDE_RUN_ASSUMED_WHAT - 1);
    assert_string_equal(strrchr(rows[3], '\t'), "\t-2");
}

static void nothing_is_written_without_a_folder(void **state) {
    (void)state;
    row of;
    int status = -1;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        unsetenv("TIDEMARK_RUN_FOLDER");
        tidemark_values_assumed("a.py:1", "number", 3, 4, 0, 5, 0, 0);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(rows_of(pid, &of, 1), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_latest_figures_of_a_line_count),
        cmocka_unit_test(a_child_has_its_own_file),
        cmocka_unit_test(texts_and_rows_have_a_limit),
        cmocka_unit_test(nothing_is_written_without_a_folder),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
