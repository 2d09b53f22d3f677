/* The cost of recording, in words. */
#include "model/commands/profile/internal.h"
#include "cli/words/snapshot_words.h"
#include "snapshot/explain/recorder_cost.h"

enum { WORDS_BYTES = 512 };

static void say_single(const tide_profile_plan *plan, tide_report *report) {
    const tide_profile_run *run = &plan->runs[0];
    char words[WORDS_BYTES];
    tide_words_recorder(run->result.snapshot, words, sizeof(words));
    bool is_hint_due = run->result.snapshot->timing.n_recorder_pairs == 0 &&
                       plan->options->overhead_pairs == TIDE_NOT_GIVEN &&
                       run->result.outcome == TIDE_OUTCOME_COMPLETED;
    if (words[0] != '\0') {
        tide_report_say(report, "recorder", "%s%s", words,
                        is_hint_due ? "; not compared with unrecorded steps, which would take "
                                      "long: --overhead-pairs N does"
                                    : "");
    }
}

/* Reports each run that was compared. If none was, reports the run that lost the largest share of
 * its time to recording. */
static void say_list(const tide_profile_plan *plan, tide_report *report) {
    const tide_profile_run *largest = NULL;
    double largest_share = -1.0;
    size_t n_compared = 0;
    size_t n_known = 0;
    char words[WORDS_BYTES];
    for (size_t i = 0; i < plan->n_runs; i++) {
        const tide_profile_run *run = &plan->runs[i];
        if (run->result.snapshot == NULL) {
            continue;
        }
        tide_recorder_cost cost = tide_recorder_cost_of(run->result.snapshot);
        n_known += cost.event_share >= 0.0;
        if (cost.event_share > largest_share) {
            largest = run;
            largest_share = cost.event_share;
        }
        if (cost.n_pairs > 0) {
            tide_words_recorder(run->result.snapshot, words, sizeof(words));
            tide_report_say(report, "recorder", "%s: %s", run->name, words);
            n_compared++;
        }
    }
    if (n_compared == 0 && largest != NULL) {
        tide_words_recorder(largest->result.snapshot, words, sizeof(words));
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
