/* The figures and tables of a plan. */
#include <math.h>
#include <string.h>

#include "cli/plan/internal.h"
#include "programs/runs/outcome.h"

/* Of a time: times that differ by less are the same. */
#define ROUNDING_SHARE 1e-9

static tide_cell as_change(int64_t after, int64_t before) {
    return after < 0 || before < 0 ? tide_as_none() : tide_as_change(after - before);
}

/* What a change adds to the card's time; a negative figure of time would be shown as unknown. */
static tide_cell as_more_ms(double after, double before, tide_report *report) {
    double more = after - before;
    bool is_none = fabs(more) < ROUNDING_SHARE * before; /* sums are rounded */
    return after < 0.0 || before < 0.0
               ? tide_as_none()
               : tide_as_text(tide_report_text(report, "%+.3g ms", is_none ? 0.0 : more));
}

/* The run of a candidate alone; NULL: it ran only with others, or not at all. */
static const tide_plan_run *run_alone(const tide_plan *plan, size_t candidate) {
    const tide_plan_candidate *row = &plan->candidates.rows[candidate];
    if (row->state != TIDE_PLAN_RAN || row->row >= plan->runs.n) {
        return NULL;
    }
    const tide_plan_run *run = &plan->runs.rows[row->row];
    return strcmp(run->changes, row->name) == 0 ? run : NULL;
}

size_t tide_plan_count_alone(const tide_plan *plan) {
    size_t n = 0;
    for (size_t i = 0; i < plan->candidates.n; i++) {
        n += run_alone(plan, i) != NULL;
    }
    return n;
}

/* The candidates that ran alone, those that need least memory first. */
static size_t sort_alone(const tide_plan *plan, size_t ret_candidates[TIDE_PLAN_CANDIDATES]) {
    size_t n = 0;
    for (size_t i = 0; i < plan->candidates.n; i++) {
        const tide_plan_run *run = run_alone(plan, i);
        if (run == NULL) {
            continue;
        }
        size_t at = n++;
        for (; at > 0 && run->memory.allocated_peak_bytes <
                             run_alone(plan, ret_candidates[at - 1])->memory.allocated_peak_bytes;
             at--) {
            ret_candidates[at] = ret_candidates[at - 1];
        }
        ret_candidates[at] = i;
    }
    return n;
}

static void add_alone(const tide_plan *plan, size_t n_most, tide_report *report) {
    size_t candidates[TIDE_PLAN_CANDIDATES];
    const tide_plan_run *base = &plan->runs.rows[plan->base_row];
    size_t n = sort_alone(plan, candidates);
    const char *title =
        n <= n_most ? "each by itself"
                    : tide_report_text(report, "each by itself, the first %zu of %zu", n_most, n);
    tide_table *table = tide_report_table(report, "alone", title);
    TIDE_COLUMNS(table, TIDE_TEXT("change", "change"), TIDE_NUMBER("allocated", "allocated"),
                 TIDE_NUMBER("reserved", "reserved"), TIDE_NUMBER("gpu", "card a step"),
                 TIDE_TEXT("fits", "fits"), TIDE_TEXT("risk", "risk"));
    for (size_t i = 0; i < n && i < n_most; i++) {
        const tide_plan_candidate *row = &plan->candidates.rows[candidates[i]];
        const tide_plan_run *run = run_alone(plan, candidates[i]);
        TIDE_ROW(table, tide_as_text(row->title),
                 as_change(run->memory.allocated_peak_bytes, base->memory.allocated_peak_bytes),
                 as_change(run->memory.reserved_peak_bytes, base->memory.reserved_peak_bytes),
                 as_more_ms(run->gpu_ms, base->gpu_ms, report),
                 tide_as_text(!tide_plan_fits(plan, run) ? "no"
                              : run->memory.reserved_peak_bytes <= tide_plan_room_of(plan, run)
                                  ? "yes"
                                  : "by settings"),
                 tide_as_text(tide_plan_risk_name(row->risk)));
    }
}

static void add_runs(const tide_plan_report_input *input, tide_report *report) {
    const tide_plan *plan = input->plan;
    tide_table *table = tide_report_table(report, "runs", "all runs");
    TIDE_COLUMNS(table, TIDE_TEXT("changes", "changes"), TIDE_TEXT("limit", "limit"),
                 TIDE_TEXT("settings", "allocator settings"), TIDE_TEXT("outcome", "outcome"),
                 TIDE_NUMBER("lowest_bytes", "could reach"),
                 TIDE_NUMBER("allocated_peak_bytes", "allocated"),
                 TIDE_NUMBER("reserved_peak_bytes", "reserved"),
                 TIDE_NUMBER("gpu_ms", "card a step"), TIDE_NUMBER("gpu_low_ms", "at least"),
                 TIDE_NUMBER("gpu_high_ms", "at most"), TIDE_NUMBER("launches", "launches"),
                 TIDE_TEXT("fits", "fits"), TIDE_TEXT("fitting_settings", "fits with"),
                 TIDE_TEXT("snapshot", "snapshot"), TIDE_TEXT("reason", "reason"));
    for (size_t i = 0; i < plan->runs.n; i++) {
        const tide_plan_run *run = &plan->runs.rows[i];
        if (!run->is_done) {
            continue;
        }
        bool fits =
            run->limit == TIDE_PLAN_WITH_LIMIT ? run->is_complete : tide_plan_fits(plan, run);
        TIDE_ROW(table, tide_as_text(run->changes[0] != '\0' ? run->changes : "unchanged"),
                 tide_as_text(run->limit == TIDE_PLAN_WITH_LIMIT ? "card" : "none"),
                 tide_as_words(run->setting), tide_as_text(tide_outcome_name((int)run->outcome)),
                 tide_as_bytes(tide_plan_lowest(plan, run->changes)),
                 tide_as_bytes(run->memory.allocated_peak_bytes),
                 tide_as_bytes(run->memory.reserved_peak_bytes), tide_as_ms(run->gpu_ms),
                 tide_as_ms(run->gpu_low_ms), tide_as_ms(run->gpu_high_ms),
                 run->n_launches < 0 ? tide_as_none() : tide_as_count(run->n_launches),
                 tide_as_text(fits ? "yes" : "no"), tide_as_words(run->fitting_setting),
                 tide_as_words(input->keeps_files ? run->snapshot_path : ""),
                 tide_as_words(run->reason));
    }
}

static void add_figures(const tide_plan_report_input *input, tide_report *report) {
    const tide_plan *plan = input->plan;
    const tide_plan_run *base = &plan->runs.rows[plan->base_row];
    const tide_plan_answer *best = plan->safe.has_best ? &plan->safe : &plan->all;
    bool fits = tide_plan_has_answer(plan);
    tide_report_figure_text(report, "fits", plan->fits_unchanged ? "yes" : fits ? "changed" : "no");
    tide_report_figure_bytes(report, "room_bytes", plan->room_bytes);
    tide_report_figure_bytes(report, "allocated_peak_bytes", base->memory.allocated_peak_bytes);
    tide_report_figure_bytes(report, "reserved_peak_bytes", base->memory.reserved_peak_bytes);
    tide_report_figure_count(report, "runs", (int64_t)plan->runs.n);
    if (best->has_best) {
        const tide_plan_run *run = &plan->runs.rows[best->row];
        tide_report_figure_text(report, "best", run->changes);
        tide_report_figure_bytes(report, "best_allocated_peak_bytes",
                                 run->memory.allocated_peak_bytes);
        tide_report_figure_bytes(report, "best_reserved_peak_bytes",
                                 run->memory.reserved_peak_bytes);
        tide_report_figure_text(report, "best_settings",
                                run->memory.reserved_peak_bytes > tide_plan_room_of(plan, run)
                                    ? run->fitting_setting
                                    : "");
    }
}

void tide_plan_report_tables(const tide_plan_report_input *input, bool wants_runs,
                             tide_report *report) {
    bool is_search = input->plan->options->allowed.n_names == 0;
    add_figures(input, report);
    if (is_search && input->n_rows > 0) {
        add_alone(input->plan, input->n_rows, report);
    }
    if (wants_runs || !is_search) {
        add_runs(input, report);
    }
}
