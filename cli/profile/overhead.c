/* What recording costs a step: measured after the snapshot was taken, and said.
 *
 * The pairs run on the workload that has just been measured, with its recorder paused every other
 * step. They cannot be among the steps of the snapshot: a pause leaves a hole in the event log, and
 * rows after a hole fit no state before it. Nor do they need a cache of their own: the tables of
 * the snapshot are copies, so what happens behind them changes neither its rows nor its addresses,
 * and these steps meet the same blocks that the measured ones met. */
#include <string.h>

#include "cli/cli.h"
#include "cli/profile/internal.h"
#include "cli/snapshot_words.h"
#include "common/statistics.h"
#include "snapshot/recorder_cost.h"

enum { WORDS_BYTES = 512, MIN_PAIRS = 3, MAX_DEFAULT_PAIRS = 30 };

/* Time that the pairs may take by default: half of what the run's steps took, so that a run becomes
 * half as long again at worst; a second for quick ones; no longer than anyone waits for a figure
 * that was not asked for. */
static const double MIN_BUDGET_MS = 1e3;
static const double MAX_BUDGET_MS = 60e3;

static size_t default_pairs(const tide_profile_plan *plan, const tide_workload_config *workload,
                            const tide_workload_result *result) {
    double step_ms = tide_statistics_of(result->host_ms[TIDE_TIMED_STEP], result->n_samples).mean;
    if (plan->is_list || step_ms <= 0.0) {
        return 0; /* a list compares runs with one another: who wants this, too, says so */
    }
    double budget_ms = 0.5 * step_ms * (double)(workload->warmup_steps + workload->steps);
    budget_ms = budget_ms < MIN_BUDGET_MS ? MIN_BUDGET_MS : budget_ms;
    budget_ms = budget_ms > MAX_BUDGET_MS ? MAX_BUDGET_MS : budget_ms;
    double n_pairs = (budget_ms / step_ms - 1.0) / 2.0; /* one step comes before the first pair */
    if (n_pairs >= (double)MAX_DEFAULT_PAIRS) {
        return MAX_DEFAULT_PAIRS;
    }
    return n_pairs >= (double)MIN_PAIRS ? (size_t)n_pairs : 0; /* fewer tell nothing */
}

size_t tide_profile_n_pairs(const tide_profile_plan *plan, const tide_profile_run *run,
                            const tide_workload_result *result) {
    if (run->outcome != TIDE_RUN_COMPLETED || plan->options->no_record ||
        plan->kind == TIDE_DEVICE_VIRTUAL) {
        return 0;
    }
    return plan->options->overhead_pairs != TIDE_NOT_GIVEN
               ? (size_t)plan->options->overhead_pairs
               : default_pairs(plan, &run->workload, result);
}

/* False: no memory. */
static bool keep(const tide_workload_pairs *pairs, tide_snapshot *snapshot) {
    size_t n = pairs->n_pairs;
    double *recorded = tide_arena_alloc(&snapshot->arena, n, sizeof(*recorded));
    double *unrecorded = tide_arena_alloc(&snapshot->arena, n, sizeof(*unrecorded));
    if (recorded == NULL || unrecorded == NULL) {
        return false;
    }
    memcpy(recorded, pairs->recorded_ms, n * sizeof(*recorded));
    memcpy(unrecorded, pairs->unrecorded_ms, n * sizeof(*unrecorded));
    snapshot->timing.recorded_step_ms = recorded;
    snapshot->timing.unrecorded_step_ms = unrecorded;
    snapshot->timing.n_recorder_pairs = n;
    return true;
}

tide_status tide_profile_compare_recording(tide_workload *workload, size_t n_pairs,
                                           tide_snapshot *snapshot, tide_error *error) {
    tide_workload_pairs pairs;
    tide_status status = tide_workload_run_pairs(workload, n_pairs, &pairs, error);
    if (pairs.n_pairs > 0 && !keep(&pairs, snapshot) && status == TIDE_OK) {
        status = tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left");
    }
    tide_workload_pairs_fini(&pairs);
    return status;
}

/* ---- what is printed ---- */

static void say_single(const tide_profile_plan *plan, tide_report *report) {
    const tide_profile_run *run = &plan->runs[0];
    char words[WORDS_BYTES];
    tide_words_recorder(run->snapshot, words, sizeof(words));
    bool is_hint_due = run->snapshot->timing.n_recorder_pairs == 0 &&
                       plan->options->overhead_pairs == TIDE_NOT_GIVEN &&
                       run->outcome == TIDE_RUN_COMPLETED;
    if (words[0] != '\0') {
        tide_report_say(report, "recorder", "%s%s", words,
                        is_hint_due ? "; not compared with unrecorded steps, which would take "
                                      "long: --overhead-pairs N does"
                                    : "");
    }
}

/* Each run that was compared; where none was, the one that recording cost the largest share. */
static void say_list(const tide_profile_plan *plan, tide_report *report) {
    const tide_profile_run *largest = NULL;
    double largest_share = -1.0;
    size_t n_compared = 0;
    size_t n_known = 0;
    char words[WORDS_BYTES];
    for (size_t i = 0; i < plan->n_runs; i++) {
        const tide_profile_run *run = &plan->runs[i];
        if (run->snapshot == NULL) {
            continue;
        }
        tide_recorder_cost cost = tide_recorder_cost_of(run->snapshot);
        n_known += cost.event_share >= 0.0;
        if (cost.event_share > largest_share) {
            largest = run;
            largest_share = cost.event_share;
        }
        if (cost.n_pairs > 0) {
            tide_words_recorder(run->snapshot, words, sizeof(words));
            tide_report_say(report, "recorder", "%s: %s", run->name, words);
            n_compared++;
        }
    }
    if (n_compared == 0 && largest != NULL) {
        tide_words_recorder(largest->snapshot, words, sizeof(words));
        tide_report_say(report, "recorder", "%s: %s%s", largest->name, words,
                        n_known > 1 ? "; no more in the other runs" : "");
    }
}

void tide_profile_say_recorder(const tide_profile_plan *plan, tide_report *report) {
    if (plan->is_list) {
        say_list(plan, report);
    } else {
        say_single(plan, report);
    }
}
