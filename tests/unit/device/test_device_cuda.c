/* test_device_cuda.c - the cuda device on the fake runtime: every way in which it can be absent,
 * what it reports about itself, memory, copies, streams and late events.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocator/cache.h"
#include "cuda_fixture.h"
#include "device/cuda_friend.h"

/* Expects that opening fails with one line that has `words` and the remedy, and that the runtime
 * keeps no error. */
static void assert_absent(const char *spec, const char *words) {
    tide_device *device = NULL;
    tide_error error = {""};
    assert_int_equal(tide_device_open(spec, NULL, &device, &error), TIDE_DEVICE_ABSENT);
    assert_null(device);
    if (strstr(error.message, words) == NULL) {
        fail_msg("\"%s\" is not in: %s", words, error.message);
    }
    assert_non_null(strstr(error.message, "use cpu, or virtual:CARD"));
    assert_null(strchr(error.message, '\n'));
}

static void absent_devices_say_why(void **state) {
    (void)state;
    tide_fake_cudart *fake = tide_fake_cudart_state();
    fake->driver = TIDE_FAKE_DRIVER_NONE;
    assert_absent("cuda", "no NVIDIA driver is installed");
    assert_int_equal(cudaGetLastError(),
                     cudaErrorInsufficientDriver); /* this error stays, as in the runtime */
    assert_int_equal(cudaGetLastError(), cudaErrorInsufficientDriver);

    tide_fake_cudart_reset();
    fake->driver = TIDE_FAKE_DRIVER_STUB;
    assert_absent("cuda", "LD_LIBRARY_PATH");

    tide_fake_cudart_reset();
    fake->driver = TIDE_FAKE_DRIVER_TOO_OLD;
    fake->driver_version = 11080;
    assert_absent("cuda", "brings CUDA 11.8, and this program needs 13.0: update the driver");

    tide_fake_cudart_reset();
    fake->driver = TIDE_FAKE_DRIVER_NO_DEVICE;
    assert_absent("cuda", "(CUDA 13.0) finds no GPU");
    assert_int_equal(cudaGetLastError(), cudaSuccess); /* cleared */
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);
    assert_absent("cuda", "CUDA_VISIBLE_DEVICES=\"\" hides every GPU from this program: unset it");
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "7", 1), 0);
    assert_absent("cuda:0", "CUDA_VISIBLE_DEVICES=\"7\" hides");

    tide_fake_cudart_reset();
    assert_absent("cuda:1", "there is no cuda:1: the driver shows 1 GPU (CUDA_VISIBLE_DEVICES is");
    assert_int_equal(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
    assert_absent("cuda:1", "there is no cuda:1: the driver shows 1 GPU; use");

    tide_fake_cudart_reset();
    tide_fake_cudart_fail("cudaGetDeviceCount", 1, cudaErrorUnknown);
    assert_absent("cuda", "unknown error (CUDA error 999)");
}

static void it_says_what_it_is(void **state) {
    (void)state;
    tide_fake_cudart *fake = tide_fake_cudart_state();
    fake->n_devices = 2;
    fake->capacity_bytes = 40 * MIB;
    fake->context_bytes = 8 * MIB;
    fake->compute_capability = 86;
    tide_device *device = NULL;
    assert_int_equal(tide_device_open("cuda:1", NULL, &device, NULL), TIDE_OK);
    const tide_device_info *info = tide_device_get_info(device);
    assert_int_equal(info->kind, TIDE_DEVICE_CUDA);
    assert_string_equal(info->spec, "cuda:1");
    assert_string_equal(info->name, "Fake GPU 1");
    assert_int_equal(info->total_bytes, 40 * MIB);
    assert_int_equal(info->compute_capability, 86);
    assert_int_equal(info->driver_version, 13000);
    assert_int_equal(info->runtime_version, CUDART_VERSION);
    assert_int_equal(info->sm_clock_khz, 1980000);
    assert_int_equal(info->memory_clock_khz, 2619000);
    assert_int_equal(info->memory_bus_bits, 5120);
    assert_int_equal(info->cache_bytes, 50 << 20);
    assert_int_equal(info->workspace_bytes, 8519680);
    assert_true(info->computes);
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    assert_int_equal(tide_device_memory_info(device, &free_bytes, &total_bytes, NULL), TIDE_OK);
    assert_int_equal(free_bytes, 32 * MIB);
    assert_int_equal(total_bytes, 40 * MIB);
    tide_device_close(device);

    fake->compute_capability = 90;
    device = open_device();
    assert_string_equal(tide_device_get_info(device)->spec, "cuda:0");
    assert_int_equal(tide_device_get_info(device)->workspace_bytes, 33554432);
    tide_device_close(device);
}

static void out_of_memory_is_an_answer(void **state) {
    (void)state;
    tide_fake_cudart *fake = tide_fake_cudart_state();
    fake->capacity_bytes = 16 * MIB;
    fake->context_bytes = 4 * MIB;
    tide_device *device = open_device();
    tide_error error = {""};
    uint64_t first = 0;
    uint64_t second = 7;
    assert_int_equal(tide_device_alloc(device, 7 * MIB, &first, NULL), TIDE_OK);
    assert_true(first % TIDE_DEVICE_GRANULE == 0);
    assert_int_equal(tide_device_alloc(device, 6 * MIB, &second, &error), TIDE_DEVICE_OOM);
    assert_string_equal(error.message, "cuda:0 has no segment of 6.00 MiB left");
    assert_int_equal(second, 7); /* untouched */
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    assert_int_equal(tide_device_alloc(device, 4 * MIB, &second, NULL), TIDE_OK);
    assert_int_equal(tide_device_release(device, first, NULL), TIDE_OK);
    assert_int_equal(tide_device_release(device, second, NULL), TIDE_OK);
    assert_int_equal(fake->used_bytes, 0);
    assert_int_equal(fake->n_mistakes, 0);
    tide_device_close(device);
}

static void segments_are_released_once(void **state) {
    (void)state;
    tide_fake_cudart *fake = tide_fake_cudart_state();
    tide_device *device = open_device();
    tide_error error = {""};
    uint64_t address = 0;
    assert_int_equal(tide_device_alloc(device, 5 * MIB, &address, NULL), TIDE_OK);
    assert_int_equal(fake->used_bytes, 6 * MIB);
    assert_int_equal(tide_device_release(device, address + 512, &error), TIDE_INVALID);
    assert_int_equal(tide_device_release(device, 0, &error), TIDE_INVALID);
    assert_int_equal(tide_device_release(device, address, NULL), TIDE_OK);
    assert_int_equal(tide_device_release(device, address, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "cudaFree on cuda:0: invalid argument"));
    assert_int_equal(fake->n_mistakes, 2); /* address 0 does not reach the runtime */
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    tide_device_close(device);
}

static void copies_stay_within_segments(void **state) {
    (void)state;
    tide_fake_cudart *fake = tide_fake_cudart_state();
    fake->hole_bytes = 2 * MIB;
    tide_device *device = open_device();
    uint64_t a = 0;
    uint64_t b = 0;
    unsigned char out[64];
    unsigned char in[64];
    memset(in, 0x11, sizeof(in));
    memset(out, 0x5A, sizeof(out));
    assert_int_equal(tide_device_alloc(device, 2 * MIB, &a, NULL), TIDE_OK);
    assert_int_equal(tide_device_alloc(device, 2 * MIB, &b, NULL), TIDE_OK);
    assert_true(b - a == 4 * MIB);
    unsigned char *pa = tide_device_pointer(device, a);
    unsigned char *pb = tide_device_pointer(device, b);
    const size_t end = 2 * MIB - 64;
    assert_int_equal(tide_device_copy(device, pa + end, out, 64, TIDE_COPY_TO_DEVICE, 0, NULL),
                     TIDE_OK);
    assert_int_equal(tide_device_copy(device, pb, pa + end, 64, TIDE_COPY_ON_DEVICE, 0, NULL),
                     TIDE_OK);
    assert_int_equal(tide_device_set(device, pb + 32, 0x77, 32, 0, NULL), TIDE_OK);
    assert_int_equal(tide_device_copy(device, in, pb, 64, TIDE_COPY_TO_HOST, 0, NULL), TIDE_OK);
    assert_memory_equal(in, out, 32);
    assert_int_equal(in[32], 0x77);
    assert_int_equal(in[63], 0x77);
    assert_int_equal(fake->n_mistakes, 0);

    tide_error error = {""};
    assert_int_equal(
        tide_device_copy(device, pa + end + 1, out, 64, TIDE_COPY_TO_DEVICE, 0, &error),
        TIDE_INVALID);
    assert_int_equal(tide_device_set(device, pb + end, 0, 65, 0, &error), TIDE_INVALID);
    assert_int_equal(tide_device_copy(device, out, in, 64, TIDE_COPY_TO_DEVICE, 0, &error),
                     TIDE_INVALID);
    assert_int_equal(tide_device_copy(device, in, out, 64, TIDE_COPY_TO_HOST, 0, &error),
                     TIDE_INVALID);
    assert_int_equal(tide_device_copy(device, pb, pa, 64, TIDE_COPY_TO_HOST, 0, &error),
                     TIDE_INVALID);
    assert_int_equal(fake->n_mistakes, 5);
    assert_int_equal(tide_device_copy(device, NULL, NULL, 0, TIDE_COPY_TO_HOST, 0, NULL), TIDE_OK);
    assert_int_equal(tide_device_set(device, NULL, 0, 0, 0, NULL), TIDE_OK);
    assert_int_equal(tide_device_release(device, a, NULL), TIDE_OK);
    assert_int_equal(tide_device_set(device, pa, 0, 1, 0, &error), TIDE_INVALID);
    assert_int_equal(tide_device_release(device, b, NULL), TIDE_OK);
    tide_device_close(device);
}

static void streams_are_created_and_destroyed(void **state) {
    (void)state;
    tide_fake_cudart *fake = tide_fake_cudart_state();
    tide_device *device = open_device();
    tide_stream stream = 0;
    assert_int_equal(tide_device_stream_create(device, &stream, NULL), TIDE_OK);
    assert_true(stream != 0);
    assert_int_equal(fake->n_streams, 1);
    assert_int_equal(tide_device_stream_destroy(device, stream, NULL), TIDE_OK);
    assert_int_equal(tide_device_stream_destroy(device, stream, NULL), TIDE_INVALID);
    assert_int_equal(tide_device_stream_destroy(device, 0, NULL), TIDE_INVALID);
    assert_int_equal(fake->n_streams, 0);
    tide_device_close(device);
}

static void late_events_are_not_ready_and_then_are(void **state) {
    (void)state;
    tide_fake_cudart *fake = tide_fake_cudart_state();
    fake->event_delay = 2;
    tide_device *device = open_device();
    tide_device_event *begin = NULL;
    tide_device_event *end = NULL;
    double ms = -2;
    assert_int_equal(tide_device_event_create(device, &begin, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_create(device, &end, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_query(device, begin, NULL), TIDE_OK); /* never recorded */
    assert_int_equal(tide_device_event_record(device, begin, 0, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_elapsed(device, begin, end, &ms, NULL), TIDE_INVALID);
    assert_int_equal(tide_device_event_record(device, end, 0, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_query(device, begin, NULL), TIDE_NOT_READY);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess); /* an answer, not an error */
    assert_int_equal(tide_device_event_elapsed(device, begin, end, &ms, NULL), TIDE_NOT_READY);
    assert_int_equal(tide_device_event_query(device, begin, NULL), TIDE_NOT_READY);
    assert_int_equal(tide_device_event_query(device, begin, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_query(device, end, NULL), TIDE_NOT_READY);
    assert_int_equal(tide_device_synchronize(device, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_query(device, end, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_elapsed(device, begin, end, &ms, NULL), TIDE_OK);
    assert_true(ms >= 0);
    /* Waiting for one event does not reach the other. */
    assert_int_equal(tide_device_event_record(device, begin, 0, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_record(device, end, 0, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_synchronize(device, begin, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_query(device, begin, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_query(device, end, NULL), TIDE_NOT_READY);
    fake->event_delay = 5;
    assert_int_equal(tide_device_event_record(device, begin, 0, NULL), TIDE_OK);
    tide_device_event_destroy(device, begin);
    assert_int_equal(tide_device_event_create(device, &begin, NULL), TIDE_OK);
    assert_int_equal(fake->n_events, 2); /* the destroyed event was reused as a new one */
    assert_int_equal(tide_device_event_query(device, begin, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_synchronize(device, begin, NULL), TIDE_OK);
    tide_device_event_destroy(device, begin);
    tide_device_event_destroy(device, end);
    tide_device_close(device);
    assert_int_equal(fake->n_events, 0);
}

static void profiler_ranges_answer_as_calls_do(void **state) {
    (void)state;
    tide_device *device = open_device();
    tide_error error = {""};
    tide_fake_cudart_fail("cudaProfilerStart", 2, cudaErrorInvalidConfiguration);
    assert_int_equal(tide_device_profiler_range(device, true, NULL), TIDE_OK);
    assert_int_equal(tide_device_profiler_range(device, true, &error), TIDE_DEVICE_FAILED);
    assert_non_null(strstr(error.message, "cudaProfilerStart"));
    tide_fake_cudart_fail("cudaProfilerStop", 1, cudaErrorInvalidConfiguration);
    assert_int_equal(tide_device_profiler_range(device, false, &error), TIDE_DEVICE_FAILED);
    assert_int_equal(tide_device_profiler_range(device, false, NULL), TIDE_OK);
    tide_device_close(device);
    /* A device that no profiler records reports that. */
    assert_int_equal(tide_device_open("cpu", NULL, &device, NULL), TIDE_OK);
    assert_int_equal(tide_device_profiler_range(device, true, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "no profiler knows the device cpu"));
    tide_device_close(device);
}

static void launches_answer_as_calls_do(void **state) {
    (void)state;
    tide_device *device = open_device();
    tide_error error = {""};
    assert_int_equal(tide_device_cuda_answer(device, "swiglu", cudaSuccess, &error), TIDE_OK);
    assert_int_equal(
        tide_device_cuda_answer(device, "swiglu", cudaErrorInvalidConfiguration, &error),
        TIDE_DEVICE_FAILED);
    assert_non_null(strstr(error.message, "swiglu on cuda:0"));
    assert_int_equal(tide_device_cuda_answer(device, "swiglu", cudaErrorLaunchFailure, &error),
                     TIDE_DEVICE_LOST);
    assert_int_equal(tide_device_synchronize(device, &error), TIDE_DEVICE_LOST);
    assert_non_null(strstr(error.message, "since swiglu answered"));
    tide_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(absent_devices_say_why, start),
        cmocka_unit_test_setup(it_says_what_it_is, start),
        cmocka_unit_test_setup(out_of_memory_is_an_answer, start),
        cmocka_unit_test_setup(segments_are_released_once, start),
        cmocka_unit_test_setup(copies_stay_within_segments, start),
        cmocka_unit_test_setup(streams_are_created_and_destroyed, start),
        cmocka_unit_test_setup(late_events_are_not_ready_and_then_are, start),
        cmocka_unit_test_setup(profiler_ranges_answer_as_calls_do, start),
        cmocka_unit_test_setup(launches_answer_as_calls_do, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
