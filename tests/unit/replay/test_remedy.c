/* test_remedy.c - which setting would have helped: none without a replay that reproduces the
 * recording, and none that the recorded PyTorch lacks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "replay/remedy.h"
#include "support/made_snapshot.h"

#define MIB (UINT64_C(1) << 20)
#define FIRST (UINT64_C(1) << 32)
#define SECOND (FIRST + 512 * MIB)
#define THIRD (SECOND + 512 * MIB)

static tide_event events[8];
static size_t n_events;

static void add(tide_action action, uint64_t address, uint64_t n_bytes) {
    events[n_events++] = made_event(action, address, n_bytes, n_bytes);
}

/* 10 MiB stay in a segment of 40 MiB, whose other 30 MiB are free. */
static void split_a_segment(void) {
    n_events = 0;
    add(TIDE_ACTION_SEGMENT_ALLOC, FIRST, 40 * MIB);
    add(TIDE_ACTION_ALLOC, FIRST, 40 * MIB);
    add(TIDE_ACTION_FREE, FIRST, 40 * MIB);
    add(TIDE_ACTION_ALLOC, FIRST, 10 * MIB);
}

/* Then 70 MiB do not fit the 60 free ones of the device. Returns the row. */
static int64_t fail_then(void) {
    split_a_segment();
    add(TIDE_ACTION_OOM, 0, 70 * MIB);
    events[n_events - 1].block_bytes = 60 * MIB; /* free on the device */
    return (int64_t)n_events - 1;
}

static void reserve_much(void) {
    split_a_segment();
    add(TIDE_ACTION_SEGMENT_ALLOC, SECOND, 70 * MIB);
    add(TIDE_ACTION_ALLOC, SECOND, 70 * MIB);
}

/* `torch`: the recorded version; NULL: the newest. */
static tide_remedy find(int64_t failed_row, const char *torch) {
    tide_error error = {""};
    tide_remedy remedy;
    const tide_snapshot_setting version = {.name = "torch", .text = torch};
    tide_snapshot *made = made_snapshot(NULL, &(made_tables){.n_devices = 1}, events, n_events);
    made->software = &version;
    made->n_software = torch != NULL ? 1 : 0;
    if (tide_remedy_find(made, 0, failed_row, NULL, &remedy, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    tide_snapshot_destroy(made);
    return remedy;
}

static void a_setting_serves_the_failed_request(void **state) {
    (void)state;
    int64_t row = fail_then();
    tide_remedy remedy = find(row, NULL);
    assert_string_not_equal(remedy.settings, "");
    assert_in_range(remedy.reserved_bytes, 80 * MIB, 100 * MIB);
}

static void another_failure_than_the_recorded_one_proves_nothing(void **state) {
    (void)state;
    int64_t row = fail_then();
    assert_string_equal(find(row - 1, NULL).settings, "");
    events[row].block_bytes = 80 * MIB; /* then the replay serves the request */
    assert_string_equal(find(row, NULL).settings, "");
}

static void no_setting_serves_more_than_the_device_has(void **state) {
    (void)state;
    int64_t row = fail_then();
    events[row].requested_bytes = 95 * MIB;
    assert_string_equal(find(row, NULL).settings, "");
}

static void a_setting_reserves_less(void **state) {
    (void)state;
    reserve_much();
    tide_remedy remedy = find(-1, NULL);
    assert_string_equal(remedy.settings, "expandable_segments:True"); /* two settings do no more */
    assert_int_equal(remedy.recorded_bytes, 110 * MIB);
    assert_int_equal(remedy.reserved_bytes, 80 * MIB);
}

static void another_peak_than_the_recorded_one_proves_nothing(void **state) {
    (void)state;
    reserve_much();
    add(TIDE_ACTION_SEGMENT_ALLOC, THIRD, 10 * MIB); /* which no request explains */
    assert_string_equal(find(-1, NULL).settings, "");
}

static void the_recorded_version_must_accept_it(void **state) {
    (void)state;
    reserve_much();
    assert_non_null(strstr(find(-1, "2.14.1").settings, "expandable_segments:True"));
    assert_null(strstr(find(-1, "2.0.1").settings, "expandable_segments"));
    int64_t row = fail_then();
    assert_string_equal(find(row, "1.8.0").settings, ""); /* it has no settings */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_setting_serves_the_failed_request),
        cmocka_unit_test(another_failure_than_the_recorded_one_proves_nothing),
        cmocka_unit_test(no_setting_serves_more_than_the_device_has),
        cmocka_unit_test(a_setting_reserves_less),
        cmocka_unit_test(another_peak_than_the_recorded_one_proves_nothing),
        cmocka_unit_test(the_recorded_version_must_accept_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
