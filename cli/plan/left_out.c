/* What a plan did not run, and why; and what it cost. */
#include <string.h>

#include "cli/plan/internal.h"
#include "common/text/plural.h"
#include "programs/plan/facts.h"

/* Titles of the candidates in a state, separated by commas; with their reasons in brackets. */
static const char *titles_of(const tide_plan *plan, tide_plan_state state, bool has_reasons,
                             tide_report *report) {
    const char *words = "";
    for (size_t i = 0; i < plan->candidates.n; i++) {
        const tide_plan_candidate *row = &plan->candidates.rows[i];
        if (row->state != state) {
            continue;
        }
        words = tide_report_text(report, "%s%s%s", words, words[0] != '\0' ? ", " : "", row->title);
        if (has_reasons && row->reason[0] != '\0') {
            words = tide_report_text(report, "%s (%s)", words, row->reason);
        }
    }
    return words;
}

static void say_state(const tide_plan *plan, const char *key, const char *lead,
                      tide_plan_state state, bool has_reasons, tide_report *report) {
    const char *words = titles_of(plan, state, has_reasons, report);
    if (words[0] != '\0') {
        tide_report_say(report, key, "%s: %s", lead, words);
    }
}

/* Attention that the program makes itself: it cannot be replaced from outside. */
static void say_seen(const tide_plan *plan, tide_report *report) {
    const char *attention = tide_plan_fact(plan->snapshot, "attention", "");
    const char *place = attention != NULL ? strchr(attention, ' ') : NULL; /* after the calls */
    if (place != NULL) {
        size_t n = strcspn(place + 1, " ");
        tide_report_say(report, "attention",
                        "%.*s computes attention by a softmax of a square, which is kept; "
                        "F.scaled_dot_product_attention would not keep it, and --patch tries your "
                        "change",
                        (int)n, place + 1);
    }
}

static void say_runs(const tide_plan_report_input *input, tide_report *report) {
    const tide_plan *plan = input->plan;
    size_t n = 0;
    for (size_t i = 0; i < plan->runs.n; i++) {
        n += plan->runs.rows[i].is_done;
    }
    bool is_search = plan->options->allowed.n_names == 0;
    bool has_all = titles_of(plan, TIDE_PLAN_NOT_RUN, false, report)[0] == '\0';
    bool is_whole =
        plan->safe.is_whole && (plan->all.n_tried == 0 || plan->all.is_whole) && has_all;
    const char *search = !is_search     ? ""
                         : plan->is_cut ? "; the search is not complete: more changes help than it "
                                          "combines, and those that save least were left out"
                         : is_whole ? "; no other combination is expected to fit and to be faster"
                                    : "; the search is not complete: a larger --runs goes on";
    tide_report_say(report, "runs",
                    "%zu %s in %.0f s%s; all of them on the virtual card: memory is exact except "
                    "where tidemark run says otherwise, and times are forecasts",
                    n, tide_plural(n, "run", "runs"), input->seconds, search);
    if (input->keeps_files) {
        tide_report_say(report, "snapshots",
                        "the snapshots of the runs are in %s: tidemark compare and tidemark view "
                        "show before and after; %s/" TIDE_PLAN_FRONT
                        " has their memory against their time",
                        input->folder, input->folder);
    }
}

void tide_plan_report_left_out(const tide_plan_report_input *input, tide_report *report) {
    const tide_plan *plan = input->plan;
    if (plan->options->allowed.n_names == 0) {
        say_state(plan, "pointless", "not run, because they cannot lower the peak",
                  TIDE_PLAN_POINTLESS, false, report);
        say_state(plan, "not_run", "not run, because --runs was reached", TIDE_PLAN_NOT_RUN, false,
                  report);
        say_state(plan, "not_allowed", "not tried without --allow", TIDE_PLAN_NOT_ALLOWED, false,
                  report);
        say_state(plan, "impossible", "not possible here", TIDE_PLAN_IMPOSSIBLE, true, report);
    }
    say_state(plan, "refused", "not applied in its run", TIDE_PLAN_REFUSED, true, report);
    say_state(plan, "failed", "the program failed with", TIDE_PLAN_FAILED, true, report);
    say_seen(plan, report);
    say_runs(input, report);
}
