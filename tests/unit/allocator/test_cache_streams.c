/* test_cache_streams.c - blocks that several streams use, rule by rule, with numbers computed by
 * hand. The device's decorator delays streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cache_fixture.h"
#include "streams_fixture.h"

#define SMALL_SEGMENT ((size_t)2 << 20)

static void its_own_stream_changes_nothing(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t block = fixture_alloc_on(&on, 1000, 3);
    fixture_record_stream(&on, block, 3);
    fixture_record_stream(&on, 0, 1);
    fixture_release(&on, block);
    expect_actions(&on, "Saf");
    expect_bytes(&on, 0, 0);
    assert_int_equal(on.device.n_created, 0);
    fixture_close(&on);
}

static void a_release_waits_for_the_other_stream(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t block = alloc_used(&on, 1000, 1);
    fixture_record_stream(&on, block, 1); /* once is enough */
    on.device.held_streams = 1 << 1;
    fixture_release(&on, block);
    tide_cache_stats stats = fixture_stats(&on);
    assert_int_equal(stats.allocation[TIDE_POOL_ALL].current, 0);
    assert_int_equal(stats.active[TIDE_POOL_ALL].current, 1);
    assert_int_equal(stats.requested_bytes[TIDE_POOL_ALL].current, 1000);
    assert_int_equal(stats.inactive_split_bytes[TIDE_POOL_ALL].current, SMALL_SEGMENT - 1024);
    expect_bytes(&on, 0, 1024);
    assert_int_equal(on.device.n_recorded, 1);
    assert_int_equal(on.device.n_queries, 0); /* a release queries no event */
    /* The smallest block that fits would be the waiting one. */
    uint64_t second = fixture_alloc(&on, 1000);
    assert_true(second == block + 1024);
    assert_int_equal(on.device.n_queries, 1);
    expect_bytes(&on, 1024, 2048);
    fixture_release(&on, second); /* queries no event either */
    assert_int_equal(on.device.n_queries, 1);
    expect_bytes(&on, 0, 1024);
    on.device.held_streams = 0;
    assert_true(fixture_alloc(&on, 1000) == block); /* events are queried before the search */
    expect_actions(&on, "Saqafca");
    stats = fixture_stats(&on);
    assert_int_equal(stats.active_bytes[TIDE_POOL_ALL].peak, 2048);
    assert_int_equal(stats.allocated_bytes[TIDE_POOL_ALL].peak, 1024);
    fixture_close(&on);
}

static void only_a_request_for_bytes_asks(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    fixture_release(&on, alloc_used(&on, 1000, 1));
    assert_int_equal(fixture_alloc(&on, 0), 0);
    uint64_t none = 0;
    assert_int_equal(tide_cache_alloc(on.cache, (size_t)1 << 60, 0, NULL, &none, NULL),
                     TIDE_DEVICE_OOM);
    assert_int_equal(on.device.n_queries, 0);
    tide_cache_oom oom;
    assert_true(tide_cache_get_oom(on.cache, &oom));
    assert_int_equal(oom.allocated_bytes, 0);
    assert_int_equal(oom.category_bytes[TIDE_UNKNOWN],
                     0);                  /* released blocks count in no category */
    (void)fixture_alloc_on(&on, 1000, 5); /* a request on any stream queries them */
    assert_int_equal(on.device.n_queries, 1);
    expect_actions(&on, "SaqocSa");
    fixture_close(&on);
}

/* The cache queries the events of each stream from the oldest on, up to the first late one. */
static void events_of_a_stream_are_reached_in_order(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t a = alloc_used(&on, 512, 1);
    uint64_t b = alloc_used(&on, 1024, 1);
    uint64_t c = alloc_used(&on, 2048, 2);
    on.device.late_queries = 2;
    fixture_release(&on, a);
    on.device.late_queries = 0;
    fixture_release(&on, b); /* its event is reached, but comes after the event of a */
    fixture_release(&on, c);
    expect_bytes(&on, 0, 3584);
    (void)fixture_alloc(&on, 4096); /* a is late, c is done */
    assert_int_equal(on.device.n_queries, 2);
    expect_bytes(&on, 4096, 4096 + 1536);
    (void)fixture_alloc(&on, 4096);
    assert_int_equal(on.device.n_queries, 3);
    expect_bytes(&on, 8192, 8192 + 1536);
    (void)fixture_alloc(&on, 4096); /* both of stream 1 */
    assert_int_equal(on.device.n_queries, 5);
    expect_bytes(&on, 12288, 12288);
    (void)fixture_alloc(&on, 4096); /* no event remains to query */
    assert_int_equal(on.device.n_queries, 5);
    expect_actions(&on, "Saaaqqqcaaccaa");
    fixture_close(&on);
}

static void the_last_of_several_streams_completes(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t block = alloc_used(&on, 512, 1);
    fixture_record_stream(&on, block, 2);
    fixture_record_stream(&on, block, 7);
    on.device.held_streams = 1 << 2;
    fixture_release(&on, block);
    assert_int_equal(on.device.n_recorded, 3);
    (void)fixture_alloc_on(&on, 512, 9);
    expect_bytes(&on, 512, 1024); /* 1 and 7 are done */
    on.device.held_streams = 0;
    (void)fixture_alloc_on(&on, 512, 9);
    assert_int_equal(on.device.n_queries, 4); /* 1, 2, 7; then only 2 */
    expect_bytes(&on, 1024, 1024);
    expect_actions(&on, "SaqSaca");
    fixture_close(&on);
}

static void a_waiting_block_is_not_merged(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t a = fixture_alloc(&on, 512);
    uint64_t b = alloc_used(&on, 512, 1);
    uint64_t c = fixture_alloc(&on, 512);
    on.device.held_streams = 1 << 1;
    fixture_release(&on, b);
    fixture_release(&on, a);
    fixture_release(&on, c);
    /* Free: a, and c with what follows it. */
    tide_cache_stats stats = fixture_stats(&on);
    assert_int_equal(stats.inactive_split[TIDE_POOL_SMALL].current, 2);
    assert_int_equal(stats.inactive_split_bytes[TIDE_POOL_SMALL].current, SMALL_SEGMENT - 512);
    expect_bytes(&on, 0, 512);
    assert_true(fixture_alloc(&on, 1024) == c); /* does not fit in a alone */
    on.device.held_streams = 0;
    assert_true(fixture_alloc(&on, 1024) == a); /* a and b */
    expect_bytes(&on, 2048, 2048);
    fixture_close(&on);
}

static void a_block_stays_with_its_own_stream(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t block = alloc_used(&on, 512, 1);
    fixture_release(&on, block);
    uint64_t other = fixture_alloc_on(&on, 512, 1);
    assert_true(other != block);
    expect_actions(&on, "SaqcSa");
    assert_true(fixture_alloc(&on, 512) == block);
    fixture_close(&on);
}

/* The last attempt waits for all streams and then buys. It does not search the cached blocks again.
 */
static void the_last_attempt_to_buy_waits(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 32 * MIB, 0, "");
    uint64_t block = alloc_used(&on, 24 * MIB, 1);
    on.device.held_streams = 1 << 1;
    fixture_release(&on, block);
    assert_true(fixture_alloc(&on, 24 * MIB) == block);
    expect_actions(&on, "SaqcRSa");
    tide_cache_stats stats = fixture_stats(&on);
    assert_int_equal(stats.num_alloc_retries, 1);
    assert_int_equal(stats.num_sync_all_streams, 1);
    assert_int_equal(on.device.n_waited_for, 1);
    expect_bytes(&on, 24 * MIB, 24 * MIB);
    fixture_close(&on);

    fixture_open(&on, 20 * MIB, 0, "");
    block = alloc_used(&on, 8 * MIB, 1);
    (void)fixture_alloc(&on, 8 * MIB); /* keeps the segment */
    on.device.held_streams = 1 << 1;
    fixture_release(&on, block);
    uint64_t none = 0;
    assert_int_equal(tide_cache_alloc(on.cache, 8 * MIB, 0, NULL, &none, &on.error),
                     TIDE_DEVICE_OOM);
    expect_actions(&on, "Saaqco");
    assert_true(fixture_alloc(&on, 8 * MIB) == block);
    fixture_close(&on);
}

static void emptying_the_cache_waits(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t block = alloc_used(&on, 1000, 1);
    fixture_record_stream(&on, block, 2);
    on.device.held_streams = 1 << 1;
    fixture_release(&on, block);
    assert_int_equal(tide_cache_empty(on.cache, &on.error), TIDE_OK);
    expect_actions(&on, "SaqcR");
    expect_bytes(&on, 0, 0);
    /* Waits for the two streams, not for the whole device, where other work may be running. */
    assert_int_equal(on.device.n_waited_for, 2);
    assert_int_equal(on.device.n_synchronized, 0);
    assert_int_equal(on.device.n_queries, 0);
    assert_int_equal(on.cache->n_segments, 0);
    assert_int_equal(tide_cache_empty(on.cache, &on.error), TIDE_OK); /* nothing to wait for */
    assert_int_equal(on.device.n_waited_for, 2);
    assert_int_equal(fixture_stats(&on).num_sync_all_streams, 2);
    fixture_close(&on);
}

/* A stream reaches its events in order, so waiting for the last one is enough. */
static void the_latest_event_of_a_stream_is_waited_for(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t first = alloc_used(&on, 512, 1);
    uint64_t second = alloc_used(&on, 512, 1);
    uint64_t third = alloc_used(&on, 512, 1);
    on.device.held_streams = 1 << 1;
    fixture_release(&on, first);
    fixture_release(&on, second);
    fixture_release(&on, third);
    assert_int_equal(tide_cache_empty(on.cache, &on.error), TIDE_OK);
    expect_bytes(&on, 0, 0);
    assert_int_equal(on.device.n_recorded, 3);
    assert_int_equal(on.device.n_waited_for, 1);
    assert_int_equal(on.device.last_waited_for, 3);
    fixture_close(&on);
}

static void events_are_used_again(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    for (int i = 0; i < 10; i++) {
        fixture_release(&on, alloc_used(&on, 512, 1 + (tide_stream)i % 3));
    }
    assert_int_equal(on.device.n_recorded, 10);
    assert_int_equal(on.device.n_created, 1);
    on.device.held_streams = UINT64_MAX;
    for (int i = 0; i < 100; i++) {
        fixture_release(&on, alloc_used(&on, 512, 1 + (tide_stream)i % 3));
    }
    assert_int_equal(on.device.n_created, 101); /* one event from before is still waited for */
    on.device.held_streams = 0;
    (void)fixture_alloc(&on, 512);
    expect_bytes(&on, 512, 512);
    assert_null(on.cache->streams.queues);
    for (int i = 0; i < 100; i++) {
        fixture_release(&on, alloc_used(&on, 512, 100 + (tide_stream)i));
    }
    assert_int_equal(on.device.n_created, 101);
    fixture_close(&on);
    assert_int_equal(on.device.n_events, 0);
}

static void a_cache_with_waiting_blocks_can_be_destroyed(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    on.device.held_streams = UINT64_MAX;
    uint64_t block = alloc_used(&on, 4 * MIB, 1);
    fixture_record_stream(&on, block, 2);
    (void)alloc_used(&on, 512, 3); /* alive and used */
    fixture_release(&on, block);
    assert_int_equal(on.device.n_events, 2);
    fixture_close(&on);
    assert_int_equal(on.device.n_events, 0);
    assert_int_equal(on.device.n_segments, 0);
    assert_int_equal(on.device.n_synchronized, 1);
}

static void refusals_say_what_a_block_waits_for(void **state) {
    (void)state;
    fixture on;
    const tide_tag tag = {TIDE_ACTIVATION, "layers.3.attn.q"};
    uint64_t block = 0;
    fixture_open(&on, 0, 0, "");
    tide_scope step = tide_scope_begin(on.recorder, TIDE_SCOPE_STEP, "step", 4);
    assert_int_equal(tide_cache_alloc(on.cache, 1000, 0, &tag, &block, NULL), TIDE_OK);
    fixture_record_stream(&on, block, 0x1f);
    fixture_record_stream(&on, block, 2);
    on.device.held_streams = UINT64_MAX;
    fixture_release(&on, block);
    tide_scope_end(on.recorder, step);
    for (int offset = 0; offset < 1024; offset += 512) { /* also at an address inside the block */
        assert_int_equal(tide_cache_release(on.cache, block + (uint64_t)offset, &on.error),
                         TIDE_INVALID);
        expect_text(&on, ": it is released already and waits for stream 0x1f and 1 more; release "
                         "each block once\n  the block: activation layers.3.attn.q, 1000 bytes, "
                         "allocated as event 1, ");
        expect_text(&on, " ms ago, in step 4\n  released as event 2, ");
    }
    assert_int_equal(tide_cache_record_stream(on.cache, block, 5, &on.error), TIDE_INVALID);
    expect_text(&on, "cannot record a stream for 0x");
    expect_text(&on, "waits for stream 0x1f and 1 more; record streams before the release\n");
    expect_bytes(&on, 0, 1024);
    on.device.held_streams = 0;
    fixture_release(&on, fixture_alloc_on(&on, 1, 1));
    assert_int_equal(tide_cache_release(on.cache, block, &on.error), TIDE_INVALID);
    expect_text(&on, "it is free already; release each block once\n  the block: activation");
    expect_text(&on, "\n  released as event 2, ");
    expect_text(&on, "\n  other streams were done with it as event 3, ");
    fixture_close(&on);
}

static void streams_of_what_is_not_alive_are_refused(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    uint64_t block = fixture_alloc(&on, 4096);
    assert_int_equal(tide_cache_record_stream(on.cache, block + 8, 1, &on.error), TIDE_INVALID);
    expect_text(&on, "it is 8 bytes inside the block at 0x700000000000; give the address that "
                     "was handed out\n");
    assert_int_equal(tide_cache_record_stream(on.cache, 77, 1, &on.error), TIDE_INVALID);
    expect_text(&on, "in no segment of this cache; ask the cache that allocated it");
    fixture_release(&on, block);
    assert_int_equal(tide_cache_record_stream(on.cache, block, 1, &on.error), TIDE_INVALID);
    expect_text(&on, "it is free already; record streams before the release\n");
    fixture_close(&on);
}

/* If the log kept only the completion of a release, the message treats that as the release. */
static void what_the_log_lost_of_a_release_is_left_out(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    tide_cache_destroy(on.cache);
    tide_recorder_destroy(on.recorder);
    tide_recorder_config config;
    tide_recorder_config_init(&config);
    config.log_bytes = 3 * sizeof(tide_event);
    config.capture_stacks = false;
    assert_int_equal(tide_recorder_create(&config, &on.recorder, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(&on.device.base, on.recorder, NULL, &on.cache, NULL),
                     TIDE_OK);
    uint64_t block = alloc_used(&on, 700, 1);
    fixture_release(&on, block);
    (void)fixture_alloc_on(&on, 512, 1); /* event 3 completes; 4 buys, 5 allocates */
    assert_int_equal(tide_cache_release(on.cache, block, &on.error), TIDE_INVALID);
    expect_text(&on, "it is free already; release each block once\n  the block: unknown, 700 "
                     "bytes\n  released as event 3, ");
    assert_null(strstr(on.error.message, "other streams"));
    fixture_close(&on);
}

static void a_copy_shows_what_waits(void **state) {
    (void)state;
    fixture on;
    tide_cache_state now;
    fixture_open(&on, 0, 0, "");
    on.device.held_streams = UINT64_MAX;
    uint64_t block = alloc_used(&on, 1000, 1);
    fixture_release(&on, block);
    assert_int_equal(tide_cache_copy_state(on.cache, NULL, &now, NULL), TIDE_OK);
    assert_int_equal(now.n_blocks, 2);
    assert_int_equal(now.blocks[0].state, TIDE_BLOCK_PENDING_FREE);
    assert_int_equal(now.blocks[0].requested_bytes, 1000);
    assert_int_equal(now.blocks[1].state, TIDE_BLOCK_FREE);
    const tide_event *request = &now.recording.events[2];
    assert_int_equal(request->action, TIDE_ACTION_FREE_REQUESTED);
    assert_true(request->address == block);
    assert_int_equal(request->requested_bytes, 1000);
    assert_int_equal(request->block_bytes, 1024);
    assert_int_equal(request->stream, now.segments[0].stream);
    tide_cache_state_fini(&now);
    fixture_close(&on);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_own_stream_changes_nothing),
        cmocka_unit_test(a_release_waits_for_the_other_stream),
        cmocka_unit_test(only_a_request_for_bytes_asks),
        cmocka_unit_test(events_of_a_stream_are_reached_in_order),
        cmocka_unit_test(the_last_of_several_streams_completes),
        cmocka_unit_test(a_waiting_block_is_not_merged),
        cmocka_unit_test(a_block_stays_with_its_own_stream),
        cmocka_unit_test(the_last_attempt_to_buy_waits),
        cmocka_unit_test(emptying_the_cache_waits),
        cmocka_unit_test(the_latest_event_of_a_stream_is_waited_for),
        cmocka_unit_test(events_are_used_again),
        cmocka_unit_test(a_cache_with_waiting_blocks_can_be_destroyed),
        cmocka_unit_test(refusals_say_what_a_block_waits_for),
        cmocka_unit_test(streams_of_what_is_not_alive_are_refused),
        cmocka_unit_test(what_the_log_lost_of_a_release_is_left_out),
        cmocka_unit_test(a_copy_shows_what_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
