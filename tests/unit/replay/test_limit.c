/* test_limit.c - infers the memory that a recorded run had from its rows that ran out of memory:
 * for each device the least of several rows, and never a sum that no device could have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replay/replay.h"
#include "support/made_snapshot.h"

#define MIB (UINT64_C(1) << 20)
#define LARGEST ((uint64_t)INT64_MAX) /* the largest value that a column of a file may hold */

static tide_event buy(uint64_t n_bytes) {
    return made_event(TIDE_ACTION_SEGMENT_ALLOC, 0, n_bytes, n_bytes);
}

static tide_event give_back(uint64_t n_bytes) {
    return made_event(TIDE_ACTION_SEGMENT_FREE, 0, n_bytes, n_bytes);
}

static tide_event run_out(uint64_t free_bytes) {
    return made_event(TIDE_ACTION_OOM, 0, 100 * MIB, free_bytes);
}

static tide_replay_limit limit_of(const tide_event *events, size_t n_events, uint8_t device) {
    tide_snapshot *made = made_snapshot(NULL, &(made_tables){.n_devices = 2}, events, n_events);
    tide_replay_limit limit = tide_replay_limit_of(made, device);
    tide_snapshot_destroy(made);
    return limit;
}

static void assert_no_limit(const tide_event *events, size_t n_events) {
    assert_true(limit_of(events, n_events, 0).limit_bytes == UINT64_MAX);
}

static void the_least_of_several_rows_counts(void **state) {
    (void)state;
    const tide_event events[] = {buy(60 * MIB),       run_out(9 * MIB), buy(10 * MIB),
                                 give_back(30 * MIB), run_out(5 * MIB), run_out(6 * MIB)};
    tide_replay_limit limit = limit_of(events, 6, 0);
    assert_true(limit.limit_bytes == 45 * MIB);
    assert_true(limit.free_bytes == 5 * MIB && limit.reserved_bytes == 40 * MIB);
    assert_int_equal(limit.event, 4);
}

static void each_device_has_its_own_limit(void **state) {
    (void)state;
    tide_event events[] = {buy(60 * MIB), buy(8 * MIB), run_out(MIB), run_out(2 * MIB)};
    events[1].device = 1;
    events[3].device = 1;
    assert_true(limit_of(events, 4, 0).limit_bytes == 61 * MIB);
    assert_true(limit_of(events, 4, 1).limit_bytes == 10 * MIB);
    assert_true(limit_of(events, 2, 1).limit_bytes == UINT64_MAX);
}

static void segments_of_the_start_are_reserved(void **state) {
    (void)state;
    const tide_segment_row segments[] = {{.total_bytes = 20 * MIB},
                                         {.total_bytes = 7 * MIB, .device = 1}};
    const tide_event event = run_out(MIB);
    tide_snapshot *made = made_snapshot(NULL, &(made_tables){.n_devices = 2}, &event, 1);
    made->start_segments = segments;
    made->n_start_segments = 2;
    assert_true(tide_replay_limit_of(made, 0).limit_bytes == 21 * MIB);
    tide_snapshot_destroy(made);
}

/* A device without a limit states the largest number as free: that is not a limit. The sums are
 * compared at the last value that is a limit and at the first that is not. */
static void sums_above_the_largest_size_are_no_limit(void **state) {
    (void)state;
    const tide_event below[] = {buy(2 * MIB), run_out(LARGEST - 2 * MIB - 1)};
    const tide_event at[] = {buy(2 * MIB), run_out(LARGEST - 2 * MIB)};
    const tide_event above[] = {buy(2 * MIB), run_out(LARGEST)};
    assert_true(limit_of(below, 2, 0).limit_bytes == LARGEST - 1);
    assert_no_limit(at, 2);
    assert_no_limit(above, 2);
}

/* Segments alone exceed 2^63 bytes: the remaining bytes would wrap around to nearly 2^64. */
static void reserved_bytes_above_the_largest_size_are_no_limit(void **state) {
    (void)state;
    const tide_event events[] = {buy(LARGEST), buy(2 * MIB), run_out(MIB)};
    assert_no_limit(events, 3);
    const tide_event shrunk[] = {buy(LARGEST), buy(2 * MIB), give_back(LARGEST), run_out(MIB)};
    assert_true(limit_of(shrunk, 4, 0).limit_bytes == 3 * MIB);
}

/* The sum of the segments exceeds 2^64 bytes, so it would wrap around to a few MiB. */
static void a_sum_that_wraps_around_is_no_limit(void **state) {
    (void)state;
    const tide_event events[] = {buy(LARGEST), buy(LARGEST), buy(4 * MIB), run_out(MIB)};
    assert_no_limit(events, 4);
    const tide_event shrunk[] = {buy(LARGEST),       buy(LARGEST),       buy(LARGEST),
                                 give_back(LARGEST), give_back(LARGEST), run_out(MIB)};
    assert_no_limit(shrunk, 6);
    const tide_event emptied[] = {buy(LARGEST),       buy(LARGEST),       buy(LARGEST),
                                  give_back(LARGEST), give_back(LARGEST), give_back(LARGEST),
                                  run_out(MIB)};
    assert_no_limit(emptied, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_of_several_rows_counts),
        cmocka_unit_test(each_device_has_its_own_limit),
        cmocka_unit_test(segments_of_the_start_are_reserved),
        cmocka_unit_test(sums_above_the_largest_size_are_no_limit),
        cmocka_unit_test(reserved_bytes_above_the_largest_size_are_no_limit),
        cmocka_unit_test(a_sum_that_wraps_around_is_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
