/* test_device_cuda_failures.c - the cuda device on the fake runtime when calls fail: each call in
 * turn, with every error, and from several threads. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_fixture.h"
#include "device/cuda_friend.h"
#include "support/hostmem_fault.h"

/* Uses a device as a program does: segments, copies, streams, events. Undoes everything before it
 * returns the first failure. */
static tide_status use_device(tide_device *device, tide_error *error) {
    uint64_t address = 0;
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    tide_stream stream = 0;
    tide_device_event *events[2] = {NULL, NULL};
    unsigned char bytes[32] = {0};
    double ms = 0;
    TIDE_TRY(tide_device_alloc(device, 3 * MIB, &address, error));
    unsigned char *memory = tide_device_pointer(device, address);
    tide_status status = tide_device_memory_info(device, &free_bytes, &total_bytes, error);
    if (status == TIDE_OK) {
        status = tide_device_stream_create(device, &stream, error);
    }
    for (size_t i = 0; i < 2; i++) {
        if (status == TIDE_OK) {
            status = tide_device_event_create(device, &events[i], error);
        }
        if (status == TIDE_OK) {
            status = tide_device_event_record(device, events[i], stream, error);
        }
        if (status == TIDE_OK) {
            status =
                tide_device_copy(device, memory, bytes, 32, TIDE_COPY_TO_DEVICE, stream, error);
        }
    }
    if (status == TIDE_OK) {
        status = tide_device_set(device, memory, 1, 16, stream, error);
    }
    if (status == TIDE_OK) {
        status = tide_device_event_query(device, events[1], error);
    }
    if (status == TIDE_OK) {
        status = tide_device_event_synchronize(device, events[0], error);
    }
    if (status == TIDE_OK) {
        status = tide_device_synchronize(device, error);
    }
    if (status == TIDE_OK) {
        status = tide_device_event_elapsed(device, events[0], events[1], &ms, error);
    }
    tide_status last = TIDE_OK;
    tide_device_event_destroy(device, events[1]);
    tide_device_event_destroy(device, events[0]);
    if (stream != 0) {
        last = tide_device_stream_destroy(device, stream, status == TIDE_OK ? error : NULL);
    }
    tide_status released = tide_device_release(device, address, NULL);
    if (status != TIDE_OK) {
        return status;
    }
    return last != TIDE_OK ? last : released;
}

/* Opens, uses and closes a device while call n fails; true when nothing failed. A `failure` that
 * ends the context must make the device lost. */
static bool sweep_point(size_t n, cudaError_t failure, tide_status expected) {
    tide_fake_cudart_reset();
    tide_fake_cudart *fake = tide_fake_cudart_state();
    tide_hostmem_fault heap;
    tide_hostmem_fault_init(&heap, 0);
    tide_device_options options = {.mem = &heap.mem};
    tide_device *device = NULL;
    tide_error error = {""};
    tide_fake_cudart_fail(NULL, n, failure);
    tide_status status = tide_device_cuda_open(0, &options, &device, &error);
    const bool is_open = status == TIDE_OK;
    if (is_open) {
        status = use_device(device, &error);
    }
    if (expected == TIDE_DEVICE_LOST && is_open && status != TIDE_OK) {
        tide_error again = {""};
        uint64_t address = 0;
        tide_device_event *event = NULL;
        assert_int_equal(tide_device_alloc(device, MIB, &address, &again), TIDE_DEVICE_LOST);
        assert_non_null(strstr(again.message, fake->failed_in)); /* the first cause */
        assert_int_equal(tide_device_synchronize(device, NULL), TIDE_DEVICE_LOST);
        assert_int_equal(tide_device_event_create(device, &event, NULL), TIDE_DEVICE_LOST);
    }
    const bool is_closing = fake->failed_in == NULL;
    tide_device_close(device);
    assert_int_equal(heap.n_live, 0);
    assert_int_equal(fake->n_mistakes, 0);
    const size_t n_left = fake->n_segments + fake->n_streams + fake->n_events;
    if (fake->failed_in == NULL) {
        assert_int_equal(status, TIDE_OK);
        assert_int_equal(n_left, 0);
        return true;
    }
    /* Closing reports no failure, and the size of the context is optional. A failed release is not
     * repeated. */
    const char *const failed_in = fake->failed_in;
    const bool is_extra = strcmp(failed_in, "cudaDeviceGetPCIBusId") == 0;
    const bool releases = is_closing || strcmp(failed_in, "cudaFree") == 0 ||
                          strcmp(failed_in, "cudaStreamDestroy") == 0 ||
                          strcmp(failed_in, "cudaSetDevice") == 0;
    if (!is_closing && !is_extra && status == TIDE_OK) {
        fail_msg("call %zu, %s: its failure was not reported", n, failed_in);
    }
    if (is_open && status != TIDE_OK) {
        assert_int_equal(status, expected);
    }
    if (expected != TIDE_DEVICE_LOST) {
        assert_true(n_left == 0 || releases);
        assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    }
    return false;
}

static void sweep(cudaError_t failure, tide_status expected) {
    size_t n = 1;
    while (!sweep_point(n, failure, expected)) {
        n++;
    }
    assert_true(n > 30); /* so many calls failed, one in each round */
}

static void every_call_may_run_out_of_memory(void **state) {
    (void)state;
    sweep(cudaErrorMemoryAllocation, TIDE_DEVICE_OOM);
}

static void every_call_may_fail(void **state) {
    (void)state;
    sweep(cudaErrorUnknown, TIDE_DEVICE_FAILED);
}

/* Errors that end the context, and the advice of their messages. */
static const struct {
    cudaError_t error;
    const char *remedy; /* words of the advice */
} CAUSES[] = {
    {cudaErrorECCUncorrectable, "the hardware failed: look for Xid lines"},
    {cudaErrorNvlinkUncorrectable, "the hardware failed"},
    {cudaErrorContained, "the hardware failed"},
    {cudaErrorIllegalAddress, "under compute-sanitizer to find the kernel"},
    {cudaErrorLaunchTimeout, "ran longer than a GPU with a display may"},
    {cudaErrorAssert, "under compute-sanitizer"},
    {cudaErrorHardwareStackError, "under compute-sanitizer"},
    {cudaErrorIllegalInstruction, "under compute-sanitizer"},
    {cudaErrorMisalignedAddress, "under compute-sanitizer"},
    {cudaErrorInvalidAddressSpace, "under compute-sanitizer"},
    {cudaErrorInvalidPc, "under compute-sanitizer"},
    {cudaErrorLaunchFailure, "under compute-sanitizer"},
    {cudaErrorTensorMemoryLeak, "under compute-sanitizer"},
    {cudaErrorMpsClientTerminated, "the MPS server ended it"},
    {cudaErrorExternalDevice, "a device that it waited for"},
};
enum { N_CAUSES = sizeof(CAUSES) / sizeof(CAUSES[0]) };

static void every_call_may_lose_the_device(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CAUSES; i++) {
        sweep(CAUSES[i].error, TIDE_DEVICE_LOST);
    }
}

/* Tries every number of an error: an error that the process survives must not count as its end. */
static void some_errors_lose_the_device_and_others_do_not(void **state) {
    (void)state;
    size_t n_ends = 0;
    for (int code = 1; code <= 999; code++) {
        const char *remedy = NULL;
        for (size_t i = 0; i < N_CAUSES; i++) {
            remedy = (int)CAUSES[i].error == code ? CAUSES[i].remedy : remedy;
        }
        tide_fake_cudart_reset();
        tide_device *device = open_device();
        tide_error error = {""};
        tide_status status = tide_device_cuda_answer(device, "swiglu", code, &error);
        assert_int_equal(status == TIDE_DEVICE_LOST, remedy != NULL);
        assert_int_equal(tide_device_synchronize(device, NULL),
                         remedy != NULL ? TIDE_DEVICE_LOST : TIDE_OK);
        if (remedy != NULL && strstr(error.message, remedy) == NULL) {
            fail_msg("\"%s\" is not in: %s", remedy, error.message);
        }
        n_ends += remedy != NULL;
        tide_device_close(device);
    }
    assert_int_equal(n_ends, N_CAUSES);
}

static void a_lost_device_stays_lost(void **state) {
    (void)state;
    tide_device *device = open_device();
    tide_error error = {""};
    tide_fake_cudart_fail("cudaDeviceSynchronize", 1, cudaErrorIllegalAddress);
    assert_int_equal(tide_device_synchronize(device, &error), TIDE_DEVICE_LOST);
    assert_non_null(strstr(error.message,
                           "cuda:0 is lost since cudaDeviceSynchronize answered: an "
                           "illegal memory access was encountered (CUDA error 700)"));
    assert_int_equal(tide_device_set(device, NULL, 0, 0, 0, &error), TIDE_DEVICE_LOST);
    assert_non_null(strstr(error.message, "since cudaDeviceSynchronize"));
    tide_device_close(device);
    device = NULL;
    /* Reopening it in this process also fails. */
    assert_int_equal(tide_device_open("cuda", NULL, &device, &error), TIDE_DEVICE_ABSENT);
    assert_null(device);
}

static void no_host_memory_is_said(void **state) {
    (void)state;
    for (size_t n = 1; n <= 2; n++) {
        tide_hostmem_fault heap;
        tide_hostmem_fault_init(&heap, n);
        tide_device_options options = {.mem = &heap.mem};
        tide_device *device = NULL;
        tide_status status = tide_device_cuda_open(0, &options, &device, NULL);
        if (status == TIDE_OK) {
            status = use_device(device, NULL);
        }
        assert_int_equal(status, TIDE_NO_MEMORY);
        tide_device_close(device);
        assert_int_equal(heap.n_live, 0);
        assert_int_equal(tide_fake_cudart_state()->n_segments, 0);
    }
}

/* One of several threads that use a device at the same time; NULL when nothing failed. */
static void *use_in_thread(void *device) {
    for (int i = 0; i < 50; i++) {
        if (use_device(device, NULL) != TIDE_OK) {
            return device;
        }
    }
    return NULL;
}

static void threads_share_a_device(void **state) {
    (void)state;
    enum { N_THREADS = 4 };
    pthread_t threads[N_THREADS];
    tide_device *device = open_device();
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_in_thread, device), 0);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    tide_device_close(device);
    assert_int_equal(tide_fake_cudart_state()->n_mistakes, 0);
    assert_int_equal(tide_fake_cudart_state()->n_segments, 0);
    assert_int_equal(tide_fake_cudart_state()->n_events, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_call_may_run_out_of_memory, start),
        cmocka_unit_test_setup(every_call_may_fail, start),
        cmocka_unit_test_setup(every_call_may_lose_the_device, start),
        cmocka_unit_test_setup(some_errors_lose_the_device_and_others_do_not, start),
        cmocka_unit_test_setup(a_lost_device_stays_lost, start),
        cmocka_unit_test_setup(no_host_memory_is_said, start),
        cmocka_unit_test_setup(threads_share_a_device, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
