/* test_model_time.c - the forecast of our own model's time on a virtual card: in the result, and in
 * the snapshot. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "programs/launch/time.h"
#include "model/run/model.h"

enum { WARMUP = 2, STEPS = 3 };

static void small_run(tide_run_config *config, const char *device) {
    tide_run_model_init(config);
    tide_run_model_of(&config->workload)->model.n_layers = 2;
    tide_run_model_of(&config->workload)->warmup_steps = WARMUP;
    tide_run_model_of(&config->workload)->steps = STEPS;
    config->limits.device = device;
    config->recording.is_on = true;
    config->recording.keeps_snapshot = true;
    config->recording.recorder.capture_stacks = false;
    config->recording.forecasts_time = true;
}

static bool is_near(double a, double b) {
    return fabs(a - b) <= 1e-6 * fabs(b) + 1e-6;
}

/* Without measurement: the kernels are our model's, each phase has its time, and a step is the sum
 * of its phases if the card is never idle. */
static void the_answer(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_result result;
    small_run(&config, "virtual:h100-80");
    tide_run_here(&config, NULL, &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_COMPLETED);
    assert_non_null(result.time);
    assert_string_equal(result.no_forecast, "");
    const tide_time_forecast *of = &result.time->forecast;
    assert_int_equal(of->n_steps, WARMUP + STEPS);
    assert_int_equal(of->n_guessed, 0);
    assert_true(of->uncompared_share > 0.0 && of->uncompared_share < 1.0);
    assert_int_equal(of->host.basis, TIDE_TIME_HOST_STATED);
    assert_true(of->low.total_us < of->likely.total_us);
    assert_true(of->likely.total_us < of->high.total_us);
    double sum = 0.0;
    for (size_t i = 0; i < TIDE_TIME_BETWEEN; i++) {
        assert_true(of->phase_us[i] > 0.0);
        sum += of->phase_us[i];
    }
    assert_true(sum >= of->likely.total_us - 1e-6 && sum < 1.05 * of->likely.total_us);
    assert_int_equal(result.program.n_guessed, 0);
    assert_int_equal(result.program.n_launches, of->n_launches);
    assert_true(is_near(result.program.step_ms, of->likely.total_us * 1e-3));
    assert_true(is_near(result.program.step_low_ms, of->low.total_us * 1e-3));
    assert_true(is_near(result.program.step_high_ms, of->high.total_us * 1e-3));
    tide_run_result_fini(&result);
}

static size_t n_steps_named(const tide_snapshot *snapshot, const char *name, int64_t ns) {
    size_t n = 0;
    for (size_t i = 0; i < snapshot->n_scopes; i++) {
        const tide_scope_row *scope = &snapshot->scopes[i];
        if (scope->kind == TIDE_SCOPE_STEP &&
            strcmp(tide_snapshot_text(snapshot, scope->name), name) == 0) {
            assert_true(scope->device_duration_ns > 0);
            /* Rounding may lose a nanosecond at either end. */
            n += ns < 0 || llabs(scope->device_duration_ns - ns) <= 2;
        }
    }
    return n;
}

/* Warm-up steps and later ones have the times of their own ranges of the log: all steps after the
 * first take the same time, and the first also fills the optimizer's state. */
static void the_snapshot(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_result result;
    small_run(&config, "virtual:h100-80");
    tide_run_here(&config, NULL, &result);
    const tide_snapshot *snapshot = result.snapshot;
    assert_non_null(snapshot);
    assert_string_equal(snapshot->forecast.card, "h100-80");
    assert_string_equal(snapshot->clock_source, TIDE_CLOCK_FORECAST);
    assert_int_equal(snapshot->timing.warmup_steps, WARMUP);
    assert_int_equal(snapshot->timing.measured_steps, STEPS);
    assert_int_equal(snapshot->timing.n_phases, 4);
    assert_int_equal(n_steps_named(snapshot, "warmup", -1), WARMUP);
    assert_int_equal(n_steps_named(snapshot, "step", -1), STEPS);
    const tide_snapshot_phase *step = &snapshot->timing.phases[3];
    assert_string_equal(step->name, "step");
    assert_int_equal(step->n_samples, STEPS);
    double busy_ms = snapshot->forecast.gpu_ms;
    assert_int_equal(n_steps_named(snapshot, "step", (int64_t)llround(busy_ms * 1e6)), STEPS);
    assert_int_equal(n_steps_named(snapshot, "warmup", (int64_t)llround(busy_ms * 1e6)),
                     WARMUP - 1);
    for (size_t i = 1; i < snapshot->n_events; i++) {
        assert_true(snapshot->events.time_ns[i - 1] <= snapshot->events.time_ns[i]);
    }
    assert_true(snapshot->n_kernels > 10);
    tide_run_result_fini(&result);
}

static void expect_none(tide_run_config *config, const char *why) {
    tide_run_result result;
    tide_run_here(config, NULL, &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_COMPLETED);
    if (result.time != NULL) {
        fail_msg("a forecast where \"%s\" was expected", why);
    }
    assert_non_null(strstr(result.no_forecast, why));
    if (why[0] == '\0') {
        assert_string_equal(result.no_forecast, "");
    }
    assert_true(result.program.step_low_ms < 0.0);
    assert_string_equal(result.snapshot->forecast.card, "");
    assert_string_not_equal(result.snapshot->clock_source, TIDE_CLOCK_FORECAST);
    tide_run_result_fini(&result);
}

static void where_there_is_none(void **state) {
    (void)state;
    tide_run_config config;
    small_run(&config, "virtual");
    expect_none(&config, "");
    small_run(&config, "virtual:h100-80");
    config.recording.forecasts_time = false;
    expect_none(&config, "");
    small_run(&config, "virtual:rtxpro6000");
    expect_none(&config, "rtxpro6000: its rate of floating point operations has no source");
    small_run(&config, "virtual:h100-80");
    tide_run_model_of(&config.workload)->emulate = TIDE_EMULATE_PYTORCH;
    expect_none(&config, "`tidemark run --time`"); /* flash attention */
    small_run(&config, "virtual:h100-80");         /* 79 GiB fit, the rest spills */
    tide_run_model_of(&config.workload)->model.batch_size = 4096;
    config.limits.spill_bytes = (uint64_t)1 << 36;
    expect_none(&config, "host's memory");
}

/* PyTorch's run of the model launches more, and its host takes longer. */
static void pytorch(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_result own;
    tide_run_result eager;
    small_run(&config, "virtual:h100-80");
    tide_run_model_of(&config.workload)->attention = TIDE_ATTENTION_NAIVE;
    tide_run_here(&config, NULL, &own);
    tide_run_model_of(&config.workload)->emulate = TIDE_EMULATE_PYTORCH;
    tide_run_model_of(&config.workload)->edition = TIDE_EDITION_2026;
    tide_run_here(&config, NULL, &eager);
    assert_non_null(eager.time);
    const tide_time_forecast *of = &eager.time->forecast;
    assert_int_equal(of->n_launches, 700); /* as in eager_launches/fp32-small.txt */
    assert_int_equal(of->host.basis, TIDE_TIME_HOST_MODELLED);
    assert_true(of->likely.busy_us > own.time->forecast.likely.busy_us);
    assert_true(of->likely.host_us > own.time->forecast.likely.host_us);
    assert_int_equal(of->n_guessed, 0);
    tide_run_result_fini(&own);
    tide_run_result_fini(&eager);
}

/* A graph costs the host one launch, and the card the same time as without it. */
static void a_graph(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_result eager;
    tide_run_result graph;
    small_run(&config, "virtual:h100-80");
    tide_run_here(&config, NULL, &eager);
    tide_run_model_of(&config.workload)->cuda_graph = true;
    tide_run_here(&config, NULL, &graph);
    assert_non_null(graph.time);
    const tide_time_forecast *of = &graph.time->forecast;
    assert_int_equal(of->n_launches, eager.time->forecast.n_launches);
    assert_true(is_near(of->likely.host_us, 2.2));
    assert_true(is_near(of->likely.busy_us, eager.time->forecast.likely.busy_us));
    assert_true(of->likely.total_us < eager.time->forecast.likely.total_us);
    tide_run_result_fini(&eager);
    tide_run_result_fini(&graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer),
        cmocka_unit_test(the_snapshot),
        cmocka_unit_test(where_there_is_none),
        cmocka_unit_test(pytorch),
        cmocka_unit_test(a_graph),
    };
    return cmocka_run_group_tests_name("run.model_time", tests, NULL, NULL);
}
