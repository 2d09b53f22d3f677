/* test_left.c - what the processes of a run leave in its folder: the lines of PID.card and
 * PID.assumed, PID.pool and PID.xla. */
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

/* A padded row, one without texts, and half a row, which does not count. Those that may take most
 * memory more come first, then rows, then what was read most often. */
static void test_assumed_values_are_sorted(void **state) {
    (void)state;
    tide_left_list list;
    tide_error error = {""};
    write_card("7.assumed", "a.py:1\tnumber\t-7\t-5\t0\t9\t0\t0\n"
                            "b.py:2\tmask\t3\t4\t8\t2\t100\t400      \n"
                            "\ttruth value\t0\t1\t0\t10\t0\t0\n"
                            "c.py:3\tmask\t1\t1\t9\t1\t0\t0\n"
                            "d.py:4\tmask\t1\t1\t9\t1\t100000000\t7000000000\n"
                            "e.py:5\tmask\t1\t1\t9");
    assert_int_equal(tide_left_read(&launch, &list, &error), TIDE_OK);
    assert_int_equal(list.n_assumed, 5);
    assert_string_equal(list.assumed[0].row.place, "d.py:4");
    assert_int_equal(list.assumed[0].row.all_bytes, 7000000000);
    const tide_snapshot_assumed *row = &list.assumed[1].row;
    assert_int_equal(list.assumed[1].pid, 7);
    assert_string_equal(row->place, "b.py:2");
    assert_string_equal(row->what, "mask");
    assert_int_equal(row->given_least, 3);
    assert_int_equal(row->given_most, 4);
    assert_int_equal(row->possible, 8);
    assert_int_equal(row->n_times, 2);
    assert_int_equal(row->row_bytes, 100);
    assert_int_equal(row->all_bytes, 400);
    assert_string_equal(list.assumed[2].row.place, "c.py:3");
    assert_string_equal(list.assumed[3].row.what, "truth value");
    assert_string_equal(list.assumed[3].row.place, "");
    assert_string_equal(list.assumed[4].row.place, "a.py:1");
    assert_int_equal(list.assumed[4].row.given_least, -1); /* only counts are kept */
    tide_left_fini(&list);
}

/* Two pools, and half a row. One that was too small did not end the program. */
static void test_pools_are_read(void **state) {
    (void)state;
    tide_left_list list;
    tide_error error = {""};
    write_card("9.pool", "vLLM\t5000000000\t-1\t47744\t65536\t8000000000\t-1\t0\t-1\n"
                         "vLLM\t1\t2\t3\t-1\t-1\t-1\t-1\t-1\n");
    write_card("7.pool", "vLLM\t60000000000\t475616\t131072\t-1\t-1\t363\t1\t2\nvLLM\t6");
    for (int status = 0; status < 2; status++) {
        launch.exit_status = status; /* it asked for less, and then failed for another reason */
        assert_int_equal(tide_left_read(&launch, &list, &error), TIDE_OK);
        assert_int_equal(list.n_pools, 2);
        tide_left_fini(&list);
    }
    assert_int_equal(tide_left_read(&launch, &list, &error), TIDE_OK);
    const tide_snapshot_kv_pool *row = &list.pools[0].row;
    assert_int_equal(list.pools[0].pid, 7);
    assert_string_equal(row->library, "vLLM");
    assert_int_equal(row->bytes, 60000000000);
    assert_int_equal(row->n_tokens, 475616);
    assert_int_equal(row->n_request_tokens, 131072);
    assert_int_equal(row->asked_bytes, -1);
    assert_int_equal(row->n_requests_percent, 363);
    assert_true(row->is_fitted);
    assert_int_equal(row->card, 2);
    assert_int_equal(list.pools[1].pid, 9);
    assert_int_equal(list.pools[1].row.bytes, 1);
    assert_false(list.pools[1].row.is_fitted);
    tide_left_fini(&list);
}

/* A pool that was too small counts if it ended the program. */
static void test_small_pools_are_read(void **state) {
    (void)state;
    tide_left_list list;
    tide_error error = {""};
    write_card("9.pool", "vLLM\t5000000000\t-1\t47744\t65536\t8000000000\t-1\t0\t-1\n");
    launch.exit_status = 0;
    assert_int_equal(tide_left_read(&launch, &list, &error), TIDE_OK);
    assert_int_equal(list.n_pools, 0);
    tide_left_fini(&list);
    launch.exit_status = 1;
    assert_int_equal(tide_left_read(&launch, &list, &error), TIDE_OK);
    assert_int_equal(list.n_pools, 1);
    assert_int_equal(list.pools[0].row.n_asked_tokens, 65536);
    assert_int_equal(list.pools[0].row.n_request_tokens, 47744);
    assert_int_equal(list.pools[0].row.asked_bytes, 8000000000);
    assert_false(list.pools[0].row.is_fitted);
    tide_left_fini(&list);
}

/* A card and a line of arrays; lines that are not complete. */
static void test_figures_of_xla_are_read(void **state) {
    (void)state;
    tide_left_list list;
    tide_error error = {""};
    write_card("7.xla", "device\t1\t700\t9000\t-1\t16\t0\t1\ttrain (train.py:12)\n"
                        "array\t11\t2\t\n"
                        "array\t11\n"
                        "array\t11\t3\n"
                        "other\t1\t2\t3\n"
                        "device\t1\t700");
    for (int status = 0; status < 2; status++) {
        launch.exit_status = status;
        assert_int_equal(tide_left_read(&launch, &list, &error), TIDE_OK);
        assert_int_equal(list.n_xla, 2);
        assert_int_equal(list.xla[0].row.asked_bytes, status == 0 ? -1 : 16);
        tide_left_fini(&list);
    }
    assert_int_equal(tide_left_read(&launch, &list, &error), TIDE_OK);
    const tide_snapshot_xla *card = &list.xla[0].row;
    const tide_snapshot_xla *arrays = &list.xla[1].row;
    assert_int_equal(list.xla[0].pid, 7);
    assert_int_equal(card->card, 1);
    assert_int_equal(card->peak_bytes, 700);
    assert_int_equal(card->limit_bytes, 9000);
    assert_int_equal(card->program_bytes, -1);
    assert_int_equal(card->array_bytes, -1);
    assert_true(card->lacks_graphs);
    assert_false(card->lacks_autotuning);
    assert_string_equal(card->place, "train (train.py:12)");
    assert_int_equal(arrays->array_bytes, 11);
    assert_int_equal(arrays->n_arrays, 2);
    assert_int_equal(arrays->card, -1);
    assert_false(arrays->lacks_graphs);
    assert_string_equal(arrays->place, "");
    tide_left_fini(&list);
}

static int make_folder(void **state) {
    (void)state;
    launch.exit_status = 0;
    snprintf(launch.folder, sizeof(launch.folder), "/tmp/tidemark-left-XXXXXX");
    return mkdtemp(launch.folder) != NULL ? 0 : 1;
}

static int remove_folder(void **state) {
    char path[TIDE_LAUNCH_PATH_BYTES + 64];
    (void)state;
    static const char *const NAMES[] = {"7.card", "7.assumed", "7.pool", "9.pool", "7.xla"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", launch.folder, NAMES[i]);
        (void)remove(path);
    }
    return rmdir(launch.folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines_of_a_process_are_rows, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(test_assumed_values_are_sorted, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_pools_are_read, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_small_pools_are_read, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_figures_of_xla_are_read, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
