/* test_run.c - runs a configuration in this process and in a subprocess (TIDEMARK_PROGRAM). */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/run/model.h"

static void tiny(tide_run_config *config, const char *device) {
    tide_run_model_init(config);
    tide_model_config *model = &tide_run_model_of(&config->workload)->model;
    model->vocab_size = 100;
    model->d_model = 32;
    model->d_ff = 64;
    model->n_layers = 2;
    model->n_heads = 2;
    model->context_length = 16;
    model->batch_size = 2;
    tide_run_model_of(&config->workload)->warmup_steps = 1;
    tide_run_model_of(&config->workload)->steps = 2;
    config->limits.device = device;
}

/* Every key of the results that does not describe the process itself. */
static void assert_same_result(const tide_run_result *left, const tide_run_result *right) {
    static const char *const OF_THE_PROCESS[] = {"host_peak_bytes", "started_unix_us"};
    cJSON *jsons[] = {tide_run_result_to_json(left), tide_run_result_to_json(right)};
    char *texts[2];
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(jsons[i]);
        for (size_t k = 0; k < sizeof(OF_THE_PROCESS) / sizeof(OF_THE_PROCESS[0]); k++) {
            cJSON_DeleteItemFromObject(jsons[i], OF_THE_PROCESS[k]);
        }
        texts[i] = cJSON_Print(jsons[i]);
    }
    assert_string_equal(texts[0], texts[1]);
    for (size_t i = 0; i < 2; i++) {
        cJSON_free(texts[i]);
        cJSON_Delete(jsons[i]);
    }
}

static void a_subprocess_gives_equal_results(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_result here;
    tide_run_result there;
    tiny(&config, "virtual");
    tide_run_model_of(&config.workload)->recompute = TIDE_RECOMPUTE_BLOCK;
    tide_run_model_of(&config.workload)->precision = TIDE_PRECISION_BF16_MIXED;
    tide_run_model_of(&config.workload)->clip_grad_norm = 1.0;
    tide_run_here(&config, NULL, &here);
    tide_run_in_subprocess(&config, NULL, TIDEMARK_PROGRAM, &there);
    assert_int_equal(here.outcome, TIDE_OUTCOME_COMPLETED);
    assert_int_equal(there.outcome, TIDE_OUTCOME_COMPLETED);
    assert_int_equal(here.memory.requested_peak_bytes,
                     tide_workload_requested_peak_bytes(tide_run_model_of(&config.workload)));
    assert_same_result(&there, &here);
    assert_true(isnan(here.loss) && isnan(there.loss)); /* nothing was computed */
    assert_true(here.memory.requested_peak_bytes > 0 && there.host_peak_bytes > 0);
    assert_int_equal(there.n_tokens, 32);
    assert_true(there.flops > 0.0 && fabs(there.flops - here.flops) < 0.5);
    /* Nothing was computed, so nothing has a time. */
    assert_int_equal(there.n_samples, 0);
    assert_true(there.ms[TIDE_TIMED_STEP].mean < 0.0 && there.tokens_per_second < 0.0);
    assert_string_equal(there.environment.device_kind, "virtual");
    assert_string_equal(there.environment.tool, here.environment.tool);
    tide_run_result_fini(&here);
    tide_run_result_fini(&there);
}

static void a_computing_device_has_times(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_result result;
    tiny(&config, "cpu");
    tide_run_model_of(&config.workload)->mode = TIDE_FORWARD;
    tide_run_in_subprocess(&config, NULL, TIDEMARK_PROGRAM, &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_COMPLETED);
    assert_int_equal(result.n_samples, 2);
    assert_non_null(result.host_ms[TIDE_TIMED_FORWARD]);
    assert_null(result.host_ms[TIDE_TIMED_BACKWARD]);
    double step_ms = result.ms[TIDE_TIMED_STEP].mean;
    assert_true(step_ms > 0.0 && result.ms[TIDE_TIMED_STEP].std >= 0.0);
    assert_true(fabs(result.tokens_per_second - 32.0 / (step_ms * 1e-3)) < 1e-6);
    assert_true(fabs(result.achieved_flops - result.flops / (step_ms * 1e-3)) < 1.0);
    assert_true(result.peak_share < 0.0); /* the peak rate of this cpu is unknown */
    assert_true(result.environment.computed_by[0] != '\0');
    tide_run_result_fini(&result);
}

static void a_run_that_does_not_fit_reports_it(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_result result;
    tiny(&config, "virtual");
    config.limits.memory_limit_bytes = (uint64_t)3 << 20;
    tide_run_model_of(&config.workload)->model.batch_size = 64;
    tide_run_in_subprocess(&config, NULL, TIDEMARK_PROGRAM, &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_OOM);
    assert_true(result.asked_bytes > 0);
    assert_true(result.segment_bytes > result.free_bytes); /* that is why */
    assert_true(result.free_bytes >= 0 && result.free_bytes <= 3 << 20);
    assert_true(result.memory.reserved_peak_bytes <= 3 << 20);
    assert_true(strstr(result.reason, "out of memory") != NULL);
    assert_null(strchr(result.reason, '\n'));
    tide_run_result_fini(&result);
}

static void unsupported_requests_are_reported(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_result result;
    tiny(&config, "cpu");
    tide_run_model_of(&config.workload)->precision = TIDE_PRECISION_TF32;
    tide_run_here(&config, NULL, &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_UNSUPPORTED);
    assert_true(strstr(result.reason, "tf32") != NULL);
    tide_run_result_fini(&result);
    tiny(&config, "virtual");
    tide_run_model_of(&config.workload)->model.n_heads = 5; /* does not divide 32 */
    tide_run_here(&config, NULL, &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_UNSUPPORTED);
    assert_true(result.reason[0] != '\0');
    tide_run_result_fini(&result);
}

/* Makes an executable script that replaces the program. */
static void make_script(const char *text, char path[64]) {
    snprintf(path, 64, "/tmp/tidemark-run-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

static void run_script(const char *text, tide_run_result *ret) {
    char path[64];
    tide_run_config config;
    make_script(text, path);
    tiny(&config, "virtual");
    tide_run_in_subprocess(&config, NULL, path, ret);
    (void)unlink(path);
}

static void a_crash_is_a_result_that_names_the_signal(void **state) {
    (void)state;
    tide_run_result result;
    run_script("printf '{\"outcome\":\"completed\"' >&3; kill -SEGV $$", &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_CRASHED);
    assert_int_equal(result.signal_number, SIGSEGV);
    assert_true(strstr(result.reason, "signal 11") != NULL);
    assert_int_equal(result.memory.requested_peak_bytes, -1);
    assert_true(result.environment.tool[0] != '\0' && result.environment.host.n_cpus > 0);
    tide_run_result_fini(&result);
    run_script("exit 9", &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_CRASHED);
    assert_true(strstr(result.reason, "exit status 9") != NULL);
    tide_run_result_fini(&result);
}

static void a_partial_result_is_refused(void **state) {
    (void)state;
    static const char *const SCRIPTS[] = {"true", "printf '{\"outcome\":\"comp' >&3",
                                          "printf '{\"outcome\":\"completed\"}' >&3",
                                          "printf '[]' >&3"};
    for (size_t i = 0; i < sizeof(SCRIPTS) / sizeof(SCRIPTS[0]); i++) {
        tide_run_result result;
        run_script(SCRIPTS[i], &result);
        assert_int_equal(result.outcome, TIDE_OUTCOME_CRASHED);
        assert_int_equal(result.signal_number, 0);
        assert_true(strstr(result.reason, "without a result") != NULL);
        tide_run_result_fini(&result);
    }
}

static void a_missing_program_is_reported(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_result result;
    tiny(&config, "virtual");
    tide_run_in_subprocess(&config, NULL, "/nowhere/tidemark", &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_CRASHED);
    assert_true(strstr(result.reason, "exit status 127") != NULL);
    tide_run_result_fini(&result);
}

static void a_snapshot_is_kept_or_saved(void **state) {
    (void)state;
    char path[64];
    tide_run_config config;
    tide_run_result result;
    tiny(&config, "virtual");
    config.recording.is_on = true;
    config.recording.keeps_snapshot = true;
    tide_run_here(&config, NULL, &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_COMPLETED);
    assert_non_null(result.snapshot);
    assert_true(result.snapshot->n_events > 0);
    assert_string_equal(result.snapshot_path, "");
    tide_run_result_fini(&result);
    make_script("", path); /* an unused name */
    config.recording.snapshot_path = path;
    tide_run_in_subprocess(&config, NULL, TIDEMARK_PROGRAM, &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_COMPLETED);
    assert_string_equal(result.snapshot_path, path);
    assert_null(result.snapshot);
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    assert_true(file.st_size > 1000);
    (void)unlink(path);
    tide_run_result_fini(&result);
}

/* ---- interruption and hooks ---- */

typedef struct heard {
    size_t n_progress; /* calls of each kind */
    size_t n_ticks;
    size_t n_done; /* as last reported */
    size_t stop_after;
} heard;

static void hear_progress(void *ctx, tide_run_stage stage, size_t n_done, size_t n_total) {
    heard *to = ctx;
    assert_int_equal(stage, TIDE_RUN_STAGE_STEPS);
    assert_int_equal(n_total, 3);
    to->n_progress++;
    to->n_done = n_done;
}

static void hear_tick(void *ctx) {
    ((heard *)ctx)->n_ticks++;
}

static bool stop_now(void *ctx) {
    const heard *to = ctx;
    return to->n_done >= to->stop_after;
}

static void a_run_reports_progress_and_can_be_stopped(void **state) {
    (void)state;
    heard to = {.stop_after = 100};
    const tide_run_hooks hooks = {.ctx = &to, .progress = hear_progress, .shall_stop = stop_now};
    tide_run_config config;
    tide_run_result result;
    tiny(&config, "virtual");
    config.recording.is_on = true;
    config.recording.keeps_snapshot = true;
    tide_run_here(&config, &hooks, &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_COMPLETED);
    assert_int_equal(to.n_progress, 3);
    assert_int_equal(result.n_steps_done, 3);
    assert_string_equal(result.snapshot->run.outcome, "completed");
    tide_run_result_fini(&result);
    to = (heard){.stop_after = 2};
    tide_run_here(&config, &hooks, &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_STOPPED);
    assert_int_equal(result.status, TIDE_OK);
    assert_int_equal(result.n_steps_done, 2);
    assert_int_equal(result.n_steps, 3);
    assert_true(result.memory.allocated_peak_bytes > 0);
    /* The snapshot contains the measurements up to then. */
    assert_string_equal(result.snapshot->run.outcome, "stopped");
    assert_true(result.snapshot->n_events > 0);
    tide_run_result_fini(&result);
}

static void a_subprocess_is_stopped_and_ticks(void **state) {
    (void)state;
    heard to = {.stop_after = 0}; /* at once */
    const tide_run_hooks hooks = {.ctx = &to, .tick = hear_tick, .shall_stop = stop_now};
    char path[64];
    tide_run_config config;
    tide_run_result result;
    make_script("exec sleep 1000", path); /* longer than a test may take */
    tiny(&config, "virtual");
    tide_run_in_subprocess(&config, &hooks, path, &result);
    (void)unlink(path);
    assert_int_equal(result.outcome, TIDE_OUTCOME_STOPPED);
    assert_true(to.n_ticks > 0);
    assert_true(result.environment.tool[0] != '\0');
    tide_run_result_fini(&result);
}

static void a_run_too_large_for_the_host_is_not_started(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_result result;
    heard to = {.stop_after = 100};
    const tide_run_hooks hooks = {.ctx = &to, .progress = hear_progress};
    tiny(&config, "cpu");
    tide_run_model_of(&config.workload)->model.batch_size = (size_t)1 << 24; /* about a TiB */
    tide_run_here(&config, &hooks, &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_NO_HOST);
    assert_int_equal(result.status, TIDE_DEVICE_OOM);
    assert_int_equal(to.n_progress, 0);
    assert_true(result.asked_bytes > result.free_bytes && result.free_bytes > 0);
    assert_int_equal(result.memory.allocated_peak_bytes, -1);
    assert_non_null(strstr(result.reason, "it was not started"));
    tide_run_result_fini(&result);
}

static void a_search_gets_the_same_peaks(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_result result;
    tide_run_memory memory;
    bool fits = false;
    tiny(&config, "virtual");
    tide_run_here(&config, NULL, &result);
    assert_int_equal(tide_run_try(&config, &fits, &memory, NULL), TIDE_OK);
    assert_true(fits);
    assert_memory_equal(&memory, &result.memory, sizeof(memory));
    config.limits.memory_limit_bytes = (uint64_t)1 << 20;
    assert_int_equal(tide_run_try(&config, &fits, &memory, NULL), TIDE_OK);
    assert_false(fits);
    config.limits.ignores_device = true; /* a memory limit applies nevertheless */
    assert_int_equal(tide_run_try(&config, &fits, &memory, NULL), TIDE_OK);
    assert_false(fits);
    config.limits.device = "nowhere";
    assert_int_equal(tide_run_try(&config, &fits, &memory, NULL), TIDE_INVALID);
    tide_run_result_fini(&result);
}

/* The card holds the parameters, and the first backward pass finds it full. */
static void what_the_card_cannot_hold_lies_in_the_host(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_result result;
    size_t n_marks = 0;
    tide_run_model_init(&config);
    config.limits.device = "virtual:rtx4060";
    tide_model_config *model = &tide_run_model_of(&config.workload)->model;
    assert_int_equal(tide_model_config_preset("large", model, NULL), TIDE_OK);
    tide_run_model_of(&config.workload)->warmup_steps = 0;
    tide_run_model_of(&config.workload)->steps = 2;
    tide_run_here(&config, NULL, &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_OOM);
    assert_int_equal(result.memory.spill_peak_bytes, -1);
    tide_run_result_fini(&result);
    config.limits.spill_bytes = UINT64_C(16) << 30;
    config.recording.is_on = true;
    config.recording.keeps_snapshot = true;
    tide_run_here(&config, NULL, &result);
    assert_int_equal(result.outcome, TIDE_OUTCOME_COMPLETED);
    assert_true(result.memory.spill_peak_bytes > 0);
    assert_true(result.memory.reserved_peak_bytes - result.memory.spill_peak_bytes < INT64_C(7931)
                                                                                         << 20);
    assert_int_equal(result.memory.spill_step, 0);
    assert_true(result.device_used_bytes <= INT64_C(7931) << 20);
    for (size_t i = 0; i < result.snapshot->n_events; i++) {
        const tide_event row = tide_event_at(result.snapshot, i);
        if (row.action == TIDE_ACTION_MARK) {
            const tide_event before = tide_event_at(result.snapshot, i - 1);
            assert_int_equal(before.action, TIDE_ACTION_SEGMENT_ALLOC);
            assert_int_equal(strtoull(result.snapshot->strings[row.name], NULL, 10),
                             before.block_bytes);
            n_marks++;
        }
    }
    assert_int_equal(n_marks, result.memory.n_spilled);
    tide_run_result_fini(&result);
}

/* A card that is too small for the run, and a fraction of it, smaller still. */
static void limits_can_be_ignored(void **state) {
    (void)state;
    tide_run_config config;
    tide_run_memory memory;
    bool fits = true;
    uint64_t usable_bytes = 0;
    tide_run_model_init(&config);
    config.limits.device = "virtual:rtx4060";
    config.limits.alloc_conf = "per_process_memory_fraction:0.1";
    assert_int_equal(tide_run_limits_usable(&config.limits, &usable_bytes, NULL, NULL), TIDE_OK);
    assert_true(usable_bytes < (uint64_t)1 << 30);
    assert_int_equal(tide_run_try(&config, &fits, &memory, NULL), TIDE_OK);
    assert_false(fits);
    config.limits.ignores_device = true;
    assert_int_equal(tide_run_try(&config, &fits, &memory, NULL), TIDE_OK);
    assert_true(fits && memory.reserved_peak_bytes > (int64_t)usable_bytes);
    assert_int_equal(tide_run_limits_usable(&config.limits, &usable_bytes, NULL, NULL), TIDE_OK);
    assert_true(usable_bytes == UINT64_MAX);
    config.limits.alloc_conf = "no_such_setting:1";
    assert_int_not_equal(tide_run_try(&config, &fits, &memory, NULL), TIDE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_subprocess_gives_equal_results),
        cmocka_unit_test(a_computing_device_has_times),
        cmocka_unit_test(a_run_that_does_not_fit_reports_it),
        cmocka_unit_test(unsupported_requests_are_reported),
        cmocka_unit_test(a_crash_is_a_result_that_names_the_signal),
        cmocka_unit_test(a_partial_result_is_refused),
        cmocka_unit_test(a_missing_program_is_reported),
        cmocka_unit_test(a_snapshot_is_kept_or_saved),
        cmocka_unit_test(a_run_reports_progress_and_can_be_stopped),
        cmocka_unit_test(a_subprocess_is_stopped_and_ticks),
        cmocka_unit_test(a_run_too_large_for_the_host_is_not_started),
        cmocka_unit_test(a_search_gets_the_same_peaks),
        cmocka_unit_test(limits_can_be_ignored),
        cmocka_unit_test(what_the_card_cannot_hold_lies_in_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
