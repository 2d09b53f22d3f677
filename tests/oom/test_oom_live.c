/* test_oom_live.c - reading the logs of live recordings while the n-th allocation of our heap
 * fails, for every n: the result reports it, and nothing leaks.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/launch/document/document.h"
#include "programs/launch/left/left.h"
#include "support/hostmem_fault.h"

enum { MAX_CALLS = 3000 };

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

/* With every kind of row and record (tests/fuzz/make_live_seeds.c). */
static const char *const LOGS[] = {TIDE_TEST_LOGS "/seed-whole", TIDE_TEST_LOGS "/seed-ring",
                                   TIDE_TEST_LOGS "/seed-mapped", TIDE_TEST_LOGS "/seed-calls"};

typedef tide_status (*attempt)(const char *log, tide_error *error);

static tide_status recover(const char *log, tide_error *error) {
    tide_snapshot *snapshot = NULL;
    tide_recover_report report;
    tide_status status = tide_launch_recover(log, &snapshot, &report, error);
    assert_true((status == TIDE_OK) == (snapshot != NULL)); /* written only when it worked */
    tide_snapshot_destroy(snapshot);
    return status;
}

/* The folder of a run whose process left only that log. */
static tide_status read_left(const char *log, tide_error *error) {
    tide_launch launch = {.alive_fd = -1, .cleaner = -1};
    char path[TIDE_LAUNCH_PATH_BYTES + 16];
    tide_left_list list;
    (void)snprintf(launch.folder, sizeof(launch.folder), "/tmp/tidemark-oom-XXXXXX");
    assert_non_null(mkdtemp(launch.folder));
    (void)snprintf(path, sizeof(path), "%s/7.log", launch.folder);
    assert_int_equal(symlink(log, path), 0);
    tide_status status = tide_left_read(&launch, &list, error);
    assert_true(status != TIDE_OK || list.n_processes == 1);
    tide_left_fini(&list);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(launch.folder), 0);
    return status;
}

static void sweep(attempt call, const char *log) {
    size_t n = 1;
    for (bool failed = true; failed; n++) {
        tide_error error = {""};
        assert_true(n < MAX_CALLS);
        tide_hostmem_fault_init(&heap, n);
        uses_heap = true;
        tide_status status = call(log, &error);
        uses_heap = false;
        failed = heap.n_calls >= n;
        if (status != (failed ? TIDE_NO_MEMORY : TIDE_OK)) {
            fail_msg("%s, allocation %zu: %s: %s", log, n, tide_status_text(status), error.message);
        }
        assert_int_equal(heap.n_live, 0);
    }
    assert_true(n > 20);
}

static void any_allocation_of_a_recovery_may_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(LOGS) / sizeof(LOGS[0]); i++) {
        sweep(recover, LOGS[i]);
    }
}

static void any_allocation_for_what_a_process_left_may_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(LOGS) / sizeof(LOGS[0]); i++) {
        sweep(read_left, LOGS[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_of_a_recovery_may_fail),
        cmocka_unit_test(any_allocation_for_what_a_process_left_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
