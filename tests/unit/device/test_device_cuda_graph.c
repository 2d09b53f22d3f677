/* test_device_cuda_graph.c - graphs of the cuda device on the fake runtime: what a capture records,
 * what it forbids, and what remains afterwards.
 */
#define _POSIX_C_SOURCE 200809L /* unsetenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_emulator/device_memory.h"
#include "cuda_fixture.h"

static int n_runs;
static int n_releases;

static int count_run(void *work) {
    (void)work;
    n_runs++;
    return 0;
}

static void count_release(void *work) {
    (void)work;
    n_releases++;
}

/* Like a kernel launch: captured, or executed. */
static void launch(tide_stream stream) {
    if (!tide_device_keeps((const void *)(uintptr_t)stream, count_run, count_release, NULL)) {
        (void)count_run(NULL);
    }
}

static int reset(void **state) {
    n_runs = 0;
    n_releases = 0;
    return start(state);
}

static void launches_of_the_stream_are_kept(void **state) {
    (void)state;
    tide_device *device = open_device();
    tide_stream stream = 0;
    tide_graph graph = 0;
    uint64_t address = 0;
    assert_int_equal(tide_device_stream_create(device, &stream, NULL), TIDE_OK);
    assert_int_equal(tide_device_graph_begin(device, stream, NULL), TIDE_OK);
    launch(stream);
    launch(0); /* is not part of it */
    launch(stream);
    assert_int_equal(n_runs, 1);
    assert_int_equal(tide_device_alloc(device, MIB, &address, NULL), TIDE_OK);
    assert_int_equal(tide_device_graph_end(device, stream, &graph, NULL), TIDE_OK);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(tide_device_graph_launch(device, graph, stream, NULL), TIDE_OK);
        assert_int_equal(n_runs, 1 + 2 * i);
    }
    launch(stream); /* the capture has ended */
    assert_int_equal(n_runs, 8);
    assert_int_equal(n_releases, 0);
    tide_device_graph_destroy(device, graph);
    assert_int_equal(n_releases, 2);
    assert_int_equal(tide_device_release(device, address, NULL), TIDE_OK);
    assert_int_equal(tide_device_stream_destroy(device, stream, NULL), TIDE_OK);
    tide_device_close(device);
    assert_int_equal(tide_fake_cudart_state()->n_mistakes, 0);
}

/* A stream that waits for an event of the captured one is captured also, until the captured one has
 * waited for it; without that wait the capture yields no graph. */
static void a_stream_that_waits_is_captured(void **state) {
    (void)state;
    tide_device *device = open_device();
    tide_stream stream = 0;
    tide_stream beside = 0;
    tide_graph graph = 0;
    tide_device_event *event = NULL;
    tide_error error = {""};
    assert_int_equal(tide_device_stream_create(device, &stream, NULL), TIDE_OK);
    assert_int_equal(tide_device_stream_create(device, &beside, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_create(device, &event, NULL), TIDE_OK);
    for (int comes_back = 0; comes_back < 2; comes_back++) {
        tide_status expected = comes_back != 0 ? TIDE_OK : TIDE_DEVICE_FAILED;
        assert_int_equal(tide_device_graph_begin(device, stream, NULL), TIDE_OK);
        assert_int_equal(tide_device_event_record(device, event, stream, NULL), TIDE_OK);
        assert_int_equal(tide_device_stream_wait(device, beside, event, NULL), TIDE_OK);
        launch(beside);
        if (comes_back != 0) {
            assert_int_equal(tide_device_event_record(device, event, beside, NULL), TIDE_OK);
            assert_int_equal(tide_device_stream_wait(device, stream, event, NULL), TIDE_OK);
        }
        assert_int_equal(n_runs, 0);
        assert_int_equal(tide_device_graph_end(device, stream, &graph, &error), expected);
    }
    assert_non_null(strstr(error.message, "unjoined work"));
    assert_int_equal(tide_device_graph_launch(device, graph, stream, NULL), TIDE_OK);
    assert_int_equal(n_runs, 1);
    launch(beside); /* is no longer part of a capture */
    assert_int_equal(n_runs, 2);
    tide_device_graph_destroy(device, graph);
    tide_device_event_destroy(device, event);
    assert_int_equal(tide_device_stream_destroy(device, beside, NULL), TIDE_OK);
    assert_int_equal(tide_device_stream_destroy(device, stream, NULL), TIDE_OK);
    tide_device_close(device);
    assert_int_equal(tide_fake_cudart_state()->n_mistakes, 0);
}

/* A copy queued on the stream before the graph is done before the graph's own copy reads. */
static void copies_before_a_graph_come_first(void **state) {
    (void)state;
    tide_device *device = open_device();
    tide_stream stream = 0;
    tide_graph graph = 0;
    uint64_t address = 0;
    int given = 42;
    int got = 0;
    assert_int_equal(tide_device_alloc(device, MIB, &address, NULL), TIDE_OK);
    assert_int_equal(tide_device_stream_create(device, &stream, NULL), TIDE_OK);
    int *numbers = tide_device_pointer(device, address);
    cudaStream_t native = (cudaStream_t)(uintptr_t)stream;
    assert_int_equal(tide_device_graph_begin(device, stream, NULL), TIDE_OK);
    assert_int_equal(
        cudaMemcpyAsync(numbers + 1, numbers, sizeof(int), cudaMemcpyDeviceToDevice, native),
        cudaSuccess);
    assert_int_equal(tide_device_graph_end(device, stream, &graph, NULL), TIDE_OK);
    tide_fake_cudart_state()->late_copies = true;
    assert_int_equal(cudaMemcpyAsync(numbers, &given, sizeof(int), cudaMemcpyHostToDevice, native),
                     cudaSuccess);
    assert_int_equal(tide_device_graph_launch(device, graph, stream, NULL), TIDE_OK);
    assert_int_equal(
        cudaMemcpyAsync(&got, numbers + 1, sizeof(int), cudaMemcpyDeviceToHost, native),
        cudaSuccess);
    assert_int_equal(tide_device_synchronize(device, NULL), TIDE_OK);
    assert_int_equal(got, given);
    tide_device_graph_destroy(device, graph);
    assert_int_equal(tide_device_stream_destroy(device, stream, NULL), TIDE_OK);
    assert_int_equal(tide_device_release(device, address, NULL), TIDE_OK);
    tide_device_close(device);
}

/* The call fails and so does the end of the capture; the stream is unchanged. */
static void waiting_ends_a_capture(void **state) {
    (void)state;
    tide_device *device = open_device();
    tide_stream stream = 0;
    tide_graph graph = 0;
    tide_error error = {""};
    assert_int_equal(tide_device_stream_create(device, &stream, NULL), TIDE_OK);
    assert_int_equal(tide_device_graph_begin(device, stream, NULL), TIDE_OK);
    assert_int_equal(tide_device_synchronize(device, &error), TIDE_DEVICE_FAILED);
    assert_non_null(strstr(error.message, "operation not permitted when stream is capturing"));
    assert_int_equal(tide_device_graph_end(device, stream, &graph, &error), TIDE_DEVICE_FAILED);
    assert_non_null(strstr(error.message, "due to a previous error during capture"));
    assert_int_equal(graph, 0);
    assert_int_equal(tide_device_synchronize(device, NULL), TIDE_OK);
    assert_int_equal(tide_device_graph_begin(device, stream, NULL), TIDE_OK);
    assert_int_equal(tide_device_graph_end(device, stream, &graph, NULL), TIDE_OK);
    tide_device_graph_destroy(device, graph);
    assert_int_equal(tide_device_stream_destroy(device, stream, NULL), TIDE_OK);
    tide_device_close(device);
}

static void captured_events_have_no_time(void **state) {
    (void)state;
    tide_device *device = open_device();
    tide_stream stream = 0;
    tide_graph graph = 0;
    tide_device_event *begin = NULL;
    tide_device_event *end = NULL;
    double ms = 0;
    assert_int_equal(tide_device_stream_create(device, &stream, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_create(device, &begin, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_create(device, &end, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_record(device, begin, stream, NULL), TIDE_OK);
    assert_int_equal(tide_device_graph_begin(device, stream, NULL), TIDE_OK);
    assert_int_equal(tide_device_event_record(device, end, stream, NULL), TIDE_OK);
    assert_int_equal(tide_device_graph_end(device, stream, &graph, NULL), TIDE_OK);
    assert_int_not_equal(tide_device_event_elapsed(device, begin, end, &ms, NULL), TIDE_OK);
    tide_device_graph_destroy(device, graph);
    tide_device_event_destroy(device, begin);
    tide_device_event_destroy(device, end);
    assert_int_equal(tide_device_stream_destroy(device, stream, NULL), TIDE_OK);
    tide_device_close(device);
}

/* The fake runtime counts handles that are destroyed twice, also if an instance still needs the
 * graph that the second call would free. */
static void handles_are_destroyed_once(void **state) {
    (void)state;
    tide_device *device = open_device();
    tide_stream stream = 0;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t made = NULL;
    assert_int_equal(tide_device_stream_create(device, &stream, NULL), TIDE_OK);
    cudaStream_t native = (cudaStream_t)(uintptr_t)stream;
    assert_int_equal(tide_device_graph_begin(device, stream, NULL), TIDE_OK);
    launch(stream);
    assert_int_equal(cudaStreamEndCapture(native, &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&made, graph, 0), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaErrorInvalidValue);
    assert_int_equal(cudaGraphLaunch(made, native), cudaSuccess);
    assert_int_equal(n_runs, 1);
    assert_int_equal(cudaGraphExecDestroy(made), cudaSuccess);
    assert_int_equal(cudaGraphExecDestroy(made), cudaErrorInvalidValue);
    assert_int_equal(cudaGraphLaunch(made, native), cudaErrorInvalidValue);
    assert_int_equal(tide_fake_cudart_state()->n_mistakes, 3);
    assert_int_equal(n_releases, 1);
    assert_int_equal(tide_device_stream_destroy(device, stream, NULL), TIDE_OK);
    tide_device_close(device);
}

static void what_cannot_be_captured_is_refused(void **state) {
    (void)state;
    tide_device *device = open_device();
    tide_error error = {""};
    assert_int_equal(tide_device_graph_begin(device, 0, &error), TIDE_DEVICE_FAILED);
    assert_non_null(strstr(error.message, "cudaStreamBeginCapture"));
    tide_device_close(device);
    assert_int_equal(tide_device_open("cpu", NULL, &device, NULL), TIDE_OK);
    assert_int_equal(tide_device_graph_begin(device, 1, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "the device cpu has no graphs"));
    tide_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(launches_of_the_stream_are_kept, reset),
        cmocka_unit_test_setup(a_stream_that_waits_is_captured, reset),
        cmocka_unit_test_setup(copies_before_a_graph_come_first, reset),
        cmocka_unit_test_setup(waiting_ends_a_capture, reset),
        cmocka_unit_test_setup(captured_events_have_no_time, reset),
        cmocka_unit_test_setup(handles_are_destroyed_once, reset),
        cmocka_unit_test_setup(what_cannot_be_captured_is_refused, reset),
    };
    return cmocka_run_group_tests_name("device.cuda_graph", tests, NULL, NULL);
}
