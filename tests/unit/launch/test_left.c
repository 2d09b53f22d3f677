/* test_left.c - what the processes of a run leave in its folder: the lines of PID.card. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/launch/left/left.h"

static tide_launch launch;

static void write_card(const char *name, const char *text) {
    char path[TIDE_LAUNCH_PATH_BYTES + 64];
    snprintf(path, sizeof(path), "%s/%s", launch.folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Each line of a process counts once. Of lines that differ only in their bound the largest counts,
 * and half a line does not count. */
static void test_lines_of_a_process_are_rows(void **state) {
    (void)state;
    tide_left_list list;
    tide_error error = {""};
    write_card("7.card", "inexact\tcuA\tits size is not known\t700\n"
                         "refused\tcuB\tit is not simulated\n"
                         "inexact\tcuA\tits size is not known\t7000000000\n"
                         "inexact\tcuA\tits size is not known\t300\n"
                         "refused\tcuC");
    assert_int_equal(tide_left_read(&launch, &list, &error), TIDE_OK);
    assert_int_equal(list.n_inexact, 2);
    assert_int_equal(list.inexact[0].pid, 7);
    assert_string_equal(list.inexact[0].call, "cuA");
    assert_string_equal(list.inexact[0].what, "its size is not known");
    assert_int_equal(list.inexact[0].bound_bytes, 7000000000);
    assert_false(list.inexact[0].is_refused);
    assert_string_equal(list.inexact[1].call, "cuB");
    assert_int_equal(list.inexact[1].bound_bytes, -1);
    assert_true(list.inexact[1].is_refused);
    tide_left_fini(&list);
}

static int make_folder(void **state) {
    (void)state;
    snprintf(launch.folder, sizeof(launch.folder), "/tmp/tidemark-left-XXXXXX");
    return mkdtemp(launch.folder) != NULL ? 0 : 1;
}

static int remove_folder(void **state) {
    char path[TIDE_LAUNCH_PATH_BYTES + 64];
    (void)state;
    snprintf(path, sizeof(path), "%s/7.card", launch.folder);
    (void)remove(path);
    return rmdir(launch.folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines_of_a_process_are_rows, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
