/* test_replay.c - the clocks of host and streams, computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/step_time/compared.h"
#include "programs/step_time/replay.h"
#include "support/made_launches.h"

/* A kernel of n bytes takes n microseconds, a launch 1 microsecond of the host. */
static const tide_time_constants CONSTANTS = {.vectorised_share = 1.0, .launch_us = 1.0};
static const tide_time_card CARD = {.bandwidth = 1e6};
static const tide_time_factors AS_IT_IS = {1.0, TIDE_TIME_LIKELY, false};

static made_launches made;
static tide_time_log read_log;
static tide_time_model model;
static tide_time_totals totals;
static tide_time_place places[MADE_ROWS];

static tide_run_launch on(uint64_t stream, tide_run_launch row) {
    row.stream = stream;
    return row;
}

static tide_run_launch kernel(uint64_t us) {
    return made_kernel(TIDE_RUN_VECTORISED, us);
}

static tide_run_launch other(tide_run_launch_kind kind, uint64_t event) {
    return (tide_run_launch){.kind = (uint8_t)kind, .bytes = event, .name = UINT32_MAX};
}

/* A kernel of 30 us in the graph. */
static tide_run_launch captured_kernel(uint32_t graph) {
    tide_run_launch row = kernel(30);
    row.flags = TIDE_RUN_CAPTURED;
    row.graph = graph;
    return row;
}

static void replay(const tide_time_factors *factors) {
    tide_time_model_fini(&model);
    tide_time_log_fini(&read_log);
    assert_int_equal(made_launches_read(&made, &read_log, NULL), TIDE_OK);
    assert_int_equal(tide_time_model_init(&read_log, &CONSTANTS, &CARD, &model), TIDE_OK);
    assert_int_equal(tide_time_replay(&model, factors, 0, read_log.n_rows, places, &totals),
                     TIDE_OK);
}

static int end(void **state) {
    (void)state;
    tide_time_model_fini(&model);
    tide_time_log_fini(&read_log);
    return 0;
}

static void expect(double total_us, double busy_us, double host_us) {
    assert_float_equal(totals.total_us, total_us, 1e-9);
    assert_float_equal(totals.busy_us, busy_us, 1e-9);
    assert_float_equal(totals.host_us, host_us, 1e-9);
}

static void the_card_waits_for_the_host(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    made_launches_add(&made, kernel(2), 10);
    made_launches_add(&made, kernel(3), 10);
    replay(&AS_IT_IS);
    /* Launched at 1 and at 1 + 10 + 1, done at 15; nothing follows the host's last row. */
    expect(15.0, 5.0, 12.0);
    assert_float_equal(places[1].begin_us, 12.0, 1e-9);
    const tide_time_factors half = {0.5, TIDE_TIME_LIKELY, false};
    replay(&half);
    expect(9.0, 5.0, 6.0);
    const tide_time_factors slow_card = {1.0, TIDE_TIME_MOST, false};
    double most = tide_time_comparison_of(&read_log.rows[0], 2.0)->most;
    replay(&slow_card);
    expect(12.0 + 3.0 * most, 5.0 * most, 12.0);
}

static void the_host_runs_ahead_of_the_card(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    made_launches_add(&made, kernel(100), 10);
    made_launches_add(&made, kernel(100), 10);
    replay(&AS_IT_IS);
    expect(201.0, 200.0, 12.0);
}

/* The queue holds 1,024 launches, so launch i waits until launch i - 1024 has begun. */
static void a_full_queue_stops_the_host(void **state) {
    (void)state;
    enum { N = TIDE_TIME_QUEUE + 100 };
    made_launches_begin(&made, "h100-80");
    for (size_t i = 0; i < N; i++) {
        made_launches_add(&made, kernel(100), 0);
    }
    replay(&AS_IT_IS);
    /* Launch i begins at 1 + 100 i; the host's own work is 1 us each. */
    expect(1.0 + 100.0 * N, 100.0 * N, N);
    assert_float_equal(places[TIDE_TIME_QUEUE - 1].host_us, TIDE_TIME_QUEUE, 1e-9);
    assert_float_equal(places[N - 1].host_us, places[N - 1 - TIDE_TIME_QUEUE].begin_us, 1e-9);
}

static void waiting_is_no_work_of_the_host(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    made_launches_add(&made, kernel(100), 10);
    made_launches_add(&made, other(TIDE_RUN_WAIT_STREAM, 0), 10);
    made_launches_add(&made, kernel(5), 0);
    replay(&AS_IT_IS);
    /* The host waits until 101, works 10, launches at 112. */
    expect(117.0, 105.0, 22.0);
}

static void streams_overlap_and_events_order_them(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    made_launches_add(&made, on(1, kernel(50)), 0);
    made_launches_add(&made, on(1, other(TIDE_RUN_RECORD, 7)), 0);
    made_launches_add(&made, on(2, kernel(20)), 0);
    made_launches_add(&made, on(2, other(TIDE_RUN_STREAM_WAIT, 7)), 0);
    made_launches_add(&made, on(2, kernel(10)), 0);
    replay(&AS_IT_IS);
    /* Stream 1: 1 to 51. Stream 2: 2 to 22, then 51 to 61. */
    expect(61.0, 60.0, 3.0);
    assert_float_equal(places[2].begin_us, 2.0, 1e-9);
    assert_float_equal(places[4].begin_us, 51.0, 1e-9);
}

/* The upper end of a forecast: kernels of two streams take turns. A copy beside them does
 * not, and a stream that waits for an event still does. */
static void kernels_may_be_taken_not_to_overlap(void **state) {
    (void)state;
    static const tide_time_factors SERIAL = {1.0, TIDE_TIME_LIKELY, true};
    made_launches_begin(&made, "h100-80");
    made_launches_add(&made, on(1, kernel(50)), 0);
    made_launches_add(&made, on(2, kernel(20)), 0);
    made_launches_add(&made, on(2, other(TIDE_RUN_RECORD, 7)), 0);
    made_launches_add(&made, on(1, other(TIDE_RUN_STREAM_WAIT, 7)), 0);
    made_launches_add(&made, on(1, kernel(10)), 0);
    tide_run_launch copy = other(TIDE_RUN_COPY, 1000000);
    copy.family = TIDE_RUN_COPY_ON_CARD;
    made_launches_add(&made, on(3, copy), 0);
    replay(&AS_IT_IS);
    assert_float_equal(places[1].begin_us, 2.0, 1e-9);
    assert_float_equal(places[4].end_us, 61.0, 1e-9);
    assert_float_equal(places[5].begin_us, 4.0, 1e-9);
    assert_true(places[5].end_us > places[5].begin_us); /* it takes time, so it could wait */
    replay(&SERIAL);
    /* 1 to 51, 51 to 71, 71 to 81. */
    assert_float_equal(places[1].begin_us, 51.0, 1e-9);
    assert_float_equal(places[4].end_us, 81.0, 1e-9);
    assert_float_equal(places[5].begin_us, 4.0, 1e-9);
    /* Another card has its own kernels. */
    made_launches_begin(&made, "h100-80");
    made_launches_add(&made, on(1, kernel(50)), 0);
    tide_run_launch elsewhere = on(2, kernel(20));
    elsewhere.device = 1;
    made_launches_add(&made, elsewhere, 0);
    replay(&SERIAL);
    assert_float_equal(places[1].begin_us, 2.0, 1e-9);
}

static void time_that_two_threads_spend_counts_once(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    made_launches_add(&made, kernel(2), 10);
    made_launches_add(&made, kernel(2), -5); /* the next row is another thread's, and earlier */
    made_launches_add(&made, kernel(2), 5);
    made_launches_add(&made, kernel(2), 0);
    replay(&AS_IT_IS);
    /* 10 for the host's time and 4 launches. The card begins at 1, 12, 14 and 16. */
    expect(18.0, 8.0, 14.0);
}

static void a_captured_kernel_runs_when_its_graph_is_launched(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    tide_run_launch launch = other(TIDE_RUN_GRAPH_LAUNCH, 0);
    launch.graph = 3;
    made_launches_add(&made, captured_kernel(3), 0);
    made_launches_add(&made, captured_kernel(3), 0);
    made_launches_add(&made, launch, 0);
    made_launches_add(&made, launch, 0);
    replay(&AS_IT_IS);
    /* Two launches of the host, and twice two kernels. */
    expect(121.0, 120.0, 2.0);
}

/* A graph whose event 7 is between two of its kernels is launched in two parts. */
static void an_event_inside_a_graph_is_recorded_between_its_parts(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    made_launches_add(&made, captured_kernel(3), 0);
    made_launches_add(&made, captured_kernel(4), 0);
    tide_run_launch launch = other(TIDE_RUN_GRAPH_LAUNCH, 0);
    launch.graph = 3;
    made_launches_add(&made, launch, 0);
    made_launches_add(&made, other(TIDE_RUN_RECORD, 7), 0);
    launch.graph = 4;
    launch.flags = TIDE_RUN_CONTINUES;
    made_launches_add(&made, launch, 0);
    made_launches_add(&made, other(TIDE_RUN_WAIT_EVENT, 7), 0);
    made_launches_add(&made, on(2, kernel(5)), 0);
    replay(&AS_IT_IS);
    /* One launch for the whole graph, from 1 to 61. The host waits until 31, and launches the last
     * kernel at 32. */
    expect(61.0, 60.0, 2.0);
    assert_float_equal(places[6].begin_us, 32.0, 1e-9);
}

/* A graph that is launched in a capture becomes a piece of that graph. */
static void a_graph_inside_another_runs_with_it(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    made_launches_add(&made, captured_kernel(3), 0);
    made_launches_add(&made, captured_kernel(4), 0);
    tide_run_launch launch = other(TIDE_RUN_GRAPH_LAUNCH, 0);
    launch.m = 3;
    launch.flags = TIDE_RUN_CAPTURED;
    launch.graph = 4;
    made_launches_add(&made, launch, 0);
    made_launches_add(&made, launch, 0);
    launch.flags = 0;
    made_launches_add(&made, launch, 0);
    replay(&AS_IT_IS);
    /* One launch of the host, a kernel and twice the inner graph's. */
    expect(91.0, 90.0, 1.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_card_waits_for_the_host, end),
        cmocka_unit_test_teardown(the_host_runs_ahead_of_the_card, end),
        cmocka_unit_test_teardown(a_full_queue_stops_the_host, end),
        cmocka_unit_test_teardown(waiting_is_no_work_of_the_host, end),
        cmocka_unit_test_teardown(streams_overlap_and_events_order_them, end),
        cmocka_unit_test_teardown(kernels_may_be_taken_not_to_overlap, end),
        cmocka_unit_test_teardown(time_that_two_threads_spend_counts_once, end),
        cmocka_unit_test_teardown(an_event_inside_a_graph_is_recorded_between_its_parts, end),
        cmocka_unit_test_teardown(a_graph_inside_another_runs_with_it, end),
        cmocka_unit_test_teardown(a_captured_kernel_runs_when_its_graph_is_launched, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
