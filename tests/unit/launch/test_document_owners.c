/* test_document_owners.c - the owners of driver-level memory, from the accounts in the log of a
 * live recording.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "programs/launch/document/document.h"
#include "support/made_log.h"

#define MIB (UINT64_C(1) << 20)
#define AT (UINT64_C(0x7f00) << 32) /* a segment */

static void open_log(made_log *log) {
    made_log_open(log, 128, 0);
    made_log_event(log, TIDE_ACTION_SEGMENT_ALLOC, AT, 200 * MIB);
}

static tide_snapshot *close_and_read(made_log *log) {
    tide_snapshot *snapshot = NULL;
    tide_recover_report report;
    tide_error error = {""};
    made_log_close(log);
    if (tide_launch_recover(log->path, &snapshot, &report, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    made_log_remove(log);
    return snapshot;
}

static void owners_come_from_the_accounts(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_text(&log, "live.account.0.begin.bytes", "1000 total\n10 used\n3 context\n");
    made_log_text(&log, "live.account.0.peak.bytes",
                  "1000 total\n90 used\n9 context\n70 owner PyTorch\n5 owner my library\n");
    made_log_text(&log, "live.account.0.end.bytes",
                  "1000 total\n80 used\n70 owner PyTorch\n1 "
                  "owner NCCL\n");
    made_log_call(&log, 0, AT, 200 * MIB, "cudaMalloc", "PyTorch");
    made_log_call(&log, 0, 64, 512, "cudaMalloc", "my library");
    made_log_call(&log, 1, 64, 512, "cudaFree", "my library");
    made_log_call(&log, 0, 64, 512, "cudaMalloc", "my library");
    tide_snapshot *snapshot = close_and_read(&log);
    assert_int_equal(snapshot->n_driver_accounts, 1);
    const tide_snapshot_driver_account *account = &snapshot->driver_accounts[0];
    assert_int_equal(account->total_bytes, 1000);
    assert_int_equal(account->used_at_start_bytes, 10);
    assert_int_equal(account->used_at_peak_bytes, 90);
    assert_int_equal(account->used_at_end_bytes, 80);
    assert_int_equal(account->context_bytes, 9);
    static const tide_snapshot_owner EXPECTED[] = {
        {.name = "PyTorch", .peak_bytes = 70, .end_bytes = 70, .n_allocations = 1},
        {.name = "my library", .peak_bytes = 5, .end_bytes = 0, .n_allocations = 2},
        {.name = "NCCL", .peak_bytes = 0, .end_bytes = 1, .n_allocations = 0}};
    assert_int_equal(snapshot->n_owners, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(snapshot->owners[i].name, EXPECTED[i].name);
        assert_int_equal(snapshot->owners[i].peak_bytes, EXPECTED[i].peak_bytes);
        assert_int_equal(snapshot->owners[i].end_bytes, EXPECTED[i].end_bytes);
        assert_int_equal(snapshot->owners[i].n_allocations, EXPECTED[i].n_allocations);
    }
    tide_snapshot_destroy(snapshot);
}

/* The log of a killed process has no account of its end. */
static void an_account_that_is_missing_is_unknown(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_text(&log, "live.account.0.begin.bytes", "1000 total\n10 used\n");
    made_log_text(&log, "live.account.0.peak.bytes", "1000 total\n90 used\n70 owner PyTorch\n");
    tide_snapshot *snapshot = close_and_read(&log);
    assert_int_equal(snapshot->n_driver_accounts, 1);
    assert_int_equal(snapshot->driver_accounts[0].used_at_end_bytes, -1);
    assert_int_equal(snapshot->driver_accounts[0].context_bytes, -1);
    assert_int_equal(snapshot->n_owners, 1);
    assert_int_equal(snapshot->owners[0].peak_bytes, 70);
    assert_int_equal(snapshot->owners[0].end_bytes, -1);
    tide_snapshot_destroy(snapshot);
}

static void damaged_accounts_are_read_as_far_as_they_go(void **state) {
    (void)state;
    made_log log;
    open_log(&log);
    made_log_text(&log, "live.account.0.begin.bytes", "\n\n10 used\nx\n 7\nowner\n-");
    tide_snapshot *snapshot = close_and_read(&log);
    assert_int_equal(snapshot->n_driver_accounts, 1);
    assert_int_equal(snapshot->driver_accounts[0].used_at_start_bytes, 10);
    assert_int_equal(snapshot->driver_accounts[0].total_bytes, -1);
    assert_int_equal(snapshot->n_owners, 0);
    tide_snapshot_destroy(snapshot);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_come_from_the_accounts),
        cmocka_unit_test(an_account_that_is_missing_is_unknown),
        cmocka_unit_test(damaged_accounts_are_read_as_far_as_they_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
