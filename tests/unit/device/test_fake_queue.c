/* test_fake_queue.c - the fake runtime's late streams: what runs, when, and in which order. */
#define _POSIX_C_SOURCE 200809L /* unsetenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_emulator/device_memory.h"
#include "cuda_fixture.h"

enum { N_STREAMS = 3, N_LETTERS = 16 };

static tide_device *device;
static tide_stream streams[N_STREAMS + 1]; /* from 1 on, as late_streams counts them */
static tide_device_event *event;
static char ran[N_LETTERS]; /* a letter for each work, in the order in which they ran */

static int run_letter(void *work) {
    ran[strlen(ran)] = *(const char *)work;
    return 0;
}

static void keep_letter(void *work) {
    (void)work; /* a literal */
}

static void launch(size_t stream, char *letter) {
    if (!tide_device_keeps((const void *)(uintptr_t)streams[stream], run_letter, keep_letter,
                           letter)) {
        (void)run_letter(letter);
    }
}

/* `waiting` waits for the work queued on `from` so far. */
static void order(size_t from, size_t waiting) {
    assert_int_equal(tide_device_event_record(device, event, streams[from], NULL), TIDE_OK);
    assert_int_equal(tide_device_stream_wait(device, streams[waiting], event, NULL), TIDE_OK);
}

static int open_streams(void **state) {
    (void)start(state);
    device = open_device();
    memset(ran, 0, sizeof(ran));
    for (size_t i = 1; i <= N_STREAMS; i++) {
        assert_int_equal(tide_device_stream_create(device, &streams[i], NULL), TIDE_OK);
    }
    assert_int_equal(tide_device_event_create(device, &event, NULL), TIDE_OK);
    return 0;
}

static int close_streams(void **state) {
    (void)state;
    tide_device_event_destroy(device, event);
    for (size_t i = 1; i <= N_STREAMS; i++) {
        assert_int_equal(tide_device_stream_destroy(device, streams[i], NULL), TIDE_OK);
    }
    tide_device_close(device);
    return tide_fake_cudart_state()->n_mistakes == 0 ? 0 : 1;
}

static void late_work_runs_when_it_is_waited_for(void **state) {
    (void)state;
    tide_fake_cudart_state()->late_streams = 1U << 1;
    launch(1, "a");
    launch(2, "b");
    assert_string_equal(ran, "b");
    order(2, 1); /* work that comes first and in time changes nothing */
    launch(1, "c");
    assert_string_equal(ran, "b");
    order(1, 2);
    launch(2, "d");
    assert_string_equal(ran, "bacd");
}

/* The wait covers the work up to the record only: later work stays late. */
static void only_what_stands_before_the_record_runs(void **state) {
    (void)state;
    tide_fake_cudart_state()->late_streams = 1U << 1;
    launch(1, "a");
    assert_int_equal(tide_device_event_record(device, event, streams[1], NULL), TIDE_OK);
    launch(1, "b");
    assert_int_equal(tide_device_stream_wait(device, streams[2], event, NULL), TIDE_OK);
    assert_string_equal(ran, "a");
    assert_int_equal(tide_device_synchronize(device, NULL), TIDE_OK);
    assert_string_equal(ran, "ab");
}

static void waits_go_on_from_stream_to_stream(void **state) {
    (void)state;
    tide_fake_cudart_state()->late_streams = 1U << 1 | 1U << 2;
    launch(1, "a");
    launch(2, "b");
    order(1, 2);
    launch(2, "c");
    assert_string_equal(ran, "");
    order(2, 3);
    launch(3, "d");
    assert_string_equal(ran, "bacd");
}

/* The end of a stream waits for nothing; the end of the runtime drops everything. */
static void a_reset_forgets_it(void **state) {
    tide_fake_cudart_state()->late_streams = 1U << 1;
    launch(1, "a");
    assert_int_equal(close_streams(state), 0);
    assert_string_equal(ran, "");
    assert_int_equal(open_streams(state), 0);
    assert_int_equal(tide_device_synchronize(device, NULL), TIDE_OK);
    assert_string_equal(ran, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(late_work_runs_when_it_is_waited_for, open_streams,
                                        close_streams),
        cmocka_unit_test_setup_teardown(only_what_stands_before_the_record_runs, open_streams,
                                        close_streams),
        cmocka_unit_test_setup_teardown(waits_go_on_from_stream_to_stream, open_streams,
                                        close_streams),
        cmocka_unit_test_setup_teardown(a_reset_forgets_it, open_streams, close_streams),
    };
    return cmocka_run_group_tests_name("device.fake_queue", tests, NULL, NULL);
}
