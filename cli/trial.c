#include "cli/trial.h"

#include <stdio.h>
#include <string.h>

#include "cli/profile/internal.h"
#include "cli/trial_internal.h"
#include "common/clock.h"
#include "common/text_file.h"
#include "model/peak.h"

static const char *const OUTCOMES[TIDE_N_TRIAL_OUTCOMES] = {
    "completed", "out of memory", "host too small", "not supported", "failed", "crashed", "stopped",
};

static const char *const PHASES[TIDE_N_TIMED] = {"forward", "backward", "optimizer", "step"};

const char *tide_trial_phase_name(size_t phase) {
    return PHASES[phase];
}

int tide_trial_phase_from_name(const char *name) {
    for (int i = 0; i < TIDE_N_TIMED; i++) {
        if (strcmp(PHASES[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

const char *tide_trial_outcome_name(int outcome) {
    return outcome >= 0 && outcome < TIDE_N_TRIAL_OUTCOMES ? OUTCOMES[outcome] : "?";
}

int tide_trial_outcome_from_name(const char *name) {
    for (int i = 0; i < TIDE_N_TRIAL_OUTCOMES; i++) {
        if (strcmp(OUTCOMES[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

void tide_trial_config_init(tide_trial_config *config) {
    *config = (tide_trial_config){.device = "virtual", .memory_limit_bytes = TIDE_TRIAL_UNLIMITED};
    tide_workload_config_init(&config->workload);
}

void tide_trial_result_init(tide_trial_result *result) {
    *result = (tide_trial_result){
        .outcome = TIDE_TRIAL_FAILED,
        .status = TIDE_OK,
        .asked_bytes = -1,
        .segment_bytes = -1,
        .free_bytes = -1,
        .requested_peak_bytes = -1,
        .allocated_peak_bytes = -1,
        .reserved_peak_bytes = -1,
        .device_used_bytes = -1,
        .device_used_before_bytes = -1,
        .host_peak_bytes = -1,
        .flops = -1.0,
        .stated_peak_flops = -1.0,
        .started_unix_us = -1,
        .environment = {.device_total_bytes = -1,
                        .compute_capability = -1,
                        .driver_version = -1,
                        .runtime_version = -1,
                        .sm_clock_khz = -1,
                        .memory_clock_khz = -1,
                        .host = {.n_cpus = -1, .total_bytes = -1}},
    };
    tide_trial_derive(result);
}

void tide_trial_result_fini(tide_trial_result *result) {
    for (size_t i = 0; result->mem != NULL && i < TIDE_N_TIMED; i++) {
        result->mem->release(result->mem->ctx, result->host_ms[i]);
        result->mem->release(result->mem->ctx, result->device_ms[i]);
    }
    tide_snapshot_destroy(result->snapshot);
    tide_trial_result_init(result);
}

void tide_trial_derive(tide_trial_result *result) {
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        size_t n = result->host_ms[i] != NULL ? result->n_samples : 0;
        result->ms[i] = tide_statistics_of(result->device_ms[i], n);
        if (result->ms[i].mean < 0.0) {
            result->ms[i] = tide_statistics_of(result->host_ms[i], n);
        }
    }
    double step_s = result->ms[TIDE_TIMED_STEP].mean * 1e-3;
    bool has_times = step_s > 0.0;
    result->tokens_per_second = has_times ? (double)result->n_tokens / step_s : -1.0;
    result->achieved_flops = has_times && result->flops > 0.0 ? result->flops / step_s : -1.0;
    result->peak_share = tide_stated_peak_share(result->flops, step_s, result->stated_peak_flops);
}

void tide_trial_fail(tide_trial_result *result, tide_trial_outcome outcome, tide_status status,
                     const char *message) {
    const char *text = message[0] != '\0' ? message : tide_status_text(status);
    result->outcome = outcome;
    result->status = status;
    snprintf(result->reason, sizeof(result->reason), "%.*s", (int)strcspn(text, "\n"), text);
}

/* ---- where and by what ---- */

void tide_trial_describe_program(tide_trial_environment *ret) {
    snprintf(ret->tool, sizeof(ret->tool), "tidemark %s", TIDEMARK_VERSION);
    snprintf(ret->build, sizeof(ret->build), "%s", TIDEMARK_BUILD);
    tide_host_get_info(&ret->host);
}

void tide_trial_environment_describe(const tide_device_info *device, const char *computed_by,
                                     tide_trial_environment *ret_environment) {
    tide_trial_environment *ret = ret_environment;
    *ret = (tide_trial_environment){.device_total_bytes = -1,
                                    .compute_capability = -1,
                                    .driver_version = -1,
                                    .runtime_version = -1,
                                    .sm_clock_khz = -1,
                                    .memory_clock_khz = -1};
    if (device != NULL) {
        snprintf(ret->device_kind, sizeof(ret->device_kind), "%s",
                 tide_device_kind_name(device->kind));
        snprintf(ret->device_name, sizeof(ret->device_name), "%s", device->name);
        /* That of the cpu device is what the host had free then: another figure each time. */
        ret->device_total_bytes = device->kind == TIDE_DEVICE_CPU ? -1 : device->total_bytes;
        ret->compute_capability = device->compute_capability;
        ret->driver_version = device->driver_version;
        ret->runtime_version = device->runtime_version;
        ret->sm_clock_khz = device->sm_clock_khz;
        ret->memory_clock_khz = device->memory_clock_khz;
        if (device->kind == TIDE_DEVICE_CUDA) {
            (void)tide_text_file_value("/proc/driver/nvidia/version", "NVRM version", ':',
                                       ret->driver, sizeof(ret->driver));
        }
    }
    snprintf(ret->computed_by, sizeof(ret->computed_by), "%s", computed_by);
    tide_trial_describe_program(ret);
}

void tide_trial_refuse(tide_trial_result *result, tide_status status, const char *message) {
    tide_trial_fail(result, TIDE_TRIAL_UNSUPPORTED, status, message);
    result->started_unix_us = tide_clock_unix_us();
    tide_trial_describe_program(&result->environment);
}

/* The most memory that was resident; -1 where the kernel does not tell. Not getrusage's: that
 * counts what the process was before its exec, too. */
static int64_t host_peak_bytes(void) {
    char text[64];
    unsigned long long kib = 0;
    if (!tide_text_file_value("/proc/self/status", "VmHWM:", ':', text, sizeof(text)) ||
        sscanf(text, "%llu", &kib) != 1 || kib > INT64_MAX / 1024) {
        return -1;
    }
    return (int64_t)kib * 1024;
}

/* ---- the run ---- */

static int64_t countable(uint64_t n_bytes) {
    return n_bytes > INT64_MAX ? -1 : (int64_t)n_bytes;
}

/* The samples of one phase; NULL where there is no memory. */
static double *copy_samples(const tide_hostmem *mem, const double *samples, size_t n) {
    double *copy = tide_hostmem_zeroed(mem, n > 0 ? n : 1, sizeof(*copy));
    if (copy != NULL && n > 0) {
        memcpy(copy, samples, n * sizeof(*copy));
    }
    return copy;
}

static tide_status take_samples(const tide_snapshot *snapshot, tide_trial_result *result) {
    result->mem = tide_hostmem_default();
    for (size_t i = 0; i < snapshot->timing.n_phases; i++) {
        const tide_snapshot_phase *phase = &snapshot->timing.phases[i];
        int timed = tide_trial_phase_from_name(phase->name);
        if (timed < 0) {
            continue;
        }
        result->n_samples = phase->n_samples;
        result->host_ms[timed] = copy_samples(result->mem, phase->host_ms, phase->n_samples);
        result->device_ms[timed] = copy_samples(result->mem, phase->device_ms, phase->n_samples);
        if (result->host_ms[timed] == NULL || result->device_ms[timed] == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    return TIDE_OK;
}

static void judge(const tide_profile_run *run, tide_trial_result *result) {
    switch (run->outcome) {
    case TIDE_RUN_COMPLETED:
        result->outcome = TIDE_TRIAL_COMPLETED;
        return;
    case TIDE_RUN_STOPPED:
        tide_trial_fail(result, TIDE_TRIAL_STOPPED, TIDE_OK, "interrupted");
        return;
    case TIDE_RUN_OOM:
        tide_trial_fail(result, TIDE_TRIAL_OOM, run->status, run->error.message);
        result->asked_bytes = countable(run->oom.requested_bytes);
        result->segment_bytes = countable(run->oom.segment_bytes);
        result->free_bytes = countable(run->oom.free_bytes);
        return;
    case TIDE_RUN_NO_HOST:
        tide_trial_fail(result, TIDE_TRIAL_NO_HOST, run->status, run->error.message);
        result->asked_bytes = countable(run->need_bytes);
        result->free_bytes = countable(run->available_bytes);
        return;
    case TIDE_RUN_FAILED:
        break;
    }
    bool is_refused =
        run->status == TIDE_UNSUPPORTED || run->status == TIDE_INVALID || run->status == TIDE_LIMIT;
    tide_trial_fail(result, is_refused ? TIDE_TRIAL_UNSUPPORTED : TIDE_TRIAL_FAILED, run->status,
                    run->error.message);
}

/* What the finished run knows. */
static void take_figures(const tide_trial_config *config, tide_profile_run *run,
                         tide_trial_result *result) {
    const tide_model_config *model = &run->workload.model;
    bool was_run = run->outcome != TIDE_RUN_NO_HOST && run->outcome != TIDE_RUN_FAILED;
    judge(run, result);
    if (was_run) {
        result->requested_peak_bytes = run->requested_peak_bytes;
        result->allocated_peak_bytes = run->allocated_peak_bytes;
        result->reserved_peak_bytes = run->reserved_peak_bytes;
        result->device_used_bytes = run->device_used_bytes;
        result->device_used_before_bytes = run->device_used_before_bytes;
    }
    /* An MLP has a row where a transformer has a sequence of tokens. */
    result->n_tokens = (int64_t)(run->workload.architecture == TIDE_MLP
                                     ? model->batch_size
                                     : model->batch_size * model->context_length);
    tide_trial_environment_describe(run->device.spec[0] != '\0' ? &run->device : NULL,
                                    run->computed_by, &result->environment);
    if (run->snapshot != NULL) {
        result->flops = run->snapshot->timing.flops;
        if (take_samples(run->snapshot, result) != TIDE_OK) {
            tide_trial_fail(result, TIDE_TRIAL_FAILED, TIDE_NO_MEMORY, "");
        }
    }
    if (run->device.spec[0] != '\0' && run->device.computes) {
        result->stated_peak_flops =
            tide_stated_peak_flops(run->device.name, run->workload.precision);
    }
    if (run->is_saved) {
        snprintf(result->snapshot_path, sizeof(result->snapshot_path), "%s", run->path);
    }
    if (config->keeps_snapshot) {
        result->snapshot = run->snapshot;
        run->snapshot = NULL;
    }
    tide_trial_derive(result);
}

static tide_status check_model(const tide_workload_config *workload, tide_error *error) {
    tide_mlp_config mlp;
    if (workload->architecture != TIDE_MLP) {
        return tide_model_config_check(&workload->model, error);
    }
    tide_workload_mlp(workload, &mlp);
    return tide_mlp_config_check(&mlp, error);
}

/* Options and plan of a list of one run. */
static tide_status prepare(const tide_trial_config *config, tide_profile_options *options,
                           tide_profile_plan *plan, tide_profile_run *run, tide_error *error) {
    tide_profile_options_init(options);
    options->device = config->device;
    options->alloc_conf = config->alloc_conf;
    options->memory_limit_bytes = config->memory_limit_bytes == TIDE_TRIAL_UNLIMITED
                                      ? TIDE_NOT_GIVEN
                                      : config->memory_limit_bytes;
    options->no_record = !config->records && config->snapshot_path == NULL;
    options->overhead_pairs = 0;
    options->strip_private = config->strip_private;
    *plan = (tide_profile_plan){.options = options,
                                .command = config->command != NULL ? config->command : "",
                                .runs = run,
                                .n_runs = 1,
                                .recorder_ns_per_event = -1.0,
                                .is_quiet = true};
    *run = (tide_profile_run){
        .workload = config->workload, .device_used_bytes = -1, .device_used_before_bytes = -1};
    tide_profile_name(&config->workload, run->name);
    snprintf(plan->device, sizeof(plan->device), "%s", config->device);
    if (config->snapshot_path != NULL) {
        if (strlen(config->snapshot_path) >= sizeof(run->path)) {
            return tide_fail(error, TIDE_LIMIT, "the path of the snapshot is longer than %zu bytes",
                             sizeof(run->path) - 1);
        }
        snprintf(run->path, sizeof(run->path), "%s", config->snapshot_path);
    }
    TIDE_TRY(check_model(&config->workload, error));
    return tide_profile_configure_cache(options, &plan->cache, error);
}

void tide_trial_run(const tide_trial_config *config, tide_trial_result *ret_result) {
    tide_profile_options options;
    tide_profile_plan plan;
    tide_profile_run *run = tide_hostmem_zeroed(tide_hostmem_default(), 1, sizeof(*run));
    tide_trial_result_init(ret_result);
    ret_result->started_unix_us = tide_clock_unix_us();
    if (run == NULL) {
        tide_trial_fail(ret_result, TIDE_TRIAL_FAILED, TIDE_NO_MEMORY, "");
        return;
    }
    tide_error error = {""};
    tide_status status = prepare(config, &options, &plan, run, &error);
    if (status == TIDE_OK) {
        tide_profile_execute(&plan, run);
    } else {
        run->outcome = TIDE_RUN_FAILED;
        run->status = status;
        run->error = error;
    }
    take_figures(config, run, ret_result);
    tide_snapshot_destroy(run->snapshot);
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, run);
    ret_result->host_peak_bytes = host_peak_bytes();
}
