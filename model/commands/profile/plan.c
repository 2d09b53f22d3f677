/* The runs that a command line names, checked before the first one starts. */
#include <string.h>

#include "model/commands/profile/internal.h"
#include "snapshot/explain/recorder_cost.h"

/* ---- options that only profile has ---- */

static tide_status check_pairs(const tide_profile_options *options, tide_error *error) {
    if (options->overhead_pairs > TIDE_RECORDER_MAX_PAIRS) {
        return tide_fail(error, TIDE_LIMIT, "--overhead-pairs may be at most %d",
                         (int)TIDE_RECORDER_MAX_PAIRS);
    }
    if (options->overhead_pairs > 0 && options->no_record) {
        return tide_fail(
            error, TIDE_INVALID,
            "--overhead-pairs compares recorded with unrecorded steps: leave out --no-record");
    }
    return TIDE_OK;
}

static tide_status check_log(const tide_profile_options *options, tide_error *error) {
    if (options->no_record && (options->log_path != NULL || options->log_bytes != TIDE_NOT_GIVEN ||
                               options->log_full != NULL)) {
        return tide_fail(
            error, TIDE_INVALID,
            "--log, --log-bytes and --log-full configure the recording: leave out --no-record");
    }
    if (options->log_path != NULL && options->log_path[0] == '\0') {
        return tide_fail(error, TIDE_INVALID, "--log: the name of the file is empty");
    }
    if (options->log_bytes > SIZE_MAX / 4 && options->log_bytes != TIDE_NOT_GIVEN) {
        return tide_fail(
            error, TIDE_LIMIT,
            "--log-bytes: this machine cannot address so many bytes; choose a smaller size");
    }
    return TIDE_OK;
}

static tide_status check_recording(const tide_profile_options *options, tide_error *error) {
    if (options->overhead_pairs != TIDE_NOT_GIVEN) {
        TIDE_TRY(check_pairs(options, error));
    }
    TIDE_TRY(check_log(options, error));
    if (options->kernels && options->no_record) {
        return tide_fail(
            error, TIDE_INVALID,
            "--kernels counts kernels by the scopes of the recording: leave out --no-record");
    }
    if (options->snapshot_every == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--snapshot-every 0: a snapshot is written after every K-th step, and K "
                         "must be at least 1");
    }
    return TIDE_OK;
}

/* Refuses options that the device cannot serve. */
static tide_status check_device(const tide_profile_plan *plan, tide_error *error) {
    const tide_profile_options *options = plan->options;
    if (options->overhead_pairs != TIDE_NOT_GIVEN && options->overhead_pairs > 0 &&
        plan->kind == TIDE_DEVICE_VIRTUAL) {
        return tide_fail(error, TIDE_INVALID,
                         "--overhead-pairs compares times, which the virtual device does not have: "
                         "use --device cpu");
    }
    if (options->overhead_pairs != TIDE_NOT_GIVEN && options->overhead_pairs > 0 &&
        options->cuda_graph) {
        return tide_fail(error, TIDE_INVALID,
                         "--overhead-pairs compares recorded steps with unrecorded ones, and the "
                         "replay of a graph records nothing: leave one of the two out");
    }
    if (strcmp(options->run.emulate, "pytorch") == 0 && plan->kind != TIDE_DEVICE_VIRTUAL) {
        return tide_fail(error, TIDE_INVALID,
                         "--emulate pytorch makes PyTorch's allocations without computing: use "
                         "--device virtual or virtual:CARD");
    }
    if (options->profiler_range && plan->kind != TIDE_DEVICE_CUDA) {
        return tide_fail(error, TIDE_INVALID,
                         "--profiler-range starts the CUDA profiler, which cannot observe the "
                         "device %s: use --device cuda",
                         plan->device);
    }
    if (options->kernels && plan->kind != TIDE_DEVICE_CUDA) {
        return tide_fail(error, TIDE_INVALID,
                         "--kernels traces the kernels of a GPU, and the device %s is not a GPU: "
                         "use --device cuda",
                         plan->device);
    }
    return TIDE_OK;
}

/* ---- the plan ---- */

/* Sets how each run is recorded. */
static tide_status configure_recording(const tide_profile_plan *plan, const char *command,
                                       tide_run_recording *recording, tide_error *error) {
    const tide_profile_options *options = plan->options;
    recording->is_on = !options->no_record;
    recording->keeps_snapshot = true;
    recording->forecasts_time = true;
    recording->command = command;
    recording->recorder.log_path = options->log_path;
    if (options->log_bytes != TIDE_NOT_GIVEN) {
        recording->recorder.log_bytes = (size_t)options->log_bytes;
    }
    if (options->log_full != NULL) {
        recording->recorder.full_policy =
            strcmp(options->log_full, "stop") == 0 ? TIDE_FULL_STOP : TIDE_FULL_KEEP_NEWEST;
    }
    if (options->snapshot_every != TIDE_NOT_GIVEN) {
        recording->snapshot_every = options->snapshot_every;
    }
    /* A list compares runs with each other, so it has pairs only if --overhead-pairs requests
     * them. */
    recording->overhead_pairs = plan->is_list ? 0 : TIDE_RUN_PAIRS_BY_TIME;
    if (options->overhead_pairs != TIDE_NOT_GIVEN) {
        recording->overhead_pairs = (size_t)options->overhead_pairs;
    }
    if (options->snapshot_signal != NULL) {
        tide_status status =
            tide_signal_parse(options->snapshot_signal, &recording->snapshot_signal, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "--snapshot-signal");
            return status;
        }
    }
    return TIDE_OK;
}

static tide_status configure_run(const tide_profile_plan *plan, size_t number, const char *command,
                                 tide_profile_run *run, tide_error *error) {
    const tide_profile_options *options = plan->options;
    tide_workload_config *model = tide_run_model_of(&run->config.workload);
    TIDE_TRY(tide_run_options_configure(&options->run, number, plan->device, &run->config, error));
    model->profiler_range = options->profiler_range;
    model->times_all_scopes = strcmp(options->device_times, "all") == 0;
    model->trace_kernels = options->kernels;
    model->sync_phases = options->sync_phases;
    model->cuda_graph = options->cuda_graph;
    tide_run_workload_name(&run->config.workload, run->name);
    return configure_recording(plan, command, &run->config.recording, error);
}

static tide_status add_runs(tide_profile_plan *plan, const char *command, tide_error *error) {
    size_t n = tide_run_options_n_runs(&plan->options->run);
    if (n > TIDE_PROFILE_MAX_RUNS) {
        return tide_fail(error, TIDE_LIMIT,
                         "the list has %zu runs, more than the limit of %d: split it", n,
                         (int)TIDE_PROFILE_MAX_RUNS);
    }
    plan->runs = tide_hostmem_zeroed(tide_hostmem_default(), n, sizeof(*plan->runs));
    if (plan->runs == NULL) {
        return TIDE_NO_MEMORY;
    }
    plan->n_runs = n;
    plan->is_list = n > 1;
    for (size_t i = 0; i < n; i++) {
        tide_run_result_init(&plan->runs[i].result);
    }
    for (size_t i = 0; i < n; i++) {
        TIDE_TRY(configure_run(plan, i, command, &plan->runs[i], error));
    }
    return TIDE_OK;
}

tide_status tide_profile_plan_init(tide_profile_plan *plan, const tide_profile_options *options,
                                   const char *command, tide_error *error) {
    *plan = (tide_profile_plan){.options = options};
    TIDE_TRY(tide_run_options_check(&options->run, error));
    TIDE_TRY(check_recording(options, error));
    TIDE_TRY(add_runs(plan, command, error));
    TIDE_TRY(tide_pick_device("profile", options->run.device, plan->device, &plan->kind, error));
    TIDE_TRY(check_device(plan, error));
    for (size_t i = 0; i < plan->n_runs; i++) {
        const tide_workload_config *model = tide_run_workload_model(&plan->runs[i].config.workload);
        TIDE_TRY(tide_check_precision(plan->kind, model->precision, error));
        tide_status status = tide_workload_check_graph(model, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "--cuda-graph");
            return status;
        }
    }
    return tide_profile_name_files(plan, error);
}

void tide_profile_plan_fini(tide_profile_plan *plan) {
    const tide_hostmem *mem = tide_hostmem_default();
    for (size_t i = 0; i < plan->n_runs; i++) {
        tide_run_result_fini(&plan->runs[i].result);
    }
    mem->release(mem->ctx, plan->runs);
    *plan = (tide_profile_plan){.options = plan->options};
}
