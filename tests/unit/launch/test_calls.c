/* test_calls.c - the recording of calls of memory pools, read back.
 */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include <cmocka.h>

#include "programs/launch/calls.h"

enum { N_MANY = 10000 };

static const tide_run_calls_header HEADER = {.magic = TIDE_RUN_CALLS_MAGIC,
                                             .header_bytes = sizeof(tide_run_calls_header),
                                             .row_bytes = sizeof(tide_run_call)};

/* Writes the file, reads it back and removes it. */
static tide_status read_back(const tide_run_calls_header *header, const tide_run_call *rows,
                             size_t n_rows, tide_calls *ret_calls, tide_error *error) {
    char path[] = "/tmp/tidemark-test-XXXXXX";
    int number = mkstemp(path);
    assert_true(number >= 0);
    FILE *file = fdopen(number, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(header, sizeof(*header), 1, file), 1);
    assert_int_equal(fwrite(rows, sizeof(*rows), n_rows, file), n_rows);
    assert_int_equal(fclose(file), 0);
    tide_status status = tide_calls_read(tide_hostmem_default(), path, ret_calls, error);
    (void)unlink(path);
    return status;
}

static void figures_follow_from_the_rows(void **state) {
    (void)state;
    const tide_run_call rows[] = {
        {.n_bytes = 64, .reserved_bytes = 64, .action = TIDE_RUN_GROW},
        {.address = 8, .n_bytes = 20, .reserved_bytes = 64, .action = TIDE_RUN_ALLOC},
        {.address = 9, .n_bytes = 30, .reserved_bytes = 64, .action = TIDE_RUN_ALLOC},
        {.address = 9, .n_bytes = 7, .reserved_bytes = 32, .device = 1, .action = TIDE_RUN_ALLOC},
        {.address = 8, .n_bytes = 20, .reserved_bytes = 64, .action = TIDE_RUN_FREE},
        {.address = 7, .n_bytes = 20, .reserved_bytes = 64, .action = TIDE_RUN_ALLOC},
        {.n_bytes = 999, .reserved_bytes = 64, .action = TIDE_RUN_OOM},
        {.n_bytes = 10, .reserved_bytes = 54, .action = TIDE_RUN_SHRINK},
        {.action = TIDE_RUN_NONE},
        {.address = 1, .n_bytes = 1000, .action = TIDE_RUN_ALLOC}, /* beyond the end */
    };
    tide_calls calls;
    tide_error error = {""};
    assert_int_equal(read_back(&HEADER, rows, sizeof(rows) / sizeof(rows[0]), &calls, &error),
                     TIDE_OK);
    assert_int_equal(calls.n_rows, 8);
    assert_memory_equal(calls.rows, rows, 8 * sizeof(rows[0]));
    assert_int_equal(calls.devices[0].used_bytes, 50);
    assert_int_equal(calls.devices[0].used_peak_bytes, 50);
    assert_int_equal(calls.devices[0].used_peak_row, 2);
    assert_int_equal(calls.devices[0].reserved_peak_bytes, 64);
    assert_int_equal(calls.devices[0].n_allocs, 3);
    assert_int_equal(calls.devices[0].n_frees, 1);
    assert_int_equal(calls.devices[0].n_refused, 1);
    assert_int_equal(calls.devices[1].used_peak_bytes, 7);
    assert_int_equal(calls.devices[1].reserved_peak_bytes, 32);
    tide_calls_fini(&calls);
}

static void a_long_file_is_read_whole(void **state) {
    (void)state;
    static tide_run_call rows[N_MANY];
    tide_calls calls;
    for (size_t i = 0; i < N_MANY; i++) {
        rows[i] = (tide_run_call){.address = i + 1, .n_bytes = 1, .action = TIDE_RUN_ALLOC};
    }
    assert_int_equal(read_back(&HEADER, rows, N_MANY, &calls, NULL), TIDE_OK);
    assert_int_equal(calls.n_rows, N_MANY);
    assert_memory_equal(calls.rows, rows, sizeof(rows));
    assert_int_equal(calls.devices[0].used_peak_bytes, N_MANY);
    tide_calls_fini(&calls);
}

static void what_makes_no_sense_is_named(void **state) {
    (void)state;
    const tide_run_call bad[] = {
        {.address = 1, .n_bytes = 1, .action = TIDE_RUN_FREE},
        {.address = 1, .n_bytes = 1, .action = 99},
        {.address = 1, .n_bytes = 1, .device = 64, .action = TIDE_RUN_ALLOC},
        {.n_bytes = 1, .action = TIDE_RUN_ALLOC},
    };
    tide_calls calls;
    tide_error error = {""};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(read_back(&HEADER, &bad[i], 1, &calls, &error), TIDE_FORMAT);
        assert_non_null(strstr(error.message, "row 1 "));
        tide_calls_fini(&calls);
    }
    tide_run_calls_header other = HEADER;
    other.magic++;
    assert_int_equal(read_back(&other, bad, 1, &calls, &error), TIDE_FORMAT);
    tide_calls_fini(&calls);
    other = HEADER;
    other.row_bytes--;
    assert_int_equal(read_back(&other, bad, 1, &calls, &error), TIDE_FORMAT);
    tide_calls_fini(&calls);
    assert_int_equal(tide_calls_read(tide_hostmem_default(), "/nowhere", &calls, &error), TIDE_IO);
    tide_calls_fini(&calls);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_follow_from_the_rows),
        cmocka_unit_test(a_long_file_is_read_whole),
        cmocka_unit_test(what_makes_no_sense_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
