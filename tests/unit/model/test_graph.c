/* test_graph.c - runs whose measured steps are replays of a captured one: they compute what the
 * same run without a graph computes, and runs that cannot be captured are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "recorded_run.h"

static tide_workload_config graph_run(tide_mode mode) {
    tide_workload_config config;
    tide_workload_config_init(&config);
    config.model = tiny_model();
    config.mode = mode;
    config.warmup_steps = 2;
    config.steps = 3;
    config.cuda_graph = true;
    return config;
}

/* Bit for bit: a replay calls the same operators on the same values, only at other addresses. */
static void expect_same_losses(tide_workload_config *config) {
    recorded_run with;
    recorded_run without;
    config->cuda_graph = true;
    recorded_run_start(&with, "cpu", config, TIDE_UNLIMITED, TIDE_OK);
    config->cuda_graph = false;
    recorded_run_start(&without, "cpu", config, TIDE_UNLIMITED, TIDE_OK);
    assert_int_equal(without.result.n_losses, config->warmup_steps + config->steps);
    assert_int_equal(with.result.n_losses, without.result.n_losses);
    assert_memory_equal(with.result.losses, without.result.losses,
                        with.result.n_losses * sizeof(double));
    if (config->mode == TIDE_TRAIN) {
        assert_true(with.result.losses[1] != with.result.losses[4]); /* it learns */
    }
    recorded_run_end(&with);
    recorded_run_end(&without);
}

static void losses_are_those_without_a_graph(void **state) {
    (void)state;
    tide_workload_config config = graph_run(TIDE_TRAIN);
    expect_same_losses(&config);
    config.clip_grad_norm = 0.5;
    config.recompute = TIDE_RECOMPUTE_BLOCK;
    expect_same_losses(&config);
    config.precision = TIDE_PRECISION_BF16_MIXED;
    config.attention = TIDE_ATTENTION_NAIVE;
    expect_same_losses(&config);
    config = graph_run(TIDE_FORWARD_BACKWARD);
    expect_same_losses(&config);
    config = graph_run(TIDE_TRAIN);
    config.architecture = TIDE_MLP;
    expect_same_losses(&config);
}

/* Whether the path is in this step. */
static bool lies_in(const char *path, const char *step) {
    return strncmp(path, step, strlen(step)) == 0;
}

/* Allocations are recorded in the warm-up and in the capture, and not in replays; the step is timed
 * and its phases are not. */
static void replays_record_nothing(void **state) {
    (void)state;
    tide_workload_config config = graph_run(TIDE_TRAIN);
    recorded_run run;
    recorded_run_start(&run, "cpu", &config, TIDE_UNLIMITED, TIDE_OK);
    const tide_recording *recording = &run.state.recording;
    size_t n_in_capture = 0;
    size_t n_in_warmup = 0;
    for (size_t i = 0; i < recording->n_events; i++) {
        char path[SCOPE_PATH];
        scope_path(recording, recording->events[i].scope, path);
        n_in_capture += lies_in(path, "capture");
        n_in_warmup += lies_in(path, "warmup 1");
        assert_false(lies_in(path, "step "));
    }
    assert_true(n_in_warmup > 0 && n_in_capture >= n_in_warmup);
    size_t n_steps = 0;
    for (uint32_t i = 0; i < recording->n_scopes; i++) {
        char path[SCOPE_PATH];
        scope_path(recording, i, path);
        n_steps += lies_in(path, "step ");
    }
    assert_int_equal(n_steps, 3); /* a scope each, with none inside */
    assert_int_equal(run.result.n_samples, 3);
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        for (size_t sample = 0; sample < 3; sample++) {
            assert_true((run.result.host_ms[i][sample] >= 0) == (i == TIDE_TIMED_STEP));
        }
    }
    recorded_run_end(&run);
}

static void refused(const tide_workload_config *config, const char *text) {
    tide_error error = {""};
    assert_int_equal(tide_workload_check_graph(config, &error), TIDE_INVALID);
    if (strstr(error.message, text) == NULL) {
        fail_msg("no \"%s\" in: %s", text, error.message);
    }
    tide_workload_config plain = *config;
    plain.cuda_graph = false;
    assert_int_equal(tide_workload_check_graph(&plain, &error), TIDE_OK);
}

static void what_cannot_be_captured_is_refused(void **state) {
    (void)state;
    tide_workload_config config = graph_run(TIDE_TRAIN);
    assert_int_equal(tide_workload_check_graph(&config, NULL), TIDE_OK);
    config.precision = TIDE_PRECISION_FP16_MIXED;
    refused(&config, "fp16-mixed skips a step");
    config.mode = TIDE_FORWARD_BACKWARD; /* skips nothing */
    assert_int_equal(tide_workload_check_graph(&config, NULL), TIDE_OK);
    config = graph_run(TIDE_TRAIN);
    config.warmup_steps = 0;
    refused(&config, "at least 1 warm-up step");
    config = graph_run(TIDE_TRAIN);
    config.sync_phases = true;
    refused(&config, "cannot wait between its phases");
    config = graph_run(TIDE_TRAIN);
    config.emulate = TIDE_EMULATE_PYTORCH;
    refused(&config, "leave out the emulation");
    config = graph_run(TIDE_FORWARD);
    config.architecture = TIDE_DECODE;
    refused(&config, "a language model that decodes");
}

/* The library refuses them also, not only the command line. */
static void a_workload_that_cannot_be_captured_is_not_made(void **state) {
    (void)state;
    tide_device *device = NULL;
    tide_cache *cache = NULL;
    tide_workload *workload = NULL;
    tide_error error = {""};
    tide_workload_config config = graph_run(TIDE_TRAIN);
    config.warmup_steps = 0;
    assert_int_equal(tide_device_open("virtual", NULL, &device, NULL), TIDE_OK);
    assert_int_equal(tide_cache_create(device, NULL, NULL, &cache, NULL), TIDE_OK);
    assert_int_equal(tide_workload_create(&config, cache, NULL, &workload, &error), TIDE_INVALID);
    assert_non_null(strstr(error.message, "at least 1 warm-up step"));
    tide_cache_destroy(cache);
    tide_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_those_without_a_graph),
        cmocka_unit_test(replays_record_nothing),
        cmocka_unit_test(what_cannot_be_captured_is_refused),
        cmocka_unit_test(a_workload_that_cannot_be_captured_is_not_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
