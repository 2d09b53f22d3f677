/* test_per_thread.c - functions of programs compiled with --default-stream per-thread: NULL is the
 * stream of the thread. Work completes late, so the streams are distinguished. */
#define _GNU_SOURCE /* setenv, RTLD_DEFAULT */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"

enum { OK = 0, NOT_READY = 600, CAPTURE_UNSUPPORTED = 900, N = 256, PER_THREAD = 2 };

typedef struct extent {
    unsigned x, y, z;
} extent;

int cudaStreamQuery(void *stream);
int cudaStreamQuery_ptsz(void *stream);
int cudaStreamSynchronize_ptsz(void *stream);
int cudaStreamGetId(void *stream, unsigned long long *ret_id);
int cudaStreamBeginCapture_ptsz(void *stream, int mode);
int cudaStreamEndCapture_ptsz(void *stream, void **ret_graph);
int cudaMemset_ptds(void *to, int value, size_t n);
int cudaMemcpy_ptds(void *to, const void *from, size_t n, int kind);
int cudaMemsetAsync_ptsz(void *to, int value, size_t n, void *stream);
int cudaMemcpy2DAsync_ptsz(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                           size_t width, size_t height, int kind, void *stream);
int cudaLaunchKernel(const void *kernel, extent grid, extent block, void **arguments,
                     size_t shared_bytes, void *stream);
int cudaLaunchKernel_ptsz(const void *kernel, extent grid, extent block, void **arguments,
                          size_t shared_bytes, void *stream);
int cuLaunchKernel_ptsz(void *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        void *stream, void **arguments, void **packed);
int cuGetProcAddress_v2(const char *name, void **ret_function, int version, uint64_t flags,
                        int *ret_found);
int cudaGetDriverEntryPoint(const char *name, void **ret_function, unsigned long long flags,
                            int *ret_found);
int cudaGetDriverEntryPoint_ptsz(const char *name, void **ret_function, unsigned long long flags,
                                 int *ret_found);

static const extent ONE = {1, 1, 1};

static int query_of(void *stream) {
    int status = cudaStreamQuery(stream);
    (void)cudaGetLastError();
    return status;
}

static int query(void) {
    int status = cudaStreamQuery_ptsz(NULL);
    (void)cudaGetLastError();
    return status;
}

static void launch_in_null(void) {
    assert_int_equal(cudaLaunchKernel_ptsz("kernel", ONE, ONE, NULL, 0, NULL), OK);
}

static void work_of_null_is_in_the_stream_of_the_thread(void **state) {
    (void)state;
    launch_in_null();
    assert_int_equal(query(), NOT_READY);
    assert_int_equal(query_of((void *)PER_THREAD), NOT_READY); /* the same stream */
    assert_int_equal(query_of(NULL), OK);                      /* another one */
    assert_int_equal(cudaStreamSynchronize_ptsz(NULL), OK);
    assert_int_equal(query(), OK);

    assert_int_equal(cudaLaunchKernel("kernel", ONE, ONE, NULL, 0, NULL), OK);
    assert_int_equal(query(), OK);
    assert_int_equal(query_of(NULL), NOT_READY);
    assert_int_equal(cudaStreamSynchronize(NULL), OK);
}

static void *see_nothing(void *argument) {
    unsigned long long *ret_id = argument;
    assert_int_equal(query(), OK);
    assert_int_equal(cudaStreamGetId((void *)PER_THREAD, ret_id), OK);
    launch_in_null();
    return NULL;
}

static void each_thread_has_its_own(void **state) {
    (void)state;
    pthread_t thread;
    unsigned long long here = 0, there = 0, null = 1;
    launch_in_null();
    assert_int_equal(pthread_create(&thread, NULL, see_nothing, &there), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(cudaStreamGetId((void *)PER_THREAD, &here), OK);
    assert_int_equal(cudaStreamGetId(NULL, &null), OK);
    assert_int_not_equal(here, there);
    assert_int_equal(null, 0);
    assert_int_equal(cudaStreamSynchronize_ptsz(NULL), OK);
}

/* Its stream is the eighth word of the arguments, or the ninth: on the stack. */
static void streams_on_the_stack_are_found(void **state) {
    (void)state;
    char from[N] = {0};
    char to[N];
    assert_int_equal(
        cudaMemcpy2DAsync_ptsz(to, N / 4, from, N / 4, N / 4, 4, 4, (void *)PER_THREAD), OK);
    assert_int_equal(cuLaunchKernel_ptsz((void *)"kernel", 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     OK);
    assert_int_equal(query(), NOT_READY);
    assert_int_equal(query_of(NULL), OK);
    assert_int_equal(cudaStreamSynchronize_ptsz(NULL), OK);
}

static void a_call_without_a_stream_waits_for_the_thread(void **state) {
    (void)state;
    char byte = 1;
    char back = 0;
    launch_in_null();
    assert_int_equal(cudaMemcpy_ptds(&back, &byte, 1, 4), OK);
    assert_int_equal(back, 1);
    assert_int_equal(query(), OK);
    assert_int_equal(cudaLaunchKernel("kernel", ONE, ONE, NULL, 0, NULL), OK);
    assert_int_equal(cudaMemset_ptds(&back, 2, 1), OK); /* does not wait for the null stream */
    assert_int_equal(back, 2);
    assert_int_equal(query_of(NULL), NOT_READY);
    assert_int_equal(cudaStreamSynchronize(NULL), OK);
}

static void it_can_be_captured(void **state) {
    (void)state;
    void *graph = NULL;
    size_t n = 0;
    assert_int_equal(cudaStreamBeginCapture(NULL, 0), CAPTURE_UNSUPPORTED);
    (void)cudaGetLastError();
    assert_int_equal(cudaStreamBeginCapture_ptsz(NULL, 0), OK);
    launch_in_null();
    launch_in_null();
    assert_int_equal(cudaLaunchKernel("kernel", ONE, ONE, NULL, 0, NULL), OK); /* not captured */
    assert_int_equal(cudaStreamEndCapture_ptsz(NULL, &graph), OK);
    assert_int_equal(cudaGraphGetNodes(graph, NULL, &n), OK);
    assert_int_equal(n, 2);
    assert_int_equal(cudaGraphDestroy(graph), OK);
    assert_int_equal(cudaStreamSynchronize(NULL), OK);
}

static void names_are_looked_up_in_that_form(void **state) {
    (void)state;
    enum { LEGACY_STREAM = 1, STREAM_OF_THREAD = 2, VERSION = 12000 };
    void *plain = dlsym(RTLD_DEFAULT, "cuMemcpyHtoDAsync_v2");
    void *of_thread = dlsym(RTLD_DEFAULT, "cuMemcpyHtoDAsync_v2_ptsz");
    void *found = NULL;
    int is_found = 1;
    assert_non_null(plain);
    assert_non_null(of_thread);
    assert_int_equal(cuGetProcAddress_v2("cuMemcpyHtoDAsync", &found, VERSION, 0, &is_found), OK);
    assert_ptr_equal(found, plain);
    assert_int_equal(
        cuGetProcAddress_v2("cuMemcpyHtoDAsync", &found, VERSION, STREAM_OF_THREAD, &is_found), OK);
    assert_ptr_equal(found, of_thread);
    assert_int_equal(cudaGetDriverEntryPoint("cuMemcpyHtoDAsync", &found, 0, &is_found), OK);
    assert_ptr_equal(found, plain);
    assert_int_equal(cudaGetDriverEntryPoint_ptsz("cuMemcpyHtoDAsync", &found, 0, &is_found), OK);
    assert_ptr_equal(found, of_thread);
    assert_int_equal(
        cudaGetDriverEntryPoint_ptsz("cuMemcpyHtoDAsync", &found, LEGACY_STREAM, &is_found), OK);
    assert_ptr_equal(found, plain);
    assert_int_equal(cudaGetDriverEntryPoint_ptsz("cuDeviceGet", &found, 0, &is_found), OK);
    assert_ptr_equal(found, dlsym(RTLD_DEFAULT, "cuDeviceGet")); /* it has one form */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_of_null_is_in_the_stream_of_the_thread),
        cmocka_unit_test(each_thread_has_its_own),
        cmocka_unit_test(streams_on_the_stack_are_found),
        cmocka_unit_test(a_call_without_a_stream_waits_for_the_thread),
        cmocka_unit_test(it_can_be_captured),
        cmocka_unit_test(names_are_looked_up_in_that_form),
    };
    if (setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1) != 0 ||
        setenv("TIDEMARK_STREAMS", "late", 1) != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
