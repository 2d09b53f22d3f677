/* One run of `tidemark profile`: device, recorder, cache, workload, snapshot. */
#include <stdio.h>
#include <string.h>

#include "capture/capture.h"
#include "capture/measure.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/profile/internal.h"
#include "cli/progress.h"
#include "common/bytes.h"
#include "common/clock.h"

/* What a run holds while it goes on. */
typedef struct session_state {
    tide_device *device;         /* owned, as all here; NULL until it is opened, as all here */
    tide_recorder *recorder;     /* NULL with --no-record, too */
    tide_cache *cache;           /* on the device */
    tide_workload *workload;     /* on the cache */
    tide_workload_result result; /* samples up to where it came */
    int64_t started_unix_us;     /* by the host's calendar */
    tide_profile_dumps dumps;    /* snapshots while it goes on */
    tide_progress progress;      /* on a terminal */
    size_t n_done;               /* steps, warm-up included */
    size_t n_total;              /* steps that were asked for, warm-up included */
    char label[TIDE_PROFILE_NAME_BYTES + 32]; /* of the progress: "NAME (2 of 4)" */
} session_state;

/* Shows how far it came. A run that is interrupted ends after its step. */
static bool go_on(void *ctx, size_t n_done, size_t n_total) {
    session_state *session = ctx;
    session->n_done = n_done;
    session->n_total = n_total;
    tide_progress_update(&session->progress, n_done, n_total);
    if (session->dumps.dumper != NULL) {
        bool computes = tide_device_get_info(session->device)->computes;
        tide_profile_dumps_step(&session->dumps, &session->result, n_done, computes);
    }
    return tide_interrupt_signal() == 0;
}

static void fail(tide_profile_run *run, tide_status status) {
    run->status = status;
    run->outcome = status == TIDE_DEVICE_OOM ? TIDE_RUN_OOM : TIDE_RUN_FAILED;
}

/* ---- before anything is allocated ---- */

/* On the cpu the device's memory is the host's: a run that would only be killed half-way is not
 * started. */
static tide_status check_host(const tide_profile_plan *plan, tide_profile_run *run,
                              tide_device *device) {
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    if (tide_device_get_info(device)->kind != TIDE_DEVICE_CPU) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_device_memory_info(device, &free_bytes, &total_bytes, &run->error));
    run->need_bytes = tide_workload_requested_peak_bytes(&run->workload);
    run->available_bytes = free_bytes;
    /* Under a lower memory limit the run ends at the limit, not at the host's. */
    if (run->need_bytes <= free_bytes || plan->cache.memory_limit_bytes <= free_bytes) {
        return TIDE_OK;
    }
    char need[TIDE_BYTES_TEXT];
    char have[TIDE_BYTES_TEXT];
    run->outcome = TIDE_RUN_NO_HOST;
    return tide_fail(&run->error, TIDE_DEVICE_OOM,
                     "it needs %s at least, and this host has %s free: it was not started; "
                     "--device virtual tells what it would take",
                     tide_bytes_format((int64_t)run->need_bytes, need),
                     tide_bytes_format((int64_t)free_bytes, have));
}

static tide_status create_recorder(const tide_profile_plan *plan, tide_recorder **ret_recorder,
                                   tide_error *error) {
    const tide_profile_options *options = plan->options;
    tide_recorder_config config;
    tide_recorder_config_init(&config);
    config.log_path = options->log_path;
    if (options->log_bytes != TIDE_NOT_GIVEN) {
        config.log_bytes = (size_t)options->log_bytes;
    }
    if (options->log_full != NULL) {
        config.full_policy =
            strcmp(options->log_full, "stop") == 0 ? TIDE_FULL_STOP : TIDE_FULL_KEEP_NEWEST;
    }
    return tide_recorder_create(&config, ret_recorder, error);
}

/* For the case that the log is all that is left of the run. */
static tide_status describe_in_log(const tide_profile_plan *plan, const tide_profile_run *run,
                                   const session_state *session, tide_error *error) {
    tide_host_info host;
    tide_snapshot_run description;
    tide_host_get_info(&host);
    tide_profile_describe_run(plan, run, &host, &description);
    return tide_capture_describe(session->recorder, session->cache, &description, error);
}

/* Of the whole device; -1 where it does not tell. */
static int64_t used_bytes(tide_device *device) {
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    if (tide_device_memory_info(device, &free_bytes, &total_bytes, NULL) != TIDE_OK ||
        total_bytes > INT64_MAX || free_bytes > total_bytes) {
        return -1;
    }
    return (int64_t)(total_bytes - free_bytes);
}

static tide_status prepare(tide_profile_plan *plan, tide_profile_run *run, session_state *session) {
    tide_error *error = &run->error;
    TIDE_TRY(tide_device_open(plan->device, NULL, &session->device, error));
    run->device = *tide_device_get_info(session->device);
    run->device_used_before_bytes = used_bytes(session->device);
    TIDE_TRY(check_host(plan, run, session->device));
    if (!plan->options->no_record) {
        TIDE_TRY(create_recorder(plan, &session->recorder, error));
        const char *missing = tide_recorder_stacks_limited(session->recorder);
        snprintf(plan->stacks_limited, sizeof(plan->stacks_limited), "%s",
                 missing != NULL ? missing : "");
    }
    if (session->recorder != NULL && plan->recorder_ns_per_event < 0.0) {
        /* A figure for the reader of the snapshot: without it the run is no worse. */
        double ns = -1.0;
        plan->recorder_ns_per_event =
            tide_recorder_measure_ns(NULL, &ns, NULL) == TIDE_OK ? ns : -1.0;
    }
    TIDE_TRY(tide_cache_create(session->device, session->recorder, &plan->cache, &session->cache,
                               error));
    TIDE_TRY(describe_in_log(plan, run, session, error));
    return tide_profile_dumps_begin(&session->dumps, plan, run, session->recorder, session->cache,
                                    error);
}

/* ---- the snapshot ---- */

/* Steps with and without recording, once the tables of the snapshot are copied. A failure is no
 * failure of the run. */
static void compare_recording(const tide_profile_plan *plan, const tide_profile_run *run,
                              session_state *session) {
    tide_error error = {""};
    size_t n_pairs = tide_profile_n_pairs(plan, run, &session->result);
    if (n_pairs == 0) {
        return;
    }
    snprintf(session->label, sizeof(session->label), "%s, recording on and off", run->name);
    tide_progress_begin(&session->progress, session->label);
    tide_status status =
        tide_profile_compare_recording(session->workload, n_pairs, run->snapshot, &error);
    tide_progress_end(&session->progress);
    if (status != TIDE_OK) {
        tide_cli_note("profile", "%s: what recording costs was not measured to the end: %s",
                      run->name, error.message);
    }
}

static tide_status take_snapshot(tide_profile_plan *plan, tide_profile_run *run,
                                 session_state *session, tide_error *error) {
    tide_host_info host;
    tide_snapshot_run description;
    tide_profile_timing timing;
    tide_host_get_info(&host);
    tide_profile_describe_run(plan, run, &host, &description);
    description.started_unix_us = session->started_unix_us;
    description.host_computed_by =
        session->workload != NULL ? tide_workload_computed_by(session->workload) : "";
    bool computes = tide_device_get_info(session->device)->computes;
    tide_profile_describe_timing(plan, run, &session->result, computes, &timing);
    const tide_capture_options options = {.run = &description, .timing = &timing.timing};
    tide_snapshot *snapshot = NULL;
    TIDE_TRY(tide_capture(session->recorder, session->cache, &options, &snapshot, error));
    run->snapshot = snapshot; /* kept where it cannot be saved: its figures are still printed */
    compare_recording(plan, run, session);
    if (run->path[0] == '\0') {
        return TIDE_OK;
    }
    if (plan->options->strip_private) {
        TIDE_TRY(tide_snapshot_strip_private(snapshot));
    }
    TIDE_TRY(tide_snapshot_save(snapshot, run->path, error));
    run->is_saved = true;
    return TIDE_OK;
}

/* ---- the run ---- */

static tide_status work(tide_profile_run *run, session_state *session) {
    TIDE_TRY(tide_workload_create(&run->workload, session->cache, session->recorder,
                                  &session->workload, &run->error));
    return tide_workload_run(session->workload, &session->result, &run->error);
}

static void read_figures(tide_profile_run *run, const session_state *session) {
    tide_cache_stats stats;
    tide_cache_get_stats(session->cache, &stats);
    run->requested_peak_bytes = stats.requested_bytes[TIDE_POOL_ALL].peak;
    run->allocated_peak_bytes = stats.allocated_bytes[TIDE_POOL_ALL].peak;
    run->reserved_peak_bytes = stats.reserved_bytes[TIDE_POOL_ALL].peak;
    run->device_used_bytes = used_bytes(session->device);
    snprintf(run->computed_by, sizeof(run->computed_by), "%s",
             session->workload != NULL ? tide_workload_computed_by(session->workload) : "");
}

static void end_session(session_state *session) {
    tide_profile_dumps_end(&session->dumps);
    tide_workload_result_fini(&session->result);
    tide_workload_destroy(session->workload);
    tide_cache_destroy(session->cache);
    tide_recorder_destroy(session->recorder);
    tide_device_close(session->device);
}

void tide_profile_execute(tide_profile_plan *plan, tide_profile_run *run) {
    session_state session = {.started_unix_us = tide_clock_unix_us()};
    snprintf(session.label, sizeof(session.label), "%s (%zu of %zu)", run->name,
             (size_t)(run - plan->runs) + 1, plan->n_runs);
    if (!plan->is_quiet) {
        tide_progress_begin(&session.progress, session.label);
    }
    run->device_used_bytes = -1;
    run->device_used_before_bytes = -1;
    run->workload.progress = go_on;
    run->workload.progress_ctx = &session;
    tide_status status = prepare(plan, run, &session);
    if (status != TIDE_OK) {
        if (run->outcome != TIDE_RUN_NO_HOST) {
            run->outcome = TIDE_RUN_FAILED;
        }
        run->status = status;
        end_session(&session);
        return;
    }
    status = work(run, &session);
    tide_profile_dumps_end(&session.dumps);
    tide_progress_end(&session.progress);
    read_figures(run, &session);
    if (status != TIDE_OK) {
        fail(run, status);
        tide_cache_get_oom(session.cache, &run->oom);
    } else if (session.n_done < session.n_total) {
        run->outcome = TIDE_RUN_STOPPED;
        if (!plan->is_quiet) {
            tide_cli_note("profile", "%s: stopped after %zu of %zu steps, warm-up included",
                          run->name, session.n_done, session.n_total);
        }
    }
    if (run->outcome != TIDE_RUN_FAILED) {
        tide_error error = {""};
        status = take_snapshot(plan, run, &session, &error);
        if (status != TIDE_OK) {
            run->outcome = TIDE_RUN_FAILED;
            run->status = status;
            run->error = error;
        }
    }
    end_session(&session);
}
