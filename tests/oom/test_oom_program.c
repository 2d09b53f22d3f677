/* test_oom_program.c - a run of a user's command while the n-th allocation of our heap, or the
 * n-th call of the system, fails, for every n: the result reports it, nothing leaks, no folder of
 * the run stays, and no snapshot is partial. A shell script replaces PyTorch.
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

#include "programs/wire/run_calls.h"
#include "programs/runs/run_friend.h"
#include "support/hostmem_fault.h"
#include "support/system_fault.h"

enum { MAX_CALLS = 3000, MIB = 1 << 20, SKIPPED = 77 };

/* The default heap takes no context, so the one in use is a global variable. */
static tide_hostmem_fault heap;
static bool uses_heap;

/* NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): names of the linker's */
const tide_hostmem *__wrap_tide_hostmem_default(void);
const tide_hostmem *__real_tide_hostmem_default(void);

const tide_hostmem *__wrap_tide_hostmem_default(void) {
    return uses_heap ? &heap.mem : __real_tide_hostmem_default();
}
/* NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier) */

static char folder[] = "/tmp/tidemark-oom-XXXXXX";

/* The path of a file in the folder; valid until the next call. */
static const char *path_of(const char *name) {
    static char path[sizeof(folder) + 300];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const void *bytes, size_t n_bytes) {
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
    assert_int_equal(fclose(file), 0);
}

static void put_text(const char *name, const char *text) {
    put(name, text, strlen(text));
}

/* Two processes on one card, the second fuller, each with the calls of a pool. */
static void put_program(void) {
    static const char LEFT[] =
        "{\"rank\": %d, \"n_steps\": 3, \"n_calls\": 3, \"host_peak_bytes\": 1000, "
        "\"is_out_of_memory\": false, \"ended_early\": true, \"torch\": \"0.0.0\", \"cuda\": "
        "\"0.0\", \"python\": \"0.0\", \"backend\": \"cudaMallocAsync\", \"exception\": \"\", "
        "\"command\": [], \"n_rows\": [0], \"marks\": [], \"names\": [], \"peaks\": [{\"allocated\""
        ": %d, \"reserved\": %d, \"retries\": 0, \"out_of_memory\": 0}]}";
    struct {
        tide_run_calls_header header;
        tide_run_call row;
    } calls = {.header = {.magic = TIDE_RUN_CALLS_MAGIC,
                          .header_bytes = sizeof(tide_run_calls_header),
                          .row_bytes = sizeof(tide_run_call)},
               .row = {.address = 4096, .n_bytes = MIB, .action = TIDE_RUN_ALLOC}};
    char text[1024];
    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof(text), LEFT, i, (i + 1) * MIB, (i + 1) * 2 * MIB);
        put_text(i == 0 ? "11.json" : "12.json", text);
        put(i == 0 ? "11.calls" : "12.calls", &calls, sizeof(calls));
    }
    put_text("11.card", "inexact\tcufftExec\tits workspace is not known\t100\n");
    put_text("program.sh", "cp \"$1\"/1?.* \"$TIDEMARK_RUN_FOLDER\"; exit $2\n");
}

/* Existing snapshots are whole; removes them. Nothing else may stay. */
static size_t count_snapshots(void) {
    size_t n = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        assert_null(strstr(entry->d_name, "tidemark-run-"));
        if (strncmp(entry->d_name, "kept", 4) == 0) {
            tide_snapshot *snapshot = NULL;
            assert_int_equal(tide_snapshot_load(path_of(entry->d_name), NULL, &snapshot, NULL),
                             TIDE_OK);
            tide_snapshot_destroy(snapshot);
            assert_int_equal(unlink(path_of(entry->d_name)), 0);
            n++;
        }
    }
    assert_int_equal(closedir(listing), 0);
    return n;
}

static void run(const char *exit_status, tide_run_result *ret_result) {
    static char snapshot[sizeof(folder) + 64];
    static char command[sizeof(folder) * 2 + 128];
    const tide_run_hooks hooks = {.ctx = NULL};
    tide_run_config config;
    (void)snprintf(snapshot, sizeof(snapshot), "%s/kept.json.gz", folder);
    (void)snprintf(command, sizeof(command), "[\"sh\",\"%s/program.sh\",\"%s\",\"{status}\"]",
                   folder, folder);
    tide_run_config_init(&config);
    config.limits.device = "virtual:h100-80";
    config.recording.snapshot_path = snapshot;
    config.workload.kind = &tide_run_program_kind;
    config.workload.of.program = (tide_run_program){.command = command, .writes_are_real = true};
    (void)snprintf(config.workload.of.program.values, TIDE_RUN_VALUES_BYTES, "status=%s",
                   exit_status);
    tide_run_result_init(ret_result);
    tide_run_program_here(&config, &hooks, ret_result);
}

static void check_result(const tide_run_result *result) {
    if (result->outcome != TIDE_OUTCOME_COMPLETED) {
        assert_string_not_equal(result->reason, "");
        (void)count_snapshots();
        return;
    }
    assert_int_equal(result->memory.reserved_peak_bytes, 4 * MIB);
    assert_int_equal(result->memory.allocated_peak_bytes, 2 * MIB);
    assert_int_equal(result->program.n_inexact, 1);
    assert_int_equal(result->program.n_steps, 3);
    assert_non_null(strstr(result->snapshot_path, "/kept-rank1.json.gz"));
    assert_int_equal(count_snapshots(), 2);
}

static void a_run_keeps_each_process(void **state) {
    (void)state;
    tide_run_result result;
    run("0", &result);
    assert_string_equal(result.reason, "");
    assert_int_equal(result.outcome, TIDE_OUTCOME_COMPLETED);
    check_result(&result);
    tide_run_result_fini(&result);
    run("3", &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_FAILED);
    assert_string_equal(result.reason, "the program ended with status 3 without a word");
    assert_int_equal(count_snapshots(), 2);
    tide_run_result_fini(&result);
}

static void a_file_of_the_users_is_not_replaced(void **state) {
    (void)state;
    tide_run_result result;
    put_text("kept-rank1.json.gz", "mine");
    run("0", &result);
    assert_int_not_equal(result.outcome, TIDE_OUTCOME_COMPLETED);
    assert_non_null(strstr(result.reason, "it is no snapshot"));
    tide_run_result_fini(&result);
    FILE *file = fopen(path_of("kept-rank1.json.gz"), "rb");
    assert_non_null(file);
    assert_int_equal(fgetc(file), 'm');
    assert_int_equal(fclose(file), 0);
    assert_int_equal(unlink(path_of("kept-rank1.json.gz")), 0);
    (void)count_snapshots();
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    size_t n = 0;
    do {
        tide_run_result result;
        assert_in_range(++n, 1, MAX_CALLS);
        tide_hostmem_fault_init(&heap, n);
        uses_heap = true;
        run("0", &result);
        uses_heap = false;
        check_result(&result);
        tide_run_result_fini(&result);
        assert_int_equal(heap.n_live, 0);
    } while (heap.n_calls >= n); /* the last run had no failure */
    assert_true(n > 10);
}

/* Descriptors of this process; pipes among them, which the fault does not count. */
static size_t count_open(void) {
    size_t n = 0;
    DIR *listing = opendir("/proc/self/fd");
    assert_non_null(listing);
    while (readdir(listing) != NULL) {
        n++;
    }
    assert_int_equal(closedir(listing), 0);
    return n;
}

static void each_call_of_the_system_may_fail(void **state) {
    (void)state;
    size_t n = 0;
    size_t n_calls = 0;
    size_t n_open = count_open();
    do {
        tide_run_result result;
        tide_system_fault fault = {.fail_call = ++n};
        assert_in_range(n, 1, MAX_CALLS);
        tide_system_fault_use(&fault);
        run("0", &result);
        tide_system_fault_use(NULL);
        n_calls = fault.n_calls;
        check_result(&result);
        tide_run_result_fini(&result);
        assert_int_equal(count_open(), n_open);
        assert_int_equal(fault.n_live[TIDE_SYSTEM_MAPS], 0);
    } while (n_calls >= n);
    assert_true(n > 10);
}

static int begin(void **state) {
    (void)state;
    if (mkdtemp(folder) == NULL || setenv("TMPDIR", folder, 1) != 0) {
        return -1;
    }
    put_program();
    return 0;
}

static int end(void **state) {
    (void)state;
    static const char *const NAMES[] = {"11.json",  "12.json", "11.calls",
                                        "12.calls", "11.card", "program.sh"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        (void)unlink(path_of(NAMES[i]));
    }
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_keeps_each_process),
        cmocka_unit_test(a_file_of_the_users_is_not_replaced),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(each_call_of_the_system_may_fail),
    };
#ifndef TIDE_TEST_VIRTUAL_CUDA
    (void)puts(
        "skipped: this build has no virtual card that a program without a sanitizer could load");
    return SKIPPED;
#endif
    return cmocka_run_group_tests(tests, begin, end);
}
