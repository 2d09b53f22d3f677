/* Snapshots during a run: on a signal, every k steps, and at exit or abort. */
#include <stdio.h>

#include "model/run/session_internal.h"

tide_status tide_run_dumps_begin(tide_run_session *session, tide_error *error) {
    const tide_run_recording *recording = &session->config->recording;
    const tide_run_hooks *hooks = session->hooks;
    bool is_wanted = recording->snapshot_signal != 0 || recording->snapshot_every != 0;
    tide_dumper_config config;
    if (recording->snapshot_path == NULL || (!is_wanted && session->recorder == NULL)) {
        return TIDE_OK;
    }
    tide_run_describe(session->config, &session->limits, &session->result->environment,
                      &session->described);
    session->described.outcome = TIDE_SNAPSHOT_RUNNING;
    tide_dumper_config_init(&config);
    config.path = recording->snapshot_path;
    config.signal_number = recording->snapshot_signal;
    config.every_steps = recording->snapshot_every;
    /* The operators' libraries may end a process that exceeds their limits. */
    config.on_exit = true;
    config.on_abort = true;
    config.strip_private = recording->strip_private;
    config.run = &session->described;
    config.on_dump = hooks->on_dump;
    config.ctx = hooks->ctx;
    return tide_dumper_create(session->recorder, session->cache, &config, &session->dumper, error);
}

void tide_run_dumps_step(tide_run_session *session, size_t n_done) {
    const tide_run_hooks *hooks = session->hooks;
    uint64_t every = session->config->recording.snapshot_every;
    tide_run_timing timing;
    tide_error error = {""};
    if (session->dumper == NULL || every == 0 || n_done % every != 0) {
        return;
    }
    tide_run_describe_timing(&session->model, &session->timed,
                             tide_device_get_info(session->device),
                             session->result->recorder_ns_per_event, &timing);
    timing.timing.measured_steps = (int64_t)session->timed.n_samples;
    if (tide_dumper_step(session->dumper, n_done, &timing.timing, &error) != TIDE_OK &&
        hooks->note != NULL) {
        tide_error_prefix(&error, "no snapshot after step %zu", n_done);
        hooks->note(hooks->ctx, error.message);
    }
}

void tide_run_dumps_end(tide_run_session *session) {
    tide_dumper_destroy(session->dumper);
    session->dumper = NULL;
}
