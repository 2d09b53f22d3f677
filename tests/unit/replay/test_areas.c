/* test_areas.c - peaks without work areas of cuDNN, with the likely and with the largest ones,
 * whose figures follow from a few requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replay/areas.h"
#include "support/made_snapshot.h"

#define MIB (UINT64_C(1) << 20)
#define AT(n) ((UINT64_C(1) << 40) + (n) * (UINT64_C(1) << 32))

static tide_event buy(unsigned place, uint64_t mib) {
    return made_event(TIDE_ACTION_SEGMENT_ALLOC, AT(place), mib * MIB, mib * MIB);
}

static tide_event alloc(unsigned place, uint64_t mib) {
    return made_event(TIDE_ACTION_ALLOC, AT(place), mib * MIB, mib * MIB);
}

static tide_event release(unsigned place, uint64_t mib) {
    return made_event(TIDE_ACTION_FREE, AT(place), mib * MIB, mib * MIB);
}

static tide_snapshot_area_call call(uint64_t event, unsigned place, uint64_t likely,
                                    uint64_t most) {
    return (tide_snapshot_area_call){.event = event,
                                     .address = place > 0 ? AT(place) : 0,
                                     .likely_bytes = likely * MIB,
                                     .most_bytes = most * MIB};
}

/* The figures of device 0 in MiB; no row: all are -1. */
static tide_snapshot_work_areas areas_of(const tide_event *events, size_t n_events,
                                         const tide_snapshot_area_call *calls, size_t n_calls,
                                         uint64_t limit_mib) {
    tide_snapshot_work_areas found = TIDE_SNAPSHOT_NO_WORK_AREAS;
    uint64_t limits[] = {limit_mib * MIB, UINT64_MAX};
    tide_error error = {""};
    tide_snapshot *made = made_snapshot(NULL, &(made_tables){.n_devices = 2}, events, n_events);
    made->area_calls = calls;
    made->n_area_calls = n_calls;
    if (tide_replay_add_work_areas(made, limit_mib > 0 ? limits : NULL, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_true(made->n_work_areas <= 1);
    if (made->n_work_areas == 1) {
        found = made->work_areas[0];
        int64_t *const figures[] = {&found.likely_bytes,          &found.most_bytes,
                                    &found.allocated_none_bytes,  &found.allocated_likely_bytes,
                                    &found.allocated_most_bytes,  &found.reserved_none_bytes,
                                    &found.reserved_likely_bytes, &found.reserved_most_bytes};
        for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
            assert_int_equal(*figures[i] % (int64_t)MIB, 0);
            *figures[i] /= (int64_t)MIB;
        }
    }
    tide_snapshot_destroy(made);
    return found;
}

static void are(const tide_snapshot_work_areas *found, int none, int likely, int most) {
    assert_int_equal(found->device, 0);
    assert_int_equal(found->reserved_none_bytes, none);
    assert_int_equal(found->reserved_likely_bytes, likely);
    assert_int_equal(found->reserved_most_bytes, most);
}

static void an_area_is_requested_in_its_own_place(void **state) {
    (void)state;
    const tide_event events[] = {buy(1, 30),   alloc(1, 30),   buy(2, 40),
                                 alloc(2, 40), release(2, 40), alloc(2, 40)};
    const tide_snapshot_area_call calls[] = {call(4, 2, 40, 100)};
    tide_snapshot_work_areas found = areas_of(events, 6, calls, 1, 0);
    are(&found, 70, 70, 130); /* the last request is served by the area's memory, or buys its own */
    assert_int_equal(found.n_calls, 1);
    assert_int_equal(found.likely_bytes, 40);
    assert_int_equal(found.most_bytes, 100);
    assert_int_equal(found.allocated_none_bytes, 70);
    assert_int_equal(found.allocated_likely_bytes, 70);
    assert_int_equal(found.allocated_most_bytes, 130);
    assert_false(found.is_most_refused);
    assert_false(found.is_benchmark);
    tide_snapshot_area_call tried[] = {call(4, 2, 40, 100), call(4, 0, 0, 10)};
    tried[0].is_benchmark = true;
    assert_true(areas_of(events, 6, tried, 2, 0).is_benchmark);
}

static tide_event give_back(unsigned place, uint64_t mib) {
    return made_event(TIDE_ACTION_SEGMENT_FREE, AT(place), mib * MIB, mib * MIB);
}

/* torch.backends.cudnn.benchmark empties the cache after a trial. The device had room for the next
 * request, so it is no retry: the replay empties the cache, too, or 40 would serve 20. */
static void the_area_of_a_trial_is_given_back(void **state) {
    (void)state;
    const tide_event events[] = {buy(1, 40), alloc(1, 40), release(1, 40), give_back(1, 40),
                                 buy(2, 20), alloc(2, 20), buy(3, 60),     alloc(3, 60)};
    const tide_snapshot_area_call calls[] = {call(1, 1, 40, 100)};
    tide_snapshot_work_areas found = areas_of(events, 8, calls, 1, 0);
    are(&found, 80, 80, 100);
}

/* PyTorch takes another plan where it runs out of memory: an area that does not fit never makes a
 * program fail. 100 are halved. */
static void an_area_never_takes_more_than_is_free(void **state) {
    (void)state;
    const tide_event events[] = {buy(1, 30),   alloc(1, 30),   buy(2, 40),
                                 alloc(2, 40), release(2, 40), alloc(2, 40)};
    const tide_snapshot_area_call calls[] = {call(4, 2, 40, 100)};
    tide_snapshot_work_areas found = areas_of(events, 6, calls, 1, 110);
    are(&found, 70, 70, 80);
    assert_true(found.is_most_refused);
    found = areas_of(events, 6, calls, 1, 72);
    are(&found, 70, 70, 70);
}

/* An area that the program did not get has no row; here the call comes after 30 MiB. */
static void an_area_without_a_row_is_requested_and_freed(void **state) {
    (void)state;
    const tide_event events[] = {buy(1, 30), alloc(1, 30), buy(2, 20), alloc(2, 20)};
    const tide_snapshot_area_call calls[] = {call(2, 0, 0, 60), call(2, 0, 0, 24)};
    tide_snapshot_work_areas found = areas_of(events, 4, calls, 2, 0);
    are(&found, 50, 50, 90);
    assert_int_equal(found.allocated_most_bytes, 90);
    assert_int_equal(found.n_calls, 2);
    assert_int_equal(found.likely_bytes, 0);
    /* Before the first request and after the last one. */
    const tide_snapshot_area_call ends[] = {call(0, 0, 0, 10), call(4, 0, 0, 600)};
    found = areas_of(events, 4, ends, 2, 0);
    are(&found, 50, 50, 60);
}

/* An area of 30 cannot serve a later request for 40; one of 40 can. */
static void a_larger_area_may_lower_the_peak(void **state) {
    (void)state;
    const tide_event events[] = {buy(1, 30), alloc(1, 30), release(1, 30), buy(2, 40),
                                 alloc(2, 40)};
    const tide_snapshot_area_call calls[] = {call(2, 1, 30, 40)};
    tide_snapshot_work_areas found = areas_of(events, 5, calls, 1, 0);
    are(&found, 40, 70, 40);
}

/* With cudnn.benchmark several calls compute in one area. */
static void calls_of_one_area_count_once(void **state) {
    (void)state;
    const tide_event events[] = {buy(1, 30), alloc(1, 30), release(1, 30), buy(2, 40),
                                 alloc(2, 40)};
    const tide_snapshot_area_call calls[] = {call(2, 1, 30, 20), call(2, 1, 30, 90),
                                             call(2, 1, 30, 32)};
    tide_snapshot_work_areas found = areas_of(events, 5, calls, 3, 0);
    are(&found, 40, 70, 90);
}

/* Without calls, and where a replay does not reproduce the recording: its segment is too small. */
static void nothing_is_printed_without_ground(void **state) {
    (void)state;
    const tide_event events[] = {buy(1, 30), alloc(1, 30)};
    tide_snapshot_work_areas found = areas_of(events, 2, NULL, 0, 0);
    assert_int_equal(found.device, -1);
    const tide_event odd[] = {buy(1, 28), alloc(1, 30)};
    const tide_snapshot_area_call calls[] = {call(2, 0, 0, 60)};
    found = areas_of(odd, 2, calls, 1, 0);
    assert_int_equal(found.device, -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_area_is_requested_in_its_own_place),
        cmocka_unit_test(the_area_of_a_trial_is_given_back),
        cmocka_unit_test(an_area_never_takes_more_than_is_free),
        cmocka_unit_test(an_area_without_a_row_is_requested_and_freed),
        cmocka_unit_test(a_larger_area_may_lower_the_peak),
        cmocka_unit_test(calls_of_one_area_count_once),
        cmocka_unit_test(nothing_is_printed_without_ground),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
