/* What a snapshot says about the run that made it. */
#include "cli/profile/internal.h"
#include "model/peak.h"
#include "snapshot/implementation.h"

/* Bytes as files and reports have them: signed. */
static int64_t clamp(uint64_t n_bytes) {
    return n_bytes > INT64_MAX ? INT64_MAX : (int64_t)n_bytes;
}

const char *tide_profile_implementation(const tide_workload_config *workload) {
    static const char *const PYTORCH[TIDE_N_EDITIONS] = {
        [TIDE_EDITION_2025] = TIDE_IMPLEMENTATION_PYTORCH "2025",
        [TIDE_EDITION_2026] = TIDE_IMPLEMENTATION_PYTORCH "2026"};
    return workload->emulate == TIDE_EMULATE_PYTORCH ? PYTORCH[workload->edition]
                                                     : TIDE_IMPLEMENTATION_OWN;
}

/* An MLP has neither heads nor vocabulary. */
static tide_snapshot_model describe_model(const tide_workload_config *workload) {
    const tide_model_config *model = &workload->model;
    bool is_mlp = workload->architecture == TIDE_MLP;
    return (tide_snapshot_model){.size = model->size,
                                 .d_model = (int64_t)model->d_model,
                                 .d_ff = is_mlp ? -1 : (int64_t)model->d_ff,
                                 .n_layers = (int64_t)model->n_layers,
                                 .n_heads = is_mlp ? -1 : (int64_t)model->n_heads,
                                 .vocab_size = is_mlp ? -1 : (int64_t)model->vocab_size,
                                 .n_parameters = clamp(tide_workload_n_parameters(workload))};
}

void tide_profile_describe_run(const tide_profile_plan *plan, const tide_profile_run *run,
                               const tide_host_info *host, tide_snapshot_run *ret_run) {
    const tide_workload_config *workload = &run->workload;
    const tide_model_config *model = &workload->model;
    bool is_mlp = workload->architecture == TIDE_MLP;
    *ret_run = (tide_snapshot_run){
        .command = plan->command,
        .started_unix_us = -1,
        .model = describe_model(workload),
        .precision = tide_precision_name((int)workload->precision),
        .mode = tide_mode_name((int)workload->mode),
        .attention = is_mlp ? "" : tide_attention_name((int)workload->attention),
        .recompute = is_mlp ? "" : tide_recompute_name((int)workload->recompute),
        .implementation = tide_profile_implementation(workload),
        .keep_graph = workload->keep_graph,
        .batch_size = (int64_t)model->batch_size,
        .context_length = is_mlp ? -1 : (int64_t)model->context_length,
        .seed = (int64_t)workload->seed,
        .memory_limit_bytes = plan->cache.memory_limit_bytes == TIDE_UNLIMITED
                                  ? -1
                                  : clamp(plan->cache.memory_limit_bytes),
        .clip_grad_norm = workload->clip_grad_norm > 0.0 ? workload->clip_grad_norm : -1.0,
        .outcome = run->outcome == TIDE_RUN_OOM       ? "oom"
                   : run->outcome == TIDE_RUN_STOPPED ? "stopped"
                                                      : "completed",
        .host_name = host->name,
        .host_os = host->os,
        .host_cpu = host->cpu,
        .host_n_cpus = host->n_cpus,
        .host_total_bytes = host->total_bytes};
}

/* Does a step in this mode have this phase? */
static bool has_phase(const tide_workload_config *workload, size_t phase) {
    switch (phase) {
    case TIDE_TIMED_BACKWARD:
        return workload->mode != TIDE_FORWARD;
    case TIDE_TIMED_OPTIMIZER:
        return workload->mode == TIDE_TRAIN;
    default:
        return true;
    }
}

void tide_profile_describe_timing(const tide_profile_plan *plan, const tide_profile_run *run,
                                  const tide_workload_result *result, bool computes,
                                  tide_profile_timing *ret_timing) {
    static const char *const NAMES[TIDE_N_TIMED] = {"forward", "backward", "optimizer", "step"};
    const tide_workload_config *workload = &run->workload;
    size_t n_phases = 0;
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        if (has_phase(workload, i)) {
            ret_timing->phases[n_phases++] =
                (tide_snapshot_phase){.name = NAMES[i],
                                      .n_samples = computes ? result->n_samples : 0,
                                      .host_ms = result->host_ms[i],
                                      .device_ms = result->device_ms[i]};
        }
    }
    ret_timing->timing = (tide_snapshot_timing){
        .warmup_steps = (int64_t)workload->warmup_steps,
        .measured_steps =
            (int64_t)(run->outcome == TIDE_RUN_STOPPED ? result->n_samples : workload->steps),
        .phases = ret_timing->phases,
        .n_phases = n_phases,
        .flops = tide_workload_step_flops(workload),
        .stated_peak_flops =
            computes ? tide_stated_peak_flops(run->device.name, workload->precision) : -1.0,
        .recorder_ns_per_event = plan->recorder_ns_per_event,
        .losses = result->losses,
        .n_losses = result->n_losses};
}
