/* test_cache.c - block and segment sizes, best fit, streams, splitting, statistics, rows, and what
 * is refused. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cache_fixture.h"
#include "common/map.h"

/* docs/internals/allocator.md, "From a request to a segment". */
static void requests_give_the_blocks_and_segments_of_the_table(void **state) {
    (void)state;
    static const struct {
        size_t request;
        int pool;
        size_t segment;
        size_t remainder; /* 0: not split */
        size_t counted;   /* as allocated */
    } ROWS[] = {
        {1, TIDE_POOL_SMALL, 2097152, 2096640, 512},
        {513, TIDE_POOL_SMALL, 2097152, 2096128, 1024},
        {1048576, TIDE_POOL_SMALL, 2097152, 1048576, 1048576},
        {1048577, TIDE_POOL_LARGE, 20971520, 19922432, 1049088},
        {8519680, TIDE_POOL_LARGE, 20971520, 12451840, 8519680},
        {10485249, TIDE_POOL_LARGE, 10485760, 0, 10485760},
        {25690112, TIDE_POOL_LARGE, 27262976, 1572864, 25690112},
        {26214400, TIDE_POOL_LARGE, 27262976, 0, 27262976},
        {33554432, TIDE_POOL_LARGE, 33554432, 0, 33554432},
    };
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        fixture on;
        tide_cache_state now;
        fixture_open(&on, 0, 0, "");
        uint64_t address = fixture_alloc(&on, ROWS[i].request);
        assert_int_equal(tide_cache_copy_state(on.cache, NULL, &now, NULL), TIDE_OK);
        assert_int_equal(now.n_segments, 1);
        assert_int_equal(now.segments[0].total_bytes, ROWS[i].segment);
        assert_int_equal(now.n_blocks, ROWS[i].remainder == 0 ? 1 : 2);
        assert_int_equal(now.blocks[0].block_bytes, ROWS[i].counted);
        assert_int_equal(now.blocks[0].requested_bytes, ROWS[i].request);
        assert_true(now.segments[0].address == address); /* the front is handed out */
        if (ROWS[i].remainder != 0) {
            assert_int_equal(now.blocks[1].block_bytes, ROWS[i].remainder);
            assert_int_equal(now.blocks[1].offset_bytes, ROWS[i].counted);
            assert_int_equal(now.blocks[1].state, TIDE_BLOCK_FREE);
        }
        tide_cache_stats stats = fixture_stats(&on);
        assert_int_equal(stats.requested_bytes[ROWS[i].pool].current, ROWS[i].request);
        assert_int_equal(stats.allocated_bytes[ROWS[i].pool].current, ROWS[i].counted);
        assert_int_equal(stats.reserved_bytes[ROWS[i].pool].current, ROWS[i].segment);
        assert_int_equal(stats.inactive_split_bytes[TIDE_POOL_ALL].current, ROWS[i].remainder);
        assert_int_equal(stats.inactive_split[ROWS[i].pool].current, ROWS[i].remainder != 0);
        tide_cache_state_fini(&now);
        fixture_close(&on);
    }
}

static void nothing_asked_gives_address_0(void **state) {
    (void)state;
    fixture on;
    char actions[8];
    fixture_open(&on, 0, 0, "");
    assert_true(fixture_alloc(&on, 0) == 0);
    fixture_release(&on, 0);
    fixture_actions(&on, actions, sizeof(actions));
    assert_string_equal(actions, "");
    assert_int_equal(on.device.n_allocs, 0);
    fixture_close(&on);
}

static void the_smallest_sufficient_block_is_taken_and_the_lowest_of_equals(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t a = fixture_alloc(&on, 30 * MIB);
    uint64_t b = fixture_alloc(&on, 24 * MIB);
    uint64_t c = fixture_alloc(&on, 24 * MIB);
    uint64_t d = fixture_alloc(&on, 40 * MIB);
    fixture_release(&on, d); /* the order of release does not matter */
    fixture_release(&on, c);
    fixture_release(&on, a);
    fixture_release(&on, b);
    assert_true(fixture_alloc(&on, 24 * MIB) == b);
    assert_true(fixture_alloc(&on, 23 * MIB + 1) == c);
    assert_true(fixture_alloc(&on, 23 * MIB) == a);
    assert_true(fixture_alloc(&on, 31 * MIB) == d);
    assert_true(fixture_alloc(&on, 6 * MIB) == a + 23 * MIB);
    assert_int_equal(on.device.n_allocs, 4);
    fixture_close(&on);
}

static void no_stream_gets_anothers_block(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t a = fixture_alloc_on(&on, 4 * MIB, 7);
    fixture_release(&on, a);
    uint64_t b = fixture_alloc_on(&on, 4 * MIB, 8);
    assert_true(b != a);
    assert_int_equal(on.device.n_allocs, 2);
    uint64_t c = fixture_alloc_on(&on, 4 * MIB, 6); /* below 7: the order of keys does not help */
    assert_int_equal(on.device.n_allocs, 3);
    assert_true(fixture_alloc_on(&on, 4 * MIB, 7) == a);
    assert_int_equal(on.device.n_allocs, 3);
    fixture_release(&on, c);
    fixture_close(&on);
}

static void small_and_large_blocks_do_not_share_segments(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t large = fixture_alloc(&on, 4 * MIB);
    fixture_release(&on, large);
    uint64_t small = fixture_alloc(&on, 512);
    assert_true(small != large);
    assert_int_equal(fixture_stats(&on).segment[TIDE_POOL_SMALL].current, 1);
    assert_int_equal(fixture_stats(&on).segment[TIDE_POOL_LARGE].current, 1);
    fixture_close(&on);
}

static void large_remainders_are_split_off_above_1_mib_only(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    fixture_release(&on, fixture_alloc(&on, 20 * MIB));
    uint64_t a = fixture_alloc(&on, 19 * MIB); /* leaves exactly 1 MiB */
    assert_int_equal(fixture_stats(&on).allocated_bytes[TIDE_POOL_ALL].current, 20 * MIB);
    fixture_release(&on, a);
    a = fixture_alloc(&on, 19 * MIB - 512);
    assert_int_equal(fixture_stats(&on).allocated_bytes[TIDE_POOL_ALL].current, 19 * MIB - 512);
    assert_int_equal(fixture_stats(&on).inactive_split_bytes[TIDE_POOL_LARGE].current, MIB + 512);
    fixture_release(&on, a);
    fixture_close(&on);
}

static void free_neighbours_become_one(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t a = fixture_alloc(&on, 4 * MIB);
    uint64_t b = fixture_alloc(&on, 5 * MIB);
    uint64_t c = fixture_alloc(&on, 6 * MIB);
    assert_true(b == a + 4 * MIB && c == b + 5 * MIB);
    tide_cache_stats stats = fixture_stats(&on);
    assert_int_equal(stats.inactive_split[TIDE_POOL_ALL].current, 1);
    assert_int_equal(stats.inactive_split_bytes[TIDE_POOL_ALL].current, 5 * MIB);
    fixture_release(&on, a);
    stats = fixture_stats(&on);
    assert_int_equal(stats.inactive_split[TIDE_POOL_ALL].current, 2);
    assert_int_equal(stats.inactive_split_bytes[TIDE_POOL_ALL].current, 9 * MIB);
    fixture_check(&on);
    fixture_release(&on, c); /* merges with the free rest after it */
    stats = fixture_stats(&on);
    assert_int_equal(stats.inactive_split[TIDE_POOL_ALL].current, 2);
    assert_int_equal(stats.inactive_split_bytes[TIDE_POOL_ALL].current, 15 * MIB);
    fixture_check(&on);
    fixture_release(&on, b); /* merges on both sides; the segment is whole again */
    stats = fixture_stats(&on);
    assert_int_equal(stats.inactive_split[TIDE_POOL_ALL].current, 0);
    assert_int_equal(stats.inactive_split_bytes[TIDE_POOL_ALL].current, 0);
    assert_int_equal(on.cache->n_blocks, 1);
    assert_true(fixture_alloc(&on, 20 * MIB) == a);
    fixture_close(&on);
}

static void statistics_count_what_pytorchs_count(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t a = fixture_alloc(&on, 1000);
    uint64_t b = fixture_alloc(&on, 25 * MIB); /* with a tail of 1 MiB */
    fixture_release(&on, a);
    uint64_t c = fixture_alloc(&on, 100);
    tide_cache_stats stats = fixture_stats(&on);
    const tide_stat *requested = &stats.requested_bytes[TIDE_POOL_ALL];
    const tide_stat *allocated = &stats.allocated_bytes[TIDE_POOL_ALL];
    assert_int_equal(requested->current, 25 * MIB + 100);
    assert_int_equal(requested->peak, 25 * MIB + 1000);
    assert_int_equal(requested->allocated, 25 * MIB + 1100);
    assert_int_equal(requested->freed, 1000);
    assert_int_equal(allocated->current, 26 * MIB + 512);
    assert_int_equal(allocated->peak, 26 * MIB + 1024);
    assert_int_equal(stats.allocation[TIDE_POOL_SMALL].allocated, 2);
    assert_int_equal(stats.allocation[TIDE_POOL_SMALL].peak, 1);
    assert_int_equal(stats.active_bytes[TIDE_POOL_LARGE].current, 26 * MIB);
    assert_int_equal(stats.reserved_bytes[TIDE_POOL_ALL].current, 28 * MIB);
    assert_int_equal(stats.num_device_alloc, 2);
    tide_cache_reset_peaks(on.cache);
    stats = fixture_stats(&on);
    assert_int_equal(stats.requested_bytes[TIDE_POOL_ALL].peak, 25 * MIB + 100);
    fixture_release(&on, b);
    fixture_release(&on, c);
    assert_int_equal(tide_cache_empty(on.cache, NULL), TIDE_OK);
    stats = fixture_stats(&on);
    assert_int_equal(stats.reserved_bytes[TIDE_POOL_ALL].current, 0);
    assert_int_equal(stats.reserved_bytes[TIDE_POOL_ALL].freed, 28 * MIB);
    assert_int_equal(stats.segment[TIDE_POOL_ALL].peak, 2);
    assert_int_equal(stats.num_device_free, 2);
    fixture_close(&on);
}

static void emptying_returns_only_segments_without_live_blocks(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t a = fixture_alloc(&on, 4 * MIB);
    uint64_t b = fixture_alloc(&on, 4 * MIB);
    uint64_t c = fixture_alloc(&on, 30 * MIB);
    fixture_release(&on, a);
    fixture_release(&on, c);
    assert_int_equal(tide_cache_empty(on.cache, NULL), TIDE_OK);
    assert_int_equal(fixture_stats(&on).reserved_bytes[TIDE_POOL_ALL].current, 20 * MIB);
    fixture_check(&on);
    fixture_release(&on, b);
    fixture_close(&on);
}

static void rows_tell_what_happened(void **state) {
    (void)state;
    fixture on;
    tide_cache_state now;
    uint64_t address = 0;
    fixture_open(&on, 0, 0, "");
    tide_scope scope = tide_scope_begin(on.recorder, TIDE_SCOPE_PHASE, "forward", -1);
    assert_int_equal(tide_cache_alloc(on.cache, 1000, 5,
                                      &(tide_tag){TIDE_ACTIVATION, "layers.3.attn.q"}, &address,
                                      NULL),
                     TIDE_OK);
    tide_scope_end(on.recorder, scope);
    fixture_release(&on, address);
    assert_int_equal(tide_cache_empty(on.cache, NULL), TIDE_OK);
    assert_int_equal(tide_cache_copy_state(on.cache, NULL, &now, NULL), TIDE_OK);
    assert_int_equal(now.recording.n_events, 4);
    const tide_event *bought = &now.recording.events[0];
    const tide_event *alloc = &now.recording.events[1];
    const tide_event *freed = &now.recording.events[2];
    const tide_event *returned = &now.recording.events[3];
    assert_int_equal(bought->action, TIDE_ACTION_SEGMENT_ALLOC);
    assert_int_equal(bought->block_bytes, 2 * MIB);
    assert_int_equal(bought->requested_bytes, 2 * MIB);
    assert_true(bought->address == address && bought->name == TIDE_NONE);
    assert_int_equal(bought->scope, scope);
    assert_int_equal(alloc->action, TIDE_ACTION_ALLOC);
    assert_true(alloc->address == address);
    assert_int_equal(alloc->requested_bytes, 1000);
    assert_int_equal(alloc->block_bytes, 1024);
    assert_int_equal(alloc->category, TIDE_ACTIVATION);
    assert_int_equal(alloc->scope, scope);
    assert_string_equal(now.recording.strings[alloc->name], "layers.3.attn.q");
    assert_int_equal(freed->action, TIDE_ACTION_FREE);
    assert_int_equal(freed->requested_bytes, 1000);
    assert_int_equal(freed->block_bytes, 1024);
    assert_int_equal(freed->category, TIDE_ACTIVATION);
    assert_int_equal(freed->name, alloc->name);
    assert_true(freed->scope == TIDE_NONE); /* its own, not the allocation's */
    assert_int_equal(returned->action, TIDE_ACTION_SEGMENT_FREE);
    assert_int_equal(returned->block_bytes, 2 * MIB);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(now.recording.streams[now.recording.events[i].stream].handle, 5);
    }
    tide_cache_state_fini(&now);
    fixture_close(&on);
}

static void the_state_names_live_blocks(void **state) {
    (void)state;
    fixture on;
    tide_cache_state now;
    uint64_t address = 0;
    fixture_open(&on, 0, 0, "");
    uint64_t first = fixture_alloc(&on, 40 * MIB);
    assert_int_equal(tide_cache_alloc(on.cache, 3 * MIB, 0,
                                      &(tide_tag){TIDE_GRADIENT, "ln_final.weight.grad"}, &address,
                                      NULL),
                     TIDE_OK);
    assert_int_equal(tide_cache_copy_state(on.cache, NULL, &now, NULL), TIDE_OK);
    assert_int_equal(now.n_segments, 2);
    assert_true(now.segments[0].address == first && now.segments[1].address == address);
    assert_int_equal(now.segments[1].first_block, 1);
    assert_int_equal(now.segments[1].n_blocks, 2);
    assert_int_equal(now.blocks[1].category, TIDE_GRADIENT);
    assert_int_equal(now.blocks[1].state, TIDE_BLOCK_ALLOCATED);
    assert_string_equal(now.recording.strings[now.blocks[1].name], "ln_final.weight.grad");
    tide_cache_state_fini(&now);
    tide_cache_state_fini(&now); /* twice is allowed */
    fixture_close(&on);
}

static void bad_releases_are_refused_and_change_nothing(void **state) {
    (void)state;
    fixture on;
    char before[16];
    char after[16];
    fixture_open(&on, 0, 0, "");
    uint64_t a = fixture_alloc(&on, 4 * MIB);
    uint64_t b = fixture_alloc(&on, 4 * MIB);
    fixture_release(&on, a);
    fixture_actions(&on, before, sizeof(before));
    const struct {
        uint64_t address;
        const char *says;
    } CASES[] = {{a, "free already"},
                 {a + 512, "free already"},
                 {b + 512, "512 bytes inside the block at 0x7000004"},
                 {b + 4 * MIB, "no block was handed out there"},
                 {b + 100 * MIB, "is in no segment of this cache"},
                 {1, "is in no segment of this cache"},
                 {UINT64_MAX, "is in no segment of this cache"}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        assert_int_equal(tide_cache_release(on.cache, CASES[i].address, &on.error), TIDE_INVALID);
        if (strstr(on.error.message, CASES[i].says) == NULL) {
            fail_msg("case %zu: %s", i, on.error.message);
        }
        assert_int_equal(tide_cache_release(on.cache, CASES[i].address, NULL), TIDE_INVALID);
        fixture_check(&on);
    }
    fixture_actions(&on, after, sizeof(after));
    assert_string_equal(before, after);
    fixture_close(&on);
}

static void a_category_out_of_range_is_refused(void **state) {
    (void)state;
    fixture on;
    uint64_t address = 0;
    fixture_open(&on, 0, 0, "");
    tide_tag tag = {TIDE_N_CATEGORIES, "x"};
    assert_int_equal(tide_cache_alloc(on.cache, 1, 0, &tag, &address, &on.error), TIDE_INVALID);
    fixture_close(&on);
}

static void destroying_returns_live_segments_too(void **state) {
    (void)state;
    fixture on;
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    fixture_open(&on, 100 * MIB, 0, "");
    (void)fixture_alloc(&on, 4 * MIB);
    (void)fixture_alloc(&on, 512);
    tide_cache_destroy(on.cache);
    assert_int_equal(tide_device_memory_info(on.inner, &free_bytes, &total_bytes, NULL), TIDE_OK);
    assert_int_equal(free_bytes, 100 * MIB);
    tide_recorder_destroy(on.recorder);
    tide_device_close(on.inner);
    tide_cache_destroy(NULL);
}

enum { N_THREADS = 4, N_THREAD_STEPS = 2000, N_THREAD_SLOTS = 16 };

typedef struct worker {
    tide_cache *cache;
    tide_stream stream;
    size_t n_failed;
} worker;

static void *work(void *argument) {
    worker *self = argument;
    uint64_t live[N_THREAD_SLOTS] = {0};
    uint64_t random = self->stream;
    for (int step = 0; step < N_THREAD_STEPS + N_THREAD_SLOTS; step++) {
        random = tide_hash_u64(random + 0x9e3779b97f4a7c15u);
        size_t slot = (size_t)(step < N_THREAD_STEPS ? random % N_THREAD_SLOTS
                                                     : (uint64_t)(step - N_THREAD_STEPS));
        tide_status status = TIDE_OK;
        if (live[slot] != 0) {
            status = tide_cache_release(self->cache, live[slot], NULL);
            live[slot] = 0;
        } else if (step < N_THREAD_STEPS) {
            status = tide_cache_alloc(self->cache, (random >> 32) % (3 * MIB) + 1, self->stream,
                                      &(tide_tag){TIDE_TEMPORARY, "scratch"}, &live[slot], NULL);
        }
        self->n_failed += status == TIDE_OK ? 0 : 1;
    }
    return NULL;
}

static void threads_may_share_a_cache(void **state) {
    (void)state;
    fixture on;
    pthread_t threads[N_THREADS];
    worker workers[N_THREADS];
    fixture_open(&on, 0, 0, "");
    for (size_t i = 0; i < N_THREADS; i++) {
        workers[i] = (worker){.cache = on.cache, .stream = i / 2};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].n_failed, 0);
    }
    fixture_check(&on);
    assert_int_equal(fixture_stats(&on).allocated_bytes[TIDE_POOL_ALL].current, 0);
    assert_true(fixture_stats(&on).allocation[TIDE_POOL_ALL].allocated > N_THREADS * 500);
    fixture_close(&on);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_give_the_blocks_and_segments_of_the_table),
        cmocka_unit_test(nothing_asked_gives_address_0),
        cmocka_unit_test(the_smallest_sufficient_block_is_taken_and_the_lowest_of_equals),
        cmocka_unit_test(no_stream_gets_anothers_block),
        cmocka_unit_test(small_and_large_blocks_do_not_share_segments),
        cmocka_unit_test(large_remainders_are_split_off_above_1_mib_only),
        cmocka_unit_test(free_neighbours_become_one),
        cmocka_unit_test(statistics_count_what_pytorchs_count),
        cmocka_unit_test(emptying_returns_only_segments_without_live_blocks),
        cmocka_unit_test(rows_tell_what_happened),
        cmocka_unit_test(the_state_names_live_blocks),
        cmocka_unit_test(bad_releases_are_refused_and_change_nothing),
        cmocka_unit_test(a_category_out_of_range_is_refused),
        cmocka_unit_test(destroying_returns_live_segments_too),
        cmocka_unit_test(threads_may_share_a_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
