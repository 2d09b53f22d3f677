/* Results: their initial values, the figures that follow from their samples, and their values after
 * a failure. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "device/peaks.h"
#include "programs/runs/run_friend.h"

void tide_run_config_init(tide_run_config *config) {
    *config = (tide_run_config){
        .limits = {.device = "virtual", .memory_limit_bytes = TIDE_RUN_UNLIMITED},
        .recording = {.ns_per_event = -1.0},
    };
    tide_run_workload_init(&config->workload, &tide_run_program_kind);
    tide_recorder_config_init(&config->recording.recorder);
}

void tide_run_result_init(tide_run_result *result) {
    *result = (tide_run_result){
        .outcome = TIDE_OUTCOME_FAILED,
        .asked_bytes = -1,
        .segment_bytes = -1,
        .free_bytes = -1,
        .memory = TIDE_RUN_MEMORY_UNKNOWN,
        .program = TIDE_RUN_NO_PROGRAM,
        .device_used_bytes = -1,
        .device_used_before_bytes = -1,
        .host_peak_bytes = -1,
        .loss = NAN,
        .loss_scale = -1.0,
        .n_skipped_steps = -1,
        .flops = -1.0,
        .stated_peak_flops = -1.0,
        .started_unix_us = -1,
        .recorder_ns_per_event = -1.0,
    };
    tide_run_environment_init(&result->environment);
    tide_run_derive(result);
}

void tide_run_result_fini(tide_run_result *result) {
    for (size_t i = 0; result->mem != NULL && i < TIDE_N_TIMED; i++) {
        result->mem->release(result->mem->ctx, result->host_ms[i]);
        result->mem->release(result->mem->ctx, result->device_ms[i]);
    }
    for (size_t i = 0; i < result->n_parts; i++) {
        tide_run_result_fini(&result->parts[i]);
    }
    const tide_hostmem *mem = tide_hostmem_default();
    mem->release(mem->ctx, result->parts);
    tide_snapshot_destroy(result->snapshot);
    tide_run_time_release(result);
    tide_run_result_init(result);
}

void tide_run_derive(tide_run_result *result) {
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        size_t n = result->host_ms[i] != NULL ? result->n_samples : 0;
        result->ms[i] = tide_statistics_of(result->device_ms[i], n);
        if (result->ms[i].mean < 0.0) { /* the device has no clock */
            result->ms[i] = tide_statistics_of(result->host_ms[i], n);
        }
    }
    double step_s = result->ms[TIDE_TIMED_STEP].mean * 1e-3;
    bool has_times = step_s > 0.0;
    result->tokens_per_second = has_times ? (double)result->n_tokens / step_s : -1.0;
    result->achieved_flops = has_times && result->flops > 0.0 ? result->flops / step_s : -1.0;
    result->peak_share = tide_stated_peak_share(result->flops, step_s, result->stated_peak_flops);
}

void tide_run_fail(tide_run_result *result, tide_outcome outcome, tide_status status,
                   const char *message) {
    const char *text = message[0] != '\0' ? message : tide_status_text(status);
    result->outcome = outcome;
    result->status = status;
    snprintf(result->error.message, sizeof(result->error.message), "%s", text);
    /* A row of a table or of a file of rows must stay on one line. */
    snprintf(result->reason, sizeof(result->reason), "%.*s", (int)strcspn(text, "\n"), text);
}

void tide_run_result_refuse(tide_run_result *result, tide_status status, const char *message) {
    tide_run_fail(result, TIDE_OUTCOME_UNSUPPORTED, status, message);
    result->started_unix_us = tide_clock_unix_us();
    tide_run_environment_set_program(&result->environment);
}
