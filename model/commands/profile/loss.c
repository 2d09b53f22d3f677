/* The report of `tidemark profile` on the losses, and on a first loss that cannot be right. */
#include <math.h>
#include <stdio.h>

#include "cli/words/loss_words.h"
#include "model/commands/profile/internal.h"
#include "model/workload/first_loss.h"

enum { WORDS_BYTES = 512 };

/* Only for the transformer, whose initialisation determines the first loss. */
static void say_odd_first(const tide_profile_run *run, const tide_snapshot_timing *timing,
                          tide_report *report) {
    const tide_workload_config *workload = tide_run_workload_model(&run->config.workload);
    if (workload == NULL || workload->architecture != TIDE_TRANSFORMER || timing->n_losses == 0) {
        return;
    }
    tide_first_loss first = tide_first_loss_of(&workload->model, workload->precision);
    if (!tide_first_loss_is_near(&first, timing->losses[0])) {
        tide_report_say(report, "odd_loss",
                        "warning: %s: the loss of the run's first step is %.6f, but with fresh "
                        "weights and random targets it must be ln V + C / (C + V) = %.6f, give or "
                        "take %.3f: what was computed is wrong, so times may be, too; tidemark "
                        "check-reference shows which operator",
                        run->name, timing->losses[0], first.expected, first.tolerance);
    }
}

void tide_profile_say_loss(const tide_profile_plan *plan, tide_report *report) {
    char words[WORDS_BYTES];
    for (size_t i = 0; i < plan->n_runs; i++) {
        const tide_profile_run *run = &plan->runs[i];
        if (run->result.snapshot == NULL) {
            continue;
        }
        tide_words_losses(&run->result.snapshot->timing, words, sizeof(words));
        if (words[0] != '\0') {
            tide_report_say(report, "loss", "%s%s%s", plan->n_runs > 1 ? run->name : "",
                            plan->n_runs > 1 ? ": " : "", words);
        }
        tide_words_loss_scale(&run->result.snapshot->timing, words, sizeof(words));
        if (words[0] != '\0') {
            tide_report_say(report, "loss_scale", "%s%s%s", plan->n_runs > 1 ? run->name : "",
                            plan->n_runs > 1 ? ": " : "", words);
        }
        say_odd_first(run, &run->result.snapshot->timing, report);
    }
}
