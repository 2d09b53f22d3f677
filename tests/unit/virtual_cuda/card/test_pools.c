/* test_pools.c - memory pools: what they hold and release, and the recording of their calls. */
#define _GNU_SOURCE /* mkdtemp, nftw */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "programs/wire/run_calls.h"
#include "unit/virtual_cuda/cuda_names.h"
#include "unit/virtual_cuda/test_folder.h"

#define MIB ((size_t)1 << 20)
enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2 };
enum { THRESHOLD = 4, RESERVED = 5, RESERVED_HIGH = 6, USED = 7, USED_HIGH = 8 };

int cudaMallocAsync(void **ret_address, size_t n_bytes, void *stream);
int cudaMallocFromPoolAsync(void **ret_address, size_t n_bytes, void *pool, void *stream);
int cudaFreeAsync(void *address, void *stream);
int cudaDeviceGetDefaultMemPool(void **ret_pool, int device);
int cudaDeviceGetMemPool(void **ret_pool, int device);
int cudaDeviceSetMemPool(int device, void *pool);
int cudaMemPoolCreate(void **ret_pool, const void *properties);
int cudaMemPoolDestroy(void *pool);
int cudaMemPoolTrimTo(void *pool, size_t n_bytes);
int cudaMemPoolSetAttribute(void *pool, int attribute, void *value);
int cudaMemPoolGetAttribute(void *pool, int attribute, void *ret_value);
int cudaDeviceSynchronize(void);
int cudaEventSynchronize(void *event);

static char folder[] = "/tmp/tidemark-test-XXXXXX";

static size_t n_free(void) {
    size_t n = 0;
    size_t n_total = 0;
    assert_int_equal(cudaMemGetInfo(&n, &n_total), OK);
    return n;
}

static void *default_pool(void) {
    void *pool = NULL;
    assert_int_equal(cudaDeviceGetDefaultMemPool(&pool, 0), OK);
    return pool;
}

static uint64_t get(void *pool, int attribute) {
    uint64_t value = 0;
    assert_int_equal(cudaMemPoolGetAttribute(pool, attribute, &value), OK);
    return value;
}

static void set(void *pool, int attribute, uint64_t value) {
    assert_int_equal(cudaMemPoolSetAttribute(pool, attribute, &value), OK);
}

static void *take(size_t n_bytes) {
    void *address = NULL;
    assert_int_equal(cudaMallocAsync(&address, n_bytes, NULL), OK);
    assert_non_null(address);
    return address;
}

static void give(void *address) {
    assert_int_equal(cudaFreeAsync(address, NULL), OK);
}

static void a_pool_gives_back_when_the_host_waits(void **state) {
    (void)state;
    void *pool = default_pool();
    void *stream = NULL;
    void *event = NULL;
    size_t before = n_free();
    assert_int_equal(cudaStreamCreateWithFlags(&stream, 1), OK);
    assert_int_equal(cudaEventCreateWithFlags(&event, 0), OK);
    for (int way = 0; way < 3; way++) {
        void *address = take(MIB + 1);
        assert_int_equal(get(pool, USED), MIB + 512);
        assert_int_equal(get(pool, RESERVED), 32 * MIB);
        assert_int_equal(before - n_free(), 32 * MIB);
        assert_int_equal(way == 0   ? cudaDeviceSynchronize()
                         : way == 1 ? cudaStreamSynchronize(stream)
                                    : cudaEventSynchronize(event),
                         OK);
        assert_int_equal(get(pool, RESERVED), 32 * MIB);
        give(address);
        assert_int_equal(get(pool, USED), 0);
        assert_int_equal(before - n_free(), 32 * MIB);
        assert_int_equal(way == 0   ? cudaDeviceSynchronize()
                         : way == 1 ? cudaStreamSynchronize(stream)
                                    : cudaEventSynchronize(event),
                         OK);
        assert_int_equal(get(pool, RESERVED), 0);
        assert_int_equal(n_free(), before);
    }
    assert_int_equal(cudaEventDestroy(event), OK);
    assert_int_equal(cudaStreamDestroy(stream), OK);
}

static void what_is_below_the_threshold_stays(void **state) {
    (void)state;
    void *pool = default_pool();
    set(pool, THRESHOLD, 64 * MIB);
    assert_int_equal(get(pool, THRESHOLD), 64 * MIB);
    void *address = take(200 * MIB);
    assert_int_equal(get(pool, RESERVED), 224 * MIB);
    give(address);
    assert_int_equal(cudaDeviceSynchronize(), OK);
    assert_int_equal(get(pool, RESERVED), 64 * MIB);
    address = take(MIB);
    assert_int_equal(cudaMemPoolTrimTo(pool, 0), OK);
    assert_int_equal(get(pool, RESERVED), 32 * MIB);
    give(address);
    assert_int_equal(cudaMemPoolTrimTo(pool, 0), OK);
    assert_int_equal(get(pool, RESERVED), 0);
    set(pool, THRESHOLD, 0);
}

/* Unused memory is mapped anew: a hole of 20 MiB serves a request of 30 together with 14 others. */
static void gaps_cost_nothing(void **state) {
    (void)state;
    void *pool = default_pool();
    void *first = take(20 * MIB);
    void *second = take(20 * MIB);
    assert_int_equal(get(pool, RESERVED), 64 * MIB);
    give(first);
    void *third = take(30 * MIB);
    assert_int_equal(get(pool, RESERVED), 64 * MIB);
    assert_int_equal(get(pool, USED), 50 * MIB);
    give(second);
    give(third);
    assert_int_equal(cudaDeviceSynchronize(), OK);
}

static void the_highest_values_begin_anew(void **state) {
    (void)state;
    void *pool = default_pool();
    uint64_t one = 1;
    set(pool, USED_HIGH, 0);
    set(pool, RESERVED_HIGH, 0);
    assert_int_equal(get(pool, USED_HIGH), 0);
    void *address = take(40 * MIB);
    give(address);
    assert_int_equal(cudaDeviceSynchronize(), OK);
    assert_int_equal(get(pool, USED_HIGH), 40 * MIB);
    assert_int_equal(get(pool, RESERVED_HIGH), 64 * MIB);
    set(pool, RESERVED_HIGH, 0);
    assert_int_equal(get(pool, RESERVED_HIGH), 0);
    assert_int_equal(cudaMemPoolSetAttribute(pool, USED_HIGH, &one), INVALID_VALUE);
    assert_int_equal(cudaMemPoolSetAttribute(pool, USED, &one), INVALID_VALUE);
    assert_int_equal(cudaMemPoolGetAttribute(pool, 99, &one), INVALID_VALUE);
}

static void either_call_frees_either_block(void **state) {
    (void)state;
    size_t before = n_free();
    pointer_attributes of;
    void *pooled = take(3 * MIB);
    void *other = NULL;
    assert_int_equal(cudaMalloc(&other, 3 * MIB), OK);
    assert_int_equal(cudaPointerGetAttributes(&of, pooled), OK);
    assert_int_equal(of.type, 2);
    assert_int_equal(cudaFree(pooled), OK);
    assert_int_equal(cudaFree(pooled), INVALID_VALUE);
    give(other);
    assert_int_equal(cudaFreeAsync(other, NULL), INVALID_VALUE);
    assert_int_equal(cudaDeviceSynchronize(), OK);
    assert_int_equal(n_free(), before);
}

/* Unused memory of a pool never makes a request fail. */
static void a_short_card_takes_back_what_is_unused(void **state) {
    (void)state;
    void *pool = default_pool();
    void *large = NULL;
    size_t before = n_free();
    set(pool, THRESHOLD, UINT64_MAX);
    give(take(1000 * MIB));
    assert_int_equal(cudaDeviceSynchronize(), OK);
    assert_int_equal(get(pool, RESERVED), 1024 * MIB);
    assert_int_equal(cudaMalloc(&large, before / (2 * MIB) * (2 * MIB) - 10 * MIB), OK);
    assert_int_equal(get(pool, RESERVED), 0);
    assert_int_equal(cudaFree(large), OK);
    /* The same for physical memory. */
    unsigned long long handle = 0;
    const int on_device_0[8] = {1, 0, 1, 0};
    give(take(1000 * MIB));
    assert_int_equal(
        cuMemCreate(&handle, before / (2 * MIB) * (2 * MIB) - 10 * MIB, on_device_0, 0), OK);
    assert_int_equal(get(pool, RESERVED), 0);
    assert_int_equal(cuMemRelease(handle), OK);
    assert_int_equal(cudaMalloc(&large, before / (2 * MIB) * (2 * MIB) - 10 * MIB), OK);
    /* Less than a piece is free: the pool allocates only the pages that it needs. */
    void *small = take(4 * MIB);
    assert_int_equal(get(pool, RESERVED), 4 * MIB);
    void *none = &none;
    assert_int_equal(cudaMallocAsync(&none, 20 * MIB, NULL), OUT_OF_MEMORY);
    assert_null(none);
    give(small);
    assert_int_equal(cudaFree(large), OK);
    assert_int_equal(cudaMemPoolTrimTo(pool, 0), OK);
    set(pool, THRESHOLD, 0);
    assert_int_equal(n_free(), before);
}

static void a_program_makes_pools(void **state) {
    (void)state;
    const struct {
        int type, handles, location_type, location;
        void *security;
        size_t max_bytes;
        char rest[56];
    } properties = {.type = 1, .location_type = 1, .max_bytes = 64 * MIB};
    void *pool = NULL;
    void *now = NULL;
    void *address = NULL;
    void *refused = NULL;
    size_t before = n_free();
    assert_int_equal(cudaMemPoolCreate(&pool, &properties), OK);
    assert_int_equal(cudaMallocFromPoolAsync(&address, 40 * MIB, pool, NULL), OK);
    assert_int_equal(cudaMallocFromPoolAsync(&refused, 40 * MIB, pool, NULL), OUT_OF_MEMORY);
    assert_int_equal(get(default_pool(), USED), 0);
    assert_int_equal(cudaDeviceSetMemPool(0, pool), OK);
    assert_int_equal(cudaDeviceGetMemPool(&now, 0), OK);
    assert_ptr_equal(now, pool);
    void *second = take(MIB);
    assert_int_equal(get(pool, USED), 41 * MIB);
    give(second);
    assert_int_equal(cudaMemPoolDestroy(pool), OK);
    assert_int_equal(cudaDeviceGetMemPool(&now, 0), OK);
    assert_ptr_equal(now, default_pool());
    assert_int_equal(before - n_free(), 64 * MIB);
    give(address);
    assert_int_equal(n_free(), before);
    assert_int_equal(cudaMemPoolDestroy(default_pool()), INVALID_VALUE);
}

/* A program of a run: its file contains its requests, even if it is killed. */
static int calls_of_a_program(void) {
    uint64_t all = UINT64_MAX;
    void *address = NULL;
    if (cudaMemPoolSetAttribute(default_pool(), THRESHOLD, &all) != OK) {
        return 1;
    }
    for (int i = 0; i < 20000; i++) {
        if (cudaMallocAsync(&address, (size_t)(i + 1) * 512, NULL) != OK ||
            cudaFreeAsync(address, NULL) != OK) {
            return 1;
        }
    }
    return cudaMallocAsync(&address, (size_t)1 << 50, (void *)1) == OUT_OF_MEMORY &&
                   cudaMemPoolTrimTo(default_pool(), 0) == OK
               ? 0
               : 1;
}

static tide_run_call next_call(FILE *file) {
    tide_run_call call;
    assert_int_equal(fread(&call, sizeof(call), 1, file), 1);
    return call;
}

static void calls_are_recorded(void **state) {
    (void)state;
    char path[128];
    int status = -1;
    tide_run_calls_header header;
    pid_t pid = fork();
    if (pid == 0) {
        setenv("TIDEMARK_RUN_FOLDER", folder, 1);
        _exit(calls_of_a_program());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    (void)snprintf(path, sizeof(path), "%s/%ld.calls", folder, (long)pid);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
    assert_true(header.magic == TIDE_RUN_CALLS_MAGIC && header.row_bytes == sizeof(tide_run_call) &&
                header.header_bytes == sizeof(header));
    tide_run_call call = next_call(file);
    int64_t last_ns = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        assert_true(i > 0 || call.action == TIDE_RUN_GROW);
        call = i == 0 ? next_call(file) : call;
        assert_int_equal(call.action, TIDE_RUN_ALLOC);
        assert_int_equal(call.n_bytes, (i + 1) * 512);
        assert_int_equal(call.reserved_bytes, 32 * MIB);
        assert_true(call.time_ns >= last_ns && call.address != 0);
        last_ns = call.time_ns;
        tide_run_call second = next_call(file);
        assert_int_equal(second.action, TIDE_RUN_FREE);
        assert_true(second.address == call.address && second.n_bytes == call.n_bytes);
        call = next_call(file);
    }
    /* The refused request made the pool release what it held. */
    assert_true(call.action == TIDE_RUN_SHRINK && call.n_bytes == 32 * MIB);
    assert_int_equal(call.reserved_bytes, 0);
    call = next_call(file);
    assert_true(call.action == TIDE_RUN_OOM && call.n_bytes == (size_t)1 << 50 && call.stream == 1);
    assert_int_equal(next_call(file).action, TIDE_RUN_NONE);
    fclose(file);
    (void)unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_recorded), /* the first: this process makes a context later */
        cmocka_unit_test(a_pool_gives_back_when_the_host_waits),
        cmocka_unit_test(what_is_below_the_threshold_stays),
        cmocka_unit_test(gaps_cost_nothing),
        cmocka_unit_test(the_highest_values_begin_anew),
        cmocka_unit_test(either_call_frees_either_block),
        cmocka_unit_test(a_short_card_takes_back_what_is_unused),
        cmocka_unit_test(a_program_makes_pools),
    };
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1);
    unsetenv("TIDEMARK_RUN_FOLDER");
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    return remove_folder(folder) == 0 ? n_failed : 1;
}
