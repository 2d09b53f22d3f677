/* test_driver.c - the reported calls that allocate and free memory: each allocation once, and its
 * bytes again when it ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "programs/live/driver.h"
#include "programs/live/physical.h"
#include "unit/live/told_rows.h"

#define MIB ((uint64_t)1 << 20)

enum { FAILED = 2, ENDING = 4 };

static int begin(void **state) {
    (void)state;
    tide_live_driver_forked(); /* nothing is held */
    told_clear();
    return 0;
}

static tide_live_call enter(const char *function) {
    tide_live_call call;
    tide_live_call_begin(&call, function, __builtin_return_address(0));
    return call;
}

static int take(tide_log_call action, uint64_t address, uint64_t n_bytes) {
    tide_live_call call = enter("take");
    const tide_live_taken taken = {
        .action = action, .address = address, .n_bytes = n_bytes, .device = TIDE_LIVE_CURRENT};
    return tide_live_call_took(&call, 0, &taken);
}

static int give(uint64_t address, int status) {
    tide_live_call call = enter("give");
    tide_live_call_gives(&call, TIDE_LIVE_ADDRESSES, address);
    return tide_live_call_gave(&call, status);
}

static uint64_t held_of(int device) {
    tide_live_sums sums;
    tide_live_get_sums(device, &sums);
    return sums.total_bytes;
}

static void test_bytes_are_repeated(void **state) {
    (void)state;
    assert_int_equal(take(TIDE_LOG_CALL_DEVICE_ALLOC, 0x1000, 3 * MIB), 0);
    assert_int_equal(take(TIDE_LOG_CALL_HOST_ALLOC, 0x2000, MIB), 0);
    assert_int_equal(held_of(0), 3 * MIB);
    assert_int_equal(held_of(TIDE_LIVE_HOST), MIB);
    assert_int_equal(give(0x1000, 0), 0);
    assert_int_equal(give(0x2000, 0), 0);
    assert_int_equal(told.n, 4);
    assert_int_equal(told.rows[2].action, TIDE_LOG_CALL_DEVICE_FREE);
    assert_int_equal(told.rows[2].n_bytes, 3 * MIB);
    assert_string_equal(told.rows[2].owner, told.rows[0].owner);
    assert_int_equal(told.rows[3].action, TIDE_LOG_CALL_HOST_FREE);
    assert_int_equal(held_of(0) + held_of(TIDE_LIVE_HOST), 0);
}

static void test_unknown_and_failed(void **state) {
    (void)state;
    told.has_driver = true;
    tide_live_call call = enter("take");
    const tide_live_taken taken = {
        .action = TIDE_LOG_CALL_DEVICE_ALLOC, .address = 0x1000, .n_bytes = MIB};
    assert_int_equal(tide_live_call_took(&call, FAILED, &taken), FAILED);
    assert_int_equal(give(0x1000, 0), 0);
    assert_int_equal(give(0, 0), 0);
    /* A refused request is reported with the free memory, and nothing is held. */
    assert_int_equal(told.n, 1);
    assert_int_equal(told.rows[0].action, TIDE_LOG_CALL_REFUSED);
    assert_int_equal(told.rows[0].n_bytes, MIB);
    assert_true(told.rows[0].free_bytes == told.free_bytes);
    assert_int_equal(held_of(0), 0);
    told_clear();
    /* Memory that could not be freed stays held. */
    assert_int_equal(take(TIDE_LOG_CALL_DEVICE_ALLOC, 0x1000, MIB), 0);
    assert_int_equal(give(0x1000, FAILED), FAILED);
    assert_int_equal(held_of(0), MIB);
    assert_int_equal(told_bytes(0, false), MIB);
    assert_string_equal(told.rows[2].owner, told.rows[0].owner);
    /* But not after the driver has shut down. */
    assert_int_equal(give(0x1000, ENDING), ENDING);
    assert_int_equal(held_of(0), 0);
}

/* The runtime calls the driver. */
static void test_outermost_counts(void **state) {
    (void)state;
    tide_live_call outer = enter("cudaMalloc");
    assert_int_equal(take(TIDE_LOG_CALL_DEVICE_ALLOC, 0x1000, 2 * MIB), 0);
    const tide_live_taken taken = {
        .action = TIDE_LOG_CALL_DEVICE_ALLOC, .address = 0x1000, .n_bytes = MIB};
    assert_int_equal(tide_live_call_took(&outer, 0, &taken), 0);
    assert_int_equal(told.n, 1);
    assert_int_equal(told.n_before, 1);
    assert_int_equal(told.rows[0].n_bytes, MIB);
    assert_string_equal(told.rows[0].function, "cudaMalloc");
    assert_int_equal(give(0x1000, 0), 0);
    assert_int_equal(held_of(0), 0);
}

static void test_address_given_out_again(void **state) {
    (void)state;
    assert_int_equal(take(TIDE_LOG_CALL_DEVICE_ALLOC, 0x1000, 2 * MIB), 0);
    assert_int_equal(take(TIDE_LOG_CALL_DEVICE_ALLOC, 0x1000, MIB), 0);
    assert_int_equal(told_bytes(0, false), MIB);
    assert_int_equal(held_of(0), MIB);
}

static void test_spaces_and_devices(void **state) {
    (void)state;
    told.has_driver = true;
    told.device = 3;
    assert_int_equal(take(TIDE_LOG_CALL_DEVICE_ALLOC, 0x1000, MIB), 0);
    tide_live_call call = enter("cuArrayCreate_v2");
    const tide_live_taken array = {.action = TIDE_LOG_CALL_DEVICE_ALLOC,
                                   .space = TIDE_LIVE_ARRAYS,
                                   .address = 0x1000,
                                   .n_bytes = 4 * MIB,
                                   .device = 5};
    (void)tide_live_call_took(&call, 0, &array);
    assert_int_equal(held_of(3), MIB);
    assert_int_equal(held_of(5), 4 * MIB);
    assert_int_equal(told.rows[1].device, 5);
    /* The end of a context ends all its memory. */
    call = enter("cuDevicePrimaryCtxReset_v2");
    tide_live_drop_device(&call, 5);
    tide_live_call_end(&call);
    assert_int_equal(told.rows[2].address, 0x1000);
    assert_int_equal(told_bytes(5, false), 0);
    assert_int_equal(held_of(3), MIB);
}

/* Pages of managed memory may be anywhere. */
static void test_managed(void **state) {
    (void)state;
    tide_live_sums sums;
    tide_live_call call = enter("cuMemAllocManaged");
    const tide_live_taken taken = {.action = TIDE_LOG_CALL_DEVICE_ALLOC,
                                   .address = 0x1000,
                                   .n_bytes = MIB,
                                   .is_managed = true};
    (void)tide_live_call_took(&call, 0, &taken);
    tide_live_get_sums(0, &sums);
    assert_int_equal(sums.total_bytes, 0);
    assert_int_equal(sums.managed_bytes, MIB);
    assert_int_equal(give(0x1000, FAILED), FAILED);
    tide_live_get_sums(0, &sums);
    assert_int_equal(sums.managed_bytes, MIB);
    assert_int_equal(give(0x1000, 0), 0);
    tide_live_get_sums(0, &sums);
    assert_int_equal(sums.managed_bytes, 0);
}

static void test_nothing_to_record(void **state) {
    (void)state;
    told.is_open = false;
    assert_int_equal(take(TIDE_LOG_CALL_DEVICE_ALLOC, 0x1000, MIB), 0);
    assert_int_equal(give(0x1000, 0), 0);
    assert_int_equal(told.n, 0);
    assert_int_equal(held_of(0), 0);
}

/* ---- memory without an address ---- */

static void create(uint64_t handle, uint64_t n_bytes) {
    tide_live_call call = enter("cuMemCreate");
    tide_live_physical_created(&call, handle, n_bytes, 0, false);
    tide_live_call_end(&call);
}
static void release(uint64_t handle) {
    tide_live_call call = enter("cuMemRelease");
    tide_live_physical_releasing(&call, handle);
    (void)tide_live_call_gave(&call, 0);
}
static void unmap(uint64_t address, uint64_t n_bytes) {
    tide_live_call call = enter("cuMemUnmap");
    tide_live_physical_unmapping(&call, address, n_bytes);
    (void)tide_live_call_gave(&call, 0);
}

static void test_physical(void **state) {
    (void)state;
    create(7, 2 * MIB);
    assert_int_equal(held_of(0), 2 * MIB);
    tide_live_physical_mapped(0x10000000, 2 * MIB, 7);
    release(7);
    assert_int_equal(held_of(0), 2 * MIB); /* still mapped */
    release(7);                            /* refers to nothing now */
    /* The handle is reused. */
    create(7, 4 * MIB);
    tide_live_physical_mapped(0x10000000 + 2 * MIB, 4 * MIB, 7);
    assert_int_equal(held_of(0), 6 * MIB);
    assert_int_not_equal(told.rows[0].address, told.rows[1].address);
    /* One call undoes both mappings. */
    unmap(0x10000000, 6 * MIB);
    assert_int_equal(held_of(0), 4 * MIB);
    release(7);
    assert_int_equal(held_of(0), 0);
    assert_int_equal(told_bytes(0, false), 0);
    release(7);
    unmap(0x10000000, 6 * MIB);
    assert_int_equal(told.n, 4);
}

/* As NCCL does it: it retrieves the handle of mapped memory, and releases it twice. */
static void test_physical_retained(void **state) {
    (void)state;
    create(9, MIB);
    tide_live_physical_mapped(0x10000000, MIB, 9);
    tide_live_physical_retained(9, 0x10000000);
    release(9);
    unmap(0x10000000, MIB);
    assert_int_equal(held_of(0), MIB);
    release(9);
    assert_int_equal(held_of(0), 0);
    /* A handle that was released is another one when it is asked for again. */
    create(10, MIB);
    tide_live_physical_mapped(0x10000000, MIB, 10);
    release(10);
    tide_live_physical_retained(11, 0x10000000);
    unmap(0x10000000, MIB);
    assert_int_equal(held_of(0), MIB);
    release(11);
    assert_int_equal(held_of(0), 0);
}

static void test_multicast(void **state) {
    (void)state;
    create(1, MIB);
    tide_live_physical_bound(100, 0, 1);
    release(1);
    assert_int_equal(held_of(0), MIB);
    tide_live_call call = enter("cuMulticastUnbind");
    tide_live_physical_unbinding(&call, 100, 0, 1); /* of another device */
    assert_int_equal(held_of(0), MIB);
    tide_live_physical_unbinding(&call, 100, 0, 0);
    (void)tide_live_call_gave(&call, 0);
    assert_int_equal(held_of(0), 0);
}

/* ---- threads ---- */

enum { N_THREADS = 4, N_ROUNDS = 200 };

static void *work(void *number) {
    uint64_t base = (uint64_t)(uintptr_t)number << 32;
    for (uint64_t i = 1; i <= N_ROUNDS; i++) {
        (void)take(TIDE_LOG_CALL_DEVICE_ALLOC, base + i, i);
        create(base + i, i);
        (void)give(base + i, 0);
        release(base + i);
    }
    (void)take(TIDE_LOG_CALL_DEVICE_ALLOC, base, MIB);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[N_THREADS];
    for (uintptr_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(told.n, N_THREADS * (4 * N_ROUNDS + 1));
    assert_int_equal(held_of(0), N_THREADS * MIB);
    assert_int_equal(told_bytes(0, false), N_THREADS * MIB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_bytes_are_repeated, begin),
        cmocka_unit_test_setup(test_unknown_and_failed, begin),
        cmocka_unit_test_setup(test_outermost_counts, begin),
        cmocka_unit_test_setup(test_address_given_out_again, begin),
        cmocka_unit_test_setup(test_spaces_and_devices, begin),
        cmocka_unit_test_setup(test_managed, begin),
        cmocka_unit_test_setup(test_nothing_to_record, begin),
        cmocka_unit_test_setup(test_physical, begin),
        cmocka_unit_test_setup(test_physical_retained, begin),
        cmocka_unit_test_setup(test_multicast, begin),
        cmocka_unit_test_setup(test_threads, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
