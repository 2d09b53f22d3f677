/* test_cache_streams_failures.c - blocks that several streams use, on a device whose calls fail and
 * a host without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cache_fixture.h"
#include "streams_fixture.h"
#include "support/hostmem_fault.h"

static void a_release_that_cannot_be_recorded_has_not_happened(void **state) {
    (void)state;
    fixture on;
    for (size_t n = 1; n <= 4; n++) { /* create, record, create, record */
        fixture_open(&on, 0, 0, "");
        uint64_t block = alloc_used(&on, 1000, 1);
        fixture_record_stream(&on, block, 2);
        on.device.fail_call = on.device.n_calls + n;
        assert_int_equal(tide_cache_release(on.cache, block, &on.error), TIDE_DEVICE_FAILED);
        expect_text(&on, n <= 2 ? "which stream 0x1 uses" : "which stream 0x2 uses");
        expect_text(&on, "planted failure of event_");
        expect_bytes(&on, 1024, 1024);
        expect_actions(&on, "Sa");
        fixture_release(&on, block);
        expect_bytes(&on, 0, 1024);
        assert_int_equal(on.device.n_created, 2);
        (void)fixture_alloc_on(&on, 512, 1);
        expect_actions(&on, "SaqcSa");
        fixture_close(&on);
        assert_int_equal(on.device.n_events, 0);
    }
}

static void a_failing_query_stops_the_allocation(void **state) {
    (void)state;
    fixture on;
    uint64_t none = 0;
    fixture_open(&on, 0, 0, "");
    uint64_t a = alloc_used(&on, 512, 1);
    uint64_t b = alloc_used(&on, 512, 1);
    fixture_release(&on, a);
    fixture_release(&on, b);
    on.device.fail_call = on.device.n_calls + 2;
    assert_int_equal(tide_cache_alloc(on.cache, 512, 0, NULL, &none, &on.error),
                     TIDE_DEVICE_FAILED);
    expect_text(&on, "asking whether stream 0x1 is done with released blocks");
    expect_actions(&on, "Saaqqc");
    expect_bytes(&on, 0, 512);
    assert_true(fixture_alloc(&on, 512) == a);
    expect_actions(&on, "Saaqqcca");
    fixture_close(&on);
}

static void a_failing_wait_changes_nothing(void **state) {
    (void)state;
    fixture on;
    fixture_open(&on, 0, 0, "");
    fixture_release(&on, alloc_used(&on, 512, 1));
    on.device.fail_call = on.device.n_calls + 1;
    assert_int_equal(tide_cache_empty(on.cache, &on.error), TIDE_DEVICE_FAILED);
    expect_text(&on, "waiting for stream 0x1, which still uses released blocks");
    expect_actions(&on, "Saq");
    expect_bytes(&on, 0, 512);
    assert_int_equal(tide_cache_empty(on.cache, &on.error), TIDE_OK);
    expect_actions(&on, "SaqcR");
    fixture_close(&on);
}

/* The planted status is returned, and everything can be destroyed. */
static void scenario(fixture *on, tide_status planted) {
    uint64_t live[8] = {0};
    on->device.late_queries = 3;
    for (size_t i = 0; i < 40; i++) {
        uint64_t *slot = &live[i * 5 % 8];
        tide_status status = TIDE_OK;
        if (*slot != 0) {
            assert_int_equal(tide_cache_record_stream(on->cache, *slot, i % 4, NULL), TIDE_OK);
            assert_int_equal(tide_cache_record_stream(on->cache, *slot, i % 3, NULL), TIDE_OK);
            status = tide_cache_release(on->cache, *slot, &on->error);
            *slot = status == TIDE_OK ? 0 : *slot;
        } else {
            status =
                tide_cache_alloc(on->cache, (i % 6 + 1) * 2 * MIB, i % 2, NULL, slot, &on->error);
            if (status != TIDE_OK) {
                *slot = 0;
            }
        }
        assert_true(status == TIDE_OK || status == planted || status == TIDE_DEVICE_OOM);
        fixture_check(on);
    }
    tide_status status = tide_cache_empty(on->cache, &on->error);
    assert_true(status == TIDE_OK || status == planted);
}

static void every_call_of_the_device_may_fail(void **state) {
    (void)state;
    static const tide_status PLANTED[] = {TIDE_DEVICE_FAILED, TIDE_DEVICE_LOST};
    fixture on;
    fixture_open(&on, 44 * MIB, 0, "");
    scenario(&on, TIDE_OK);
    size_t n_calls = on.device.n_calls;
    assert_true(on.device.n_recorded > 5 && on.device.n_waited_for > 1);
    fixture_close(&on);
    for (size_t s = 0; s < 2; s++) {
        size_t n_failed[TIDE_N_DEVICE_CALLS] = {0};
        for (size_t n = 1; n <= n_calls; n++) {
            fixture_open(&on, 44 * MIB, 0, "");
            on.device.fail_status = PLANTED[s];
            on.device.fail_call = n;
            scenario(&on, PLANTED[s]);
            for (int call = 0; call < TIDE_N_DEVICE_CALLS; call++) {
                n_failed[call] += on.device.n_failed[call];
            }
            on.device.fail_call = 0; /* so that segments are released */
            fixture_close(&on);
            assert_int_equal(on.device.n_events, 0);
            assert_int_equal(on.device.n_segments, 0);
        }
        assert_true(n_failed[TIDE_CALL_EVENT_CREATE] > 0 && n_failed[TIDE_CALL_EVENT_RECORD] > 0 &&
                    n_failed[TIDE_CALL_EVENT_QUERY] > 0 &&
                    n_failed[TIDE_CALL_EVENT_SYNCHRONIZE] > 0);
    }
}

static void a_stream_that_finds_no_memory_is_not_noted(void **state) {
    (void)state;
    tide_device *device = NULL;
    assert_int_equal(tide_device_open("virtual", NULL, &device, NULL), TIDE_OK);
    for (size_t n = 1; n <= 2; n++) { /* the use, its stream's queue */
        tide_hostmem_fault fault;
        tide_cache_config config;
        tide_cache *cache = NULL;
        uint64_t block = 0;
        tide_error error = {""};
        tide_hostmem_fault_init(&fault, 0);
        tide_cache_config_init(&config);
        config.mem = &fault.mem;
        assert_int_equal(tide_cache_create(device, NULL, &config, &cache, NULL), TIDE_OK);
        assert_int_equal(tide_cache_alloc(cache, 512, 0, NULL, &block, NULL), TIDE_OK);
        fault.fail_call = fault.n_calls + n;
        assert_int_equal(tide_cache_record_stream(cache, block, 1, &error), TIDE_NO_MEMORY);
        assert_non_null(strstr(error.message, "stream 0x1 uses the block at 0x7000"));
        assert_int_equal(tide_cache_check(cache, &error), TIDE_OK);
        assert_int_equal(tide_cache_record_stream(cache, block, 1, &error), TIDE_OK);
        size_t n_calls = fault.n_calls;
        assert_int_equal(tide_cache_release(cache, block, &error), TIDE_OK);
        assert_int_equal(fault.n_calls, n_calls); /* a release needs no memory of the cache's */
        tide_cache_destroy(cache);
        assert_int_equal(fault.n_live, 0);
    }
    tide_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_that_cannot_be_recorded_has_not_happened),
        cmocka_unit_test(a_failing_query_stops_the_allocation),
        cmocka_unit_test(a_failing_wait_changes_nothing),
        cmocka_unit_test(every_call_of_the_device_may_fail),
        cmocka_unit_test(a_stream_that_finds_no_memory_is_not_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
