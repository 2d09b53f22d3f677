/* test_oom_run.c - a whole run, from the device to the file and back, in which the n-th host
 * allocation, the n-th device call or the n-th call of the system fails, for every n: nothing
 * leaks, the status is clear, an older file survives, the cache keeps its invariants, and the next
 * calls work.
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
#include <unistd.h>

#include <cmocka.h>

#include "snapshot/analysis/summary.h"
#ifdef TIDE_TEST_CUDA
#include "fake_cudart/fake_cudart.h"
#endif
#include "support/system_fault.h"
#include "tiny_run.h"

enum { MAX_CALLS = 20000 };

/* The program is built twice: the second one links an emulated cuda device. */
#ifdef TIDE_TEST_CUDA
static const char *const DEVICES[] = {"cuda"};
#else
static const char *const DEVICES[] = {"virtual", "cpu"};
#endif
enum { N_DEVICES = sizeof(DEVICES) / sizeof(DEVICES[0]) };

/* The next call to fail: every call. Emulated runs are slow, so after the first 50 calls, which
 * create things, only every fifth one fails. */
static size_t next_call(size_t n) {
#ifdef TIDE_TEST_CUDA
    return n < 50 ? n + 1 : n + 5;
#else
    return n + 1;
#endif
}

static char folder[] = "/tmp/tidemark-oom-XXXXXX";
static char path[sizeof(folder) + 32];
static const char OLDER[] = "what stood there before";

static size_t count_files(void) {
    size_t n_files = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        n_files += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    assert_int_equal(closedir(listing), 0);
    return n_files;
}

static void put_older_file(void) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(OLDER, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Whether the file is still the older one, unchanged. */
static bool is_older_file(void) {
    char text[sizeof(OLDER) + 1] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof(text), file);
    assert_int_equal(fclose(file), 0);
    return n == sizeof(OLDER) - 1 && strcmp(text, OLDER) == 0;
}

/* Expects a file that can be read and summarised. */
static void expect_file(void) {
    tide_error error = {""};
    tide_snapshot *snapshot = NULL;
    tide_summary *summary = NULL;
    tide_status status = tide_snapshot_load(path, NULL, &snapshot, &error);
    if (status == TIDE_OK) {
        status = tide_summary_create(snapshot, &summary, &error);
    }
    if (status != TIDE_OK) {
        fail_msg("%s: %s", tide_status_text(status), error.message);
    }
    for (size_t i = 0; i < summary->n_devices; i++) {
        assert_int_equal(summary->devices[i].n_unmatched, 0);
    }
    tide_summary_destroy(summary);
    tide_snapshot_destroy(snapshot);
    assert_int_equal(count_files(), 1);
    assert_int_equal(unlink(path), 0);
}

static void expect_whole(tiny_run *on, size_t requested_bytes) {
    tide_error error = {""};
    tide_cache_stats stats;
    if (tide_cache_check(on->cache, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    tide_cache_get_stats(on->cache, &stats);
    assert_true(stats.requested_bytes[TIDE_POOL_ALL].current == (int64_t)requested_bytes);
}

/* Expects that after the failure the cache allocates and frees blocks, that a second run on it
 * trains, and that a snapshot can be written. */
static void expect_the_next_calls_work(tiny_run *on) {
    const tide_workload_config config = tiny_run_config();
    uint64_t address = 0;
    on->heap.fail_call = 0;
    on->device.fail_call = 0;
    assert_int_equal(tide_cache_alloc(on->cache, 5000, 0, NULL, &address, NULL), TIDE_OK);
    expect_whole(on, 5000);
    assert_int_equal(tide_cache_release(on->cache, address, NULL), TIDE_OK);
    tide_status status =
        tide_workload_create(&config, on->cache, on->recorder, &on->workload, &on->error);
    if (status == TIDE_OK) {
        status = tiny_run_train(on);
    }
    if (status != TIDE_OK) {
        fail_msg("the run after the failure: %s", on->error.message);
    }
    tide_workload_destroy(on->workload);
    on->workload = NULL;
    expect_whole(on, 0);
    assert_int_equal(tiny_run_save(on, NULL), TIDE_OK);
    expect_file();
}

/* Expects that calls that need the lost device report the loss, and that all others work. */
static void expect_lost(tiny_run *on) {
    uint64_t address = 0;
    double ms = 0;
    on->heap.fail_call = 0;
    on->error = (tide_error){""};
    tide_status status =
        tide_cache_alloc(on->cache, (size_t)60 << 20, 0, NULL, &address, &on->error);
    assert_int_equal(status, TIDE_DEVICE_LOST);
    assert_non_null(strstr(on->error.message, "planted failure of"));
    status = tide_device_event_elapsed(&on->device.base, NULL, NULL, &ms, NULL);
    assert_int_equal(status, TIDE_DEVICE_LOST);
    expect_whole(on, 0);
    assert_int_equal(tiny_run_save(on, NULL), TIDE_OK);
    expect_file();
}

/* A lost device keeps its memory and addresses, so the fake runtime frees them here. The smaller
 * workspace of this card makes runs shorter. */
static void reset_runtime(void) {
#ifdef TIDE_TEST_CUDA
    tide_fake_cudart_reset();
    tide_fake_cudart_state()->compute_capability = 86;
#endif
}

static void end(tiny_run *on) {
    bool is_lost = on->device.fail_call != 0 && on->device.fail_status == TIDE_DEVICE_LOST;
    tide_workload_destroy(on->workload);
    tide_cache_destroy(on->cache);
    tide_recorder_destroy(on->recorder);
    assert_int_equal(on->device.n_events, 0);
    assert_true(is_lost || on->device.n_segments == 0);
    assert_true(is_lost || (on->device.n_ranges == 0 && on->device.mapped_bytes == 0));
    tide_device_close(on->inner);
    reset_runtime();
    assert_int_equal(on->heap.n_live, 0);
    tide_system_fault_use(NULL);
    /* With stacks libbacktrace keeps maps of the program, so these are not counted. */
    for (size_t i = on->captures_stacks ? TIDE_SYSTEM_LOCKS : 0; i < TIDE_N_SYSTEM_KINDS; i++) {
        assert_int_equal(on->system.n_live[i], 0);
    }
}

/* The status that the failed call of the system should give. */
static tide_status status_of_system(const tiny_run *on) {
    static const tide_system_call MEMORY[] = {TIDE_SYSTEM_MMAP, TIDE_SYSTEM_MUTEX_INIT,
                                              TIDE_SYSTEM_DEFLATE_INIT, TIDE_SYSTEM_INFLATE_INIT};
    for (size_t i = 0; i < sizeof(MEMORY) / sizeof(MEMORY[0]); i++) {
        if (on->system.n_failed[MEMORY[i]] > 0) {
            return TIDE_NO_MEMORY;
        }
    }
    return on->system.n_failed[TIDE_SYSTEM_MPROTECT] > 0 ? TIDE_DEVICE_OOM : TIDE_IO;
}

static bool has_failed(const tiny_run *on) {
    size_t n_failed = 0;
    for (size_t i = 0; i < TIDE_N_DEVICE_CALLS; i++) {
        n_failed += on->device.n_failed[i];
    }
    for (size_t i = 0; i < TIDE_N_SYSTEM_CALLS; i++) {
        n_failed += on->system.n_failed[i];
    }
    return n_failed > 0 || (on->heap.fail_call != 0 && on->heap.n_calls >= on->heap.fail_call);
}

/* Names the failing call, for messages. */
static void name_failure(const tiny_run *on, char text[96]) {
    const char *name = "";
    for (size_t i = 0; i < TIDE_N_SYSTEM_CALLS; i++) {
        name = on->system.n_failed[i] > 0 ? tide_system_call_name((tide_system_call)i) : name;
    }
    (void)snprintf(text, 96, "host call %zu, device call %zu, system call %zu %s",
                   on->heap.fail_call, on->device.fail_call, on->system.fail_call, name);
}

/* Runs once and checks everything afterwards. `expected` is the status of the failure; TIDE_OK: the
 * one that status_of_system gives. The run may also end with TIDE_OK if it can do without the call:
 * a recording without a scope or a name, a segment bought at the second attempt. False when the run
 * ended before the n-th call.
 */
static bool run_once(tiny_run *on, tide_status expected) {
    char failure[96];
    tide_status status = tiny_run_go(on);
    name_failure(on, failure);
    on->system.fail_call = 0;
    bool failed = has_failed(on);
    expected = expected == TIDE_OK ? status_of_system(on) : expected;
    if (status != TIDE_OK && (status != expected || strlen(on->error.message) < 10)) {
        fail_msg("%s: %s: \"%s\"", failure, tide_status_text(status), on->error.message);
    }
    assert_true(failed || status == TIDE_OK);
    assert_int_equal(count_files(), 1);
    if (is_older_file()) {
        assert_int_not_equal(status, TIDE_OK);
    } else {
        expect_file();
    }
    tide_workload_destroy(on->workload);
    on->workload = NULL;
    if (on->cache != NULL) {
        expect_whole(on, 0);
        if (failed && on->device.fail_call != 0 && expected == TIDE_DEVICE_LOST) {
            expect_lost(on);
        } else if (failed) {
            expect_the_next_calls_work(on);
        }
    }
    end(on);
    return failed;
}

static void init(tiny_run *on, const char *spec) {
    put_older_file();
    *on = (tiny_run){.spec = spec, .path = path};
    tide_system_fault_use(&on->system);
    tide_hostmem_fault_init(&on->heap, 0);
    tide_device_fault_init(&on->device, NULL);
}

static void sweep_host(const char *spec, bool captures_stacks, bool fails_on) {
    static tiny_run on;
    size_t n = 1;
    for (;; n = next_call(n)) {
        init(&on, spec);
        on.captures_stacks = captures_stacks;
        on.heap.fail_call = n;
        on.heap.fails_on = fails_on;
        assert_true(n < MAX_CALLS);
        if (!run_once(&on, TIDE_NO_MEMORY)) {
            break;
        }
    }
    assert_true(n > 100);
}

static void any_host_allocation_may_fail(void **state) {
    (void)state;
    sweep_host(DEVICES[0], false, false);
#ifndef TIDE_TEST_CUDA
    sweep_host(DEVICES[0], false, true);
#endif
}

#ifndef TIDE_TEST_CUDA /* emulated runs are slow, and the fake runtime also makes calls */
static void any_host_allocation_may_fail_with_stacks(void **state) {
    (void)state;
    sweep_host(DEVICES[0], true, false);
}

static void any_host_allocation_may_fail_with_expandable_segments(void **state) {
    (void)state;
    static tiny_run on;
    bool failed = true;
    for (size_t n = 1; failed; n = next_call(n)) {
        init(&on, DEVICES[0]);
        on.is_expandable = true;
        on.heap.fail_call = n;
        assert_true(n < MAX_CALLS);
        failed = run_once(&on, TIDE_NO_MEMORY);
    }
}

static void any_call_of_the_system_may_fail(void **state) {
    (void)state;
    static tiny_run on;
    size_t n_failed[TIDE_N_SYSTEM_CALLS] = {0};
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        init(&on, "cpu");
        on.system.fail_call = n;
        assert_true(n < MAX_CALLS);
        failed = run_once(&on, TIDE_OK);
        for (size_t i = 0; i < TIDE_N_SYSTEM_CALLS; i++) {
            n_failed[i] += on.system.n_failed[i];
        }
    }
    /* Other tests make the calls from there on. */
    for (size_t i = 0; i < TIDE_SYSTEM_FOPEN; i++) {
        if (n_failed[i] == 0) {
            fail_msg("no call of %s was reached", tide_system_call_name((tide_system_call)i));
        }
    }
}
#endif

static void sweep_device(const char *spec, bool is_expandable, tide_status status,
                         size_t *ret_failed) {
    static tiny_run on;
    size_t n = 1;
    bool failed = true;
    for (; failed; n = next_call(n)) {
        init(&on, spec);
        on.is_expandable = is_expandable;
        on.device.fail_call = n;
        on.device.fail_status = status;
        assert_true(n < MAX_CALLS);
        failed = run_once(&on, status);
        for (size_t i = 0; i < TIDE_N_DEVICE_CALLS; i++) {
            ret_failed[i] += on.device.n_failed[i];
        }
    }
    assert_true(n > 8);
}

static void any_device_call_may_fail(void **state) {
    (void)state;
    static const tide_status ANSWERS[] = {TIDE_DEVICE_FAILED, TIDE_DEVICE_OOM, TIDE_DEVICE_LOST};
    size_t n_failed[TIDE_N_DEVICE_CALLS] = {0};
    for (size_t i = 0; i < N_DEVICES; i++) {
        for (size_t k = 0; k < 3; k++) {
            sweep_device(DEVICES[i], false, ANSWERS[k], n_failed);
            if (k == 0 || strcmp(DEVICES[i], "virtual") == 0) {
                sweep_device(DEVICES[i], true, ANSWERS[k], n_failed);
            }
        }
    }
#ifndef TIDE_TEST_CUDA /* there only some calls failed */
    for (size_t i = 0; i < TIDE_N_DEVICE_CALLS; i++) {
        if (n_failed[i] == 0) {
            fail_msg("no call of kind %zu was reached", i);
        }
    }
#endif
}

static int make_folder(void **state) {
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    (void)snprintf(path, sizeof(path), "%s/run.json.gz", folder);
#ifdef TIDE_TEST_CUDA
    /* A first run lets emulator and fake runtime allocate what they keep, which is not counted. */
    static tiny_run on;
    reset_runtime();
    init(&on, DEVICES[0]);
    tide_system_fault_use(NULL);
    assert_int_equal(tiny_run_go(&on), TIDE_OK);
    end(&on);
    assert_int_equal(unlink(path), 0);
#endif
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_host_allocation_may_fail),
        cmocka_unit_test(any_device_call_may_fail),
#ifndef TIDE_TEST_CUDA
        cmocka_unit_test(any_host_allocation_may_fail_with_stacks),
        cmocka_unit_test(any_host_allocation_may_fail_with_expandable_segments),
        cmocka_unit_test(any_call_of_the_system_may_fail),
#endif
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
