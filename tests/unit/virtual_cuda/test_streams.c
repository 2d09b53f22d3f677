/* test_streams.c - streams, events and captures of the virtual card.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_names.h"

enum { OK = 0, ILLEGAL_STATE = 401, CAPTURE_UNSUPPORTED = 900, CAPTURED_EVENT = 907 };

static void *new_stream(void) {
    void *stream = NULL;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, 1), OK);
    assert_non_null(stream);
    return stream;
}

static void *new_event(void) {
    void *event = NULL;
    assert_int_equal(cudaEventCreateWithFlags(&event, 0), OK);
    return event;
}

static bool is_capturing(void *stream) {
    int status = -1;
    assert_int_equal(cudaStreamIsCapturing(stream, &status), OK);
    return status == 1;
}

static void count(void *data) {
    ++*(int *)data;
}

static void work_is_complete_at_once(void **state) {
    (void)state;
    void *stream = new_stream();
    void *begin = new_event();
    void *end = new_event();
    float ms = -1.0f;
    int n_calls = 0;
    assert_int_equal(cudaEventRecord(begin, stream), OK);
    assert_int_equal(cudaLaunchHostFunc(stream, count, &n_calls), OK);
    assert_int_equal(n_calls, 1);
    assert_int_equal(cudaEventRecord(end, stream), OK);
    assert_int_equal(cudaEventQuery(end), OK);
    assert_int_equal(cudaStreamSynchronize(stream), OK);
    assert_int_equal(cudaEventElapsedTime(&ms, begin, end), OK);
    assert_true(ms >= 0.0f);
    assert_int_equal(cudaEventDestroy(begin), OK);
    assert_int_equal(cudaEventDestroy(end), OK);
    assert_int_equal(cudaStreamDestroy(stream), OK);
}

/* A captured function is a node and is not called; waiting during a capture is an error. */
static void a_capture_collects_nodes(void **state) {
    (void)state;
    void *stream = new_stream();
    void *graph = NULL;
    size_t n_nodes = 0;
    int n_calls = 0;
    assert_int_equal(cudaStreamBeginCapture(stream, 0), OK);
    assert_true(is_capturing(stream));
    assert_int_equal(cudaStreamBeginCapture(stream, 0), CAPTURE_UNSUPPORTED);
    assert_int_equal(cudaLaunchHostFunc(stream, count, &n_calls), OK);
    assert_int_equal(cudaStreamSynchronize(stream), CAPTURE_UNSUPPORTED);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), OK);
    assert_int_equal(n_calls, 0);
    assert_false(is_capturing(stream));
    assert_int_equal(cudaGraphGetNodes(graph, NULL, &n_nodes), OK);
    assert_int_equal(n_nodes, 1);
    assert_int_equal(cudaGraphDestroy(graph), OK);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), ILLEGAL_STATE);
    assert_null(graph);
    assert_int_equal(cudaStreamBeginCapture(NULL, 0), CAPTURE_UNSUPPORTED);
    assert_int_equal(cudaStreamDestroy(stream), OK);
}

/* A stream that waits for an event of a capture joins it, and leaves it at its end. */
static void a_waiting_stream_joins_the_capture(void **state) {
    (void)state;
    void *stream = new_stream();
    void *side = new_stream();
    void *event = new_event();
    void *graph = NULL;
    assert_int_equal(cudaStreamBeginCapture(stream, 0), OK);
    assert_int_equal(cudaEventRecord(event, stream), OK);
    assert_int_equal(cudaEventQuery(event), CAPTURED_EVENT);
    assert_int_equal(cudaStreamWaitEvent(side, event, 0), OK);
    assert_true(is_capturing(side));
    assert_int_equal(cudaStreamEndCapture(stream, &graph), OK);
    assert_false(is_capturing(side));
    assert_int_equal(cudaEventQuery(event), OK);
    assert_int_equal(cudaGraphDestroy(graph), OK);
    assert_int_equal(cudaEventDestroy(event), OK);
    assert_int_equal(cudaStreamDestroy(stream), OK);
    assert_int_equal(cudaStreamDestroy(side), OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_complete_at_once),
        cmocka_unit_test(a_capture_collects_nodes),
        cmocka_unit_test(a_waiting_stream_joins_the_capture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
