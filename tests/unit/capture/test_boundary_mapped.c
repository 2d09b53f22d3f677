/* test_boundary_mapped.c - the state at both ends of a log when memory is mapped and unmapped in
 * parts, as expandable segments do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocator/cache.h"
#include "boundary_fixture.h"
#include "capture/capture_internal.h"
#include "support/event_log.h"

/* Allocates and releases blocks of all sizes in expandable segments, and sometimes empties the
 * cache. */
static tide_recording record_expandable(void) {
    tide_device *device = NULL;
    tide_recorder *recorder = NULL;
    tide_cache *cache = NULL;
    tide_cache_config config;
    tide_recorder_config recording;
    tide_recording made;
    uint64_t live[40] = {0};
    uint64_t random = 11;
    tide_cache_config_init(&config);
    config.expandable_segments = true;
    tide_recorder_config_init(&recording);
    recording.capture_stacks = false;
    assert_int_equal(tide_device_open("virtual", NULL, &device, NULL), TIDE_OK);
    assert_int_equal(tide_recorder_create(&recording, &recorder, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(device, recorder, &config, &cache, NULL), TIDE_OK);
    for (size_t i = 0; i < 700; i++) {
        random = tide_hash_u64(random + 0x9e3779b97f4a7c15u);
        size_t slot = random % 40;
        if (live[slot] != 0) {
            assert_int_equal(tide_cache_release(cache, live[slot], NULL), TIDE_OK);
            live[slot] = 0;
        } else {
            size_t n_bytes = (size_t)1 << (10 + (random >> 20) % 16);
            assert_int_equal(
                tide_cache_alloc(cache, n_bytes, (random >> 50) % 2, NULL, &live[slot], NULL),
                TIDE_OK);
        }
        if (i % 50 == 49) {
            assert_int_equal(tide_cache_empty(cache, NULL), TIDE_OK);
        }
    }
    assert_int_equal(tide_recorder_copy(recorder, NULL, &made, NULL), TIDE_OK);
    tide_cache_destroy(cache);
    tide_recorder_destroy(recorder);
    tide_device_close(device);
    return made;
}

static void same_boundary(const tide_boundary *a, const tide_boundary *b) {
    assert_int_equal(a->n_segments, b->n_segments);
    assert_int_equal(a->n_blocks, b->n_blocks);
    for (size_t i = 0; i < a->n_segments; i++) {
        assert_true(a->segments[i].address == b->segments[i].address);
        assert_true(a->segments[i].total_bytes == b->segments[i].total_bytes);
        assert_true(a->segments[i].stream == b->segments[i].stream);
    }
    for (size_t i = 0; i < a->n_blocks; i++) {
        assert_true(a->blocks[i].offset_bytes == b->blocks[i].offset_bytes);
        assert_true(a->blocks[i].block_bytes == b->blocks[i].block_bytes);
        assert_int_equal(a->blocks[i].state, b->blocks[i].state);
    }
}

/* The unmapped pieces need not equal the mapped ones. */
static void a_ring_knows_what_was_mapped(void **state) {
    (void)state;
    tide_recording all = record_expandable();
    size_t n_unmaps = 0;
    for (size_t i = 0; i < all.n_events; i++) {
        n_unmaps += all.events[i].action == TIDE_ACTION_SEGMENT_UNMAP ? 1 : 0;
    }
    assert_true(n_unmaps > 10);
    for (size_t n_rows = 1; n_rows < all.n_events; n_rows += 5) {
        tide_event_log log;
        tide_arena arena;
        tide_arena_init(&arena, tide_hostmem_default());
        assert_int_equal(tide_event_log_init(&log, tide_hostmem_default(),
                                             n_rows * sizeof(tide_event), true, NULL),
                         TIDE_OK);
        for (size_t i = 0; i < all.n_events; i++) {
            append_event(&log, &all.events[i]);
        }
        size_t first = all.n_events - n_rows;
        tide_event *base = tide_arena_alloc(&arena, log.n_base, sizeof(*base));
        assert_non_null(base);
        tide_event_log_copy_base(&log, base);
        tide_boundary truth, start, end;
        assert_int_equal(
            tide_boundary_after(NULL, 0, all.events, first, &arena, NULL, &truth, NULL), TIDE_OK);
        assert_int_equal(tide_boundary_after(base, log.n_base, all.events + first, n_rows, &arena,
                                             &start, &end, NULL),
                         TIDE_OK);
        same_boundary(&start, &truth);
        tide_event_log_fini(&log);
        tide_arena_fini(&arena);
    }
    tide_recording_fini(&all);
}

static void assert_run(const tide_boundary *of, size_t i, uint64_t address, uint64_t n_bytes,
                       size_t n_blocks) {
    assert_true(i < of->n_segments);
    assert_int_equal(of->segments[i].address, address);
    assert_int_equal(of->segments[i].total_bytes, n_bytes);
    assert_int_equal(of->segments[i].n_blocks, n_blocks);
    assert_true(of->segments[i].is_expandable);
}

/* Mapped memory merges with adjacent mapped memory, and any part of it may be unmapped. */
static void mapped_memory_is_joined_and_cut(void **state) {
    (void)state;
    enum { K = 1024, BASE = 0x100000 };
    tide_event events[] = {
        base_event(TIDE_ACTION_SEGMENT_MAP, BASE, 8 * K),
        base_event(TIDE_ACTION_ALLOC, BASE, 6 * K),
        base_event(TIDE_ACTION_SEGMENT_MAP, BASE + 16 * K, 8 * K),
        base_event(TIDE_ACTION_SEGMENT_MAP, BASE + 8 * K, 8 * K), /* closes the gap */
        base_event(TIDE_ACTION_ALLOC, BASE + 6 * K, 4 * K), /* across the boundary of two rows */
        base_event(TIDE_ACTION_SEGMENT_UNMAP, BASE + 12 * K, 8 * K), /* parts of two rows */
        base_event(TIDE_ACTION_FREE, BASE + 6 * K, 4 * K),
        base_event(TIDE_ACTION_SEGMENT_UNMAP, BASE + 20 * K, 4 * K), /* a whole run */
        base_event(TIDE_ACTION_SEGMENT_MAP, BASE + 24 * K, 4 * K),   /* touches another stream's */
    };
    enum { N = sizeof(events) / sizeof(events[0]) };
    events[N - 1].stream = 1;
    tide_arena arena;
    tide_arena_init(&arena, tide_hostmem_default());
    tide_boundary at[N + 1];
    tide_boundary back;
    tide_error error = {""};
    for (size_t i = 0; i <= N; i++) {
        if (tide_boundary_after(NULL, 0, events, i, &arena, NULL, &at[i], &error) != TIDE_OK) {
            fail_msg("after %zu rows: %s", i, error.message);
        }
    }
    assert_int_equal(at[3].n_segments, 2);
    assert_run(&at[3], 0, BASE, 8 * K, 2);
    assert_run(&at[3], 1, BASE + 16 * K, 8 * K, 1);
    assert_int_equal(at[5].n_segments, 1);
    assert_run(&at[5], 0, BASE, 24 * K, 3);
    assert_int_equal(at[6].n_segments, 2);
    assert_run(&at[6], 0, BASE, 12 * K, 3);
    assert_run(&at[6], 1, BASE + 20 * K, 4 * K, 1);
    assert_int_equal(at[N].n_segments, 2);
    assert_run(&at[N], 0, BASE, 12 * K, 2);
    assert_run(&at[N], 1, BASE + 24 * K, 4 * K, 1);
    for (size_t i = 0; i <= N; i++) { /* and from each end back to each row before it */
        for (size_t j = 0; j <= i; j++) {
            assert_int_equal(
                tide_boundary_before(&at[i], events + j, i - j, NULL, 0, &arena, &back, &error),
                TIDE_OK);
            assert_int_equal(back.n_segments, at[j].n_segments);
            assert_int_equal(back.n_blocks, at[j].n_blocks);
            for (size_t s = 0; s < back.n_segments; s++) {
                assert_run(&back, s, at[j].segments[s].address, at[j].segments[s].total_bytes,
                           at[j].segments[s].n_blocks);
            }
        }
    }
    /* Mapping twice, and unmapping what is not mapped. */
    const tide_event twice[] = {events[0], base_event(TIDE_ACTION_SEGMENT_MAP, BASE + 4 * K, K)};
    const tide_event never[] = {events[0],
                                base_event(TIDE_ACTION_SEGMENT_UNMAP, BASE + 4 * K, 8 * K)};
    assert_int_equal(tide_boundary_after(NULL, 0, twice, 2, &arena, NULL, &back, NULL),
                     TIDE_INVALID);
    assert_int_equal(tide_boundary_after(NULL, 0, never, 2, &arena, NULL, &back, NULL),
                     TIDE_INVALID);
    tide_arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_knows_what_was_mapped),
        cmocka_unit_test(mapped_memory_is_joined_and_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
