/* Possible remedies: the recorded requests under other settings of the allocator. */
#include <inttypes.h>
#include <string.h>

#include "cli/summary/verdict.h"
#include "cli/progress.h"
#include "common/text/text.h"
#include "snapshot/document/implementation.h"
#include "replay/runs.h"

static void show_progress(void *ctx, size_t n_done, size_t n_total) {
    tide_progress_update(ctx, n_done, n_total);
}

static tide_status replay_all(tide_replay_runs *runs, tide_error *error) {
    tide_progress line;
    const tide_replay_progress progress = {&line, show_progress};
    TIDE_TRY(tide_replay_runs_add(runs, NULL, error));
    TIDE_TRY(tide_replay_runs_add_grid(runs, error));
    tide_progress_begin(&line, "replaying under other settings");
    tide_status status = tide_replay_runs_replay(runs, &progress, error);
    if (status == TIDE_OK) {
        status = tide_replay_runs_find_needs(runs, &progress, error);
    }
    tide_progress_end(&line);
    return status;
}

/* Whether the replay under the recorded settings fails where the recorded run failed. If not,
 * replays under other settings prove nothing. */
static bool fails_as_recorded(const tide_summary_view *of, const tide_replay_runs *runs) {
    const tide_replay *base = runs->entries[runs->base].replay;
    return base->by_device[of->device_number].n_ooms > 0 &&
           base->oom_by_device[of->device_number].event == of->device->oom_event;
}

/* The variable that takes PyTorch's settings; "" for tidemark's own model, which has an option. */
static const char *variable_of(const tide_summary_view *of) {
    bool is_own = strcmp(of->snapshot->run.implementation, TIDE_IMPLEMENTATION_OWN) == 0;
    return is_own ? "" : "PYTORCH_CUDA_ALLOC_CONF=";
}

/* For a run that ran out of memory by fragmentation; its replay ends at its last recorded
 * request. */
static void say_survival(const tide_summary_view *of, const tide_replay_runs *runs,
                         const tide_replay_entry *best) {
    const tide_replay_figures *figures = &best->replay->by_device[of->device_number];
    if (fails_as_recorded(of, runs) && figures->n_ooms == 0) {
        tide_report_say(of->report, "help",
                        "It would help to set %s%s: with it all recorded "
                        "requests are served, in %s "
                        "of reserved memory (replayed; what the program asks for after its failure "
                        "is not recorded).",
                        variable_of(of), best->name,
                        tide_report_bytes(of->report, figures->peak_reserved_bytes));
    }
}

/* The smallest share of the peak worth reporting as a saving, and the largest allowed distance of
 * the replayed peak from the recorded one. */
enum { LEAST_PERCENT = 2 };

static bool is_near(int64_t bytes, int64_t to) {
    int64_t apart = bytes > to ? bytes - to : to - bytes;
    return apart <= to / 100 * LEAST_PERCENT;
}

/* The settings that reserve the least, compared with the replay under the recorded ones. If that
 * replay does not reach the recorded peak, memory from before the recording made the peak, and no
 * replay shows the effect of a setting. */
static void say_saving(const tide_summary_view *of, const tide_replay_runs *runs,
                       const tide_replay_entry *best) {
    size_t device = of->device_number;
    int64_t recorded = runs->recorded_by_device[device].peak_reserved_bytes;
    int64_t base = runs->entries[runs->base].replay->by_device[device].peak_reserved_bytes;
    const tide_replay_figures *figures = &best->replay->by_device[device];
    int64_t now = base < recorded ? base : recorded;
    if (figures->n_ooms == 0 && is_near(base, recorded) &&
        now - figures->peak_reserved_bytes > now / 100 * LEAST_PERCENT) {
        tide_report_say(of->report, "help",
                        "To reserve less, set %s%s: %s of reserved memory "
                        "instead of %s (both "
                        "replayed).",
                        variable_of(of), best->name,
                        tide_report_bytes(of->report, figures->peak_reserved_bytes),
                        tide_report_bytes(of->report, now));
    }
}

/* Whether a setting can be the cure: of fragmentation, or of much memory that is reserved and not
 * allocated. If anything else filled the memory, the program would fail a little later. */
static bool can_help(const tide_summary_view *of, const tide_verdict *verdict) {
    if (of->device->counts[TIDE_ACTION_ALLOC] == 0) {
        return false;
    }
    return of->device->n_oom > 0 ? tide_causes_find(&verdict->causes, "fragmentation") != NULL
                                 : tide_reserved_is_spare(&verdict->facts.reserved);
}

tide_status tide_say_help(const tide_summary_view *of, const tide_verdict *verdict,
                          tide_error *error) {
    const tide_replay_runs_options options = {.start = TIDE_REPLAY_START_AUTO,
                                              .limit_bytes = UINT64_MAX};
    tide_replay_runs runs = {.snapshot = of->snapshot};
    if (!can_help(of, verdict)) {
        return TIDE_OK;
    }
    tide_status status = tide_replay_runs_init(&runs, of->snapshot, &options, error);
    if (status == TIDE_OK) {
        status = replay_all(&runs, error);
    }
    if (status == TIDE_OK) {
        size_t order[TIDE_REPLAY_MAX_RUNS];
        tide_replay_runs_rank(&runs, of->device_number, order);
        const tide_replay_entry *best = &runs.entries[order[0]];
        if (of->device->n_oom > 0) {
            say_survival(of, &runs, best);
        } else {
            say_saving(of, &runs, best);
        }
    } else if (status == TIDE_FORMAT || status == TIDE_UNSUPPORTED || status == TIDE_INVALID) {
        tide_report_say(of->report, "help",
                        "What would help is not known, because the recording cannot be replayed: "
                        "%s.",
                        error->message);
        *error = (tide_error){""};
        status = TIDE_OK;
    }
    tide_replay_runs_fini(&runs);
    return status;
}
