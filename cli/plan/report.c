/* The answer of a plan in sentences. Each figure is of a run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/plan/internal.h"
#include "common/text/list.h"
#include "common/text/milliseconds.h"

static const tide_plan_run *base_of(const tide_plan *plan) {
    return &plan->runs.rows[plan->base_row];
}

/* "; the card works 365 ms a step (331 to 402), 16 % longer"; "" without a forecast. */
static const char *time_words(const tide_plan *plan, const tide_plan_run *run,
                              tide_report *report) {
    char texts[3][TIDE_MS_TEXT];
    double base_ms = base_of(plan)->gpu_ms;
    if (run->gpu_ms < 0.0) {
        return "; no time of the card is forecast, because too much of it would be a guess";
    }
    const char *change = "";
    if (run != base_of(plan) && base_ms > 0.0) {
        double percent = 100.0 * (run->gpu_ms / base_ms - 1.0);
        change = fabs(percent) < 0.5
                     ? ", as long as unchanged"
                     : tide_report_text(report, ", %.0f %% %s than unchanged", fabs(percent),
                                        percent > 0.0 ? "longer" : "shorter");
    }
    return tide_report_text(report, "; the card works %s ms a step (%s to %s)%s",
                            tide_ms_format(run->gpu_ms, texts[0]),
                            tide_ms_format(run->gpu_low_ms, texts[1]),
                            tide_ms_format(run->gpu_high_ms, texts[2]), change);
}

/* "checkpoint each Block + optimizer with fused=True". */
static const char *set_words(const tide_plan *plan, tide_plan_set set, tide_report *report) {
    const char *words = "";
    for (size_t i = 0; i < plan->n_combined; i++) {
        if (tide_plan_has(set, i)) {
            words = tide_report_text(report, "%s%s%s", words, words[0] != '\0' ? " + " : "",
                                     plan->candidates.rows[plan->combined[i]].title);
        }
    }
    return words[0] != '\0' ? words : "unchanged";
}

/* ---- the unchanged program ---- */

static void say_unchanged(const tide_plan_report_input *input, tide_report *report) {
    const tide_plan *plan = input->plan;
    const tide_plan_run *base = base_of(plan);
    const char *needs =
        tide_report_text(report, "%s allocated and %s reserved",
                         tide_report_bytes(report, base->memory.allocated_peak_bytes),
                         tide_report_bytes(report, base->memory.reserved_peak_bytes));
    const char *has = tide_report_bytes(report, plan->room_bytes);
    if (!plan->fits_unchanged) {
        tide_report_say(report, "answer",
                        "%s does not fit %s: it needs %s, and %s of the card are there for PyTorch",
                        input->program, input->card, needs, has);
    } else if (plan->limited_row != SIZE_MAX) {
        tide_report_say(report, "answer",
                        "%s fits %s only because PyTorch empties its cache: without a limit it "
                        "takes %s, and %s of the card are there for PyTorch",
                        input->program, input->card, needs, has);
    } else {
        tide_report_say(report, "answer", "%s fits %s: it needs %s of %s%s", input->program,
                        input->card, needs, has, time_words(plan, base, report));
    }
}

/* ---- the best ---- */

/* "same numbers; the forward pass of each block runs twice". */
static const char *cost_words(const tide_plan *plan, tide_plan_set set, tide_report *report) {
    const char *words = tide_plan_risk_name(tide_plan_set_risk(plan, set));
    for (size_t i = 0; i < plan->n_combined; i++) {
        const char *effect = plan->candidates.rows[plan->combined[i]].change->text->effect;
        bool is_new = effect[0] != '\0' && strstr(words, effect) == NULL; /* two checkpoints */
        if (tide_plan_has(set, i) && is_new) {
            words = tide_report_text(report, "%s; %s", words, effect);
        }
    }
    return words;
}

/* What the run under the card's own limit showed. */
static const char *proof_words(const tide_plan *plan, const tide_plan_answer *answer,
                               tide_report *report) {
    if (answer->verified_row == SIZE_MAX) {
        return "; not run under the card's own limit, because no run was left";
    }
    const tide_plan_run *proof = &plan->runs.rows[answer->verified_row];
    return proof->is_near == 1 ? tide_report_text(report, "; near the limit: %s are left",
                                                  tide_report_bytes(report, proof->margin_bytes))
                               : "";
}

/* ", with PYTORCH_CUDA_ALLOC_CONF=...: 7.00 GiB allocated, 8.00 GiB reserved; the card works ...".
 * Without the setting the reserved bytes may exceed the room. */
static const char *figure_words(const tide_plan *plan, const tide_plan_run *run,
                                tide_report *report) {
    bool needs_setting = run->memory.reserved_peak_bytes > tide_plan_room_of(plan, run);
    int64_t reserved =
        needs_setting ? run->fitting_reserved_bytes : run->memory.reserved_peak_bytes;
    const char *setting =
        needs_setting
            ? tide_report_text(report, ", with PYTORCH_CUDA_ALLOC_CONF=%s", run->fitting_setting)
            : "";
    return tide_report_text(report, "%s: %s allocated, %s reserved%s", setting,
                            tide_report_bytes(report, run->memory.allocated_peak_bytes),
                            tide_report_bytes(report, reserved), time_words(plan, run, report));
}

/* The changes without which the best would fit as well; "" without. */
static const char *unneeded_words(const tide_plan *plan, const tide_plan_answer *answer,
                                  tide_report *report) {
    tide_plan_set unneeded = answer->known & answer->set & ~answer->needed;
    bool is_one = (unneeded & (unneeded - 1)) == 0;
    return unneeded == 0 ? ""
                         : tide_report_text(report, "it also fits without %s: %s",
                                            is_one ? "this" : "any one of these",
                                            set_words(plan, unneeded, report));
}

static void say_cost(const tide_plan_report_input *input, const char *key,
                     const tide_plan_answer *answer, tide_report *report) {
    const char *cost = cost_words(input->plan, answer->set, report);
    const char *unneeded = unneeded_words(input->plan, answer, report);
    if (input->is_brief && unneeded[0] != '\0') {
        tide_report_say(report, key, "    %s; %s", cost, unneeded);
        return;
    }
    tide_report_say(report, key, "    %s", cost);
    if (unneeded[0] != '\0') {
        tide_report_say(report, "unneeded", "    %s", unneeded);
    }
}

static void say_best(const tide_plan_report_input *input, const char *key, const char *lead,
                     const tide_plan_answer *answer, tide_report *report) {
    const tide_plan *plan = input->plan;
    const tide_plan_run *run = &plan->runs.rows[answer->row];
    bool is_second = input->is_brief && answer == &plan->all && plan->safe.has_best;
    tide_report_say(report, key, "%s: %s%s%s%s%s", lead, set_words(plan, answer->set, report),
                    figure_words(plan, run, report), proof_words(plan, answer, report),
                    is_second ? "; " : "",
                    is_second ? tide_plan_risk_name(tide_plan_set_risk(plan, answer->set)) : "");
    if (answer->set != 0 && !is_second) {
        tide_plan_paste paste;
        tide_plan_paste_init(&paste, plan, answer);
        tide_plan_report_paste(input, &paste, report);
        tide_plan_paste_fini(&paste);
        say_cost(input, key, answer, report);
    }
}

/* The patch of the best, which was run, too. */
static void say_diff(const tide_plan *plan, const tide_plan_answer *answer, tide_report *report) {
    const char *path = plan->options->diff_path;
    if (answer->no_diff[0] != '\0') {
        tide_report_say(report, "patch", "    no patch in %s: %s", path, answer->no_diff);
    }
    if (answer->diff_row == SIZE_MAX) {
        if (answer->has_diff) {
            tide_report_say(report, "patch",
                            "    %s was written, but the patched program was not run: --runs was "
                            "reached",
                            path);
        }
        return;
    }
    const tide_plan_run *patched = &plan->runs.rows[answer->diff_row];
    const tide_plan_run *best = &plan->runs.rows[answer->row];
    int64_t more = patched->memory.allocated_peak_bytes - best->memory.allocated_peak_bytes;
    if (!patched->is_complete) {
        tide_report_say(report, "patch", "    %s is not the change: the patched program fails: %s",
                        path, patched->reason);
    } else if (more == 0 &&
               patched->memory.reserved_peak_bytes == best->memory.reserved_peak_bytes) {
        tide_report_say(report, "patch",
                        "    %s is the change: the patched program has the same peaks, to the byte",
                        path);
    } else {
        tide_report_say(report, "patch",
                        "    %s is not quite the change: the patched program allocates %s and "
                        "reserves %s",
                        path, tide_report_bytes(report, patched->memory.allocated_peak_bytes),
                        tide_report_bytes(report, patched->memory.reserved_peak_bytes));
    }
}

/* ---- other ways ---- */

static bool is_in_best(const tide_plan *plan, size_t candidate) {
    for (size_t i = 0; i < plan->n_combined; i++) {
        if (plan->combined[i] == candidate && tide_plan_has(plan->safe.set, i)) {
            return true;
        }
    }
    return false;
}

/* The run of a candidate alone, if it fits and keeps the numbers; otherwise NULL. */
static const tide_plan_run *fitting_run(const tide_plan *plan,
                                        const tide_plan_candidate *candidate) {
    if (candidate->state != TIDE_PLAN_RAN || candidate->risk == TIDE_PLAN_NUMBERS) {
        return NULL;
    }
    const tide_plan_run *run = &plan->runs.rows[candidate->row];
    bool is_alone = strcmp(run->changes, candidate->name) == 0;
    return is_alone && tide_plan_fits(plan, run) ? run : NULL;
}

/* The fastest single change that fits and is not in the best. */
static const tide_plan_candidate *next_single(const tide_plan *plan) {
    const tide_plan_candidate *found = NULL;
    for (size_t i = 0; i < plan->candidates.n; i++) {
        const tide_plan_run *run = fitting_run(plan, &plan->candidates.rows[i]);
        bool is_better = run != NULL && !is_in_best(plan, i) && run->gpu_ms >= 0.0 &&
                         (found == NULL || run->gpu_ms < plan->runs.rows[found->row].gpu_ms);
        found = is_better ? &plan->candidates.rows[i] : found;
    }
    return found;
}

static void say_other(const tide_plan *plan, tide_report *report) {
    const tide_plan_candidate *other = next_single(plan);
    if (other == NULL || plan->fits_unchanged) {
        return;
    }
    const tide_plan_run *run = &plan->runs.rows[other->row];
    tide_report_say(report, "also", "also fits: %s%s; %s", other->title,
                    figure_words(plan, run, report), tide_plan_risk_name(other->risk));
}

/* ---- all ---- */

/* Whether a change of a run changes the numbers. */
static bool changes_numbers(const tide_plan *plan, const tide_plan_run *run) {
    for (size_t i = 0; i < plan->candidates.n; i++) {
        const tide_plan_candidate *row = &plan->candidates.rows[i];
        if (row->risk == TIDE_PLAN_NUMBERS && tide_list_has(run->changes, row->name)) {
            return true;
        }
    }
    return false;
}

/* Whether no other run that fits is faster, of all or of those that keep the numbers. The patch of
 * the best is the best. */
static bool is_fastest(const tide_plan *plan, const tide_plan_run *best, bool keeps_numbers) {
    for (size_t i = 0; i < plan->runs.n; i++) {
        const tide_plan_run *run = &plan->runs.rows[i];
        bool counts = run != best && run->limit == TIDE_PLAN_WITHOUT_LIMIT &&
                      strcmp(run->changes, TIDE_PLAN_DIFF) != 0 && tide_plan_fits(plan, run) &&
                      !(keeps_numbers && changes_numbers(plan, run));
        if (counts && run->gpu_ms < best->gpu_ms) { /* also if it has no forecast */
            return false;
        }
    }
    return best->gpu_ms >= 0.0;
}

static const char *lead_words(const tide_plan *plan, const tide_plan_answer *answer) {
    const tide_plan_run *run = &plan->runs.rows[answer->row];
    bool has_cache = plan->fits_unchanged && plan->limited_row != SIZE_MAX;
    if (is_fastest(plan, run, false)) {
        return has_cache ? "fits with its cache, and is the fastest of what was tried and does"
                         : "fits, and is the fastest of what was tried";
    }
    if (!changes_numbers(plan, run) && is_fastest(plan, run, true)) {
        return has_cache ? "fits with its cache, and is the fastest of what was tried, does and "
                           "keeps the numbers"
                         : "fits, and is the fastest of what was tried and keeps the numbers";
    }
    return has_cache ? "fits with its cache" : "fits";
}

static void say_smallest(const tide_plan *plan, tide_report *report) {
    const tide_plan_run *least = base_of(plan);
    for (size_t i = 0; i < plan->runs.n; i++) {
        const tide_plan_run *run = &plan->runs.rows[i];
        bool is_lower = run->memory.reserved_peak_bytes < least->memory.reserved_peak_bytes;
        bool may_be = run->is_done && run->is_complete && !run->is_refuted;
        least = may_be && run->limit == TIDE_PLAN_WITHOUT_LIMIT && is_lower ? run : least;
    }
    tide_report_say(report, "best",
                    "nothing that was tried fits; the least is %s reserved, with %s",
                    tide_report_bytes(report, least->memory.reserved_peak_bytes),
                    least->changes[0] != '\0' ? least->changes : "the unchanged program");
}

void tide_plan_report_answer(const tide_plan_report_input *input, tide_report *report) {
    const tide_plan *plan = input->plan;
    say_unchanged(input, report);
    if (plan->safe.has_best && !(plan->fits_unchanged && plan->safe.set == 0)) {
        say_best(input, "best", lead_words(plan, &plan->safe), &plan->safe, report);
        say_diff(plan, &plan->safe, report);
    }
    say_other(plan, report);
    bool is_other = plan->all.has_best && (!plan->safe.has_best || plan->all.set != plan->safe.set);
    if (is_other) {
        const char *lead = input->allow != NULL
                               ? tide_report_text(report, "with --allow %s", input->allow)
                               : "with changed numbers";
        say_best(input, "allowed", lead, &plan->all, report);
        say_diff(plan, &plan->all, report);
    }
    if (!tide_plan_has_answer(plan)) {
        say_smallest(plan, report);
    }
    const tide_plan_answer *best = plan->safe.has_best ? &plan->safe : &plan->all;
    if (plan->options->diff_path != NULL && (!best->has_best || best->set == 0)) {
        tide_report_say(report, "patch", "no patch in %s: there is no change to write",
                        plan->options->diff_path);
    }
}
