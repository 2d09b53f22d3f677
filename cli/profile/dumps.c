/* Snapshots while a run goes on: on a signal, every k steps, and where something ends the process.
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/profile/internal.h"
#include "common/plural.h"

tide_status tide_profile_dumps_check(const tide_profile_options *options, tide_profile_plan *plan,
                                     tide_error *error) {
    if (options->snapshot_every == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--snapshot-every 0: a snapshot after every K-th step, K at least 1");
    }
    if (options->snapshot_signal != NULL) {
        tide_status status =
            tide_signal_parse(options->snapshot_signal, &plan->snapshot_signal, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "--snapshot-signal");
            return status;
        }
    }
    return TIDE_OK;
}

void tide_profile_dumps_hold_signal(const tide_profile_plan *plan) {
    if (plan->snapshot_signal != 0) {
        (void)signal(plan->snapshot_signal, SIG_IGN); /* it can be caught: it cannot fail */
    }
}

/* One line, with the line that shows the progress wiped: it is written again soon. */
static void tell(void *ctx, const tide_dump *dump) {
    const tide_profile_run *run = ((const tide_profile_dumps *)ctx)->run;
    const char *wipe = isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "";
    if (dump->status != TIDE_OK) {
        fprintf(stderr, "%stidemark profile: %s: a snapshot of the running program failed: %s\n",
                wipe, run->name, dump->message);
        return;
    }
    fprintf(stderr,
            "%stidemark profile: %s: %s: %zu %s, copied in %.1f ms; others waited %.3f ms at "
            "most\n",
            wipe, run->name, dump->path, dump->n_events,
            tide_plural(dump->n_events, "event", "events"), (double)dump->copy_ns * 1e-6,
            (double)dump->pause_ns * 1e-6);
}

tide_status tide_profile_dumps_begin(tide_profile_dumps *dumps, const tide_profile_plan *plan,
                                     const tide_profile_run *run, tide_recorder *recorder,
                                     tide_cache *cache, tide_error *error) {
    const tide_profile_options *options = plan->options;
    bool is_wanted = plan->snapshot_signal != 0 || options->snapshot_every != TIDE_NOT_GIVEN;
    tide_dumper_config config;
    *dumps = (tide_profile_dumps){.plan = plan, .run = run};
    if (run->path[0] == '\0' || (!is_wanted && recorder == NULL)) {
        return TIDE_OK;
    }
    tide_host_get_info(&dumps->host);
    tide_profile_describe_run(plan, run, &dumps->host, &dumps->description);
    dumps->description.outcome = "running";
    tide_dumper_config_init(&config);
    config.path = run->path;
    config.signal_number = plan->snapshot_signal;
    config.every_steps = options->snapshot_every != TIDE_NOT_GIVEN ? options->snapshot_every : 0;
    /* The operators' libraries, too, may end a process that asks too much of them. */
    config.on_exit = true;
    config.on_abort = true;
    config.strip_private = options->strip_private;
    config.run = &dumps->description;
    config.on_dump = tell;
    config.ctx = dumps;
    return tide_dumper_create(recorder, cache, &config, &dumps->dumper, error);
}

void tide_profile_dumps_step(tide_profile_dumps *dumps, const tide_workload_result *result,
                             size_t n_done, bool computes) {
    uint64_t every = dumps->plan->options->snapshot_every;
    tide_profile_timing timing;
    tide_error error = {""};
    if (dumps->dumper == NULL || every == TIDE_NOT_GIVEN || n_done % every != 0) {
        return;
    }
    tide_profile_describe_timing(dumps->plan, dumps->run, result, computes, &timing);
    timing.timing.measured_steps = (int64_t)result->n_samples;
    if (tide_dumper_step(dumps->dumper, n_done, &timing.timing, &error) != TIDE_OK) {
        tide_cli_note("profile", "%s: no snapshot after step %zu: %s", dumps->run->name, n_done,
                      error.message);
    }
}

void tide_profile_dumps_end(tide_profile_dumps *dumps) {
    tide_dumper_destroy(dumps->dumper);
    dumps->dumper = NULL;
}
