/* test_cache_streams_cuda.c - blocks that several streams use, on the cuda device and a runtime
 * whose events are late and whose calls fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "allocator/cache.h"
#include "fake_cudart/fake_cudart.h"

#define MIB ((size_t)1 << 20)

enum { N_STREAMS = 3, N_SLOTS = 6, N_STEPS = 40 };

typedef struct fixture {
    tide_device *device; /* owned */
    tide_cache *cache;   /* owned */
    tide_stream streams[N_STREAMS];
} fixture;

static void fixture_open(fixture *on) {
    *on = (fixture){.device = NULL};
    assert_int_equal(tide_device_open("cuda", NULL, &on->device, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(on->device, NULL, NULL, &on->cache, NULL), TIDE_OK);
    for (size_t i = 0; i < N_STREAMS; i++) {
        assert_int_equal(tide_device_stream_create(on->device, &on->streams[i], NULL), TIDE_OK);
    }
}

static void fixture_close(fixture *on) {
    tide_cache_destroy(on->cache);
    for (size_t i = 0; i < N_STREAMS; i++) {
        tide_status ignored = tide_device_stream_destroy(on->device, on->streams[i], NULL);
        (void)ignored; /* after a loss it cannot succeed */
    }
    tide_device_close(on->device);
}

static void fixture_check(const fixture *on) {
    tide_error error = {""};
    if (tide_cache_check(on->cache, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
}

static int64_t active_bytes(const fixture *on) {
    tide_cache_stats stats;
    fixture_check(on);
    tide_cache_get_stats(on->cache, &stats);
    return stats.active_bytes[TIDE_POOL_ALL].current;
}

static uint64_t alloc(const fixture *on, size_t n_bytes, tide_stream stream) {
    uint64_t address = 0;
    assert_int_equal(tide_cache_alloc(on->cache, n_bytes, stream, NULL, &address, NULL), TIDE_OK);
    return address;
}

static void late_events_delay_the_reuse(void **state) {
    (void)state;
    tide_fake_cudart *fake = tide_fake_cudart_state();
    fixture on;
    tide_fake_cudart_reset();
    fake->event_delay = 2;
    fixture_open(&on);
    uint64_t block = alloc(&on, MIB, on.streams[0]);
    assert_int_equal(tide_cache_record_stream(on.cache, block, on.streams[1], NULL), TIDE_OK);
    assert_int_equal(tide_cache_record_stream(on.cache, block, 0, NULL), TIDE_OK);
    assert_int_equal(tide_cache_release(on.cache, block, NULL), TIDE_OK);
    assert_int_equal(fake->n_events, 2);
    assert_true(alloc(&on, MIB, on.streams[0]) != block);
    assert_int_equal(active_bytes(&on), 2 * MIB);
    assert_int_equal(cudaGetLastError(), cudaSuccess); /* "not ready" left no error set */
    (void)alloc(&on, 512, on.streams[2]);
    assert_int_equal(active_bytes(&on), 2 * MIB + 512);
    assert_true(alloc(&on, MIB, on.streams[0]) == block);
    assert_int_equal(active_bytes(&on), 2 * MIB + 512);
    /* Waiting for an event reaches it. */
    fake->event_delay = 1000;
    assert_int_equal(tide_cache_record_stream(on.cache, block, on.streams[2], NULL), TIDE_OK);
    assert_int_equal(tide_cache_release(on.cache, block, NULL), TIDE_OK);
    assert_int_equal(fake->n_events, 2); /* events are reused */
    assert_int_equal(tide_cache_empty(on.cache, NULL), TIDE_OK);
    assert_int_equal(active_bytes(&on), MIB + 512);
    fixture_close(&on);
    assert_int_equal(fake->n_events, 0);
    assert_int_equal(fake->n_segments, 0);
    assert_string_equal(fake->mistake, "");
}

/* Several streams, late events and too little memory exercise every runtime call of the cache. The
 * status of the failed call is returned, and the cache stays consistent. */
static size_t scenario(const fixture *on, tide_status planted) {
    uint64_t live[N_SLOTS] = {0};
    size_t n_refused = 0;
    for (size_t i = 0; i < N_STEPS; i++) {
        uint64_t *slot = &live[i * 5 % N_SLOTS];
        tide_status status = TIDE_OK;
        if (*slot != 0) {
            assert_int_equal(
                tide_cache_record_stream(on->cache, *slot, on->streams[i % N_STREAMS], NULL),
                TIDE_OK);
            status = tide_cache_release(on->cache, *slot, NULL);
            *slot = status == TIDE_OK ? 0 : *slot;
        } else {
            status = tide_cache_alloc(on->cache, (i % 4 + 1) * MIB / 4, on->streams[i / 3 % 2],
                                      NULL, slot, NULL);
        }
        assert_true(status == TIDE_OK || status == planted || status == TIDE_DEVICE_OOM);
        n_refused += status == TIDE_OK ? 0 : 1;
        fixture_check(on);
    }
    return n_refused;
}

static void open_small(fixture *on) {
    tide_fake_cudart *fake = tide_fake_cudart_state();
    tide_fake_cudart_reset();
    fake->capacity_bytes = fake->context_bytes + 6 * MIB;
    fake->event_delay = 3;
    fixture_open(on);
}

static void every_call_of_the_runtime_may_fail(void **state) {
    (void)state;
    static const struct {
        cudaError_t planted;
        tide_status status;
    } CASES[] = {{cudaErrorMemoryAllocation, TIDE_DEVICE_OOM},
                 {cudaErrorUnknown, TIDE_DEVICE_FAILED},
                 {cudaErrorIllegalAddress, TIDE_DEVICE_LOST}};
    static const char *const FUNCTIONS[] = {"cudaMalloc",      "cudaFree",
                                            "cudaEventQuery",  "cudaEventCreateWithFlags",
                                            "cudaEventRecord", "cudaEventSynchronize"};
    tide_fake_cudart *fake = tide_fake_cudart_state();
    fixture on;
    for (size_t c = 0; c < sizeof(CASES) / sizeof(CASES[0]); c++) {
        for (size_t f = 0; f < sizeof(FUNCTIONS) / sizeof(FUNCTIONS[0]); f++) {
            size_t n = 0;
            bool was_met = true;
            while (was_met) {
                open_small(&on);
                tide_fake_cudart_fail(FUNCTIONS[f], ++n, CASES[c].planted);
                (void)scenario(&on, CASES[c].status);
                was_met = fake->failed_in != NULL;
                fixture_close(&on);
                assert_string_equal(fake->mistake, "");
                if (CASES[c].status != TIDE_DEVICE_LOST) {
                    assert_int_equal(fake->n_events, 0);
                }
            }
            assert_true(n > 1); /* the scenario makes this call */
        }
    }
    tide_fake_cudart_reset();
}

static void memory_runs_out_and_comes_back(void **state) {
    (void)state;
    fixture on;
    open_small(&on);
    assert_true(scenario(&on, TIDE_OK) < N_STEPS / 2);
    fixture_close(&on);
    assert_int_equal(tide_fake_cudart_state()->n_events, 0);
    assert_int_equal(tide_fake_cudart_state()->n_segments, 0);
    assert_string_equal(tide_fake_cudart_state()->mistake, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_events_delay_the_reuse),
        cmocka_unit_test(memory_runs_out_and_comes_back),
        cmocka_unit_test(every_call_of_the_runtime_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
