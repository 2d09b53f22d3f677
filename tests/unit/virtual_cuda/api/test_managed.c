/* test_managed.c - managed memory: moving it changes no allocation, the last request is reported
 * back, and cudaFree frees it. The forms of CUDA 13; CUDA 12 has its own test of the runtime
 * (test_runtime.c).
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"

#define MIB ((size_t)1 << 20)

enum { OK = 0, INVALID_VALUE = 1, ON_DEVICE = 1, ON_HOST = 2, HOST = -1, NOWHERE = -2 };
enum { SET_READ_MOSTLY = 1, UNSET_READ_MOSTLY, SET_PREFERRED, UNSET_PREFERRED, SET_ACCESSED_BY };
enum { READ_MOSTLY = 1, PREFERRED, ACCESSED_BY, LAST_PREFETCH };

typedef struct place {
    int type, id;
} place;

int cudaMallocManaged(void **ret_address, size_t n_bytes, unsigned flags);
int cudaMemPrefetchAsync(const void *address, size_t n_bytes, place at, unsigned flags,
                         void *stream);
int cudaMemAdvise(const void *address, size_t n_bytes, int advice, place at);
int cudaMemRangeGetAttribute(void *ret, size_t n_ret, int attribute, const void *address,
                             size_t n_bytes);
int cuMemPrefetchAsync(uint64_t address, size_t n_bytes, int device, void *stream);
int cuMemAdvise(uint64_t address, size_t n_bytes, int advice, int device);

static int asked(const void *address, int attribute) {
    int value = 77;
    assert_int_equal(cudaMemRangeGetAttribute(&value, sizeof(value), attribute, address, 4 * MIB),
                     OK);
    return value;
}

static void prefetching_allocates_nothing(void **state) {
    (void)state;
    void *address = NULL;
    size_t before = 0;
    size_t after = 0;
    size_t total = 0;
    assert_int_equal(cudaMallocManaged(&address, 4 * MIB, 1), OK);
    assert_int_equal(cudaMemGetInfo(&before, &total), OK);
    assert_int_equal(asked(address, LAST_PREFETCH), NOWHERE);
    assert_int_equal(cudaMemPrefetchAsync(address, 4 * MIB, (place){ON_DEVICE, 1}, 0, NULL), OK);
    assert_int_equal(asked(address, LAST_PREFETCH), 1);
    assert_int_equal(cudaMemPrefetchAsync(address, MIB, (place){ON_HOST, 0}, 0, NULL), OK);
    assert_int_equal(asked(address, LAST_PREFETCH), HOST);
    assert_int_equal(cuMemPrefetchAsync((uint64_t)(uintptr_t)address, 4 * MIB, 0, NULL), OK);
    assert_int_equal(asked(address, LAST_PREFETCH), 0);
    assert_int_equal(cudaMemGetInfo(&after, &total), OK);
    assert_int_equal(after, before);
    *(char *)address = 1; /* the host can still access it */
    assert_int_equal(cudaFree(address), OK);
    assert_int_equal(cudaFree(address), INVALID_VALUE);
}

static void other_memory_and_places_are_refused(void **state) {
    (void)state;
    void *managed = NULL;
    void *own = NULL;
    assert_int_equal(cudaMallocManaged(&managed, 4 * MIB, 1), OK);
    assert_int_equal(cudaMalloc(&own, 4 * MIB), OK);
    const place first = {ON_DEVICE, 0};
    assert_int_equal(cudaMemPrefetchAsync(own, MIB, first, 0, NULL), INVALID_VALUE);
    assert_int_equal(cudaMemPrefetchAsync(managed, 5 * MIB, first, 0, NULL), INVALID_VALUE);
    assert_int_equal(cudaMemPrefetchAsync(managed, 0, first, 0, NULL), INVALID_VALUE);
    assert_int_equal(cudaMemPrefetchAsync(managed, MIB, first, 1, NULL), INVALID_VALUE);
    assert_int_equal(cudaMemPrefetchAsync(managed, MIB, (place){ON_DEVICE, 2}, 0, NULL),
                     INVALID_VALUE);
    assert_int_equal(cudaMemAdvise(own, MIB, SET_READ_MOSTLY, first), INVALID_VALUE);
    assert_int_equal(cudaMemAdvise(managed, MIB, 7, first), INVALID_VALUE);
    assert_int_equal(cudaFree(own), OK);
    assert_int_equal(cudaFree(managed), OK);
}

static void advice_is_heard_again(void **state) {
    (void)state;
    void *address = NULL;
    int devices[3];
    assert_int_equal(cudaMallocManaged(&address, 4 * MIB, 1), OK);
    assert_int_equal(cudaMemAdvise(address, 4 * MIB, SET_READ_MOSTLY, (place){0, 0}), OK);
    assert_int_equal(asked(address, READ_MOSTLY), 1);
    assert_int_equal(cudaMemAdvise(address, 4 * MIB, UNSET_READ_MOSTLY, (place){0, 0}), OK);
    assert_int_equal(asked(address, READ_MOSTLY), 0);
    assert_int_equal(cudaMemAdvise(address, 4 * MIB, SET_PREFERRED, (place){ON_HOST, 0}), OK);
    assert_int_equal(asked(address, PREFERRED), HOST);
    assert_int_equal(cuMemAdvise((uint64_t)(uintptr_t)address, MIB, UNSET_PREFERRED, 0), OK);
    assert_int_equal(asked(address, PREFERRED), NOWHERE);
    assert_int_equal(cudaMemAdvise(address, 4 * MIB, SET_ACCESSED_BY, (place){ON_DEVICE, 1}), OK);
    assert_int_equal(
        cudaMemRangeGetAttribute(devices, sizeof(devices), ACCESSED_BY, address, 4 * MIB), OK);
    assert_int_equal(devices[0], 1);
    assert_int_equal(devices[1], NOWHERE);
    assert_int_equal(devices[2], NOWHERE);
    assert_int_equal(cudaFree(address), OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(prefetching_allocates_nothing),
                                       cmocka_unit_test(other_memory_and_places_are_refused),
                                       cmocka_unit_test(advice_is_heard_again)};
    setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80+h100-80", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
