/* test_forecast.c - the answer: its step, its range, its bottleneck, and its guessed share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/step_time/compared.h"
#include "programs/step_time/forecast.h"
#include "support/made_launches.h"

/* A kernel of n bytes takes n microseconds. */
static const tide_time_constants CONSTANTS = {
    .vectorised_share = 1.0, .strided_share = 1.0, .reduction_share = 1.0, .host_factor = 0.5};
static const tide_stated_peak PEAK = {"made", 1e8, 1e8, 1e8, 1e8, "made"};
static const tide_time_card CARD = {.peak = &PEAK, .bandwidth = 1e6, .n_multiprocessors = 1.0};

static made_launches made;
static tide_time_log read_log;
static tide_time_ranges ranges;
static tide_time_model model;
static tide_time_forecast forecast;

/* A step of one kernel, after so many microseconds of the host. */
static void add_step(tide_run_launch kernel, int64_t host_us) {
    made_launches_mark(&made, "step begins");
    made.host_ns += 1000 * host_us;
    made_launches_add(&made, kernel, 0);
    made_launches_mark(&made, "backward begins");
    made_launches_mark(&made, "backward ends");
    made_launches_mark(&made, "optimizer begins");
    made_launches_mark(&made, "step ends");
}

static const tide_time_comparison *compared(tide_run_family family, double us) {
    tide_run_launch row = made_kernel(family, 1000);
    const tide_time_comparison *of = tide_time_comparison_of(&row, us);
    assert_non_null(of);
    return of;
}

static tide_status make(double host_factor, tide_error *error) {
    tide_time_host host;
    assert_int_equal(tide_time_host_of(&CONSTANTS, NULL, NULL, host_factor, &host, error), TIDE_OK);
    assert_int_equal(made_launches_read(&made, &read_log, NULL), TIDE_OK);
    assert_int_equal(tide_time_ranges_init(&read_log, &ranges), TIDE_OK);
    assert_int_equal(tide_time_model_init(&read_log, &CONSTANTS, &CARD, &model), TIDE_OK);
    return tide_time_forecast_init(&model, &ranges, &host, &forecast, error);
}

static int begin(void **state) {
    (void)state;
    made_launches_begin(&made, "h100-80");
    return 0;
}

static int end(void **state) {
    (void)state;
    tide_time_forecast_fini(&forecast);
    tide_time_model_fini(&model);
    tide_time_ranges_fini(&ranges);
    tide_time_log_fini(&read_log);
    return 0;
}

static void the_quiet_step_behind_the_first_counts(void **state) {
    (void)state;
    static const int64_t HOST_US[] = {9000, 800, 300, 500, 400, 700};
    for (size_t i = 0; i < sizeof(HOST_US) / sizeof(HOST_US[0]); i++) {
        add_step(made_kernel(TIDE_RUN_VECTORISED, 10), HOST_US[i]);
    }
    assert_int_equal(make(0.0, NULL), TIDE_OK);
    assert_int_equal(forecast.n_steps, 6);
    assert_int_equal(forecast.step, 4); /* 400 us: the second smallest of five */
    assert_float_equal(forecast.likely.total_us, 210.0, 1e-9);
    assert_float_equal(forecast.likely.host_us, 200.0, 1e-9);
    assert_int_equal(forecast.limit, TIDE_TIME_HOST_BOUND);
    const tide_time_comparison *of = compared(TIDE_RUN_VECTORISED, 10.0);
    assert_float_equal(forecast.low.total_us, (float)(400 * 0.19 + 10.0 * of->least), 1e-4);
    assert_float_equal(forecast.high.total_us, (float)(400 * 0.99 + 10.0 * of->most), 1e-4);
    assert_float_equal(forecast.phase_us[TIDE_TIME_FORWARD], 210.0, 1e-9);
    assert_float_equal(forecast.phase_us[TIDE_TIME_BETWEEN], 0.0, 1e-9);
}

/* Step 1 launches one more kernel, and yet is faster: it does not count. */
static void steps_that_also_evaluate_do_not_count(void **state) {
    (void)state;
    static const int64_t HOST_US[] = {9000, 100, 800, 500};
    for (size_t i = 0; i < sizeof(HOST_US) / sizeof(HOST_US[0]); i++) {
        made_launches_mark(&made, "step begins");
        made.host_ns += 1000 * HOST_US[i];
        made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 10), 0);
        if (i == 1) {
            made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 5), 0);
        }
        made_launches_mark(&made, "step ends");
    }
    assert_int_equal(make(0.0, NULL), TIDE_OK);
    assert_int_equal(forecast.n_steps, 4);
    assert_int_equal(forecast.step, 3);
    assert_float_equal(forecast.likely.host_us, 250.0, 1e-9);
}

/* Four eager steps and a replayed one: the eager ones are faster here, and do not count. */
static void steps_before_a_graph_do_not_count(void **state) {
    (void)state;
    static const tide_run_launch GRAPH = {.kind = TIDE_RUN_GRAPH_LAUNCH};
    for (size_t i = 0; i < 4; i++) {
        add_step(made_kernel(TIDE_RUN_VECTORISED, 10), 300);
    }
    made_launches_mark(&made, "step begins");
    made.host_ns += 1000 * (int64_t)500;
    made_launches_add(&made, GRAPH, 0);
    made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 20), 0);
    made_launches_mark(&made, "step ends");
    assert_int_equal(make(0.0, NULL), TIDE_OK);
    assert_int_equal(forecast.step, 4);
    assert_true(forecast.host.is_of_graph);
    assert_float_equal(forecast.likely.host_us, 250.0, 1e-9);
}

/* Two steps, one of them with another graph, the capture of a step, and three replays, the last one
 * with an unknown end. */
static void replays_of_a_captured_step_count(void **state) {
    (void)state;
    tide_run_launch captured = made_kernel(TIDE_RUN_VECTORISED, 20);
    captured.flags = TIDE_RUN_CAPTURED;
    captured.graph = 3;
    add_step(made_kernel(TIDE_RUN_VECTORISED, 10), 1);
    add_step((tide_run_launch){.kind = TIDE_RUN_GRAPH_LAUNCH, .graph = 2}, 1);
    add_step(captured, 1);
    for (size_t i = 0; i < 3; i++) {
        made_launches_add(&made, (tide_run_launch){.kind = TIDE_RUN_GRAPH_LAUNCH, .graph = 3}, 0);
        made.host_ns += 1000 * (int64_t)(i == 1 ? 60 : 100);
    }
    assert_int_equal(make(0.0, NULL), TIDE_OK);
    /* The second replay: the host takes 60 us until the next one. */
    assert_int_equal(forecast.step, 4);
    assert_int_equal(forecast.n_launches, 1);
    assert_float_equal(forecast.likely.busy_us, 20.0, 1e-9);
    assert_float_equal(forecast.phase_us[TIDE_TIME_FORWARD], -1.0, 1e-9);
}

/* A captured row of so many microseconds. */
static tide_run_launch in_graph(uint32_t graph, tide_run_family family, uint64_t us) {
    tide_run_launch row = made_kernel(family, us);
    row.flags = TIDE_RUN_CAPTURED;
    row.graph = graph;
    return row;
}

/* A graph of 20 us that are compared, and 10 us of reductions that are marked as estimated. Another
 * one launches it twice. A step launches the outer one twice and the inner one once. */
static void the_kernels_of_a_graph_are_those_of_its_launches(void **state) {
    (void)state;
    tide_run_launch estimated = in_graph(3, TIDE_RUN_REDUCTION, 10);
    estimated.flags |= TIDE_RUN_ESTIMATED;
    tide_run_launch launch = {.kind = TIDE_RUN_GRAPH_LAUNCH, .name = UINT32_MAX};
    tide_run_launch inside = launch;
    inside.m = 3;
    inside.graph = 4;
    inside.flags = TIDE_RUN_CAPTURED;
    made_launches_add(&made, in_graph(3, TIDE_RUN_VECTORISED, 20), 0);
    made_launches_add(&made, estimated, 0);
    made_launches_add(&made, in_graph(4, TIDE_RUN_STRIDED, 5), 0);
    made_launches_add(&made, inside, 0);
    made_launches_add(&made, inside, 0);
    made_launches_mark(&made, "step begins");
    for (uint32_t i = 0; i < 3; i++) {
        launch.graph = i == 1 ? 3 : 4;
        made_launches_add(&made, launch, 0);
    }
    made_launches_mark(&made, "step ends");
    assert_int_equal(make(0.0, NULL), TIDE_OK);
    /* Five times the inner graph, and twice the rest of the outer one. */
    assert_float_equal(forecast.likely.busy_us, 160.0, 1e-9);
    assert_int_equal(forecast.n_launches, 3);
    assert_int_equal(forecast.kernels.n, 3);
    const tide_time_kernel *rows = forecast.kernels.rows;
    assert_true(rows[0].family == TIDE_RUN_VECTORISED && rows[0].n_launches == 5);
    assert_float_equal(rows[0].us, 100.0, 1e-9);
    assert_int_equal(rows[0].basis, TIDE_TIME_COMPARED);
    assert_true(rows[1].family == TIDE_RUN_REDUCTION && rows[1].n_launches == 5);
    assert_float_equal(rows[1].us, 50.0, 1e-9);
    assert_int_equal(rows[1].basis, TIDE_TIME_UNCOMPARED);
    assert_true(rows[2].family == TIDE_RUN_STRIDED && rows[2].n_launches == 2);
    assert_float_equal(rows[2].min_us, 5.0, 1e-9);
    assert_float_equal(rows[2].max_us, 5.0, 1e-9);
    /* Each kernel has the interval of its family. */
    const tide_time_comparison *whole = compared(TIDE_RUN_VECTORISED, 20.0);
    const tide_time_comparison *strided = compared(TIDE_RUN_STRIDED, 5.0);
    const tide_time_comparison *never = &TIDE_TIME_NEVER_COMPARED;
    assert_float_equal(forecast.uncompared_share, (float)(50.0 / 160.0), 1e-6);
    assert_float_equal(forecast.low.busy_us,
                       (float)(100 * whole->least + 10 * strided->least + 50 * never->least), 1e-4);
    assert_float_equal(forecast.high.busy_us,
                       (float)(100 * whole->most + 10 * strided->most + 50 * never->most), 1e-4);
    assert_float_equal(
        forecast.error_share,
        (float)(1e-2 * (100 * whole->median_percent + 10 * strided->median_percent) / 110.0), 1e-6);
}

static void the_host_of_a_graph_has_words_of_its_own(void **state) {
    (void)state;
    char words[TIDE_TIME_HOST_WORDS];
    tide_time_host host = tide_time_host_stated(&CONSTANTS);
    tide_time_host_words(&host, false, words);
    assert_non_null(strstr(words, "us a kernel and"));
    assert_null(strstr(words, "graph"));
    host.is_of_graph = true;
    tide_time_host_words(&host, false, words);
    assert_non_null(strstr(words, "us for the launch of a CUDA graph"));
    assert_null(strstr(words, "us a kernel"));
}

static void a_measured_host_narrows_the_range(void **state) {
    (void)state;
    add_step(made_kernel(TIDE_RUN_VECTORISED, 1000), 100);
    assert_int_equal(make(2.0, NULL), TIDE_OK);
    assert_true(tide_time_is_calibrated(&forecast));
    assert_int_equal(forecast.limit, TIDE_TIME_GPU_BOUND);
    assert_float_equal(forecast.likely.total_us, 1200.0, 1e-9);
    const tide_time_comparison *of = compared(TIDE_RUN_VECTORISED, 1000.0);
    assert_float_equal(forecast.low.total_us, (float)(175.0 + 1000.0 * of->least), 1e-3);
    assert_float_equal(forecast.high.total_us, (float)(225.0 + 1000.0 * of->most), 1e-3);
}

static void kernels_that_were_never_compared_widen_it(void **state) {
    (void)state;
    add_step(made_kernel(TIDE_RUN_FOURIER, 1000), 0);
    assert_int_equal(make(0.0, NULL), TIDE_OK);
    assert_false(forecast.is_lower_bound);
    assert_float_equal(forecast.uncompared_share, 1.0, 1e-9);
    assert_float_equal(forecast.error_share, 0.0, 0.0);
    assert_float_equal(forecast.low.total_us, (float)(1000.0 * TIDE_TIME_NEVER_COMPARED.least),
                       1e-3);
    assert_float_equal(forecast.high.total_us, (float)(1000.0 * TIDE_TIME_NEVER_COMPARED.most),
                       1e-3);
}

/* One launch in twenty may be guessed, and a twentieth of the time. */
static void more_than_five_percent_guessed_is_a_lower_bound(void **state) {
    (void)state;
    made_launches_mark(&made, "step begins");
    for (size_t i = 0; i < 19; i++) {
        made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 100), 0);
    }
    made_launches_add(&made, made_kernel(TIDE_RUN_OTHER, 100), 0);
    made_launches_mark(&made, "step ends");
    assert_int_equal(make(0.0, NULL), TIDE_OK);
    assert_float_equal(forecast.guessed_share, 0.05F, 1e-6);
    assert_int_equal(forecast.n_guessed, 1);
    assert_false(forecast.is_lower_bound);
    (void)end(NULL);
    made_launches_mark(&made, "step begins");
    made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 100), 0);
    made_launches_add(&made, made_kernel(TIDE_RUN_OTHER, 100), 0);
    made_launches_mark(&made, "step ends");
    assert_int_equal(make(0.0, NULL), TIDE_OK);
    assert_true(forecast.is_lower_bound);
}

static void kernels_are_in_order_of_their_time(void **state) {
    (void)state;
    made_launches_mark(&made, "step begins");
    uint32_t name = made_launches_text(&made, "small");
    tide_run_launch small = made_kernel(TIDE_RUN_VECTORISED, 5);
    small.name = name;
    made_launches_add(&made, small, 0);
    made_launches_add(&made, small, 0);
    made_launches_add(&made, made_kernel(TIDE_RUN_SOFTMAX, 100), 0);
    made_launches_mark(&made, "step ends");
    assert_int_equal(make(0.0, NULL), TIDE_OK);
    assert_int_equal(forecast.kernels.n, 2);
    assert_float_equal(forecast.kernels.rows[0].us, 100.0, 1e-9);
    assert_string_equal(forecast.kernels.rows[1].name, "small");
    assert_int_equal(forecast.kernels.rows[1].n_launches, 2);
    assert_float_equal(forecast.kernels.rows[1].us, 10.0, 1e-9);
}

static tide_run_launch made_attention(unsigned flags) {
    return (tide_run_launch){.kind = TIDE_RUN_ATTENTION,
                             .type = TIDE_RUN_BF16,
                             .m = 64,
                             .n = 64,
                             .k = 64,
                             .count = 4,
                             .flags = (uint8_t)flags};
}

/* Launches of one kernel, of 10 and of 1000 us: each counts for the comparison of its size. */
static void small_and_large_launches_have_comparisons_of_their_own(void **state) {
    (void)state;
    made_launches_mark(&made, "step begins");
    made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 10), 0);
    made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 1000), 0);
    made_launches_add(&made, made_kernel(TIDE_RUN_FOURIER, 20), 0);
    made_launches_mark(&made, "step ends");
    assert_int_equal(make(0.0, NULL), TIDE_OK);
    const tide_time_kernels *of = &forecast.kernels;
    double small_us = of->compared_us[TIDE_TIME_SLOT(TIDE_RUN_VECTORISED, TIDE_TIME_SMALL)];
    double large_us = of->compared_us[TIDE_TIME_SLOT(TIDE_RUN_VECTORISED, TIDE_TIME_LARGE)];
    assert_float_equal(small_us, 10.0, 1e-6);
    assert_float_equal(large_us, 1000.0, 1e-6);
    assert_float_equal(of->uncompared_us, 20.0, 1e-6);
    assert_float_equal(of->guessed_us, 0.0, 1e-6);
}

/* Attention has no names in the log; two rows of the same name could not be distinguished. */
static void attention_says_its_direction(void **state) {
    (void)state;
    made_launches_mark(&made, "step begins");
    made_launches_add(&made, made_attention(TIDE_RUN_CAUSAL), 0);
    made_launches_add(&made, made_attention(TIDE_RUN_CAUSAL | TIDE_RUN_BACKWARD), 0);
    made_launches_mark(&made, "step ends");
    assert_int_equal(make(0.0, NULL), TIDE_OK);
    assert_int_equal(forecast.kernels.n, 2);
    for (size_t i = 0; i < 2; i++) {
        char name[64];
        const tide_time_kernel *kernel = &forecast.kernels.rows[i];
        tide_time_kernel_name(kernel, name, sizeof(name));
        assert_string_equal(name, kernel->is_backward ? "attention bf16, backward"
                                                      : "attention bf16, forward");
    }
    assert_true(forecast.kernels.rows[0].is_backward != forecast.kernels.rows[1].is_backward);
}

static void a_program_without_launches_has_no_time(void **state) {
    (void)state;
    tide_error error = {""};
    made_launches_mark(&made, "step begins");
    assert_int_equal(make(0.0, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "nothing to do"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_quiet_step_behind_the_first_counts, begin, end),
        cmocka_unit_test_setup_teardown(steps_that_also_evaluate_do_not_count, begin, end),
        cmocka_unit_test_setup_teardown(steps_before_a_graph_do_not_count, begin, end),
        cmocka_unit_test_setup_teardown(replays_of_a_captured_step_count, begin, end),
        cmocka_unit_test_setup_teardown(the_kernels_of_a_graph_are_those_of_its_launches, begin,
                                        end),
        cmocka_unit_test_setup_teardown(small_and_large_launches_have_comparisons_of_their_own,
                                        begin, end),
        cmocka_unit_test(the_host_of_a_graph_has_words_of_its_own),
        cmocka_unit_test_setup_teardown(a_measured_host_narrows_the_range, begin, end),
        cmocka_unit_test_setup_teardown(kernels_that_were_never_compared_widen_it, begin, end),
        cmocka_unit_test_setup_teardown(more_than_five_percent_guessed_is_a_lower_bound, begin,
                                        end),
        cmocka_unit_test_setup_teardown(kernels_are_in_order_of_their_time, begin, end),
        cmocka_unit_test_setup_teardown(attention_says_its_direction, begin, end),
        cmocka_unit_test_setup_teardown(a_program_without_launches_has_no_time, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
