/* test_cache_ladder.c - what happens when no cached block fits: limits, oversize rules, garbage
 * collection, the order of the attempts, and running out of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cache_fixture.h"

static void assert_actions(fixture *on, const char *expected) {
    char actions[64];
    fixture_actions(on, actions, sizeof(actions));
    assert_string_equal(actions, expected);
}

static void a_limit_is_met_without_asking_the_device(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 40 * MIB, "");
    fixture_release(&on, fixture_alloc(&on, 20 * MIB));
    (void)fixture_alloc(&on, 30 * MIB); /* 20 + 30 > 40: the cached 20 are released first */
    assert_actions(&on, "SafRSa");
    assert_int_equal(on.device.n_allocs, 2);
    assert_int_equal(fixture_stats(&on).num_alloc_retries, 1);
    assert_int_equal(fixture_stats(&on).num_ooms, 0);
    (void)fixture_alloc(&on, 10 * MIB); /* reaches the limit exactly */
    assert_int_equal(fixture_stats(&on).reserved_bytes[TIDE_POOL_ALL].current, 40 * MIB);
    uint64_t address = 0;
    assert_int_equal(tide_cache_alloc(on.cache, 1, 0, NULL, &address, &on.error), TIDE_DEVICE_OOM);
    assert_int_equal(on.device.n_allocs, 3);
    fixture_close(&on);
}

static void a_split_segment_is_never_returned(void **state) {
    (void)state;
    fixture on;
    uint64_t address = 0;
    fixture_open(&on, 0, 40 * MIB, "");
    uint64_t a = fixture_alloc(&on, 4 * MIB);
    uint64_t b = fixture_alloc(&on, 4 * MIB);
    fixture_release(&on, a);
    assert_int_equal(tide_cache_alloc(on.cache, 30 * MIB, 0, NULL, &address, NULL),
                     TIDE_DEVICE_OOM);
    assert_actions(&on, "Saafo");
    fixture_release(&on, b);
    (void)fixture_alloc(&on, 30 * MIB);
    assert_actions(&on, "SaafofRSa");
    fixture_close(&on);
}

static void a_device_that_is_full_is_asked_again(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 64 * MIB, 0, "");
    uint64_t small = fixture_alloc(&on, 512);
    uint64_t large = fixture_alloc(&on, 40 * MIB);
    uint64_t other = fixture_alloc_on(&on, 4 * MIB, 3);
    fixture_release(&on, small);
    fixture_release(&on, large);
    fixture_release(&on, other);
    (void)fixture_alloc(&on, 60 * MIB);
    /* large pool first, in the order (stream, bytes, address), then the small pool */
    assert_actions(&on, "SaSaSafffRRRSa");
    tide_cache_state now;
    assert_int_equal(tide_cache_copy_state(on.cache, NULL, &now, NULL), TIDE_OK);
    const tide_event *returned = &now.recording.events[9];
    assert_true(returned[0].address == large && returned[1].address == other);
    assert_true(returned[2].address == small);
    tide_cache_state_fini(&now);
    assert_int_equal(on.device.n_allocs, 5); /* one of them was refused */
    assert_int_equal(fixture_stats(&on).num_alloc_retries, 1);
    fixture_close(&on);
}

static void oversize_blocks_serve_oversize_requests_of_about_their_size(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "max_split_size_mb:64");
    uint64_t a = fixture_alloc(&on, 100 * MIB);
    assert_int_equal(fixture_stats(&on).oversize_allocations.current, 1);
    assert_int_equal(fixture_stats(&on).oversize_segments.current, 1);
    fixture_release(&on, a);
    uint64_t b =
        fixture_alloc(&on, 24 * MIB); /* below max_split, so an oversize block does not serve it */
    uint64_t c = fixture_alloc(&on, 80 * MIB); /* 100 MiB are 20 more than asked for: too much */
    assert_true(b != a && c != a);
    assert_int_equal(on.device.n_allocs, 3);
    assert_true(fixture_alloc(&on, 80 * MIB + 1) == a); /* now they are less than 20 more */
    assert_int_equal(on.device.n_allocs, 3);
    tide_cache_stats stats = fixture_stats(&on);
    assert_int_equal(stats.allocated_bytes[TIDE_POOL_ALL].current, 204 * MIB); /* not split */
    assert_int_equal(stats.oversize_allocations.current, 2);
    assert_int_equal(stats.oversize_allocations.allocated, 3);
    fixture_close(&on);
}

static void a_rejected_candidate_ends_the_search(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "max_split_size_mb:64,max_non_split_rounding_mb:20");
    uint64_t a = fixture_alloc(&on, 110 * MIB);
    fixture_release(&on, a);
    assert_true(fixture_alloc(&on, 90 * MIB) != a);
    assert_true(fixture_alloc(&on, 92 * MIB) == a);
    fixture_close(&on);
}

static void just_enough_oversize_blocks_are_returned(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 200 * MIB, 0, "max_split_size_mb:32");
    uint64_t a = fixture_alloc(&on, 40 * MIB);
    uint64_t b = fixture_alloc(&on, 60 * MIB);
    uint64_t c = fixture_alloc(&on, 80 * MIB);
    uint64_t d = fixture_alloc(&on, 4 * MIB);
    fixture_release(&on, a);
    fixture_release(&on, b);
    fixture_release(&on, c);
    fixture_release(&on, d);
    (void)fixture_alloc(&on, 100 * MIB); /* 80 and 60 go; 40 and the cached 20 stay */
    assert_actions(&on, "SaSaSaSaffffRRSa");
    assert_int_equal(fixture_stats(&on).num_alloc_retries, 0);
    assert_int_equal(fixture_stats(&on).reserved_bytes[TIDE_POOL_ALL].current, 160 * MIB);
    assert_true(fixture_alloc(&on, 40 * MIB) == a);
    fixture_close(&on);
}

static void oversize_blocks_that_add_up_exactly_are_enough(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 140 * MIB, 0, "max_split_size_mb:32");
    uint64_t a = fixture_alloc(&on, 36 * MIB);
    uint64_t b = fixture_alloc(&on, 40 * MIB);
    uint64_t c = fixture_alloc(&on, 60 * MIB);
    fixture_release(&on, a);
    fixture_release(&on, b);
    fixture_release(&on, c);
    (void)fixture_alloc(&on, 100 * MIB); /* 60 and 40 go; 36 stays */
    assert_actions(&on, "SaSaSafffRRSa");
    assert_true(fixture_alloc(&on, 36 * MIB) == a);
    fixture_close(&on);
}

static void one_oversize_block_that_suffices_is_returned_alone(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 200 * MIB, 0, "max_split_size_mb:32");
    uint64_t a = fixture_alloc(&on, 90 * MIB);
    uint64_t b = fixture_alloc(&on, 100 * MIB);
    fixture_release(&on, a);
    fixture_release(&on, b);
    (void)fixture_alloc(&on, 60 * MIB); /* 90 is too large to serve, and is the first above 60 */
    assert_actions(&on, "SaSaffRSa");
    assert_int_equal(fixture_stats(&on).reserved_bytes[TIDE_POOL_ALL].current, 160 * MIB);
    fixture_close(&on);
}

static void oversize_blocks_of_other_streams_are_left_to_the_last_attempt(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 100 * MIB, 0, "max_split_size_mb:32");
    fixture_release(&on, fixture_alloc_on(&on, 80 * MIB, 1));
    (void)fixture_alloc_on(&on, 60 * MIB, 2);
    assert_int_equal(fixture_stats(&on).num_alloc_retries, 1);
    fixture_close(&on);
}

/* Two cached blocks, of which the first is older; neither serves the next request. */
static void garbage_of_two_ages(fixture *on) {
    uint64_t a = fixture_alloc(on, 20 * MIB);
    uint64_t b = fixture_alloc(on, 24 * MIB);
    fixture_release(on, a);
    (void)fixture_alloc(on, 26 * MIB);
    fixture_release(on, b);
    (void)fixture_alloc(on, 28 * MIB);
}

static void garbage_is_collected_from_the_older_blocks(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 100 * MIB, "garbage_collection_threshold:0.5");
    garbage_of_two_ages(&on);
    assert_actions(&on, "SaSafSafRSa"); /* 70 - 50 = 20 MiB to return: the older block is enough */
    assert_int_equal(fixture_stats(&on).reserved_bytes[TIDE_POOL_ALL].current, 78 * MIB);
    assert_int_equal(fixture_stats(&on).num_alloc_retries, 0);
    fixture_close(&on);
    fixture_open(&on, 0, 100 * MIB, "garbage_collection_threshold:0.45");
    garbage_of_two_ages(&on);
    assert_actions(&on,
                   "SaSafSafRRSa"); /* 25 MiB to return: a second round releases the other one */
    fixture_close(&on);
}

static void no_garbage_is_collected_without_limit_threshold_or_need(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 100 * MIB, "");
    garbage_of_two_ages(&on);
    assert_actions(&on, "SaSafSafSa");
    fixture_close(&on);
    fixture_open(&on, 0, 0, "garbage_collection_threshold:0.5");
    garbage_of_two_ages(&on);
    assert_actions(&on, "SaSafSafSa");
    fixture_close(&on);
    fixture_open(
        &on, 0, 100 * MIB,
        "garbage_collection_threshold:0.7"); /* 70 MiB reserved are not above 0.7 of the limit */
    garbage_of_two_ages(&on);
    assert_actions(&on, "SaSafSafSa");
    fixture_close(&on);
}

static void other_errors_of_the_device_are_not_out_of_memory(void **state) {
    (void)state;
    fixture on;
    uint64_t address = 0;
    fixture_open(&on, 0, 0, "");
    fixture_release(&on, fixture_alloc(&on, 4 * MIB));
    on.device.fail_alloc_from = 2;
    on.device.fail_alloc_to = 2;
    on.device.alloc_status = TIDE_DEVICE_LOST;
    assert_int_equal(tide_cache_alloc(on.cache, 30 * MIB, 0, NULL, &address, &on.error),
                     TIDE_DEVICE_LOST);
    assert_non_null(strstr(on.error.message, "planted failure"));
    assert_int_equal(on.device.n_releases, 0);
    assert_int_equal(fixture_stats(&on).num_ooms, 0);
    fixture_check(&on);
    (void)fixture_alloc(&on, 30 * MIB);
    fixture_close(&on);
}

static void a_segment_that_cannot_be_returned_stays(void **state) {
    (void)state;
    fixture on;
    uint64_t address = 0;
    fixture_open(&on, 0, 60 * MIB, "");
    uint64_t a = fixture_alloc(&on, 20 * MIB);
    uint64_t b = fixture_alloc(&on, 30 * MIB);
    fixture_release(&on, a);
    fixture_release(&on, b);
    on.device.fail_release_from = 2;
    on.device.fail_release_to = 2;
    assert_int_equal(tide_cache_alloc(on.cache, 50 * MIB, 0, NULL, &address, &on.error),
                     TIDE_DEVICE_FAILED);
    fixture_check(&on);
    assert_actions(&on, "SaSaffR");
    assert_true(fixture_alloc(&on, 30 * MIB) == b);
    fixture_release(&on, b);
    (void)fixture_alloc(&on, 50 * MIB);
    fixture_close(&on);
}

static void running_out_is_said_recorded_and_survived(void **state) {
    (void)state;
    fixture on;
    tide_cache_oom oom;
    tide_cache_state now;
    uint64_t address = 0;
    uint64_t none = 77;
    fixture_open(&on, 0, 64 * MIB, "");
    assert_false(tide_cache_get_oom(on.cache, &oom));
    tide_tag weight = {TIDE_PARAMETER, "lm_head.weight"};
    tide_tag scratch = {TIDE_TEMPORARY, "scratch"};
    assert_int_equal(tide_cache_alloc(on.cache, 30 * MIB, 0, &weight, &address, NULL), TIDE_OK);
    assert_int_equal(tide_cache_alloc(on.cache, 3 * MIB, 0, &scratch, &address, NULL), TIDE_OK);
    tide_scope scope = tide_scope_begin(on.recorder, TIDE_SCOPE_PHASE, "forward", -1);
    assert_int_equal(tide_cache_alloc(on.cache, 40 * MIB + 1, 0, &(tide_tag){TIDE_ACTIVATION, "q"},
                                      &none, &on.error),
                     TIDE_DEVICE_OOM);
    tide_scope_end(on.recorder, scope);
    assert_true(none == 77);
    static const char *const SAYS[] = {
        "asked for 40.00 MiB (41943041 bytes)",
        "free 14.00 MiB",
        "allocated 33.00 MiB",
        "reserved 50.00 MiB",
        "memory limit 64.00 MiB",
        "raise the limit",
        "\n  alive: parameter 30.00 MiB in 1 block, temporary 3.00 MiB in 1 block",
        "\n  33.00 MiB in 2 blocks: parameter lm_head.weight and others, no call stack"};
    for (size_t i = 0; i < sizeof(SAYS) / sizeof(SAYS[0]); i++) {
        if (strstr(on.error.message, SAYS[i]) == NULL) {
            fail_msg("\"%s\" is not in: %s", SAYS[i], on.error.message);
        }
    }
    assert_true(strcspn(on.error.message, "\n") > 100); /* the figures are in the first line */
    assert_true(tide_cache_get_oom(on.cache, &oom));
    assert_int_equal(oom.requested_bytes, 40 * MIB + 1);
    assert_int_equal(oom.segment_bytes, 42 * MIB);
    assert_int_equal(oom.free_bytes, 14 * MIB);
    assert_int_equal(oom.reserved_bytes, 50 * MIB);
    assert_int_equal(oom.limit_bytes, 64 * MIB);
    assert_int_equal(oom.category_bytes[TIDE_PARAMETER], 30 * MIB);
    assert_int_equal(oom.category_blocks[TIDE_TEMPORARY], 1);
    assert_int_equal(oom.n_largest, 1);
    assert_int_equal(oom.largest[0].n_blocks, 2);
    assert_int_equal(tide_cache_copy_state(on.cache, NULL, &now, NULL), TIDE_OK);
    const tide_event *row = &now.recording.events[now.recording.n_events - 1];
    assert_int_equal(row->action, TIDE_ACTION_OOM);
    assert_int_equal(row->requested_bytes, 40 * MIB + 1);
    assert_int_equal(row->block_bytes, 14 * MIB);
    assert_int_equal(row->category, TIDE_ACTIVATION);
    assert_int_equal(row->scope, scope);
    assert_string_equal(now.recording.strings[row->name], "q");
    tide_cache_state_fini(&now);
    assert_int_equal(fixture_stats(&on).num_ooms, 1);
    assert_int_equal(fixture_stats(&on).num_alloc_retries, 1);
    (void)fixture_alloc(&on, 10 * MIB);
    fixture_close(&on);
}

static void a_full_device_names_its_capacity_and_fragments(void **state) {
    (void)state;
    fixture on;
    uint64_t address = 0;
    fixture_open(&on, 20 * MIB, 0, "");
    uint64_t a = fixture_alloc(&on, 8 * MIB);
    uint64_t b = fixture_alloc(&on, 2 * MIB);
    (void)fixture_alloc(&on, 9 * MIB);
    fixture_release(&on, a);
    assert_int_equal(tide_cache_alloc(on.cache, 9 * MIB, 0, NULL, &address, &on.error),
                     TIDE_DEVICE_OOM);
    assert_non_null(strstr(on.error.message, "capacity 20.00 MiB"));
    assert_non_null(strstr(on.error.message, "free 0 B"));
    assert_null(strstr(on.error.message, "in pieces")); /* one piece of 8 MiB would not fit */
    fixture_release(&on, b);
    assert_int_equal(tide_cache_alloc(on.cache, 10 * MIB + 1, 0, NULL, &address, &on.error),
                     TIDE_DEVICE_OOM);
    assert_null(strstr(on.error.message, "in pieces"));
    fixture_close(&on);
    fixture_open(&on, 40 * MIB, 0, "");
    a = fixture_alloc(&on, 9 * MIB);
    (void)fixture_alloc(&on, 9 * MIB);
    b = fixture_alloc(&on, 9 * MIB);
    (void)fixture_alloc(&on, 9 * MIB);
    fixture_release(&on, a);
    fixture_release(&on, b);
    assert_int_equal(tide_cache_alloc(on.cache, 12 * MIB, 0, NULL, &address, &on.error),
                     TIDE_DEVICE_OOM);
    assert_non_null(strstr(on.error.message, "\n  22.00 MiB of the reserved bytes are free"));
    fixture_close(&on);
}

static void absurd_requests_are_refused_at_once(void **state) {
    (void)state;
    fixture on;
    static const size_t ABSURD[] = {(size_t)1 << 60, SIZE_MAX, SIZE_MAX - 511};
    fixture_open(&on, 0, 0, "roundup_power2_divisions:4");
    fixture_release(&on, fixture_alloc(&on, 4 * MIB));
    for (size_t i = 0; i < sizeof(ABSURD) / sizeof(ABSURD[0]); i++) {
        uint64_t address = 0;
        assert_int_equal(tide_cache_alloc(on.cache, ABSURD[i], 0, NULL, &address, &on.error),
                         TIDE_DEVICE_OOM);
    }
    assert_int_equal(on.device.n_allocs, 1);
    assert_actions(&on, "Safooo");
    tide_cache_oom oom;
    tide_cache_state now;
    assert_true(tide_cache_get_oom(on.cache, &oom));
    assert_true(oom.requested_bytes == SIZE_MAX - 511 && oom.free_bytes == UINT64_MAX);
    assert_int_equal(tide_cache_copy_state(on.cache, NULL, &now, NULL), TIDE_OK);
    for (size_t i = 3; i < 6; i++) { /* keeps the rows within the limits of a file */
        const tide_event *row = &now.recording.events[i];
        assert_true(row->requested_bytes == (i == 3 ? ABSURD[0] : INT64_MAX));
        assert_true(row->block_bytes == INT64_MAX);
    }
    tide_cache_state_fini(&now);
    uint64_t address = 0;
    assert_int_equal(tide_cache_alloc(on.cache, ((size_t)1 << 60) - 1, 0, NULL, &address, NULL),
                     TIDE_DEVICE_OOM);
    fixture_close(&on);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_is_met_without_asking_the_device),
        cmocka_unit_test(a_split_segment_is_never_returned),
        cmocka_unit_test(a_device_that_is_full_is_asked_again),
        cmocka_unit_test(oversize_blocks_serve_oversize_requests_of_about_their_size),
        cmocka_unit_test(a_rejected_candidate_ends_the_search),
        cmocka_unit_test(just_enough_oversize_blocks_are_returned),
        cmocka_unit_test(oversize_blocks_that_add_up_exactly_are_enough),
        cmocka_unit_test(one_oversize_block_that_suffices_is_returned_alone),
        cmocka_unit_test(oversize_blocks_of_other_streams_are_left_to_the_last_attempt),
        cmocka_unit_test(garbage_is_collected_from_the_older_blocks),
        cmocka_unit_test(no_garbage_is_collected_without_limit_threshold_or_need),
        cmocka_unit_test(other_errors_of_the_device_are_not_out_of_memory),
        cmocka_unit_test(a_segment_that_cannot_be_returned_stays),
        cmocka_unit_test(running_out_is_said_recorded_and_survived),
        cmocka_unit_test(a_full_device_names_its_capacity_and_fragments),
        cmocka_unit_test(absurd_requests_are_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
