/* test_streams.c - streams, events and captures of the virtual card.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"

enum {
    OK = 0,
    INVALID_VALUE = 1,
    INVALID_HANDLE = 400,
    ILLEGAL_STATE = 401,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURED_EVENT = 907
};
enum { EXTERNAL = 1 }; /* cudaEventRecordExternal and cudaEventWaitExternal */
enum { DISABLE_TIMING = 2 };

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
    assert_int_equal(cudaGraphDestroy(graph), OK);
    assert_int_equal(cudaEventDestroy(event), OK);
    assert_int_equal(cudaStreamDestroy(stream), OK);
    assert_int_equal(cudaStreamDestroy(side), OK);
}

/* An event that a capture recorded is unknown, even after the graph's launch, until it is recorded
 * again. */
static void an_event_of_a_capture_cannot_be_asked(void **state) {
    (void)state;
    void *stream = new_stream();
    void *event = new_event();
    void *after = new_event();
    void *graph = NULL, *executable = NULL;
    float ms = 0.0f;
    assert_int_equal(cudaEventRecord(event, stream), OK);
    assert_int_equal(cudaStreamBeginCapture(stream, 0), OK);
    assert_int_equal(cudaEventRecord(event, stream), OK);
    assert_int_equal(cudaEventSynchronize(event), CAPTURED_EVENT);
    assert_int_equal(cudaEventElapsedTime(&ms, event, event), CAPTURED_EVENT);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), OK);
    assert_int_equal(cudaGraphInstantiate(&executable, graph, 0), OK);
    assert_int_equal(cudaGraphLaunch(executable, stream), OK);
    assert_int_equal(cudaEventRecord(after, stream), OK);
    assert_int_equal(cudaEventQuery(event), INVALID_VALUE);
    assert_int_equal(cudaEventSynchronize(event), INVALID_VALUE);
    assert_int_equal(cudaEventElapsedTime(&ms, event, after), INVALID_VALUE);
    assert_int_equal(cudaEventElapsedTime(&ms, after, event), INVALID_VALUE);
    assert_int_equal(cudaEventRecord(event, stream), OK);
    assert_int_equal(cudaEventQuery(event), OK);
    assert_int_equal(cudaEventElapsedTime(&ms, after, event), OK);
    assert_int_equal(cudaGraphExecDestroy(executable), OK);
    assert_int_equal(cudaGraphDestroy(graph), OK);
    assert_int_equal(cudaEventDestroy(event), OK);
    assert_int_equal(cudaEventDestroy(after), OK);
    assert_int_equal(cudaStreamDestroy(stream), OK);
}

/* With cudaEventRecordExternal an event is a node, and each launch of the graph records it. */
static void an_external_event_is_recorded_by_each_launch(void **state) {
    (void)state;
    void *stream = new_stream();
    void *first = new_event();
    void *second = new_event();
    void *outside = new_event();
    void *graph = NULL, *executable = NULL;
    size_t n_nodes = 0;
    float ms = 0.0f;
    assert_int_equal(cudaStreamBeginCapture(stream, 0), OK);
    assert_int_equal(cudaStreamWaitEvent(stream, outside, EXTERNAL), OK);
    assert_int_equal(cudaEventRecordWithFlags(first, stream, EXTERNAL), OK);
    assert_int_equal(cudaEventQuery(first), OK); /* it was never recorded */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(cudaEventRecordWithFlags(second, stream, EXTERNAL), OK);
    }
    assert_int_equal(cudaStreamEndCapture(stream, &graph), OK);
    assert_int_equal(cudaGraphGetNodes(graph, NULL, &n_nodes), OK);
    assert_int_equal(n_nodes, 5);
    assert_int_equal(cudaGraphInstantiate(&executable, graph, 0), OK);
    assert_int_equal(cudaGraphDestroy(graph), OK);
    assert_int_equal(cudaEventElapsedTime(&ms, first, second), INVALID_HANDLE);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cudaEventRecord(outside, stream), OK);
        assert_int_equal(cudaGraphLaunch(executable, stream), OK);
        assert_int_equal(cudaEventSynchronize(second), OK);
        assert_int_equal(cudaEventElapsedTime(&ms, outside, first), OK);
        assert_true(ms >= 0.0f); /* after the event of this turn of the loop */
        assert_int_equal(cudaEventElapsedTime(&ms, first, second), OK);
        assert_true(ms >= 0.0f);
    }
    assert_int_equal(cudaEventDestroy(second), OK); /* the graph still has it */
    assert_int_equal(cudaGraphLaunch(executable, stream), OK);
    assert_int_equal(cudaGraphExecDestroy(executable), OK);
    assert_int_equal(cudaEventDestroy(first), OK);
    assert_int_equal(cudaEventDestroy(outside), OK);
    assert_int_equal(cudaStreamDestroy(stream), OK);
}

/* The flag is refused outside a capture; no other flag exists. */
static void an_external_event_is_refused_outside_of_a_capture(void **state) {
    (void)state;
    void *stream = new_stream();
    void *event = new_event();
    void *graph = NULL;
    size_t n_nodes = 0;
    float ms = 0.0f;
    assert_int_equal(cudaEventRecordWithFlags(event, stream, EXTERNAL), INVALID_VALUE);
    assert_int_equal(cudaEventElapsedTime(&ms, event, event), INVALID_HANDLE); /* not recorded */
    assert_int_equal(cudaStreamWaitEvent(stream, event, EXTERNAL), INVALID_VALUE);
    assert_int_equal(cudaEventRecordWithFlags(event, stream, 0), OK);
    assert_int_equal(cudaStreamBeginCapture(stream, 0), OK);
    assert_int_equal(cudaEventRecordWithFlags(event, stream, 2), INVALID_VALUE);
    assert_int_equal(cudaStreamWaitEvent(stream, event, 2), INVALID_VALUE);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), OK);
    assert_int_equal(cudaGraphGetNodes(graph, NULL, &n_nodes), OK);
    assert_int_equal(n_nodes, 0);
    assert_int_equal(cudaGraphDestroy(graph), OK);
    assert_int_equal(cudaEventDestroy(event), OK);
    assert_int_equal(cudaStreamDestroy(stream), OK);
}

static void an_event_without_times_has_none(void **state) {
    (void)state;
    void *stream = new_stream();
    void *event = new_event();
    void *without = NULL;
    float ms = 0.0f;
    assert_int_equal(cudaEventCreateWithFlags(&without, DISABLE_TIMING), OK);
    assert_int_equal(cudaEventRecord(event, stream), OK);
    assert_int_equal(cudaEventRecord(without, stream), OK);
    assert_int_equal(cudaEventElapsedTime(&ms, event, without), INVALID_HANDLE);
    assert_int_equal(cudaEventElapsedTime(&ms, without, event), INVALID_HANDLE);
    assert_int_equal(cudaEventElapsedTime(NULL, event, event), INVALID_VALUE);
    assert_int_equal(cudaEventElapsedTime(&ms, event, event), OK);
    assert_int_equal(cudaEventDestroy(event), OK);
    assert_int_equal(cudaEventDestroy(without), OK);
    assert_int_equal(cudaStreamDestroy(stream), OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_external_event_is_refused_outside_of_a_capture),
        cmocka_unit_test(an_event_without_times_has_none),
        cmocka_unit_test(work_is_complete_at_once),
        cmocka_unit_test(a_capture_collects_nodes),
        cmocka_unit_test(a_waiting_stream_joins_the_capture),
        cmocka_unit_test(an_event_of_a_capture_cannot_be_asked),
        cmocka_unit_test(an_external_event_is_recorded_by_each_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
