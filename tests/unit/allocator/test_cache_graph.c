/* test_cache_graph.c - a captured step: its private pool, the addresses of its replays, replays
 * that differ from it, calls in another order, and host allocations that fail meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "streams_fixture.h"
#include "support/hostmem_fault.h"

#define must(on, call)                                                                             \
    do {                                                                                           \
        if ((call) != TIDE_OK) {                                                                   \
            fail_msg("%s", (on)->error.message);                                                   \
        }                                                                                          \
    } while (false)

enum { N_ADDRESSES = 3 };

/* The step of these tests: four calls. The third allocation reuses the memory of the first; the
 * second, of 3 MiB, is in the large pool. Two of the step's blocks outlive it, as gradients do. */
static void step(fixture *on, uint64_t addresses[N_ADDRESSES]) {
    addresses[0] = fixture_alloc(on, 1000);
    addresses[1] = fixture_alloc(on, 3 * MIB);
    fixture_release(on, addresses[0]);
    addresses[2] = fixture_alloc(on, 600);
}

static void capture(fixture *on, uint64_t addresses[N_ADDRESSES]) {
    must(on, tide_cache_begin_capture(on->cache, &on->error));
    step(on, addresses);
    must(on, tide_cache_end_capture(on->cache, &on->error));
}

static int64_t reserved_bytes(fixture *on) {
    return fixture_stats(on).reserved_bytes[TIDE_POOL_ALL].current;
}

/* How many segments snapshots show in the pool (number, 0). */
static size_t n_segments_of(fixture *on, int64_t number) {
    tide_cache_state now;
    size_t n = 0;
    must(on, tide_cache_copy_state(on->cache, NULL, &now, &on->error));
    for (size_t i = 0; i < now.n_segments; i++) {
        n += (int64_t)now.segments[i].pool_id[0] == number && now.segments[i].pool_id[1] == 0;
    }
    tide_cache_state_fini(&now);
    return n;
}

/* The cached segment of 2 MiB has room for the first allocation of the step, which must not use it:
 * beginning the capture releases that segment. The small segment with a live block stays, and no
 * allocation of the step is in it. */
static void a_capture_has_a_pool_of_its_own(void **state) {
    (void)state;
    fixture on;
    uint64_t in[N_ADDRESSES];
    fixture_open(&on, 0, 0, "");
    uint64_t live = fixture_alloc(&on, 512);
    fixture_release(&on, fixture_alloc(&on, 4 * MIB));
    assert_int_equal(reserved_bytes(&on), 2 * MIB + 20 * MIB);
    capture(&on, in);
    assert_int_equal(reserved_bytes(&on), 2 * MIB + 2 * MIB + 20 * MIB);
    assert_int_equal(n_segments_of(&on, 0), 1);
    assert_int_equal(n_segments_of(&on, 1), 2);
    assert_true(in[0] < live || in[0] >= live + 2 * MIB);
    assert_int_equal(in[2], in[0]);
    fixture_check(&on);
    /* After the capture the usual pools are used again, though the private one has room. */
    uint64_t after = fixture_alloc(&on, 512);
    assert_true(after > live && after < live + 2 * MIB);
    uint64_t large = fixture_alloc(&on, 2 * MIB);
    assert_int_equal(n_segments_of(&on, 0), 2);
    fixture_release(&on, large);
    fixture_close(&on);
}

/* Emptying the cache releases what is free elsewhere, but nothing of the private pool, even if none
 * of its blocks is alive. */
static void the_pool_of_a_capture_stays(void **state) {
    (void)state;
    fixture on;
    uint64_t in[N_ADDRESSES];
    fixture_open(&on, 0, 0, "");
    capture(&on, in);
    fixture_release(&on, in[1]);
    fixture_release(&on, in[2]);
    fixture_release(&on, fixture_alloc(&on, 4 * MIB));
    assert_int_equal(reserved_bytes(&on), 2 * MIB + 20 * MIB + 20 * MIB);
    must(&on, tide_cache_empty(on.cache, &on.error));
    assert_int_equal(reserved_bytes(&on), 2 * MIB + 20 * MIB);
    assert_int_equal(n_segments_of(&on, 0), 0);
    assert_int_equal(n_segments_of(&on, 1), 2);
    fixture_close(&on);
}

/* The same while the step is captured. */
static void emptying_during_a_capture_leaves_its_pool(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    must(&on, tide_cache_begin_capture(on.cache, &on.error));
    uint64_t first = fixture_alloc(&on, 3 * MIB);
    fixture_release(&on, first);
    must(&on, tide_cache_empty(on.cache, &on.error));
    assert_int_equal(reserved_bytes(&on), 20 * MIB);
    assert_int_equal(fixture_alloc(&on, 3 * MIB), first);
    must(&on, tide_cache_end_capture(on.cache, &on.error));
    fixture_close(&on);
}

/* Running out of memory in a capture releases no cached segment: a capture may not wait for it. */
static void memory_that_runs_out_in_a_capture_is_not_searched_for(void **state) {
    (void)state;
    fixture on;
    uint64_t address = 0;
    fixture_open(&on, 0, 30 * MIB, "");
    uint64_t before = fixture_alloc(&on, 3 * MIB);
    must(&on, tide_cache_begin_capture(on.cache, &on.error));
    fixture_release(&on, before);
    assert_int_equal(tide_cache_alloc(on.cache, 25 * MIB, 0, NULL, &address, &on.error),
                     TIDE_DEVICE_OOM);
    assert_int_equal(reserved_bytes(&on), 20 * MIB);
    must(&on, tide_cache_end_capture(on.cache, &on.error));
    (void)fixture_alloc(&on,
                        25 * MIB); /* after the capture the segment is released for this request */
    fixture_close(&on);
}

static void every_replay_gets_the_same_addresses(void **state) {
    (void)state;
    fixture on;
    uint64_t in[N_ADDRESSES];
    fixture_open(&on, 0, 0, "");
    capture(&on, in);
    tide_cache_stats before = fixture_stats(&on);
    for (size_t i = 0; i < 3; i++) {
        uint64_t now[N_ADDRESSES];
        must(&on, tide_cache_begin_replay(on.cache, &on.error));
        step(&on, now);
        must(&on, tide_cache_end_replay(on.cache, &on.error));
        assert_memory_equal(now, in, sizeof(in));
        /* Between replays the cache works as usual. */
        fixture_release(&on, fixture_alloc(&on, 100));
        must(&on, tide_cache_empty(on.cache, &on.error));
    }
    tide_cache_stats after = fixture_stats(&on);
    enum { ALL = TIDE_POOL_ALL };
    assert_int_equal(after.allocated_bytes[ALL].current, before.allocated_bytes[ALL].current);
    assert_int_equal(after.reserved_bytes[ALL].current, before.reserved_bytes[ALL].current);
    assert_int_equal(after.allocation[ALL].allocated, before.allocation[ALL].allocated + 3);
    fixture_close(&on);
}

static void another_call_in_a_replay_fails(void **state) {
    (void)state;
    fixture on;
    uint64_t in[N_ADDRESSES];
    uint64_t address = 0;
    fixture_open(&on, 0, 0, "");
    capture(&on, in);
    must(&on, tide_cache_begin_replay(on.cache, &on.error));
    assert_int_equal(tide_cache_alloc(on.cache, 1001, 0, NULL, &address, &on.error), TIDE_INVALID);
    expect_text(&on, "call 0 of a replay is about 1001 bytes at 0x0, that of the capture was about "
                     "1000 at 0x");
    assert_int_equal(tide_cache_release(on.cache, in[0], &on.error), TIDE_INVALID);
    expect_text(&on, "call 0 of a replay is about 0 bytes at 0x");
    assert_int_equal(fixture_alloc(&on, 1000), in[0]);
    assert_int_equal(fixture_alloc(&on, 3 * MIB), in[1]);
    assert_int_equal(tide_cache_release(on.cache, in[1], &on.error), TIDE_INVALID);
    expect_text(&on, "call 2 of a replay is about 0 bytes at 0x");
    assert_int_equal(tide_cache_end_replay(on.cache, &on.error), TIDE_INVALID);
    expect_text(&on, "a replay made 2 of the 4 allocations and releases of the capture");
    /* The next replay begins at the first call again. */
    must(&on, tide_cache_begin_replay(on.cache, &on.error));
    step(&on, in);
    assert_int_equal(tide_cache_alloc(on.cache, 1000, 0, NULL, &address, &on.error), TIDE_INVALID);
    expect_text(&on, "a replay makes more than the 4 allocations and releases of the capture");
    must(&on, tide_cache_end_replay(on.cache, &on.error));
    fixture_close(&on);
}

typedef tide_status (*change)(tide_cache *cache, tide_error *error);

static void refused(fixture *on, change call, const char *text) {
    on->error.message[0] = '\0';
    assert_int_equal(call(on->cache, &on->error), TIDE_INVALID);
    expect_text(on, text);
}

static void calls_in_another_order_fail(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    refused(&on, tide_cache_end_capture, "no step was captured, expected was: a step is being");
    refused(&on, tide_cache_begin_replay,
            "no step was captured, expected was: a step was captured");
    refused(&on, tide_cache_end_replay, "no step was captured");
    must(&on, tide_cache_begin_capture(on.cache, &on.error));
    refused(&on, tide_cache_begin_capture, "a step is being captured, expected was: no step");
    refused(&on, tide_cache_begin_replay, "a step is being captured");
    refused(&on, tide_cache_end_replay, "a step is being captured");
    must(&on, tide_cache_end_capture(on.cache, &on.error));
    refused(&on, tide_cache_begin_capture, "a step was captured");
    refused(&on, tide_cache_end_capture, "a step was captured");
    refused(&on, tide_cache_end_replay, "a step was captured, expected was: a step is being");
    must(&on, tide_cache_begin_replay(on.cache, &on.error));
    refused(&on, tide_cache_begin_capture, "a step is being replayed");
    refused(&on, tide_cache_end_capture, "a step is being replayed");
    refused(&on, tide_cache_begin_replay, "a step is being replayed");
    must(&on, tide_cache_end_replay(on.cache, &on.error));
    fixture_close(&on);
}

/* A capture whose list grows beyond its first 256 calls. Returns the worst status; a call that
 * fails has changed nothing. */
static tide_status long_capture(tide_device *device, tide_hostmem_fault *fault) {
    enum { N_BLOCKS = 300 };
    uint64_t live[N_BLOCKS];
    size_t n_live = 0;
    tide_cache_config config;
    tide_cache *cache = NULL;
    tide_error error = {""};
    tide_cache_config_init(&config);
    config.mem = &fault->mem;
    tide_status worst = tide_cache_create(device, NULL, &config, &cache, &error);
    if (worst != TIDE_OK) {
        return worst;
    }
    assert_int_equal(tide_cache_begin_capture(cache, &error), TIDE_OK);
    for (size_t i = 0; i < N_BLOCKS; i++) {
        tide_status status = tide_cache_alloc(cache, 512, 0, NULL, &live[n_live], &error);
        n_live += status == TIDE_OK ? 1 : 0;
        worst = status == TIDE_OK ? worst : status;
    }
    tide_cache_stats stats;
    tide_cache_get_stats(cache, &stats);
    assert_int_equal(stats.allocated_bytes[TIDE_POOL_ALL].current, 512 * n_live);
    for (size_t i = 0; i < n_live; i++) {
        tide_status status = tide_cache_release(cache, live[i], &error);
        if (status != TIDE_OK) { /* the block is still there */
            worst = status;
            assert_int_equal(tide_cache_release(cache, live[i], &error), TIDE_OK);
        }
    }
    assert_int_equal(tide_cache_end_capture(cache, &error), TIDE_OK);
    assert_int_equal(cache->graph.n_calls, 2 * n_live);
    tide_cache_get_stats(cache, &stats);
    assert_int_equal(stats.allocated_bytes[TIDE_POOL_ALL].current, 0);
    assert_int_equal(tide_cache_check(cache, &error), TIDE_OK);
    tide_cache_destroy(cache);
    return worst;
}

/* Each host allocation fails once; nothing leaks, including the list of calls. */
static void host_memory_that_fails_in_a_capture_leaves_nothing_behind(void **state) {
    (void)state;
    tide_device *device = NULL;
    tide_hostmem_fault fault;
    size_t n_failed = 0;
    assert_int_equal(tide_device_open("virtual", NULL, &device, NULL), TIDE_OK);
    tide_hostmem_fault_init(&fault, 0);
    assert_int_equal(long_capture(device, &fault), TIDE_OK);
    assert_int_equal(fault.n_live, 0);
    size_t n_calls = fault.n_calls;
    for (size_t n = 1; n <= n_calls; n++) {
        tide_hostmem_fault_init(&fault, n);
        tide_status status = long_capture(device, &fault);
        assert_true(status == TIDE_OK || status == TIDE_NO_MEMORY);
        assert_int_equal(fault.n_live, 0);
        n_failed += status == TIDE_NO_MEMORY ? 1 : 0;
    }
    assert_true(n_failed >= 3); /* the cache, and the list of calls, which grows twice */
    tide_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_has_a_pool_of_its_own),
        cmocka_unit_test(the_pool_of_a_capture_stays),
        cmocka_unit_test(emptying_during_a_capture_leaves_its_pool),
        cmocka_unit_test(memory_that_runs_out_in_a_capture_is_not_searched_for),
        cmocka_unit_test(every_replay_gets_the_same_addresses),
        cmocka_unit_test(another_call_in_a_replay_fails),
        cmocka_unit_test(calls_in_another_order_fail),
        cmocka_unit_test(host_memory_that_fails_in_a_capture_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
