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

/* ---- a loop that waits ---- */

/* The card's clock (linked by --wrap). */
static int64_t now_ns = 1;
int64_t __wrap_tide_clock_now_ns(void);
int64_t __wrap_tide_clock_now_ns(void) {
    return now_ns;
}

/* What the reads of a value print: the number of lines on stderr. */
static size_t lines_of(int64_t least, int64_t most, int64_t possible, int64_t n_times,
                       int64_t seconds, char ret_text[1024]) {
    char path[64];
    int status = -1;
    size_t n_lines = 0;
    (void)snprintf(path, sizeof(path), "%s/stderr", folder);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool is_open = freopen(path, "w", stderr) != NULL;
        tidemark_values_assumed("wait.py:3", "truth value", least, most, possible, 1, 0, 0);
        now_ns += seconds * INT64_C(1000000000);
        tidemark_values_assumed("wait.py:3", "truth value", least, most, possible, n_times, 0, 0);
        tidemark_values_assumed("wait.py:3", "truth value", least, most, possible, n_times, 0, 0);
        _exit(is_open && fflush(stderr) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(ret_text, 1, 1023, file);
    ret_text[n] = '\0';
    assert_int_equal(fclose(file), 0);
    for (size_t i = 0; i < n; i++) {
        n_lines += ret_text[i] == '\n';
    }
    return n_lines;
}

static void a_loop_that_waits_is_reported_once(void **state) {
    (void)state;
    char text[1024];
    assert_int_equal(lines_of(0, 0, 0, 1000, 10, text), 1);
    assert_string_equal(text,
                        "tidemark: The program has read a truth value at wait.py:3 1000 times. "
                        "It is assumed, because the card computes no values, and never "
                        "changes. A loop that waits for it to change never ends; `--steps N` "
                        "or `--calls N` ends the program early.\n");
    assert_int_equal(lines_of(0, 0, 0, 999, 10, text), 0);
    assert_int_equal(lines_of(0, 0, 0, 1000, 9, text), 0);
    assert_int_equal(lines_of(0, 1, 0, 1000, 10, text), 0); /* it changes */
    assert_int_equal(lines_of(5, 5, 9, 1000, 10, text), 0); /* rows */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_latest_figures_of_a_line_count),
        cmocka_unit_test(a_child_has_its_own_file),
        cmocka_unit_test(texts_and_rows_have_a_limit),
        cmocka_unit_test(nothing_is_written_without_a_folder),
        cmocka_unit_test(a_loop_that_waits_is_reported_once),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
