/* The description of a run in its snapshot. */
#include "model/peak.h"
#include "model/run/session_internal.h"

/* Bytes as files have them: signed. */
static int64_t clamp(uint64_t n_bytes) {
    return n_bytes > INT64_MAX ? INT64_MAX : (int64_t)n_bytes;
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

static void describe_workload(const tide_workload_config *workload, tide_snapshot_run *ret_run) {
    bool is_mlp = workload->architecture == TIDE_MLP;
    ret_run->model = describe_model(workload);
    ret_run->keep_graph = workload->keep_graph;
    ret_run->cuda_graph = workload->cuda_graph;
    ret_run->context_length = is_mlp ? -1 : (int64_t)workload->model.context_length;
    ret_run->seed = (int64_t)workload->seed;
    ret_run->clip_grad_norm = workload->clip_grad_norm > 0.0 ? workload->clip_grad_norm : -1.0;
}

void tide_run_describe(const tide_run_config *config, const tide_cache_config *cache,
                       const tide_run_environment *environment, tide_snapshot_run *ret_run) {
    const tide_run_recording *recording = &config->recording;
    const tide_host_info *host = &environment->host;
    const tide_workload_config *model = tide_run_workload_model(&config->workload);
    tide_run_labels labels;
    if (recording->description != NULL) {
        *ret_run = *recording->description;
        return;
    }
    tide_run_workload_labels(&config->workload, &labels);
    *ret_run = (tide_snapshot_run){.command = recording->command != NULL ? recording->command : "",
                                   .started_unix_us = -1,
                                   .precision = labels.precision,
                                   .mode = labels.mode,
                                   .attention = labels.attention,
                                   .recompute = labels.recompute,
                                   .implementation = tide_run_model_implementation(model),
                                   .batch_size = labels.batch_size,
                                   .context_length = -1,
                                   .memory_limit_bytes = cache->memory_limit_bytes == TIDE_UNLIMITED
                                                             ? -1
                                                             : clamp(cache->memory_limit_bytes),
                                   .clip_grad_norm = -1.0,
                                   .outcome = tide_outcome_in_snapshot(TIDE_OUTCOME_COMPLETED),
                                   .host_name = host->name,
                                   .host_os = host->os,
                                   .host_cpu = host->cpu,
                                   .host_n_cpus = host->n_cpus,
                                   .host_total_bytes = host->total_bytes};
    describe_workload(model, ret_run);
}

/* Whether the measured steps have a time of this phase. */
static bool has_phase(const tide_workload_config *workload, size_t phase) {
    if (workload->cuda_graph && phase != TIDE_TIMED_STEP) {
        return false; /* a graph is launched as a whole */
    }
    switch (phase) {
    case TIDE_TIMED_BACKWARD:
        return workload->mode != TIDE_FORWARD;
    case TIDE_TIMED_OPTIMIZER:
        return workload->mode == TIDE_TRAIN;
    default:
        return true;
    }
}

void tide_run_describe_timing(const tide_workload_config *model, const tide_workload_result *timed,
                              const tide_device_info *device, double recorder_ns_per_event,
                              tide_run_timing *ret_timing) {
    bool computes = device != NULL && device->computes;
    size_t n_phases = 0;
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        if (has_phase(model, i)) {
            ret_timing->phases[n_phases++] =
                (tide_snapshot_phase){.name = tide_run_phase_name(i),
                                      .n_samples = computes ? timed->n_samples : 0,
                                      .host_ms = timed->host_ms[i],
                                      .device_ms = timed->device_ms[i]};
        }
    }
    ret_timing->timing = (tide_snapshot_timing){
        .warmup_steps = (int64_t)model->warmup_steps,
        .measured_steps = (int64_t)model->steps,
        .phases = ret_timing->phases,
        .n_phases = n_phases,
        .phases_synced = model->sync_phases,
        .flops = tide_workload_step_flops(model),
        .stated_peak_flops =
            computes ? tide_stated_peak_flops(device->name, model->precision) : -1.0,
        .recorder_ns_per_event = recorder_ns_per_event,
        .losses = timed->losses,
        .n_losses = timed->n_losses,
        .scales_loss = timed->scales_loss,
        .loss_scale = timed->loss_scale,
        .n_skipped_steps = timed->n_skipped_steps};
}
