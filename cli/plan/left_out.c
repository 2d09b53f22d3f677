/* What a plan did not run, and why; and what it cost. */
#include <string.h>

#include "cli/plan/internal.h"
#include "common/text/plural.h"

enum { BRIEF_REASONS = 120 }; /* bytes of all reasons on a line for people */

static bool is_same(const tide_plan_candidate *row, const tide_plan_candidate *other) {
    return row->state == other->state && strcmp(row->reason, other->reason) == 0;
}

/* "A, B": the candidate's title, and those of later ones with its state and reason. NULL: they
 * were listed with an earlier one. */
static const char *titles_like(const tide_plan *plan, size_t number, tide_report *report) {
    const tide_plan_candidate *rows = plan->candidates.rows;
    const char *words = rows[number].title;
    for (size_t i = 0; i < plan->candidates.n; i++) {
        if (i < number && is_same(&rows[i], &rows[number])) {
            return NULL;
        }
        if (i > number && is_same(&rows[i], &rows[number])) {
            words = tide_report_text(report, "%s, %s", words, rows[i].title);
        }
    }
    return words;
}

/* Titles of the candidates in a state, separated by commas; those with the same reason together.
 * The first ones have their reason in brackets, as long as these have at most so many bytes
 * together. */
static const char *titles_of(const tide_plan *plan, tide_plan_state state, size_t reason_bytes,
                             tide_report *report) {
    const char *words = "";
    size_t n_used = 0;
    for (size_t i = 0; i < plan->candidates.n; i++) {
        const tide_plan_candidate *row = &plan->candidates.rows[i];
        const char *titles = row->state == state ? titles_like(plan, i, report) : NULL;
        if (titles == NULL) {
            continue;
        }
        words = tide_report_text(report, "%s%s%s", words, words[0] != '\0' ? ", " : "", titles);
        size_t n = strlen(row->reason);
        if (n > 0 && n_used + n <= reason_bytes) {
            words = tide_report_text(report, "%s (%s)", words, row->reason);
            n_used += n;
        }
    }
    return words;
}

static void say_state(const tide_plan *plan, const char *key, const char *lead,
                      tide_plan_state state, size_t reason_bytes, tide_report *report) {
    const char *words = titles_of(plan, state, reason_bytes, report);
    if (words[0] != '\0') {
        tide_report_say(report, key, "%s: %s", lead, words);
    }
}

/* On one line, for people: "not run: A, B (cannot lower the peak); C (--runs was reached)". */
static void say_not_run(const tide_plan *plan, tide_report *report) {
    static const struct {
        tide_plan_state state;
        const char *why;
    } KINDS[] = {{TIDE_PLAN_POINTLESS, "cannot lower the peak"},
                 {TIDE_PLAN_NOT_RUN, "--runs was reached"},
                 {TIDE_PLAN_NOT_ALLOWED, "without --allow"}};
    const char *words = "";
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
        const char *titles = titles_of(plan, KINDS[i].state, 0, report);
        if (titles[0] != '\0') {
            words = tide_report_text(report, "%s%s%s (%s)", words, words[0] != '\0' ? "; " : "",
                                     titles, KINDS[i].why);
        }
    }
    if (words[0] != '\0') {
        tide_report_say(report, "not_run", "not run: %s", words);
    }
}

static void say_runs(const tide_plan_report_input *input, tide_report *report) {
    const tide_plan *plan = input->plan;
    size_t n = 0;
    for (size_t i = 0; i < plan->runs.n; i++) {
        n += plan->runs.rows[i].is_done;
    }
    bool is_search = plan->options->allowed.n_names == 0;
    bool has_all = titles_of(plan, TIDE_PLAN_NOT_RUN, 0, report)[0] == '\0';
    bool is_whole =
        plan->safe.is_whole && (!plan->all.was_searched || plan->all.is_whole) && has_all;
    const char *search = !is_search     ? ""
                         : plan->is_cut ? "; the search is not complete: more changes help than it "
                                          "combines, and those that save least were left out"
                         : is_whole ? "; no other combination is expected to fit and to be faster"
                                    : "; the search is not complete: raise --runs to continue it";
    const char *files =
        input->keeps_files && input->is_brief
            ? tide_report_text(report, "; their snapshots are in %s, and all of this plan in %s/%s",
                               input->folder, input->folder, TIDE_PLAN_PAGE)
            : "";
    tide_report_say(report, "runs",
                    "%zu %s in %.0f s%s; all of them on the virtual card: memory is exact except "
                    "where tidemark run says otherwise, and times are forecasts%s",
                    n, tide_plural(n, "run", "runs"), input->seconds, search, files);
    if (input->keeps_files && !input->is_brief) {
        tide_report_say(report, "snapshots",
                        "the snapshots of the runs are in %s: tidemark compare and tidemark view "
                        "show before and after; %s/" TIDE_PLAN_PAGE " has all of this plan",
                        input->folder, input->folder);
    }
}

void tide_plan_report_left_out(const tide_plan_report_input *input, tide_report *report) {
    const tide_plan *plan = input->plan;
    bool is_search = plan->options->allowed.n_names == 0;
    size_t reasons = input->is_brief ? BRIEF_REASONS : SIZE_MAX;
    if (is_search && input->is_brief) {
        say_not_run(plan, report);
    } else if (is_search) {
        say_state(plan, "pointless", "not run, because they cannot lower the peak",
                  TIDE_PLAN_POINTLESS, 0, report);
        say_state(plan, "not_run", "not run, because --runs was reached", TIDE_PLAN_NOT_RUN, 0,
                  report);
        say_state(plan, "not_allowed", "not tried without --allow", TIDE_PLAN_NOT_ALLOWED, 0,
                  report);
    }
    if (is_search) {
        say_state(plan, "impossible", "not possible here", TIDE_PLAN_IMPOSSIBLE, reasons, report);
    }
    say_state(plan, "refused", "not applied in its run", TIDE_PLAN_REFUSED, reasons, report);
    say_state(plan, "failed", "the program failed with", TIDE_PLAN_FAILED, reasons, report);
    tide_plan_report_seen(plan, report);
    say_runs(input, report);
}
