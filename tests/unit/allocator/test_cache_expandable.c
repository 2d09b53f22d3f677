/* test_cache_expandable.c - expandable segments by examples computed by hand: what is mapped where,
 * which block serves a request, what goes back, and the state that a failing device leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cache_fixture.h"

#define ON "expandable_segments:True"
#define BASE TIDE_DEVICE_BASE_ADDRESS

static void assert_actions(fixture *on, const char *expected) {
    char actions[64];
    fixture_actions(on, actions, sizeof(actions));
    assert_string_equal(actions, expected);
}

/* The n-th row that maps or unmaps, from 0. */
static tide_event nth_row(fixture *on, tide_action action, size_t n) {
    tide_cache_state now;
    tide_event found = {.address = 0};
    assert_int_equal(tide_cache_copy_state(on->cache, NULL, &now, NULL), TIDE_OK);
    for (size_t i = 0; i < now.recording.n_events; i++) {
        if (now.recording.events[i].action == action && n-- == 0) {
            found = now.recording.events[i];
        }
    }
    tide_cache_state_fini(&now);
    return found;
}

static void assert_row(fixture *on, tide_action action, size_t n, uint64_t address,
                       uint64_t n_bytes) {
    const tide_event row = nth_row(on, action, n);
    assert_int_equal(row.address, address);
    assert_int_equal(row.block_bytes, n_bytes);
    assert_int_equal(row.requested_bytes, n_bytes);
}

static int64_t reserved(fixture *on) {
    return fixture_stats(on).reserved_bytes[TIDE_POOL_ALL].current;
}

static void granules_are_mapped_for_the_rounded_request(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 1024 * MIB, 0, ON);
    /* The range of the small pool is 1 1/8 x 1024 = 1152 MiB. That of the large pool has granules
     * of 20 MiB, so 1160. */
    assert_int_equal(fixture_alloc(&on, 1), BASE);
    const uint64_t large = BASE + 1152 * MIB;
    assert_int_equal(fixture_alloc(&on, 2 * MIB), large);
    assert_row(&on, TIDE_ACTION_SEGMENT_MAP, 0, BASE, 2 * MIB);
    assert_row(&on, TIDE_ACTION_SEGMENT_MAP, 1, large, 20 * MIB);
    /* 18 MiB are free: 1 MiB more takes a granule, and the block spans the boundary. */
    assert_int_equal(fixture_alloc(&on, 19 * MIB), large + 2 * MIB);
    assert_row(&on, TIDE_ACTION_SEGMENT_MAP, 2, large + 20 * MIB, 20 * MIB);
    /* 19 MiB are free; 45 MiB need 26 more: two granules. No segment of 46 MiB is bought. */
    assert_int_equal(fixture_alloc(&on, 45 * MIB), large + 21 * MIB);
    assert_row(&on, TIDE_ACTION_SEGMENT_MAP, 3, large + 40 * MIB, 40 * MIB);
    assert_actions(&on, "MaMaMaMa");
    /* Another stream has its own range, after the others. */
    assert_int_equal(fixture_alloc_on(&on, 3 * MIB, 7), large + 1160 * MIB);
    tide_cache_stats stats = fixture_stats(&on);
    assert_int_equal(stats.reserved_bytes[TIDE_POOL_SMALL].current, 2 * MIB);
    assert_int_equal(stats.reserved_bytes[TIDE_POOL_LARGE].current, 100 * MIB);
    assert_int_equal(stats.segment[TIDE_POOL_ALL].current, 0);
    assert_int_equal(stats.segment[TIDE_POOL_ALL].allocated, 0);
    assert_int_equal(stats.inactive_split[TIDE_POOL_ALL].peak, 0);
    assert_int_equal(stats.num_device_alloc, 5);
    assert_int_equal(on.device.n_allocs, 0);
    assert_int_equal(on.device.n_ranges, 3);
    fixture_close(&on);
    assert_int_equal(on.device.n_ranges, 0);
    assert_int_equal(on.device.mapped_bytes, 0);
}

static void the_large_granule_is_the_large_segment(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 1024 * MIB, 0, ON ",large_segment_size_mb:12");
    (void)fixture_alloc(&on, 13 * MIB);
    assert_row(&on, TIDE_ACTION_SEGMENT_MAP, 0, BASE, 24 * MIB);
    fixture_close(&on);
}

static void remainders_of_512_bytes_are_split_off(void **state) {
    (void)state;
    fixture on;
    /* In a bought segment of 26 MiB, 25 MiB would keep their tail of 1 MiB. */
    fixture_open(&on, 0, 0, ON);
    uint64_t a = fixture_alloc(&on, 25 * MIB);
    assert_int_equal(fixture_stats(&on).allocated_bytes[TIDE_POOL_ALL].current, 25 * MIB);
    /* Two granules leave 15 MiB; even the last 512 bytes of them become a block. */
    uint64_t b = fixture_alloc(&on, 15 * MIB - 512);
    assert_int_equal(b, a + 25 * MIB);
    assert_int_equal(on.cache->free[TIDE_POOL_LARGE].n_blocks, 1);
    assert_int_equal(fixture_stats(&on).allocated_bytes[TIDE_POOL_ALL].current, 40 * MIB - 512);
    /* max_split_size does not forbid splitting either */
    fixture_close(&on);
    fixture_open(&on, 0, 0, ON ",max_split_size_mb:20");
    (void)fixture_alloc(&on, 25 * MIB);
    assert_int_equal(fixture_stats(&on).allocated_bytes[TIDE_POOL_ALL].current, 25 * MIB);
    fixture_close(&on);
}

/* Best fit compares what blocks could grow to: it skips the smaller of two blocks if the unmapped
 * space of the range follows it. */
static void the_block_at_the_end_is_spared(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, ON);
    uint64_t a = fixture_alloc(&on, 10 * MIB);
    uint64_t b = fixture_alloc(&on, 4 * MIB); /* 6 MiB of the granule remain after it */
    fixture_release(&on, a);
    assert_int_equal(fixture_alloc(&on, 5 * MIB), a); /* not the 6 MiB, which could be 72 TiB */
    assert_int_equal(fixture_alloc(&on, 6 * MIB), b + 4 * MIB);
    assert_actions(&on, "Maafaa");
    fixture_close(&on);
}

static void whole_free_granules_go_back(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 1024 * MIB, 0, ON);
    uint64_t a = fixture_alloc(&on, 30 * MIB);
    uint64_t b = fixture_alloc(&on, 60 * MIB);
    uint64_t c = fixture_alloc(&on, 5 * MIB);
    fixture_release(&on, b);
    assert_int_equal(reserved(&on), 100 * MIB);
    assert_int_equal(tide_cache_empty(on.cache, &on.error), TIDE_OK);
    /* b is [30, 90): the granules [40, 80); the free tail [95, 100) has none */
    assert_row(&on, TIDE_ACTION_SEGMENT_UNMAP, 0, BASE + 40 * MIB, 40 * MIB);
    assert_actions(&on, "MaMaafU");
    assert_int_equal(reserved(&on), 60 * MIB);
    assert_int_equal(on.device.n_unmaps, 2);
    assert_int_equal(on.device.n_synchronized, 1);
    assert_int_equal(fixture_stats(&on).num_device_free, 1);
    fixture_check(&on);
    /* Two mapped runs are two segments of the snapshot. */
    tide_cache_state now;
    assert_int_equal(tide_cache_copy_state(on.cache, NULL, &now, NULL), TIDE_OK);
    assert_int_equal(now.n_segments, 2);
    assert_true(now.segments[0].is_expandable && now.segments[1].is_expandable);
    assert_int_equal(now.segments[0].address, BASE);
    assert_int_equal(now.segments[0].total_bytes, 40 * MIB);
    assert_int_equal(now.segments[0].n_blocks, 2);
    assert_int_equal(now.segments[1].address, BASE + 80 * MIB);
    assert_int_equal(now.segments[1].total_bytes, 20 * MIB);
    assert_int_equal(now.segments[1].first_block, 2);
    assert_int_equal(now.segments[1].n_blocks, 3);
    assert_int_equal(now.blocks[2].offset_bytes, 0);
    assert_int_equal(now.blocks[3].offset_bytes, 10 * MIB);
    assert_int_equal(now.n_blocks, 5);
    tide_cache_state_fini(&now);
    /* The second time there is nothing to unmap and nothing to wait for. */
    assert_int_equal(tide_cache_empty(on.cache, &on.error), TIDE_OK);
    assert_int_equal(on.device.n_synchronized, 1);
    fixture_release(&on, a);
    fixture_release(&on, c);
    assert_int_equal(tide_cache_empty(on.cache, &on.error), TIDE_OK);
    assert_int_equal(reserved(&on), 0);
    assert_int_equal(on.cache->n_segments, 0);
    assert_int_equal(on.device.n_ranges, 0);
    fixture_close(&on);
}

/* The lowest address that fits: a hole is mapped again when it is large enough together with the
 * free blocks around it. */
static void holes_are_mapped_again(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 1024 * MIB, 0, ON);
    uint64_t a = fixture_alloc(&on, 30 * MIB);
    uint64_t b = fixture_alloc(&on, 60 * MIB);
    uint64_t c = fixture_alloc(&on, 5 * MIB);
    (void)a;
    (void)c;
    fixture_release(&on, b);
    assert_int_equal(tide_cache_empty(on.cache, &on.error), TIDE_OK);
    /* free [30, 40), unmapped [40, 80), free [80, 90), live [90, 95), free [95, 100) */
    assert_int_equal(fixture_alloc(&on, 61 * MIB), BASE + 95 * MIB); /* does not fit the hole */
    assert_row(&on, TIDE_ACTION_SEGMENT_MAP, 2, BASE + 100 * MIB, 60 * MIB);
    assert_int_equal(fixture_alloc(&on, 12 * MIB), BASE + 30 * MIB); /* 2 more: one granule */
    assert_row(&on, TIDE_ACTION_SEGMENT_MAP, 3, BASE + 40 * MIB, 20 * MIB);
    /* free [42, 60), unmapped [60, 80), free [80, 90) */
    assert_int_equal(fixture_alloc(&on, 48 * MIB), BASE + 42 * MIB);
    assert_row(&on, TIDE_ACTION_SEGMENT_MAP, 4, BASE + 60 * MIB, 20 * MIB);
    assert_int_equal(reserved(&on), 160 * MIB);
    fixture_close(&on);
}

/* One request may map two holes with a free block between them, each with its own row. */
static void two_holes_serve_one_request(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 1024 * MIB, 0, ON);
    uint64_t a = fixture_alloc(&on, 60 * MIB);
    uint64_t b = fixture_alloc(&on, 4 * MIB);
    uint64_t c = fixture_alloc(&on, 56 * MIB);
    uint64_t d = fixture_alloc(&on, 20 * MIB);
    (void)d;
    fixture_release(&on, a);
    fixture_release(&on, c);
    assert_int_equal(tide_cache_empty(on.cache, &on.error), TIDE_OK);
    /* unmapped [0, 60), live b [60, 64), free [64, 80), unmapped [80, 120), live d */
    assert_row(&on, TIDE_ACTION_SEGMENT_UNMAP, 0, BASE + 80 * MIB, 40 * MIB);
    assert_row(&on, TIDE_ACTION_SEGMENT_UNMAP, 1, BASE, 60 * MIB);
    fixture_release(&on, b);
    assert_int_equal(fixture_alloc(&on, 90 * MIB), BASE);
    assert_row(&on, TIDE_ACTION_SEGMENT_MAP, 4, BASE, 60 * MIB);
    assert_row(&on, TIDE_ACTION_SEGMENT_MAP, 5, BASE + 80 * MIB, 20 * MIB);
    assert_int_equal(reserved(&on), 120 * MIB);
    fixture_close(&on);
}

static void the_limit_counts_segments_and_what_is_mapped(void **state) {
    (void)state;
    fixture on;
    uint64_t address = 0;
    fixture_open(&on, 0, 40 * MIB, ON);
    uint64_t a = fixture_alloc(&on, 15 * MIB);
    /* 14 MiB as a segment: 34 of 40; as granules: 40 of 40. */
    assert_int_equal(fixture_alloc(&on, 14 * MIB), a + 15 * MIB);
    assert_int_equal(reserved(&on), 40 * MIB);
    assert_int_equal(tide_cache_alloc(on.cache, 12 * MIB, 0, NULL, &address, &on.error),
                     TIDE_DEVICE_OOM);
    assert_actions(&on, "MaMao");
    assert_int_equal(on.device.n_maps, 2); /* the limit refused without asking the device */
    fixture_close(&on);
    /* 21 MiB as a segment would fit 30; as granules they are 40. */
    fixture_open(&on, 0, 30 * MIB, ON);
    assert_int_equal(tide_cache_alloc(on.cache, 21 * MIB, 0, NULL, &address, &on.error),
                     TIDE_DEVICE_OOM);
    assert_int_equal(on.device.n_maps, 0);
    assert_non_null(strstr(on.error.message, "in granules that make 40.00 MiB"));
    fixture_close(&on);
    /* As in PyTorch, the whole segment counts: 30 MiB more are above 60 although 20 would be
     * mapped. */
    fixture_open(&on, 0, 60 * MIB, ON);
    a = fixture_alloc(&on, 30 * MIB);
    assert_int_equal(tide_cache_alloc(on.cache, 30 * MIB, 0, NULL, &address, &on.error),
                     TIDE_DEVICE_OOM);
    assert_int_equal(fixture_alloc(&on, 20 * MIB), a + 30 * MIB);
    assert_int_equal(reserved(&on), 60 * MIB);
    fixture_close(&on);
}

static void a_full_device_gets_cached_granules_back_first(void **state) {
    (void)state;
    fixture on;
    uint64_t address = 0;
    fixture_open(&on, 400 * MIB, 0, ON);
    uint64_t a = fixture_alloc(&on, 40 * MIB);
    uint64_t b = fixture_alloc(&on, 320 * MIB);
    uint64_t s = fixture_alloc_on(&on, 100, 1);
    fixture_release(&on, a);
    fixture_release(&on, s);
    /* 362 of 400 MiB are mapped; 42 of them are released, the large pool's first. */
    assert_int_equal(fixture_alloc(&on, 60 * MIB), BASE + 360 * MIB);
    assert_actions(&on, "MaMaMaffUUMa");
    assert_row(&on, TIDE_ACTION_SEGMENT_UNMAP, 0, BASE, 40 * MIB);
    assert_int_equal(on.device.n_ranges, 1);
    assert_int_equal(fixture_stats(&on).num_alloc_retries, 1);
    assert_int_equal(tide_cache_alloc(on.cache, 21 * MIB, 0, NULL, &address, &on.error),
                     TIDE_DEVICE_OOM); /* 40 MiB of 20 that are left */
    assert_int_equal(fixture_stats(&on).num_ooms, 1);
    assert_int_equal(fixture_alloc(&on, 20 * MIB), BASE);
    assert_int_equal(reserved(&on), 400 * MIB);
    fixture_release(&on, b);
    assert_int_equal(fixture_alloc(&on, 2 * MIB), BASE + 40 * MIB);
    fixture_close(&on);
}

/* A range has 1 1/8 of the device's memory. If none of its gaps is long enough, another range is
 * reserved. */
static void a_range_without_room_is_followed_by_another(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 400 * MIB, 0, ON); /* ranges of 460 MiB */
    uint64_t a = fixture_alloc(&on, 100 * MIB);
    (void)fixture_alloc(&on, 280 * MIB);
    fixture_release(&on, a);
    /* [0, 100) and [380, 460) are free: 120 MiB fit neither */
    assert_int_equal(fixture_alloc(&on, 120 * MIB), BASE + 460 * MIB);
    assert_int_equal(on.device.n_ranges, 2);
    /* the lower range serves what fits again */
    assert_int_equal(tide_cache_empty(on.cache, &on.error), TIDE_OK);
    fixture_close(&on);
}

static void more_than_a_range_is_out_of_memory_at_once(void **state) {
    (void)state;
    fixture on;
    uint64_t address = 0;
    fixture_open(&on, 80 * MIB, 0, ON);
    assert_int_equal(tide_cache_alloc(on.cache, 101 * MIB, 0, NULL, &address, &on.error),
                     TIDE_DEVICE_OOM);
    assert_int_equal(on.device.n_ranges, 0);
    assert_int_equal(on.device.n_maps, 0);
    fixture_close(&on);
}

static void expect_violation(fixture *on, const char *says) {
    assert_int_equal(tide_cache_check(on->cache, &on->error), TIDE_INVALID);
    if (strstr(on->error.message, says) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", on->error.message, says);
    }
}

/* tide_cache_check finds damage to a range. */
static void the_check_knows_ranges(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 1024 * MIB, 0, ON);
    (void)fixture_alloc(&on, 30 * MIB);
    fixture_check(&on);
    tide_cache_segment *range = on.cache->ranges;
    tide_cache_block *unmapped = range->first_unmapped;
    range->n_unmapped++;
    expect_violation(&on, "2 and");
    range->n_unmapped--;
    range->mapped_bytes += 20 * MIB;
    expect_violation(&on, "believed");
    range->mapped_bytes -= 20 * MIB;
    range->first_unmapped = NULL;
    expect_violation(&on, "not in its place");
    range->first_unmapped = unmapped;
    on.cache->ranges = NULL;
    expect_violation(&on, "list of ranges");
    on.cache->ranges = range;
    unmapped->requested_bytes = 1;
    expect_violation(&on, "unmapped, but in use");
    unmapped->requested_bytes = 0;
    unmapped->address += MIB;
    expect_violation(&on, "does not follow its neighbour");
    unmapped->address -= MIB;
    range->is_expandable = false;
    expect_violation(&on, "in a segment that was bought");
    range->is_expandable = true;
    fixture_close(&on);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(granules_are_mapped_for_the_rounded_request),
        cmocka_unit_test(the_large_granule_is_the_large_segment),
        cmocka_unit_test(remainders_of_512_bytes_are_split_off),
        cmocka_unit_test(the_block_at_the_end_is_spared),
        cmocka_unit_test(whole_free_granules_go_back),
        cmocka_unit_test(holes_are_mapped_again),
        cmocka_unit_test(two_holes_serve_one_request),
        cmocka_unit_test(the_limit_counts_segments_and_what_is_mapped),
        cmocka_unit_test(a_full_device_gets_cached_granules_back_first),
        cmocka_unit_test(a_range_without_room_is_followed_by_another),
        cmocka_unit_test(the_check_knows_ranges),
        cmocka_unit_test(more_than_a_range_is_out_of_memory_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
