/* test_document_time.c - what a forecast adds to a snapshot: the answer, and the kernels of its
 * step by phase. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "programs/launch/time.h"
#include "support/made_launches.h"

/* A kernel of n bytes takes n microseconds. */
static const tide_time_constants CONSTANTS = {
    .vectorised_share = 1.0, .reduction_share = 1.0, .host_factor = 0.5};
static const tide_stated_peak PEAK = {"made", 1e8, 1e8, 1e8, 1e8, "made"};

static made_launches made;
static tide_time_card card;
static tide_time_log read_log;
static tide_time_ranges ranges;
static tide_time_model model;
static tide_time_forecast forecast;
static tide_snapshot *snapshot;

static int begin(void **state) {
    (void)state;
    card = (tide_time_card){.card = tide_card_find("h100-80"),
                            .peak = &PEAK,
                            .bandwidth = 1e6,
                            .n_multiprocessors = 1.0};
    made_launches_begin(&made, "h100-80");
    return tide_snapshot_create(tide_hostmem_default(), &snapshot) == TIDE_OK ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    tide_time_forecast_fini(&forecast);
    tide_time_model_fini(&model);
    tide_time_ranges_fini(&ranges);
    tide_time_log_fini(&read_log);
    tide_snapshot_destroy(snapshot);
    return 0;
}

static void add_to_snapshot(void) {
    tide_time_host host;
    assert_int_equal(tide_time_host_of(&CONSTANTS, NULL, NULL, 0.0, &host, NULL), TIDE_OK);
    assert_int_equal(made_launches_read(&made, &read_log, NULL), TIDE_OK);
    assert_int_equal(tide_time_ranges_init(&read_log, &ranges), TIDE_OK);
    assert_int_equal(tide_time_model_init(&read_log, &CONSTANTS, &card, &model), TIDE_OK);
    assert_int_equal(tide_time_forecast_init(&model, &ranges, &host, &forecast, NULL), TIDE_OK);
    assert_int_equal(tide_launch_add_time(snapshot, &model, &ranges, &forecast), TIDE_OK);
    assert_string_equal(snapshot->forecast.card, "h100-80");
}

static void expect_kernel(size_t i, const char *phase, int64_t n_launches, int64_t total_ns) {
    const tide_kernel_row *row = &snapshot->kernels[i];
    assert_true(i < snapshot->n_kernels);
    assert_string_equal(tide_snapshot_text(snapshot, row->phase), phase);
    assert_int_equal(row->n_launches, n_launches);
    assert_int_equal(row->total_ns, total_ns);
}

static void kernels_stand_by_phase(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        made_launches_mark(&made, "step begins");
        made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 3), 5);
        made_launches_add(&made, made_kernel(TIDE_RUN_REDUCTION, 4), 5);
        made_launches_mark(&made, "backward begins");
        made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 7), 5);
        made_launches_add(&made, made_kernel(TIDE_RUN_VECTORISED, 8), 5);
        made_launches_mark(&made, "backward ends");
        made_launches_mark(&made, "optimizer begins");
        made_launches_mark(&made, "step ends");
    }
    add_to_snapshot();
    assert_int_equal(snapshot->n_kernels, 3);
    expect_kernel(0, "forward", 1, 4000);
    expect_kernel(1, "forward", 1, 3000);
    expect_kernel(2, "backward", 2, 15000);
}

/* The replays of a captured step are its steps, and have no phases. */
static void kernels_of_a_captured_step_stand_under_the_step(void **state) {
    (void)state;
    tide_run_launch captured = made_kernel(TIDE_RUN_VECTORISED, 20);
    captured.flags = TIDE_RUN_CAPTURED;
    captured.graph = 3;
    made_launches_mark(&made, "step begins");
    made_launches_add(&made, captured, 1);
    made_launches_add(&made, captured, 1);
    made_launches_mark(&made, "backward begins");
    made_launches_mark(&made, "backward ends");
    made_launches_mark(&made, "optimizer begins");
    made_launches_mark(&made, "step ends");
    for (size_t i = 0; i < 3; i++) {
        made_launches_add(&made, (tide_run_launch){.kind = TIDE_RUN_GRAPH_LAUNCH, .graph = 3}, 9);
    }
    add_to_snapshot();
    assert_int_equal(snapshot->n_kernels, 1);
    expect_kernel(0, "step", 2, 40000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kernels_stand_by_phase, begin, end),
        cmocka_unit_test_setup_teardown(kernels_of_a_captured_step_stand_under_the_step, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
