/* test_cache_expandable_cuda.c - expandable segments on the cuda device: the driver's functions,
 * memory mapped at reserved addresses, and a failure of every call to the runtime and driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "allocator/cache.h"
#include "fake_cudart/fake_cudart.h"
#include "support/hostmem_fault.h"

#define MIB ((size_t)1 << 20)

typedef struct fixture {
    tide_hostmem_fault heap;
    tide_device *device; /* owned */
    tide_cache *cache;   /* owned */
    tide_error error;
} fixture;

static tide_status open_cache(fixture *on, const char *settings) {
    const tide_device_options options = {.mem = &on->heap.mem};
    tide_cache_config config;
    tide_cache_config_init(&config);
    config.mem = &on->heap.mem;
    TIDE_TRY(tide_cache_config_parse(&config, settings, &on->error));
    TIDE_TRY(tide_device_open("cuda", &options, &on->device, &on->error));
    return tide_cache_create(on->device, NULL, &config, &on->cache, &on->error);
}

static void fixture_init(fixture *on) {
    tide_fake_cudart_reset();
    *on = (fixture){.device = NULL};
    tide_hostmem_fault_init(&on->heap, 0);
}

static void fixture_open(fixture *on) {
    fixture_init(on);
    if (open_cache(on, "expandable_segments:True") != TIDE_OK) {
        fail_msg("%s", on->error.message);
    }
}

static void fixture_close(fixture *on) {
    tide_cache_destroy(on->cache);
    tide_device_close(on->device);
    assert_int_equal(on->heap.n_live, 0);
}

static void fixture_check(fixture *on) {
    if (tide_cache_check(on->cache, &on->error) != TIDE_OK) {
        fail_msg("%s", on->error.message);
    }
}

static void nothing_is_left(void) {
    const tide_fake_cudart *fake = tide_fake_cudart_state();
    assert_string_equal(fake->mistake, "");
    assert_int_equal(fake->used_bytes, 0);
    assert_int_equal(fake->n_ranges, 0);
    assert_int_equal(fake->n_segments + fake->n_events, 0);
}

static uint64_t alloc(fixture *on, size_t n_bytes) {
    uint64_t address = 0;
    if (tide_cache_alloc(on->cache, n_bytes, 0, NULL, &address, &on->error) != TIDE_OK) {
        fail_msg("%s", on->error.message);
    }
    return address;
}

static void memory_is_mapped_and_holds_what_is_written(void **state) {
    (void)state;
    static unsigned char data[30 * MIB];
    static unsigned char back[sizeof(data)];
    fixture on;
    const tide_fake_cudart *fake = tide_fake_cudart_state();
    fixture_open(&on);
    uint64_t first = alloc(&on, 15 * MIB);
    uint64_t second = alloc(&on, sizeof(data)); /* across three granules, mapped at two times */
    assert_int_equal(second, first + 15 * MIB);
    assert_int_equal(fake->used_bytes, 60 * MIB);
    assert_int_equal(fake->n_segments, 0);
    assert_int_equal(fake->n_ranges, 1);
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (unsigned char)(i >> 12);
    }
    assert_int_equal(tide_device_copy(on.device, tide_device_pointer(on.device, second), data,
                                      sizeof(data), TIDE_COPY_TO_DEVICE, 0, NULL),
                     TIDE_OK);
    assert_int_equal(tide_cache_release(on.cache, first, NULL), TIDE_OK);
    assert_int_equal(tide_cache_empty(on.cache, NULL), TIDE_OK); /* [0, 15) has no whole granule */
    assert_int_equal(fake->used_bytes, 60 * MIB);
    assert_int_equal(tide_device_copy(on.device, back, tide_device_pointer(on.device, second),
                                      sizeof(data), TIDE_COPY_TO_HOST, 0, NULL),
                     TIDE_OK);
    assert_memory_equal(back, data, sizeof(data));
    assert_int_equal(tide_cache_release(on.cache, second, NULL), TIDE_OK);
    assert_int_equal(tide_cache_empty(on.cache, NULL), TIDE_OK);
    assert_int_equal(fake->used_bytes, 0);
    assert_int_equal(fake->n_ranges, 0);
    (void)alloc(&on, 100); /* destroying the cache also unmaps live blocks */
    (void)alloc(&on, 3 * MIB);
    assert_int_equal(fake->n_ranges, 2);
    fixture_close(&on);
    nothing_is_left();
}

/* The driver unmaps immediately: memory that a copy still writes must stay until the copy is
 * done. */
static void unmapping_waits_for_the_stream(void **state) {
    (void)state;
    static unsigned char data[4096];
    fixture on;
    fixture_open(&on);
    tide_fake_cudart_state()->late_copies = true;
    uint64_t address = alloc(&on, 20 * MIB);
    assert_int_equal(tide_device_copy(on.device, tide_device_pointer(on.device, address), data,
                                      sizeof(data), TIDE_COPY_TO_DEVICE, 0, NULL),
                     TIDE_OK);
    assert_int_equal(tide_cache_release(on.cache, address, NULL), TIDE_OK);
    assert_int_equal(tide_cache_empty(on.cache, NULL), TIDE_OK);
    assert_int_equal(tide_fake_cudart_state()->used_bytes, 0);
    assert_int_equal(tide_device_synchronize(on.device, NULL),
                     TIDE_OK); /* the copy would fault here */
    fixture_close(&on);
    nothing_is_left();
}

static void a_driver_without_it_is_told_by_name(void **state) {
    (void)state;
    static const char *const FUNCTIONS[] = {"cuMemGetAllocationGranularity",
                                            "cuMemAddressReserve",
                                            "cuMemAddressFree",
                                            "cuMemCreate",
                                            "cuMemRelease",
                                            "cuMemMap",
                                            "cuMemSetAccess",
                                            "cuMemUnmap"};
    for (size_t i = 0; i < sizeof(FUNCTIONS) / sizeof(FUNCTIONS[0]); i++) {
        fixture on;
        fixture_init(&on);
        tide_fake_cudart_state()->missing_function = FUNCTIONS[i];
        assert_int_equal(open_cache(&on, "expandable_segments:True"), TIDE_UNSUPPORTED);
        assert_non_null(strstr(on.error.message, FUNCTIONS[i]));
        assert_non_null(strstr(on.error.message, "expandable_segments:True: the driver of cuda:0"));
        fixture_close(&on);
    }
    fixture on;
    fixture_init(&on);
    tide_fake_cudart_state()->has_no_mapping = true;
    assert_int_equal(open_cache(&on, "expandable_segments:True"), TIDE_UNSUPPORTED);
    assert_non_null(strstr(on.error.message, "does not support it"));
    fixture_close(&on);
    fixture_init(&on); /* without the setting the driver is not asked */
    tide_fake_cudart_state()->has_no_mapping = true;
    assert_int_equal(open_cache(&on, ""), TIDE_OK);
    fixture_close(&on);
}

static void a_granule_that_the_driver_cannot_map_is_refused(void **state) {
    (void)state;
    fixture on;
    fixture_init(&on);
    assert_int_equal(open_cache(&on, "expandable_segments:True,large_segment_size_mb:13"),
                     TIDE_INVALID);
    assert_non_null(strstr(on.error.message, "large_segment_size_mb is 13: use a multiple of 2"));
    fixture_close(&on);
}

static void too_little_memory_maps_nothing(void **state) {
    (void)state;
    fixture on;
    uint64_t address = 0;
    fixture_open(&on);
    tide_fake_cudart *fake = tide_fake_cudart_state();
    fake->capacity_bytes = fake->context_bytes + 100 * MIB;
    uint64_t first = alloc(&on, 30 * MIB);
    assert_int_equal(tide_cache_alloc(on.cache, 95 * MIB, 0, NULL, &address, &on.error),
                     TIDE_DEVICE_OOM);
    assert_int_equal(fake->used_bytes, 40 * MIB); /* what was mapped for it was unmapped */
    assert_int_equal(alloc(&on, 60 * MIB), first + 30 * MIB);
    assert_int_equal(fake->used_bytes, 100 * MIB);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    fixture_check(&on);
    fixture_close(&on);
    nothing_is_left();
}

/* Grows, shares, runs out of memory and releases: every call that a cache makes to the runtime and
 * the driver. */
static tide_status scenario(fixture *on) {
    uint64_t a = 0;
    uint64_t b = 0;
    uint64_t c = 0;
    tide_status status = TIDE_OK;
    TIDE_TRY(open_cache(on, "expandable_segments:True"));
    status = tide_cache_alloc(on->cache, 45 * MIB, 0, NULL, &a, &on->error);
    if (status == TIDE_OK) {
        status = tide_cache_alloc(on->cache, 50 * MIB, 0, NULL, &b, &on->error);
    }
    tide_status released = tide_cache_release(on->cache, a, NULL);
    assert_int_equal(released, TIDE_OK);
    if (status == TIDE_OK) { /* 100 of 120 MiB are mapped: 40 have to go first */
        status = tide_cache_alloc(on->cache, 60 * MIB, 0, NULL, &c, &on->error);
    }
    assert_int_equal(tide_cache_release(on->cache, b, NULL), TIDE_OK);
    assert_int_equal(tide_cache_release(on->cache, c, NULL), TIDE_OK);
    fixture_check(on);
    return status == TIDE_OK ? tide_cache_empty(on->cache, &on->error) : status;
}

static void sweep(cudaError_t failure, tide_status expected) {
    size_t n = 1;
    for (;; n++) {
        fixture on;
        fixture_init(&on);
        tide_fake_cudart *fake = tide_fake_cudart_state();
        fake->capacity_bytes = fake->context_bytes + 120 * MIB;
        tide_fake_cudart_fail(NULL, n, failure);
        tide_status status = scenario(&on);
        const char *failed_in = fake->failed_in;
        /* Memory whose handle could not be released stays in use. */
        const bool is_missed = status == TIDE_DEVICE_OOM && failed_in != NULL &&
                               strcmp(failed_in, "cuMemRelease") == 0;
        if (status != TIDE_OK && status != expected && on.device != NULL && !is_missed) {
            fail_msg("call %zu, %s: %s: %s", n, failed_in, tide_status_text(status),
                     on.error.message);
        }
        if (on.cache != NULL) {
            fixture_check(&on);
        }
        fixture_close(&on);
        assert_string_equal(fake->mistake, "");
        if (failed_in == NULL) {
            assert_int_equal(status, TIDE_OK);
            nothing_is_left();
            break;
        }
        const bool releases =
            strncmp(failed_in, "cuMemUnmap", 10) == 0 ||
            strcmp(failed_in, "cuMemAddressFree") == 0 || strcmp(failed_in, "cuMemRelease") == 0 ||
            strcmp(failed_in, "cudaSetDevice") == 0 || strcmp(failed_in, "cudaEventDestroy") == 0;
        if (expected != TIDE_DEVICE_LOST && !releases) {
            nothing_is_left();
        }
    }
    assert_true(n > 60);
}

static void any_call_may_fail(void **state) {
    (void)state;
    sweep(cudaErrorUnknown, TIDE_DEVICE_FAILED);
    sweep(cudaErrorMemoryAllocation, TIDE_DEVICE_OOM);
    sweep(cudaErrorIllegalAddress, TIDE_DEVICE_LOST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_mapped_and_holds_what_is_written),
        cmocka_unit_test(unmapping_waits_for_the_stream),
        cmocka_unit_test(a_driver_without_it_is_told_by_name),
        cmocka_unit_test(a_granule_that_the_driver_cannot_map_is_refused),
        cmocka_unit_test(too_little_memory_maps_nothing),
        cmocka_unit_test(any_call_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
