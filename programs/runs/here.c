/* Runs in this process, of every kind of workload. */
#include <stdio.h>

#include "common/clock.h"
#include "common/files/text_file.h"
#include "programs/runs/run_friend.h"

static const tide_run_hooks NO_HOOKS = {.ctx = NULL};

/* The peak of resident memory; -1 if the kernel does not state it. getrusage's figure would also
 * count the process before its exec. */
static int64_t host_peak_bytes(void) {
    char text[64];
    unsigned long long kib = 0;
    if (!tide_text_file_value("/proc/self/status", "VmHWM:", ':', text, sizeof(text)) ||
        sscanf(text, "%llu", &kib) != 1 || kib > INT64_MAX / 1024) {
        return -1;
    }
    return (int64_t)kib * 1024;
}

static void run(const tide_run_config *config, const tide_run_hooks *hooks,
                tide_run_result *result) {
    tide_error error = {""};
    const char *path = config->recording.snapshot_path;
    tide_status status = tide_run_workload_check(&config->workload, &error);
    if (status == TIDE_OK && path != NULL &&
        snprintf(NULL, 0, "%s", path) >= (int)TIDE_RUN_PATH_BYTES) {
        status = tide_fail(&error, TIDE_LIMIT, "the path of the snapshot is longer than %d bytes",
                           (int)TIDE_RUN_PATH_BYTES - 1);
    }
    result->n_tokens = tide_run_workload_n_tokens(&config->workload);
    if (status != TIDE_OK) {
        tide_run_fail(result, tide_outcome_of_status(status), status, error.message);
        return;
    }
    config->workload.kind->here(config, hooks, result);
}

void tide_run_here(const tide_run_config *config, const tide_run_hooks *hooks,
                   tide_run_result *ret_result) {
    tide_run_result_init(ret_result);
    ret_result->started_unix_us = tide_clock_unix_us();
    tide_run_environment_set_program(&ret_result->environment);
    run(config, hooks != NULL ? hooks : &NO_HOOKS, ret_result);
    tide_run_derive(ret_result);
    if (config->workload.kind->is_in_this_process) {
        ret_result->host_peak_bytes = host_peak_bytes();
    }
}

/* TIDE_OK if the outcome answers "does it fit?"; otherwise its status and message. */
static tide_status answer_of(const tide_run_result *result, tide_error *error) {
    if (result->outcome == TIDE_OUTCOME_COMPLETED || result->outcome == TIDE_OUTCOME_OOM) {
        return TIDE_OK;
    }
    return tide_fail(error, result->status != TIDE_OK ? result->status : TIDE_DEVICE_FAILED, "%s",
                     result->error.message);
}

tide_status tide_run_try(const tide_run_config *config, bool *ret_fits, tide_run_memory *ret_memory,
                         tide_error *error) {
    tide_run_config unrecorded = *config;
    tide_run_result result;
    tide_run_result_init(&result);
    unrecorded.recording = (tide_run_recording){.ns_per_event = -1.0};
    run(&unrecorded, &NO_HOOKS, &result);
    tide_status status = answer_of(&result, error);
    if (status == TIDE_OK) {
        *ret_fits = result.outcome == TIDE_OUTCOME_COMPLETED;
        *ret_memory = result.memory;
    }
    tide_run_result_fini(&result);
    return status;
}

tide_status tide_run_record(const tide_run_config *config, tide_run_memory *ret_memory,
                            tide_snapshot **ret_snapshot, tide_error *error) {
    tide_run_config recorded = *config;
    tide_run_result result;
    recorded.limits.ignores_device = true;
    recorded.limits.memory_limit_bytes = TIDE_RUN_UNLIMITED;
    recorded.recording = (tide_run_recording){.is_on = true,
                                              .keeps_snapshot = true,
                                              .ns_per_event = -1.0,
                                              .description = config->recording.description};
    tide_recorder_config_init(&recorded.recording.recorder);
    recorded.recording.recorder.capture_stacks = false;
    recorded.recording.recorder.log_path =
        ""; /* the log stays in memory, even if the environment names a file */
    tide_run_here(&recorded, NULL, &result);
    tide_status status = answer_of(&result, error);
    if (status == TIDE_OK) {
        if (ret_memory != NULL) {
            *ret_memory = result.memory;
        }
        *ret_snapshot = result.snapshot;
        result.snapshot = NULL;
    }
    tide_run_result_fini(&result);
    return status;
}
