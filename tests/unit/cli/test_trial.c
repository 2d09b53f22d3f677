/* One configuration run here and in a process of its own. TIDEMARK_PROGRAM is the program. */
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

#include "cli/trial.h"

static void tiny(tide_trial_config *config, const char *device) {
    tide_trial_config_init(config);
    tide_model_config *model = &config->workload.model;
    model->vocab_size = 100;
    model->d_model = 32;
    model->d_ff = 64;
    model->n_layers = 2;
    model->n_heads = 2;
    model->context_length = 16;
    model->batch_size = 2;
    config->workload.warmup_steps = 1;
    config->workload.steps = 2;
    config->device = device;
}

static void here_and_apart_give_the_same_bytes(void **state) {
    (void)state;
    const tide_trial_apart program = {.program = TIDEMARK_PROGRAM};
    tide_trial_config config;
    tide_trial_result here;
    tide_trial_result apart;
    tiny(&config, "virtual");
    config.workload.recompute = TIDE_RECOMPUTE_BLOCK;
    config.workload.precision = TIDE_PRECISION_BF16_MIXED;
    config.workload.clip_grad_norm = 1.0;
    tide_trial_run(&config, &here);
    tide_trial_run_apart(&config, &program, &apart);
    assert_int_equal(here.outcome, TIDE_TRIAL_COMPLETED);
    assert_int_equal(apart.outcome, TIDE_TRIAL_COMPLETED);
    assert_int_equal(here.requested_peak_bytes,
                     tide_workload_requested_peak_bytes(&config.workload));
    assert_int_equal(apart.requested_peak_bytes, here.requested_peak_bytes);
    assert_int_equal(apart.allocated_peak_bytes, here.allocated_peak_bytes);
    assert_int_equal(apart.reserved_peak_bytes, here.reserved_peak_bytes);
    assert_true(here.requested_peak_bytes > 0 && apart.host_peak_bytes > 0);
    assert_int_equal(apart.n_tokens, 32);
    assert_true(apart.flops > 0.0 && fabs(apart.flops - here.flops) < 0.5);
    /* Nothing was computed, and so nothing has a time. */
    assert_int_equal(apart.n_samples, 0);
    assert_true(apart.ms[TIDE_TIMED_STEP].mean < 0.0 && apart.tokens_per_second < 0.0);
    assert_string_equal(apart.environment.device_kind, "virtual");
    assert_string_equal(apart.environment.tool, here.environment.tool);
    tide_trial_result_fini(&here);
    tide_trial_result_fini(&apart);
}

static void what_computes_has_times(void **state) {
    (void)state;
    const tide_trial_apart program = {.program = TIDEMARK_PROGRAM};
    tide_trial_config config;
    tide_trial_result result;
    tiny(&config, "cpu");
    config.workload.mode = TIDE_FORWARD;
    tide_trial_run_apart(&config, &program, &result);
    assert_int_equal(result.outcome, TIDE_TRIAL_COMPLETED);
    assert_int_equal(result.n_samples, 2);
    assert_non_null(result.host_ms[TIDE_TIMED_FORWARD]);
    assert_null(result.host_ms[TIDE_TIMED_BACKWARD]);
    double step_ms = result.ms[TIDE_TIMED_STEP].mean;
    assert_true(step_ms > 0.0 && result.ms[TIDE_TIMED_STEP].std >= 0.0);
    assert_true(fabs(result.tokens_per_second - 32.0 / (step_ms * 1e-3)) < 1e-6);
    assert_true(fabs(result.achieved_flops - result.flops / (step_ms * 1e-3)) < 1.0);
    assert_true(result.peak_share < 0.0); /* nobody states the peak of this machine's cpu */
    assert_true(result.environment.computed_by[0] != '\0');
    tide_trial_result_fini(&result);
}

static void what_does_not_fit_says_so(void **state) {
    (void)state;
    const tide_trial_apart program = {.program = TIDEMARK_PROGRAM};
    tide_trial_config config;
    tide_trial_result result;
    tiny(&config, "virtual");
    config.memory_limit_bytes = (uint64_t)3 << 20;
    config.workload.model.batch_size = 64;
    tide_trial_run_apart(&config, &program, &result);
    assert_int_equal(result.outcome, TIDE_TRIAL_OOM);
    assert_true(result.asked_bytes > 0);
    assert_true(result.segment_bytes > result.free_bytes); /* that is why */
    assert_true(result.free_bytes >= 0 && result.free_bytes <= 3 << 20);
    assert_true(result.reserved_peak_bytes <= 3 << 20);
    assert_true(strstr(result.reason, "out of memory") != NULL);
    assert_null(strchr(result.reason, '\n'));
    tide_trial_result_fini(&result);
}

static void what_the_device_cannot_do_is_not_supported(void **state) {
    (void)state;
    tide_trial_config config;
    tide_trial_result result;
    tiny(&config, "cpu");
    config.workload.precision = TIDE_PRECISION_TF32;
    tide_trial_run(&config, &result);
    assert_int_equal(result.outcome, TIDE_TRIAL_UNSUPPORTED);
    assert_true(strstr(result.reason, "tf32") != NULL);
    tide_trial_result_fini(&result);
    tiny(&config, "virtual");
    config.workload.model.n_heads = 5; /* does not divide 32 */
    tide_trial_run(&config, &result);
    assert_int_equal(result.outcome, TIDE_TRIAL_UNSUPPORTED);
    assert_true(result.reason[0] != '\0');
    tide_trial_result_fini(&result);
}

/* Makes an executable script, which stands for the program. */
static void make_script(const char *text, char path[64]) {
    snprintf(path, 64, "/tmp/tidemark-trial-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

static void run_script(const char *text, tide_trial_result *ret) {
    char path[64];
    tide_trial_config config;
    make_script(text, path);
    const tide_trial_apart program = {.program = path};
    tiny(&config, "virtual");
    tide_trial_run_apart(&config, &program, ret);
    (void)unlink(path);
}

static void a_crash_is_a_result_that_names_the_signal(void **state) {
    (void)state;
    tide_trial_result result;
    run_script("printf '{\"outcome\":\"completed\"' >&3; kill -SEGV $$", &result);
    assert_int_equal(result.outcome, TIDE_TRIAL_CRASHED);
    assert_int_equal(result.signal_number, SIGSEGV);
    assert_true(strstr(result.reason, "signal 11") != NULL);
    assert_int_equal(result.requested_peak_bytes, -1);
    assert_true(result.environment.tool[0] != '\0' && result.environment.host.n_cpus > 0);
    tide_trial_result_fini(&result);
    run_script("exit 9", &result);
    assert_int_equal(result.outcome, TIDE_TRIAL_CRASHED);
    assert_true(strstr(result.reason, "exit status 9") != NULL);
    tide_trial_result_fini(&result);
}

static void half_a_result_is_none(void **state) {
    (void)state;
    static const char *const SCRIPTS[] = {"true", "printf '{\"outcome\":\"comp' >&3",
                                          "printf '{\"outcome\":\"completed\"}' >&3",
                                          "printf '[]' >&3"};
    for (size_t i = 0; i < sizeof(SCRIPTS) / sizeof(SCRIPTS[0]); i++) {
        tide_trial_result result;
        run_script(SCRIPTS[i], &result);
        assert_int_equal(result.outcome, TIDE_TRIAL_CRASHED);
        assert_int_equal(result.signal_number, 0);
        assert_true(strstr(result.reason, "without a result") != NULL);
        tide_trial_result_fini(&result);
    }
}

static void a_program_that_is_not_there_is_told(void **state) {
    (void)state;
    const tide_trial_apart program = {.program = "/nowhere/tidemark"};
    tide_trial_config config;
    tide_trial_result result;
    tiny(&config, "virtual");
    tide_trial_run_apart(&config, &program, &result);
    assert_int_equal(result.outcome, TIDE_TRIAL_CRASHED);
    assert_true(strstr(result.reason, "exit status 127") != NULL);
    tide_trial_result_fini(&result);
}

static void a_snapshot_is_kept_or_saved(void **state) {
    (void)state;
    char path[64];
    tide_trial_config config;
    tide_trial_result result;
    tiny(&config, "virtual");
    config.records = true;
    config.keeps_snapshot = true;
    tide_trial_run(&config, &result);
    assert_int_equal(result.outcome, TIDE_TRIAL_COMPLETED);
    assert_non_null(result.snapshot);
    assert_true(result.snapshot->n_events > 0);
    assert_string_equal(result.snapshot_path, "");
    tide_trial_result_fini(&result);
    make_script("", path); /* a name that is free */
    const tide_trial_apart program = {.program = TIDEMARK_PROGRAM};
    config.snapshot_path = path;
    tide_trial_run_apart(&config, &program, &result);
    assert_int_equal(result.outcome, TIDE_TRIAL_COMPLETED);
    assert_string_equal(result.snapshot_path, path);
    assert_null(result.snapshot);
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    assert_true(file.st_size > 1000);
    (void)unlink(path);
    tide_trial_result_fini(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(here_and_apart_give_the_same_bytes),
        cmocka_unit_test(what_computes_has_times),
        cmocka_unit_test(what_does_not_fit_says_so),
        cmocka_unit_test(what_the_device_cannot_do_is_not_supported),
        cmocka_unit_test(a_crash_is_a_result_that_names_the_signal),
        cmocka_unit_test(half_a_result_is_none),
        cmocka_unit_test(a_program_that_is_not_there_is_told),
        cmocka_unit_test(a_snapshot_is_kept_or_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
