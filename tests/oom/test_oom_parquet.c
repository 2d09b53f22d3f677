/* test_oom_parquet.c - an export of a log to a folder of tables, in which the n-th host allocation
 * or the n-th call of the system fails, for every n: nothing leaks, the status is clear, no
 * unfinished file stays, and a folder with the last table has all of one export.
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocator/cache.h"
#include "capture/log_source.h"
#include "snapshot/export/parquet/export.h"
#include "support/hostmem_fault.h"
#include "support/system_fault.h"

enum { MAX_CALLS = 5000, N_TABLES = 9 };

static char folder[] = "/tmp/tidemark-oom-parquet-XXXXXX";
static char log_path[sizeof(folder) + 32];
static char tables[sizeof(folder) + 32];
static char above[sizeof(folder) + 32];

/* How many files the folder of the tables has; -1: there is no such folder. */
static int count_tables(bool *ret_is_whole) {
    int n = 0;
    DIR *listing = opendir(tables);
    *ret_is_whole = false;
    if (listing == NULL) {
        return -1;
    }
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (entry->d_name[0] == '.' && (entry->d_name[1] == '\0' || entry->d_name[1] == '.')) {
            continue;
        }
        size_t length = strlen(entry->d_name);
        assert_true(length > 8 && strcmp(entry->d_name + length - 8, ".parquet") == 0);
        *ret_is_whole = *ret_is_whole || strcmp(entry->d_name, "devices.parquet") == 0;
        n++;
    }
    assert_int_equal(closedir(listing), 0);
    return n;
}

static void remove_tables(void) {
    static const char *const NAMES[N_TABLES] = {"events", "blocks", "segments", "scopes", "steps",
                                                "stacks", "frames", "groups",   "devices"};
    for (int i = 0; i < N_TABLES; i++) {
        char path[sizeof(tables) + 32];
        (void)snprintf(path, sizeof(path), "%s/%s.parquet", tables, NAMES[i]);
        (void)unlink(path);
    }
    (void)rmdir(tables);
    (void)rmdir(above);
}

static tide_status export_log(const tide_hostmem *mem, tide_error *error) {
    tide_log_source *log = NULL;
    TIDE_TRY(tide_log_source_open(log_path, mem, &log, error));
    const tide_event_source source = tide_log_source_events(log);
    tide_status status = tide_parquet_export(&source, tables, mem, error);
    tide_log_source_close(log);
    return status;
}

/* An export that may have failed left everything or nothing; `had`: an older export existed. */
static void expect_whole_or_nothing(tide_status status, bool had, bool was_renaming) {
    bool is_whole = false;
    int n = count_tables(&is_whole);
    if (status == TIDE_OK) {
        assert_int_equal(n, N_TABLES);
        assert_true(is_whole);
    } else if (was_renaming) {
        assert_true(n < 0 || n <= N_TABLES);
    } else {
        assert_int_equal(n, had ? N_TABLES : -1);
        assert_int_equal(is_whole, had);
        assert_int_equal(access(above, F_OK), had ? 0 : -1);
    }
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    for (int had = 0; had < 2; had++) {
        size_t n = 0;
        tide_status status = TIDE_NO_MEMORY;
        while (status != TIDE_OK) {
            tide_hostmem_fault heap;
            tide_error error = {""};
            assert_true(++n < MAX_CALLS);
            tide_hostmem_fault_init(&heap, n);
            status = export_log(&heap.mem, &error);
            assert_true(status == TIDE_OK || status == TIDE_NO_MEMORY);
            assert_int_equal(heap.n_live, 0);
            assert_true(status != TIDE_OK || heap.n_calls < n);
            expect_whole_or_nothing(status, had == 1, false);
        }
        assert_true(n > 100);
    }
    remove_tables();
}

static void any_call_of_the_system_may_fail(void **state) {
    (void)state;
    for (int had = 0; had < 2; had++) {
        size_t n = 0;
        bool has_failed = true;
        size_t n_clear = 0;
        while (has_failed) {
            tide_system_fault system = {.fail_call = ++n};
            tide_error error = {""};
            assert_true(n < MAX_CALLS);
            tide_system_fault_use(&system);
            tide_status status = export_log(tide_hostmem_default(), &error);
            tide_system_fault_use(NULL);
            has_failed = system.n_calls >= n;
            for (int i = 0; i < TIDE_N_SYSTEM_KINDS; i++) {
                assert_int_equal(system.n_live[i], 0);
            }
            bool was_renaming = system.n_failed[TIDE_SYSTEM_RENAME] +
                                    system.n_failed[TIDE_SYSTEM_FSYNC] +
                                    system.n_failed[TIDE_SYSTEM_CLOSE] >
                                0;
            assert_true(status == TIDE_OK || status == TIDE_NO_MEMORY || error.message[0] != '\0');
            n_clear += status != TIDE_OK;
            expect_whole_or_nothing(status, had == 1, was_renaming);
            if (had == 0 || (status != TIDE_OK && was_renaming)) {
                remove_tables();
            }
            if (had == 1 && access(tables, F_OK) != 0) {
                assert_int_equal(export_log(tide_hostmem_default(), &error), TIDE_OK);
            }
        }
        assert_true(n_clear > 20);
        if (had == 0) {
            tide_error error = {""};
            assert_int_equal(export_log(tide_hostmem_default(), &error), TIDE_OK);
        }
    }
    remove_tables();
}

/* Two steps with a block each, and one that stays. */
static tide_status record(tide_cache *cache, tide_error *error) {
    tide_recorder *recorder = tide_cache_recorder(cache);
    const tide_tag kept = {TIDE_PARAMETER, "weight"};
    const tide_tag tag = {TIDE_ACTIVATION, "output"};
    uint64_t address = 0;
    TIDE_TRY(tide_cache_alloc(cache, 5000, 0, &kept, &address, error));
    for (int i = 0; i < 2; i++) {
        tide_scope step = tide_scope_begin(recorder, TIDE_SCOPE_STEP, "step", i);
        tide_scope phase = tide_scope_begin(recorder, TIDE_SCOPE_PHASE, "forward", -1);
        TIDE_TRY(tide_cache_alloc(cache, 3 << 20, 0, &tag, &address, error));
        TIDE_TRY(tide_cache_release(cache, address, error));
        tide_scope_end(recorder, phase);
        tide_scope_end(recorder, step);
    }
    return TIDE_OK;
}

static int set_up(void **state) {
    tide_error error = {""};
    tide_device *device = NULL;
    tide_recorder *recorder = NULL;
    tide_cache *cache = NULL;
    tide_recorder_config config;
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(log_path, sizeof(log_path), "%s/run.log", folder);
    (void)snprintf(above, sizeof(above), "%s/run=a", folder);
    (void)snprintf(tables, sizeof(tables), "%s/run=a/rank=0", folder);
    tide_recorder_config_init(&config);
    config.log_path = log_path;
    config.log_bytes = (size_t)1 << 20;
    config.capture_stacks = false; /* libbacktrace would keep maps of the program */
    assert_int_equal(tide_device_open("virtual", NULL, &device, &error), TIDE_OK);
    assert_int_equal(tide_recorder_create(&config, &recorder, &error), TIDE_OK);
    assert_int_equal(tide_cache_create(device, recorder, NULL, &cache, &error), TIDE_OK);
    assert_int_equal(record(cache, &error), TIDE_OK);
    tide_cache_destroy(cache);
    tide_recorder_destroy(recorder);
    tide_device_close(device);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    assert_int_equal(unlink(log_path), 0);
    assert_int_equal(rmdir(folder), 0);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(any_call_of_the_system_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
