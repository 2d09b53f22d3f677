/* test_cache_host_memory.c - the cache's own host memory: each of its allocations fails once, and a
 * request never runs short of nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cache_fixture.h"
#include "support/hostmem_fault.h"

/* 600 live blocks in several segments, so that nodes, table and segments grow; then memory runs out
 * once, which groups the live blocks. */
static tide_status fill_and_drain(tide_device *device, tide_hostmem_fault *fault) {
    enum { N_BLOCKS = 600 };
    static uint64_t live[N_BLOCKS];
    tide_cache_config config;
    tide_cache *cache = NULL;
    tide_error error = {""};
    size_t n_live = 0;
    uint64_t none = 0;
    tide_cache_config_init(&config);
    config.mem = &fault->mem;
    config.memory_limit_bytes = 300 * MIB;
    tide_status worst = tide_cache_create(device, NULL, &config, &cache, &error);
    if (worst != TIDE_OK) {
        return worst;
    }
    for (size_t i = 0; i < N_BLOCKS; i++) {
        size_t n_bytes = i % 3 == 0 ? MIB + i * 512 : 100 + i * 16;
        tide_status status = tide_cache_alloc(cache, n_bytes, i % 2, NULL, &live[n_live], &error);
        n_live += status == TIDE_OK ? 1 : 0;
        worst = status == TIDE_OK ? worst : status;
        if (status != TIDE_OK || i % 50 == 0) {
            assert_int_equal(tide_cache_check(cache, &error), TIDE_OK);
        }
    }
    tide_status status = tide_cache_alloc(cache, 400 * MIB, 0, NULL, &none, &error);
    assert_true(status == TIDE_DEVICE_OOM || status == TIDE_NO_MEMORY);
    worst = status == TIDE_NO_MEMORY ? status : worst;
    assert_int_equal(tide_cache_check(cache, &error), TIDE_OK);
    for (size_t i = 0; i < n_live; i++) {
        assert_int_equal(tide_cache_release(cache, live[i], &error), TIDE_OK);
    }
    assert_int_equal(tide_cache_check(cache, &error), TIDE_OK);
    assert_int_equal(tide_cache_empty(cache, &error), TIDE_OK);
    tide_cache_destroy(cache);
    return worst;
}

static void every_failing_host_allocation_leaves_the_cache_consistent(void **state) {
    (void)state;
    tide_device *device = NULL;
    tide_hostmem_fault fault;
    assert_int_equal(tide_device_open("virtual", NULL, &device, NULL), TIDE_OK);
    tide_hostmem_fault_init(&fault, 0);
    assert_int_equal(fill_and_drain(device, &fault), TIDE_OK);
    assert_int_equal(fault.n_live, 0);
    size_t n_calls = fault.n_calls;
    size_t n_survived = 0;
    assert_true(n_calls > 10);
    for (size_t n = 1; n <= n_calls; n++) {
        tide_hostmem_fault_init(&fault, n);
        tide_status status = fill_and_drain(device, &fault);
        assert_true(status == TIDE_OK || status == TIDE_NO_MEMORY);
        n_survived += status == TIDE_OK ? 1 : 0;
        assert_int_equal(fault.n_live, 0);
    }
    assert_true(n_survived > 0); /* a table that cannot grow, groups that cannot be made */
    tide_device_close(device);
}

static void a_copy_that_finds_no_memory_leaves_nothing_behind(void **state) {
    (void)state;
    fixture on;
    tide_hostmem_fault fault;
    fixture_open(&on, 0, 0, "");
    (void)fixture_alloc(&on, 4 * MIB);
    (void)fixture_alloc(&on, 512);
    size_t n = 0;
    tide_status status = TIDE_NO_MEMORY;
    while (status == TIDE_NO_MEMORY) {
        tide_cache_state now;
        tide_hostmem_fault_init(&fault, ++n);
        status = tide_cache_copy_state(on.cache, &fault.mem, &now, &on.error);
        if (status == TIDE_OK) {
            assert_int_equal(now.n_blocks, 4);
            tide_cache_state_fini(&now);
        }
        assert_int_equal(fault.n_live, 0);
    }
    assert_int_equal(status, TIDE_OK);
    assert_true(n > 4);
    fixture_close(&on);
}

/* One block, then two for each request: an odd number of nodes is in use whenever two more are
 * needed. */
static void a_segment_and_its_rest_always_find_nodes(void **state) {
    (void)state;
    enum { N_STREAMS = 200 };
    fixture on;
    fixture_open(&on, 0, 0, "");
    (void)fixture_alloc(&on, 20 * MIB);
    for (tide_stream stream = 1; stream <= N_STREAMS; stream++) {
        (void)fixture_alloc_on(&on, 4 * MIB, stream);
    }
    assert_int_equal(on.cache->n_blocks, 1 + 2 * N_STREAMS);
    fixture_close(&on);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_host_allocation_leaves_the_cache_consistent),
        cmocka_unit_test(a_copy_that_finds_no_memory_leaves_nothing_behind),
        cmocka_unit_test(a_segment_and_its_rest_always_find_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
