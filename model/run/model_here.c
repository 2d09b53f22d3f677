/* The engine: one run of our own model: device, recorder, cache, workload, snapshot. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "capture/capture.h"
#include "capture/measure.h"
#include "common/text/bytes.h"
#include "model/peak.h"
#include "model/run/session_internal.h"

/* Notes the first step in which a segment was placed in the host's memory; checked before the first
 * step (n_done SIZE_MAX) and after each. */
static void note_spill(tide_run_session *session, size_t n_done) {
    tide_device_spill spill;
    tide_device_get_spill(session->device, &spill);
    if (spill.n_pieces > 0 && !session->has_spilled) {
        session->has_spilled = true;
        session->spill_step = n_done == SIZE_MAX ? -1 : (int64_t)n_done - 1;
    }
}

/* Reports the progress. A run that is asked to stop ends after its current step, because the
 * recorder's tables are complete only there. */
static bool go_on(void *ctx, size_t n_done, size_t n_total) {
    tide_run_session *session = ctx;
    const tide_run_hooks *hooks = session->hooks;
    if (session->stage == TIDE_RUN_STAGE_STEPS) {
        session->result->n_steps_done = n_done;
        session->result->n_steps = n_total;
        note_spill(session, n_done);
    }
    if (hooks->progress != NULL) {
        hooks->progress(hooks->ctx, session->stage, n_done, n_total);
    }
    tide_run_dumps_step(session, n_done);
    return hooks->shall_stop == NULL || !hooks->shall_stop(hooks->ctx);
}

/* ---- before anything is allocated ---- */

/* On the cpu, the device's memory is the host's: a run that the kernel would kill midway is not
 * started. */
static tide_status check_host(tide_run_session *session, tide_error *error) {
    tide_run_result *result = session->result;
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    if (tide_device_get_info(session->device)->kind != TIDE_DEVICE_CPU) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_device_memory_info(session->device, &free_bytes, &total_bytes, error));
    uint64_t need_bytes = tide_workload_requested_peak_bytes(&session->model);
    /* Under a lower memory limit, the run ends at that limit, not at the host's. */
    if (need_bytes <= free_bytes || session->limits.memory_limit_bytes <= free_bytes) {
        return TIDE_OK;
    }
    char need[TIDE_BYTES_TEXT];
    char have[TIDE_BYTES_TEXT];
    result->outcome = TIDE_OUTCOME_NO_HOST;
    result->asked_bytes = need_bytes > INT64_MAX ? -1 : (int64_t)need_bytes;
    result->free_bytes = free_bytes > INT64_MAX ? -1 : (int64_t)free_bytes;
    return tide_fail(error, TIDE_DEVICE_OOM,
                     "it needs %s at least, and this host has %s free: it was not started; "
                     "--device virtual shows what it would take",
                     tide_bytes_format((int64_t)need_bytes, need),
                     tide_bytes_format((int64_t)free_bytes, have));
}

/* Bytes in use on the whole device; -1 if the device does not report them. */
static int64_t used_bytes(tide_device *device) {
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    if (tide_device_memory_info(device, &free_bytes, &total_bytes, NULL) != TIDE_OK ||
        total_bytes > INT64_MAX || free_bytes > total_bytes) {
        return -1;
    }
    return (int64_t)(total_bytes - free_bytes);
}

static tide_status create_recorder(tide_run_session *session, tide_error *error) {
    const tide_run_recording *recording = &session->config->recording;
    tide_run_result *result = session->result;
    tide_recorder_config config = recording->recorder;
    config.mem = tide_hostmem_default();
    TIDE_TRY(tide_recorder_create(&config, &session->recorder, error));
    const char *missing = tide_recorder_stacks_limited(session->recorder);
    snprintf(result->stacks_limited, sizeof(result->stacks_limited), "%s",
             missing != NULL ? missing : "");
    result->recorder_ns_per_event = recording->ns_per_event;
    if (recording->ns_per_event < 0.0 && config.capture_stacks) {
        /* This figure only informs the reader of the snapshot, so a failure is ignored. */
        double ns = -1.0;
        result->recorder_ns_per_event =
            tide_recorder_measure_ns(NULL, &ns, NULL) == TIDE_OK ? ns : -1.0;
    }
    return TIDE_OK;
}

/* The description of the run is logged immediately, because after a crash only the log remains. */
static tide_status describe_in_log(tide_run_session *session, tide_error *error) {
    tide_snapshot_run description;
    tide_run_describe(session->config, &session->limits, &session->result->environment,
                      &description);
    return tide_capture_describe(session->recorder, session->cache, &description, error);
}

static tide_status prepare(tide_run_session *session, tide_error *error) {
    tide_run_result *result = session->result;
    const tide_run_config *config = session->config;
    TIDE_TRY(tide_run_limits_cache(&config->limits, &session->limits, error));
    TIDE_TRY(tide_run_limits_open(&config->limits, &session->device, error));
    const tide_device_info *device = tide_device_get_info(session->device);
    tide_run_environment_set_device(&result->environment, device, "");
    if (device->computes) {
        result->stated_peak_flops = tide_stated_peak_flops(device->name, session->model.precision);
    }
    result->device_used_before_bytes = used_bytes(session->device);
    TIDE_TRY(check_host(session, error));
    if (config->recording.is_on) {
        TIDE_TRY(create_recorder(session, error));
    }
    TIDE_TRY(tide_cache_create(session->device, session->recorder, &session->limits,
                               &session->cache, error));
    if (session->recorder != NULL) {
        TIDE_TRY(describe_in_log(session, error));
    }
    return tide_run_dumps_begin(session, error);
}

/* ---- the snapshot ---- */

static tide_status save_snapshot(tide_run_session *session, tide_error *error) {
    const tide_run_recording *recording = &session->config->recording;
    tide_run_result *result = session->result;
    if (recording->snapshot_path == NULL) {
        return TIDE_OK;
    }
    if (recording->strip_private) {
        TIDE_TRY(tide_snapshot_strip_private(result->snapshot));
    }
    TIDE_TRY(tide_snapshot_save(result->snapshot, recording->snapshot_path, error));
    snprintf(result->snapshot_path, sizeof(result->snapshot_path), "%s", recording->snapshot_path);
    return TIDE_OK;
}

static tide_status take_snapshot(tide_run_session *session, tide_error *error) {
    const tide_run_recording *recording = &session->config->recording;
    tide_run_result *result = session->result;
    tide_snapshot_run description;
    tide_run_timing timing;
    if (!recording->keeps_snapshot && recording->snapshot_path == NULL) {
        return TIDE_OK;
    }
    tide_run_describe(session->config, &session->limits, &result->environment, &description);
    if (recording->description == NULL) {
        description.started_unix_us = result->started_unix_us;
        description.host_computed_by = result->environment.computed_by;
        description.outcome = tide_outcome_in_snapshot((int)result->outcome);
    }
    tide_run_describe_timing(&session->model, &session->timed,
                             tide_device_get_info(session->device), result->recorder_ns_per_event,
                             &timing);
    if (result->outcome == TIDE_OUTCOME_STOPPED) {
        timing.timing.measured_steps = (int64_t)session->timed.n_samples;
    }
    const tide_capture_options options = {.run = &description, .timing = &timing.timing};
    TIDE_TRY(tide_capture(session->recorder, session->cache, &options, &result->snapshot, error));
    tide_run_compare_recording(session, result->snapshot);
    TIDE_TRY(tide_run_time_add(result));
    return save_snapshot(session, error);
}

/* ---- the run ---- */

static tide_status work(tide_run_session *session, tide_error *error) {
    TIDE_TRY(tide_workload_create(&session->model, session->cache, session->recorder,
                                  &session->workload, error));
    note_spill(session, SIZE_MAX);
    return tide_workload_run(session->workload, &session->timed, error);
}

static void read_peaks(tide_run_session *session) {
    tide_run_result *result = session->result;
    tide_cache_stats stats;
    tide_device_spill spill;
    tide_device_get_spill(session->device, &spill);
    tide_cache_get_stats(session->cache, &stats);
    result->memory =
        (tide_run_memory){.requested_peak_bytes = stats.requested_bytes[TIDE_POOL_ALL].peak,
                          .allocated_peak_bytes = stats.allocated_bytes[TIDE_POOL_ALL].peak,
                          .reserved_peak_bytes = stats.reserved_bytes[TIDE_POOL_ALL].peak,
                          .n_retries = (int64_t)stats.num_alloc_retries,
                          .spill_peak_bytes = -1,
                          .n_spilled = -1,
                          .spill_step = -1};
    if (spill.limit_bytes > 0) {
        note_spill(session, result->n_steps_done + 1); /* the step that found no room */
        result->memory.spill_peak_bytes = (int64_t)spill.peak_bytes;
        result->memory.n_spilled = (int64_t)spill.n_pieces;
        result->memory.spill_step = session->has_spilled ? session->spill_step : -1;
    }
    result->device_used_bytes = used_bytes(session->device);
}

static void read_oom(tide_run_session *session) {
    tide_cache_oom oom;
    tide_run_result *result = session->result;
    if (tide_cache_get_oom(session->cache, &oom)) {
        /* A device without a limit has more free bytes than a file can state. */
        result->asked_bytes = oom.requested_bytes > INT64_MAX ? -1 : (int64_t)oom.requested_bytes;
        result->segment_bytes = oom.segment_bytes > INT64_MAX ? -1 : (int64_t)oom.segment_bytes;
        result->free_bytes = oom.free_bytes > INT64_MAX ? -1 : (int64_t)oom.free_bytes;
    }
}

/* These are copies, because the workload's own samples are released with it. */
static bool copy_samples(const double *from, size_t n, double **ret_copy) {
    *ret_copy = tide_hostmem_zeroed(tide_hostmem_default(), n > 0 ? n : 1, sizeof(**ret_copy));
    if (*ret_copy != NULL && n > 0) {
        memcpy(*ret_copy, from, n * sizeof(*from));
    }
    return *ret_copy != NULL;
}

static tide_status take_samples(tide_run_session *session) {
    tide_run_result *result = session->result;
    const tide_workload_result *timed = &session->timed;
    tide_run_timing timing;
    result->flops = tide_workload_step_flops(&session->model);
    result->loss = timed->n_losses > 0 ? timed->loss : NAN;
    result->mem = tide_hostmem_default();
    tide_run_describe_timing(&session->model, timed, tide_device_get_info(session->device), -1.0,
                             &timing);
    result->loss_scale = timed->scales_loss ? timed->loss_scale : -1.0;
    result->n_skipped_steps = timed->scales_loss ? timed->n_skipped_steps : -1;
    for (size_t i = 0; i < timing.timing.n_phases; i++) { /* the phases that the mode has */
        const tide_snapshot_phase *phase = &timing.phases[i];
        int timed_phase = tide_run_phase_from_name(phase->name);
        result->n_samples = phase->n_samples;
        if (!copy_samples(phase->host_ms, phase->n_samples, &result->host_ms[timed_phase]) ||
            !copy_samples(phase->device_ms, phase->n_samples, &result->device_ms[timed_phase])) {
            return TIDE_NO_MEMORY;
        }
    }
    return TIDE_OK;
}

/* Fills in how the steps ended, and their figures. */
static void judge(tide_run_session *session, tide_status status, const tide_error *error) {
    tide_run_result *result = session->result;
    if (session->workload != NULL) {
        snprintf(result->environment.computed_by, sizeof(result->environment.computed_by), "%s",
                 tide_workload_computed_by(session->workload));
    }
    if (status != TIDE_OK) {
        tide_run_fail(result, tide_outcome_of_status(status), status, error->message);
    } else if (result->n_steps_done < result->n_steps) {
        tide_run_fail(result, TIDE_OUTCOME_STOPPED, TIDE_OK, "interrupted");
    } else {
        result->outcome = TIDE_OUTCOME_COMPLETED;
    }
    if (result->outcome == TIDE_OUTCOME_OOM) {
        read_oom(session);
    }
}

static void end_session(tide_run_session *session) {
    tide_run_dumps_end(session);
    tide_workload_result_fini(&session->timed);
    tide_workload_destroy(session->workload);
    tide_cache_destroy(session->cache);
    tide_recorder_destroy(session->recorder);
    tide_device_close(session->device);
    tide_launch_list_fini(&session->launches);
}

void tide_run_model_here(const tide_run_config *config, const tide_run_hooks *hooks,
                         tide_run_result *result) {
    tide_run_session session = {.config = config,
                                .hooks = hooks,
                                .result = result,
                                .model = *tide_run_workload_model(&config->workload)};
    tide_error error = {""};
    session.model.progress = go_on;
    session.model.progress_ctx = &session;
    tide_status status = prepare(&session, &error);
    if (status != TIDE_OK) {
        bool is_judged = result->outcome == TIDE_OUTCOME_NO_HOST;
        tide_outcome outcome = tide_outcome_of_status(status);
        outcome = outcome == TIDE_OUTCOME_OOM ? TIDE_OUTCOME_FAILED : outcome; /* no step began */
        tide_run_fail(result, is_judged ? TIDE_OUTCOME_NO_HOST : outcome, status, error.message);
        end_session(&session);
        return;
    }
    tide_run_time_begin(&session);
    status = work(&session, &error);
    tide_run_dumps_end(&session);
    judge(&session, status, &error);
    if (result->outcome == TIDE_OUTCOME_COMPLETED || result->outcome == TIDE_OUTCOME_STOPPED ||
        result->outcome == TIDE_OUTCOME_OOM) {
        read_peaks(&session);
        status = tide_run_time_make(&session);
        if (status == TIDE_OK) {
            status = take_snapshot(&session, &error);
        }
        if (status == TIDE_OK) {
            status = take_samples(&session);
        }
        if (status != TIDE_OK) {
            tide_run_fail(result, tide_outcome_of_status(status), status, error.message);
        }
    }
    end_session(&session);
}
