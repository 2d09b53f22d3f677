/* test_cache_check.c - tide_cache_check finds damage that is planted on purpose, and segments with
 * a given partition are adopted or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cache_fixture.h"

/* Makes three blocks in one segment and releases the second one: live, free, live, free. */
static void open_sample(fixture *on) {
    fixture_open(on, 0, 0, "");
    (void)fixture_alloc(on, 4 * MIB);
    uint64_t second = fixture_alloc(on, 4 * MIB);
    (void)fixture_alloc(on, 4 * MIB);
    (void)fixture_alloc(on, 512); /* another segment */
    fixture_release(on, second);
    fixture_check(on);
}

static tide_cache_segment *large_segment(fixture *on) {
    tide_cache_segment *segment = on->cache->newest;
    while (segment->pool != TIDE_POOL_LARGE) {
        segment = segment->older;
    }
    return segment;
}

typedef void (*damage)(fixture *on);

static void longer_block(fixture *on) {
    large_segment(on)->first_block->block_bytes += 512;
}

static void odd_block(fixture *on) {
    tide_cache_block *block = large_segment(on)->first_block;
    block->block_bytes -= 1;
    block->after->address -= 1;
    block->after->block_bytes += 1;
}

static void shorter_segment(fixture *on) {
    large_segment(on)->total_bytes -= 512;
}

static void broken_neighbour(fixture *on) {
    large_segment(on)->first_block->after->before = NULL;
}

static void foreign_segment(fixture *on) {
    large_segment(on)->first_block->segment = on->cache->newest;
}

static void not_coalesced(fixture *on) {
    /* the last two blocks: live and free; the live one is set free by hand */
    tide_cache_block *block = large_segment(on)->first_block->after->after;
    tide_cache_table_remove(&on->cache->live, block);
    block->state = TIDE_BLOCK_FREE;
    block->requested_bytes = 0;
    tide_cache_bins_insert(&on->cache->free[TIDE_POOL_LARGE], block);
}

static void not_among_the_free(fixture *on) {
    tide_cache_bins_remove(&on->cache->free[TIDE_POOL_LARGE],
                           large_segment(on)->first_block->after);
}

static void lost_address(fixture *on) {
    tide_cache_table_remove(&on->cache->live, large_segment(on)->first_block);
}

static void wrong_pool(fixture *on) {
    tide_cache_block *block = large_segment(on)->first_block->after;
    tide_cache_bins_remove(&on->cache->free[TIDE_POOL_LARGE], block);
    tide_cache_bins_insert(&on->cache->free[TIDE_POOL_SMALL], block);
}

static void stale_tree(fixture *on) {
    on->cache->free[TIDE_POOL_SMALL].n_blocks++;
}

static void requested_too_much(fixture *on) {
    large_segment(on)->first_block->requested_bytes = 5 * MIB;
}

static void requested_of_free(fixture *on) {
    large_segment(on)->first_block->after->requested_bytes = 1;
}

static void lost_segment(fixture *on) {
    on->cache->newest = on->cache->newest->older;
    on->cache->newest->newer = NULL;
}

static void broken_list(fixture *on) {
    on->cache->newest->older->newer = NULL;
}

static void wrong_current(fixture *on) {
    on->cache->stats.allocated_bytes[TIDE_POOL_LARGE].current += 512;
}

static void wrong_all(fixture *on) {
    on->cache->stats.inactive_split[TIDE_POOL_ALL].current--;
}

static void wrong_peak(fixture *on) {
    on->cache->stats.reserved_bytes[TIDE_POOL_ALL].peak = 1;
}

static void wrong_sum(fixture *on) {
    on->cache->stats.requested_bytes[TIDE_POOL_SMALL].allocated = 0;
}

static void wrong_oversize(fixture *on) {
    on->cache->stats.oversize_segments.current++;
}

static void wrong_count(fixture *on) {
    on->cache->n_blocks++;
}

/* The bytes that a damage overwrote. They are restored so that the events linked from the field can
 * be destroyed. */
static struct {
    void *at;                          /* the field */
    unsigned char was[sizeof(void *)]; /* its former bytes */
    size_t n_bytes;                    /* of the field */
} kept[2];
static size_t n_kept;

static void keep(void *at, size_t n_bytes) {
    assert_true(n_kept < 2 && n_bytes <= sizeof(void *));
    kept[n_kept].at = at;
    kept[n_kept].n_bytes = n_bytes;
    memcpy(kept[n_kept++].was, at, n_bytes);
}

static void undo(void) {
    while (n_kept > 0) {
        n_kept--;
        memcpy(kept[n_kept].at, kept[n_kept].was, kept[n_kept].n_bytes);
    }
}

#define PLANT(field, value) (keep(&(field), sizeof(field)), (void)((field) = (value)))

/* Two blocks of stream 0 that streams 1 and 2 use; the first is released and waits. */
static tide_cache_block *waiting_block(fixture *on) {
    uint64_t first = fixture_alloc(on, 4096);
    uint64_t second = fixture_alloc(on, 4096);
    fixture_record_stream(on, first, 1);
    fixture_record_stream(on, first, 2);
    fixture_record_stream(on, second, 2);
    fixture_release(on, first);
    fixture_check(on);
    return tide_cache_table_find(&on->cache->live, first);
}

static void waits_for_nobody(fixture *on) {
    tide_cache_block *block = waiting_block(on);
    PLANT(block->uses, NULL);
}

static void waits_without_event(fixture *on) {
    tide_cache_block *block = waiting_block(on);
    PLANT(block->uses->event, NULL);
}

static void used_while_free(fixture *on) {
    tide_cache_block *block = waiting_block(on);
    PLANT(block->after->after->uses, block->uses);
}

static void used_by_its_own_stream(fixture *on) {
    tide_cache_block *block = waiting_block(on);
    PLANT(block->uses->queue->stream, 0);
}

static void used_twice(fixture *on) {
    tide_cache_block *block = waiting_block(on);
    PLANT(block->uses->next->queue, block->uses->queue);
}

static void use_of_another_block(fixture *on) {
    tide_cache_block *block = waiting_block(on);
    PLANT(block->uses->block, block->after);
}

static void unknown_queue(fixture *on) {
    (void)waiting_block(on);
    PLANT(on->cache->streams.queues, on->cache->streams.queues->next);
}

static void two_queues(fixture *on) {
    (void)waiting_block(on);
    PLANT(on->cache->streams.queues->stream, 2);
}

static void lost_from_its_queue(fixture *on) {
    tide_cache_queue *queue = waiting_block(on)->uses->queue;
    PLANT(queue->first, NULL);
    PLANT(queue->last, NULL);
}

static void wrong_end_of_queue(fixture *on) {
    tide_cache_block *block = waiting_block(on);
    PLANT(block->uses->queue->last, NULL);
}

static void alive_in_a_queue(fixture *on) {
    tide_cache_block *block = waiting_block(on);
    PLANT(block->uses->next->later, block->after->uses);
}

static void endless_queue(fixture *on) {
    tide_cache_use *use = waiting_block(on)->uses;
    PLANT(use->later, use);
}

static void wrong_uses(fixture *on) {
    tide_cache_queue *queue = waiting_block(on)->uses->queue;
    PLANT(queue->n_uses, queue->n_uses + 1);
}

static void wrong_waiting(fixture *on) {
    (void)waiting_block(on);
    PLANT(on->cache->streams.n_waiting, on->cache->streams.n_waiting + 1);
}

static void planted_damage_is_found(void **state) {
    (void)state;
    static const struct {
        damage plant;
        const char *says;
    } CASES[] = {
        {longer_block, "does not follow"},
        {odd_block, "not a multiple"},
        {shorter_segment, "its blocks cover"},
        {broken_neighbour, "does not follow"},
        {foreign_segment, "does not follow"},
        {not_coalesced, "not coalesced"},
        {not_among_the_free, "not found among the free"},
        {lost_address, "not found by its address"},
        {wrong_pool, "not found among the free"},
        {stale_tree, "free blocks of a pool"},
        {requested_too_much, "more than the block's"},
        {requested_of_free, "has requested bytes"},
        {lost_segment, "segments: 2 believed, 1 counted"},
        {broken_list, "list of segments is broken"},
        {wrong_current, "allocated_bytes"},
        {wrong_all, "inactive_split"},
        {wrong_peak, "reserved_bytes"},
        {wrong_sum, "requested_bytes"},
        {wrong_oversize, "oversize_segments"},
        {wrong_count, "blocks: 7 believed, 6 counted"},
        {waits_for_nobody, "waits for no stream"},
        {waits_without_event, "waits without an event"},
        {used_while_free, "free, but used by another stream"},
        {used_by_its_own_stream, "a use by another stream is broken"},
        {used_twice, "used twice by one stream"},
        {use_of_another_block, "a use by another stream is broken"},
        {unknown_queue, "a use by another stream is broken"},
        {two_queues, "two queues for stream 0x2"},
        {lost_from_its_queue, "uses in queues: 1 believed, 2 counted"},
        {wrong_end_of_queue, "stream 0x1: a broken queue"},
        {alive_in_a_queue, "stream 0x2: what waits for it is broken"},
        {endless_queue, "a broken queue"},
        {wrong_uses, "uses by other streams: 4 believed, 3 counted"},
        {wrong_waiting, "uses that wait: 3 believed, 2 counted"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        fixture on;
        open_sample(&on);
        CASES[i].plant(&on);
        if (tide_cache_check(on.cache, &on.error) != TIDE_INVALID) {
            fail_msg("damage %zu was not found", i);
        }
        if (strstr(on.error.message, CASES[i].says) == NULL) {
            fail_msg("damage %zu: %s", i, on.error.message);
        }
        undo();
        tide_cache_destroy(on.cache);
        tide_recorder_destroy(on.recorder);
        assert_int_equal(on.device.n_events, 0);
        tide_device_close(on.inner);
    }
}

#define LIVE(offset, n_bytes)                                                                      \
    {                                                                                              \
        .offset_bytes = (offset), .block_bytes = (n_bytes), .requested_bytes = (n_bytes)-100,      \
        .stack = TIDE_NONE, .scope = TIDE_NONE, .name = TIDE_NONE, .state = TIDE_BLOCK_ALLOCATED   \
    }
#define FREE(offset, n_bytes)                                                                      \
    {                                                                                              \
        .offset_bytes = (offset), .block_bytes = (n_bytes), .stack = TIDE_NONE,                    \
        .scope = TIDE_NONE, .name = TIDE_NONE, .state = TIDE_BLOCK_FREE                            \
    }

static void a_partition_becomes_part_of_the_cache(void **state) {
    (void)state;
    static const tide_block_row ROWS[] = {LIVE(0, 2 * MIB), FREE(2 * MIB, 6 * MIB),
                                          LIVE(8 * MIB, 4 * MIB), FREE(12 * MIB, 8 * MIB)};
    static const tide_block_row WHOLE[] = {FREE(0, 2 * MIB)};
    fixture on;
    uint64_t base = UINT64_C(1) << 40;
    fixture_open(&on, 0, 0, "");
    on.device.inner = NULL; /* so that the decorator accepts any address */
    assert_int_equal(
        tide_cache_adopt_segment(on.cache, base, 20 * MIB, 3, TIDE_POOL_LARGE, ROWS, 4, &on.error),
        TIDE_OK);
    assert_int_equal(tide_cache_adopt_segment(on.cache, base - 2 * MIB, 2 * MIB, 3, TIDE_POOL_SMALL,
                                              WHOLE, 1, &on.error),
                     TIDE_OK);
    fixture_check(&on);
    tide_cache_stats stats = fixture_stats(&on);
    assert_int_equal(stats.requested_bytes[TIDE_POOL_LARGE].current, 6 * MIB - 200);
    assert_int_equal(stats.inactive_split[TIDE_POOL_LARGE].current, 2);
    assert_int_equal(stats.inactive_split[TIDE_POOL_SMALL].current, 0);
    assert_true(fixture_alloc_on(&on, 5 * MIB, 3) == base + 2 * MIB);
    assert_true(fixture_alloc_on(&on, 512, 3) == base - 2 * MIB);
    fixture_release(&on, base + 8 * MIB); /* merges with both neighbours */
    assert_true(fixture_alloc_on(&on, 12 * MIB, 3) == base + 8 * MIB);
    fixture_close(&on);
}

static void an_impossible_partition_is_refused(void **state) {
    (void)state;
    static const tide_block_row GAP[] = {LIVE(0, 2 * MIB), LIVE(4 * MIB, 16 * MIB)};
    static const tide_block_row SHORT[] = {LIVE(0, 2 * MIB)};
    static const tide_block_row LONG[] = {LIVE(0, 22 * MIB)};
    static const tide_block_row ODD[] = {LIVE(0, 2 * MIB + 1), LIVE(2 * MIB + 1, 18 * MIB - 1)};
    static const tide_block_row NEIGHBOURS[] = {FREE(0, 2 * MIB), FREE(2 * MIB, 18 * MIB)};
    static const tide_block_row PENDING[] = {
        {.block_bytes = 20 * MIB, .requested_bytes = 1, .state = TIDE_BLOCK_PENDING_FREE}};
    static const tide_block_row CATEGORY[] = {{.block_bytes = 20 * MIB,
                                               .requested_bytes = 1,
                                               .state = TIDE_BLOCK_ALLOCATED,
                                               .category = TIDE_MAX_CATEGORIES}};
    static const tide_block_row EMPTY[] = {
        {.block_bytes = 20 * MIB, .state = TIDE_BLOCK_ALLOCATED}};
    static const tide_block_row TOO_MUCH[] = {
        {.block_bytes = 20 * MIB, .requested_bytes = 20 * MIB + 1, .state = TIDE_BLOCK_ALLOCATED}};
    static const tide_block_row GOOD[] = {LIVE(0, 20 * MIB)};
    const struct {
        const tide_block_row *rows;
        size_t n_rows;
        tide_status status;
    } CASES[] = {{GAP, 2, TIDE_INVALID},        {SHORT, 1, TIDE_INVALID},
                 {LONG, 1, TIDE_INVALID},       {ODD, 2, TIDE_INVALID},
                 {NEIGHBOURS, 2, TIDE_INVALID}, {PENDING, 1, TIDE_UNSUPPORTED},
                 {CATEGORY, 1, TIDE_INVALID},   {EMPTY, 1, TIDE_INVALID},
                 {TOO_MUCH, 1, TIDE_INVALID},   {GOOD, 0, TIDE_INVALID}};
    fixture on;
    uint64_t base = UINT64_C(1) << 40;
    fixture_open(&on, 0, 0, "");
    on.device.inner = NULL;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        assert_int_equal(tide_cache_adopt_segment(on.cache, base, 20 * MIB, 0, TIDE_POOL_LARGE,
                                                  CASES[i].rows, CASES[i].n_rows, &on.error),
                         CASES[i].status);
        assert_non_null(strstr(on.error.message, "0x10000000000"));
        fixture_check(&on);
    }
    assert_int_equal(
        tide_cache_adopt_segment(on.cache, base, 20 * MIB, 0, TIDE_POOL_LARGE, GOOD, 1, &on.error),
        TIDE_OK);
    assert_int_equal(tide_cache_adopt_segment(on.cache, base + 18 * MIB, 20 * MIB, 0,
                                              TIDE_POOL_LARGE, GOOD, 1, &on.error),
                     TIDE_INVALID);
    assert_non_null(strstr(on.error.message, "overlaps"));
    assert_int_equal(on.cache->n_segments, 1);
    fixture_close(&on);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_damage_is_found),
        cmocka_unit_test(a_partition_becomes_part_of_the_cache),
        cmocka_unit_test(an_impossible_partition_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
