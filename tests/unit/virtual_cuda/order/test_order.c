/* test_order.c - work of streams that completes late: only when the host waits.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <pthread.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"

enum { OK = 0, NOT_READY = 600, N = 8 };

typedef struct extent {
    unsigned x, y, z;
} extent;

int cudaDeviceSynchronize(void);
int cudaEventSynchronize(void *event);
int cudaStreamQuery(void *stream);
int cudaLaunchKernel(const void *kernel, extent grid, extent block, void **arguments,
                     size_t shared_bytes, void *stream);

static void *new_stream(unsigned flags) {
    void *stream = NULL;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, flags), OK);
    return stream;
}

/* An event, recorded in the stream now. */
static void *event_of(void *stream) {
    void *event = NULL;
    assert_int_equal(cudaEventCreateWithFlags(&event, 0), OK);
    assert_int_equal(cudaEventQuery(event), OK); /* of nothing */
    assert_int_equal(cudaEventRecord(event, stream), OK);
    return event;
}

static bool is_done(void *event) {
    int status = cudaEventQuery(event);
    assert_true(status == OK || status == NOT_READY);
    (void)cudaGetLastError();
    return status == OK;
}

static void end_event(void *event) {
    assert_int_equal(cudaEventDestroy(event), OK);
}

static void an_event_is_complete_when_the_host_waits(void **state) {
    (void)state;
    float ms = 0.0f;
    void *stream = new_stream(1);
    void *other = new_stream(1);
    void *first = event_of(stream);
    void *second = event_of(stream);
    void *third = event_of(other);
    assert_false(is_done(first) || is_done(second) || is_done(third));
    assert_int_equal(cudaEventElapsedTime(&ms, first, second), NOT_READY);
    assert_int_equal(cudaEventSynchronize(first), OK);
    assert_true(is_done(first) && !is_done(second));
    assert_int_equal(cudaStreamSynchronize(stream), OK);
    assert_true(is_done(second) && !is_done(third));
    assert_int_equal(cudaEventElapsedTime(&ms, first, second), OK);
    assert_int_equal(cudaDeviceSynchronize(), OK);
    assert_true(is_done(third));
    assert_int_equal(cudaEventRecord(first, other), OK);
    assert_false(is_done(first));
    end_event(first);
    end_event(second);
    end_event(third);
    assert_int_equal(cudaStreamDestroy(stream), OK);
    assert_int_equal(cudaStreamDestroy(other), OK);
}

static void a_stream_is_idle_until_it_works(void **state) {
    (void)state;
    void *stream = new_stream(1);
    assert_int_equal(cudaStreamQuery(stream), OK);
    assert_int_equal(
        cudaLaunchKernel(&state, (extent){1, 1, 1}, (extent){1, 1, 1}, NULL, 0, stream), OK);
    assert_int_equal(cudaStreamQuery(stream), NOT_READY);
    assert_int_equal(cudaStreamSynchronize(stream), OK);
    assert_int_equal(cudaStreamQuery(stream), OK);
    assert_int_equal(cudaStreamDestroy(stream), OK);
}

/* Waiting for a stream includes what the stream waits for, but no more. */
static void waiting_goes_through_streams(void **state) {
    (void)state;
    void *streams[N];
    void *before[N];
    void *after[N];
    for (size_t i = 0; i < N; i++) {
        streams[i] = new_stream(1);
        before[i] = event_of(streams[i]);
    }
    for (size_t i = 1; i < N; i++) { /* each stream comes after the one before */
        assert_int_equal(cudaStreamWaitEvent(streams[i], before[i - 1], 0), OK);
        assert_int_equal(cudaEventRecord(before[i], streams[i]), OK);
    }
    for (size_t i = 0; i < N; i++) {
        after[i] = event_of(streams[i]);
    }
    /* And back to the first: streams that wait for each other in turns do not hang. */
    assert_int_equal(cudaStreamWaitEvent(streams[0], after[N - 1], 0), OK);
    void *last = event_of(streams[0]);
    assert_int_equal(cudaEventSynchronize(before[3]), OK);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(is_done(before[i]), i <= 3);
        assert_false(is_done(after[i]));
    }
    for (size_t i = 0; i < N - 1; i++) { /* destroying the streams keeps their work */
        assert_int_equal(cudaStreamDestroy(streams[i]), OK);
    }
    assert_int_equal(cudaEventSynchronize(last), OK);
    for (size_t i = 0; i < N; i++) {
        assert_true(is_done(before[i]));
        assert_int_equal(is_done(after[i]), i == 0 || i == N - 1);
        end_event(before[i]);
        end_event(after[i]);
    }
    end_event(last);
    assert_int_equal(cudaStreamDestroy(streams[N - 1]), OK);
}

static void the_null_stream_waits_for_blocking_ones(void **state) {
    (void)state;
    void *blocking = new_stream(0);
    void *other = new_stream(1);
    void *first = event_of(blocking);
    void *second = event_of(other);
    void *null = event_of(NULL);
    assert_int_equal(cudaStreamSynchronize(NULL), OK);
    assert_true(is_done(null) && is_done(first) && !is_done(second));
    assert_int_equal(cudaEventRecord(null, NULL), OK);
    assert_int_equal(cudaEventRecord(first, blocking), OK);
    assert_int_equal(cudaEventSynchronize(first), OK);
    assert_true(is_done(null) && !is_done(second));
    /* So does a copy to the host. */
    char from[8] = "1234567";
    char to[8] = "";
    assert_int_equal(cudaEventRecord(null, NULL), OK);
    assert_false(is_done(null));
    assert_int_equal(cudaMemcpy(to, from, sizeof(to), 0), OK);
    assert_true(is_done(null) && !is_done(second));
    /* Freeing memory waits for the device. */
    void *address = NULL;
    assert_int_equal(cudaMalloc(&address, 1), OK);
    assert_false(is_done(second));
    assert_int_equal(cudaFree(address), OK);
    assert_true(is_done(second));
    end_event(first);
    end_event(second);
    end_event(null);
    assert_int_equal(cudaStreamDestroy(blocking), OK);
    assert_int_equal(cudaStreamDestroy(other), OK);
}

/* A loop that only queries would otherwise never end. */
static void who_polls_is_answered_in_the_end(void **state) {
    (void)state;
    size_t n_asked = 0;
    void *event = event_of(NULL);
    while (!is_done(event)) {
        n_asked++;
    }
    assert_true(n_asked > 1000 && n_asked < 100000);
    end_event(event);
}

static void *work(void *data) {
    unsigned seed = *(unsigned *)data;
    void *streams[3];
    void *events[4];
    bool is_good = true;
    for (size_t i = 0; i < 3; i++) {
        is_good = cudaStreamCreateWithFlags(&streams[i], i == 0 ? 0 : 1) == OK && is_good;
    }
    for (size_t i = 0; i < 4; i++) {
        is_good = cudaEventCreateWithFlags(&events[i], 2) == OK && is_good;
    }
    for (size_t round = 0; round < 2000; round++) {
        seed = seed * 1103515245u + 12345u;
        void *stream = streams[seed / 65536u % 3];
        void *event = events[seed / 4096u % 4];
        switch (seed / 1048576u % 6) {
        case 0:
        case 1:
            is_good = cudaEventRecord(event, stream) == OK && is_good;
            break;
        case 2:
        case 3:
            is_good = cudaStreamWaitEvent(stream, event, 0) == OK && is_good;
            break;
        case 4:
            is_good =
                cudaStreamSynchronize(stream) == OK && cudaStreamQuery(stream) == OK && is_good;
            break;
        default:
            is_good = cudaStreamDestroy(stream) == OK &&
                      cudaStreamCreateWithFlags(&streams[seed / 65536u % 3], 1) == OK && is_good;
        }
    }
    is_good = cudaDeviceSynchronize() == OK && is_good;
    for (size_t i = 0; i < 4; i++) {
        is_good = cudaEventQuery(events[i]) == OK && cudaEventDestroy(events[i]) == OK && is_good;
    }
    for (size_t i = 0; i < 3; i++) {
        is_good = cudaStreamDestroy(streams[i]) == OK && is_good;
    }
    return is_good ? data : NULL;
}

static void threads_record_and_wait(void **state) {
    (void)state;
    pthread_t threads[3];
    unsigned seeds[3] = {1, 22, 333};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, &seeds[i]), 0);
    }
    for (size_t i = 0; i < 3; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, &seeds[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_complete_when_the_host_waits),
        cmocka_unit_test(a_stream_is_idle_until_it_works),
        cmocka_unit_test(waiting_goes_through_streams),
        cmocka_unit_test(the_null_stream_waits_for_blocking_ones),
        cmocka_unit_test(who_polls_is_answered_in_the_end),
        cmocka_unit_test(threads_record_and_wait),
    };
    setenv("TIDEMARK_VIRTUAL_CARDS", "h100-80", 1);
    setenv("TIDEMARK_STREAMS", "late", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
