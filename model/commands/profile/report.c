/* The output of `tidemark profile` on stdout: a short summary for a single run, a table for a
 * list. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/clocks.h"
#include "cli/figures.h"
#include "model/commands/profile/internal.h"
#include "cli/options/report_options.h"
#include "cli/words/snapshot_words.h"
#include "cli/words/spill_words.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "common/statistics.h"
#include "report/table.h"
#include "snapshot/compare/compare.h"
#include "snapshot/document/implementation.h"
#include "snapshot/analysis/summary.h"

static tide_format format_of(const tide_profile_plan *plan) {
    return tide_format_chosen(&plan->options->run.report);
}

/* " (tidemark's own model in C)": the implementation of a virtual run, because a reader may mistake
 * it for a forecast of PyTorch. "" if the model really ran. */
static const char *whose(const tide_profile_plan *plan, tide_report *report) {
    const char *implementation =
        tide_run_model_implementation(tide_run_workload_model(&plan->runs[0].config.workload));
    return plan->kind == TIDE_DEVICE_VIRTUAL
               ? tide_report_text(report, " (%s)", tide_implementation_words(implementation))
               : "";
}

static void say_path(tide_report *report, const char *key, const char *path) {
    tide_report_figure_text(report, key, path);
    tide_report_say(report, key, "%s: %s", key, path);
}

/* ---- times ---- */

/* -1 without times, and for an MLP, whose batch has no tokens. */
static double tokens_per_second(const tide_profile_run *run) {
    tide_run_labels labels;
    tide_run_workload_labels(&run->config.workload, &labels);
    return labels.context_length > 0 ? run->result.tokens_per_second : -1.0;
}

static void add_timing(const tide_profile_run *run, bool computes, tide_report *report) {
    const tide_snapshot *snapshot = run->result.snapshot;
    const tide_snapshot_timing *timing = &snapshot->timing;
    if (!computes) {
        tide_profile_say_forecast(run, report);
        return;
    }
    tide_report_say(report, "timing",
                    "times of %" PRId64 " measured step%s after %" PRId64
                    " of warm-up, computed by %s",
                    timing->measured_steps, tide_plural((uint64_t)timing->measured_steps, "", "s"),
                    timing->warmup_steps, snapshot->run.host_computed_by);
    tide_table *table = tide_report_table(report, "phases", "time per phase");
    TIDE_COLUMNS(table, TIDE_TEXT("phase", "phase"), TIDE_NUMBER("mean_ms", "mean"),
                 TIDE_NUMBER("std_ms", "± sample std"), TIDE_NUMBER("samples", "samples"));
    if (timing->measured_steps >= TIDE_STATISTICS_TEN) {
        tide_table_column(table, "best_ten_ms",
                          tide_report_text(report, "best of %" PRId64 " x 10",
                                           timing->measured_steps / TIDE_STATISTICS_TEN),
                          true);
    }
    for (size_t i = 0; i < timing->n_phases; i++) {
        const tide_snapshot_phase *phase = &timing->phases[i];
        double best_ms = tide_statistics_best_ten(phase->device_ms, phase->n_samples);
        if (best_ms < 0.0) { /* the device has no clock */
            best_ms = tide_statistics_best_ten(phase->host_ms, phase->n_samples);
        }
        const char *name = phase->name;
        const tide_statistics *ms = &run->result.ms[tide_run_phase_from_name(name)];
        TIDE_ROW(table, tide_as_text(name), tide_as_ms(ms->mean), tide_as_ms(ms->std),
                 tide_as_count((int64_t)phase->n_samples), tide_as_ms(best_ms));
    }
    double rate = tokens_per_second(run);
    if (rate >= 0.0) {
        tide_report_say(report, "tokens_per_second", "%.0f tokens/s", rate);
    }
}

static void say_emulated(const tide_profile_plan *plan, tide_report *report) {
    unsigned types = 0;
    for (size_t i = 0; i < plan->n_runs; i++) {
        if (plan->runs[i].result.snapshot != NULL) {
            types |= tide_words_emulated(plan->runs[i].result.snapshot);
        }
    }
    tide_say_emulated(report, types, NULL);
}

/* ---- a single run ---- */

/* "peak: 1.93 GiB allocated in step 1, backward; 2.16 GiB reserved at most". */
static void add_peak(const tide_summary_device *device, tide_report *report) {
    const tide_summary_peak *peak = &device->peak;
    const char *where = "";
    if (peak->step >= 0) {
        where = tide_report_text(report, " in %.40s %" PRId64 "%s%.40s", peak->step_name,
                                 peak->step, peak->phase[0] != '\0' ? ", " : "", peak->phase);
    } else if (peak->phase[0] != '\0') {
        where = tide_report_text(report, " in %.40s", peak->phase);
    }
    tide_report_say(report, "peak", "peak: %s allocated%s; %s reserved at most",
                    tide_report_bytes(report, peak->totals.allocated_bytes), where,
                    tide_report_bytes(report, device->max[TIDE_MAX_RESERVED].bytes));
    tide_report_categories(report, "alive at the peak", peak);
    tide_report_say(report, "accounting",
                    "%" PRId64 " bytes allocated = %" PRId64 " requested + %" PRId64
                    " rounding + %" PRId64 " unsplit tails",
                    peak->totals.allocated_bytes, peak->account.asked_bytes,
                    peak->account.rounding_bytes, peak->account.unsplit_bytes);
}

static void add_memory(const tide_profile_plan *plan, const tide_summary *summary,
                       tide_report *report) {
    const tide_profile_run *run = &plan->runs[0];
    if (plan->options->no_record) {
        tide_report_say(report, "peak",
                        "peak: %s allocated, %s reserved at most; allocations were not recorded",
                        tide_report_bytes(report, run->result.memory.allocated_peak_bytes),
                        tide_report_bytes(report, run->result.memory.reserved_peak_bytes));
    } else if (summary->n_devices > 0) {
        add_peak(&summary->devices[tide_summary_main_device(summary)], report);
    }
    tide_say_spill(report, NULL, &run->config.limits, &run->result.memory, run->result.snapshot);
}

/* Warns about each run whose recording is incomplete. */
static void say_dropped(const tide_profile_plan *plan, tide_report *report) {
    for (size_t i = 0; i < plan->n_runs; i++) {
        const tide_snapshot *snapshot = plan->runs[i].result.snapshot;
        if (snapshot != NULL && snapshot->n_dropped > 0) {
            tide_report_say(report, "dropped",
                            "warning: %s: the event log was full: %" PRIu64
                            " events were dropped (%s): give it more room with --log-bytes",
                            plan->runs[i].name, snapshot->n_dropped, snapshot->full_policy);
        }
        if (snapshot != NULL && snapshot->n_scopes_dropped > 0) {
            tide_report_say(report, "dropped_scopes",
                            "warning: %s: the table of scopes was full: %" PRIu64
                            " scopes were dropped: give it more room with --log-bytes",
                            plan->runs[i].name, snapshot->n_scopes_dropped);
        }
    }
}

static void add_figures(const tide_run_result *result, tide_report *report) {
    tide_report_figure_text(report, "outcome", tide_outcome_name((int)result->outcome));
    tide_report_figure_bytes(report, "requested_peak_bytes", result->memory.requested_peak_bytes);
    tide_report_figure_bytes(report, "allocated_peak_bytes", result->memory.allocated_peak_bytes);
    tide_report_figure_bytes(report, "reserved_peak_bytes", result->memory.reserved_peak_bytes);
    tide_report_figure_ns_of_ms(report, "step_ns", result->ms[TIDE_TIMED_STEP].mean);
    tide_report_figure_real(report, "tokens_per_second", result->tokens_per_second);
    tide_report_figure_real(report, "loss", result->loss);
    if (result->n_skipped_steps >= 0) {
        tide_report_figure_real(report, "loss_scale", result->loss_scale);
        tide_report_figure_count(report, "skipped_steps", result->n_skipped_steps);
    }
}

/* For a list, whose table has the figures of each run. */
static void add_list_figures(const tide_profile_plan *plan, tide_report *report) {
    int64_t n_completed = 0;
    int64_t n_oom = 0;
    for (size_t i = 0; i < plan->n_runs; i++) {
        n_completed += plan->runs[i].result.outcome == TIDE_OUTCOME_COMPLETED;
        n_oom += plan->runs[i].result.outcome == TIDE_OUTCOME_OOM;
    }
    tide_report_figure_count(report, "runs", (int64_t)plan->n_runs);
    tide_report_figure_count(report, "completed_runs", n_completed);
    tide_report_figure_count(report, "oom_runs", n_oom);
}

tide_status tide_profile_print_single(const tide_profile_plan *plan, tide_error *error) {
    const tide_profile_run *run = &plan->runs[0];
    tide_summary *summary = NULL;
    tide_report report;
    TIDE_TRY(tide_summary_create(run->result.snapshot, &summary, error));
    tide_status status = TIDE_OK;
    tide_report_init(&report, "profile");
    add_figures(&run->result, &report);
    tide_report_say(&report, "run", "%s on %s%s%s", run->name, plan->device, whose(plan, &report),
                    run->result.outcome == TIDE_OUTCOME_OOM       ? ": does not fit"
                    : run->result.outcome == TIDE_OUTCOME_STOPPED ? ": stopped"
                                                                  : "");
    add_memory(plan, summary, &report);
    tide_profile_say_decode(plan, &report);
    if (run->result.outcome != TIDE_OUTCOME_OOM) {
        add_timing(run, plan->kind != TIDE_DEVICE_VIRTUAL, &report);
        status = tide_add_clocks(&report, run->result.snapshot);
        tide_profile_say_recorder(plan, &report);
    }
    tide_profile_say_loss(plan, &report);
    say_emulated(plan, &report);
    say_dropped(plan, &report);
    if (run->result.snapshot_path[0] != '\0') {
        say_path(&report, "snapshot", run->path);
    }
    if (plan->report_path[0] != '\0' && run->result.snapshot_path[0] != '\0') {
        say_path(&report, "report", plan->report_path);
    }
    status = tide_report_end(&report, status, format_of(plan), error);
    tide_summary_destroy(summary);
    return status;
}

/* ---- a list ---- */

/* Shown if some run has them. The last one is about tokens, which an MLP does not have. */
static const tide_figure FIGURES[] = {
    TIDE_FIGURE(BYTES, "asked_bytes", "asked for", asked_bytes, asked_bytes),
    TIDE_FIGURE(BYTES, "free_bytes", "free", free_bytes, asked_bytes),
    TIDE_FIGURE_TIMES,
    TIDE_FIGURE(RATE, "tokens_per_second", "tokens/s", tokens_per_second, tokens_per_second),
};

enum { N_FIGURES = sizeof(FIGURES) / sizeof(FIGURES[0]) };

/* Returns whether any snapshot was saved. */
static bool add_runs(const tide_profile_plan *plan, tide_report *report) {
    tide_table *table = tide_report_table(report, "runs", "runs");
    TIDE_COLUMNS(table, TIDE_TEXT("run", "run"), TIDE_TEXT("outcome", "outcome"),
                 TIDE_NUMBER("allocated_peak_bytes", "allocated"),
                 TIDE_NUMBER("reserved_peak_bytes", "reserved"));
    bool is_shown[N_FIGURES] = {false};
    bool has_tokens = false;
    bool is_any_saved = false;
    for (size_t i = 0; i < plan->n_runs; i++) {
        tide_figures_note(TIDE_ITEMS(FIGURES), &plan->runs[i].result, is_shown);
        has_tokens = has_tokens || tokens_per_second(&plan->runs[i]) >= 0.0;
    }
    is_shown[N_FIGURES - 1] = has_tokens;
    tide_figures_columns(TIDE_ITEMS(FIGURES), is_shown, table);
    tide_table_column(table, "snapshot", "snapshot", false);
    for (size_t i = 0; i < plan->n_runs; i++) {
        const tide_run_result *result = &plan->runs[i].result;
        const tide_run_memory *memory = &result->memory;
        bool is_saved = result->snapshot_path[0] != '\0';
        bool was_run = result->outcome == TIDE_OUTCOME_COMPLETED ||
                       result->outcome == TIDE_OUTCOME_STOPPED ||
                       result->outcome == TIDE_OUTCOME_OOM;
        TIDE_ROW(table, tide_as_text(plan->runs[i].name),
                 tide_as_text(tide_outcome_answer((int)result->outcome)),
                 tide_as_bytes(was_run ? memory->allocated_peak_bytes : -1),
                 tide_as_bytes(was_run ? memory->reserved_peak_bytes : -1));
        tide_figures_cells(TIDE_ITEMS(FIGURES), is_shown, result, table);
        TIDE_CELLS(table, tide_as_words(is_saved ? plan->runs[i].path : NULL));
        is_any_saved = is_any_saved || is_saved;
    }
    return is_any_saved;
}

/* The sentence that compares the runs that were recorded. */
static tide_status add_comparison(const tide_profile_plan *plan, tide_report *report,
                                  tide_error *error) {
    tide_compare_input inputs[TIDE_PROFILE_MAX_RUNS];
    tide_compare *comparison = NULL;
    size_t n = 0;
    for (size_t i = 0; i < plan->n_runs; i++) {
        const tide_profile_run *run = &plan->runs[i];
        if (run->result.snapshot != NULL) {
            inputs[n++] =
                (tide_compare_input){.label = run->name, .snapshot = run->result.snapshot};
        }
    }
    if (n < 2 || plan->options->no_record) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_compare_create(inputs, n, &comparison, error));
    tide_report_say(report, "comparison", "%s", comparison->sentence);
    tide_compare_destroy(comparison);
    return TIDE_OK;
}

tide_status tide_profile_print_list(const tide_profile_plan *plan, tide_error *error) {
    tide_report report;
    tide_report_init(&report, "profile");
    add_list_figures(plan, &report);
    tide_report_say(&report, "device", "%zu run%s on %s%s%s", plan->n_runs,
                    tide_plural(plan->n_runs, "", "s"), plan->device, whose(plan, &report),
                    plan->kind != TIDE_DEVICE_VIRTUAL ? ""
                    : tide_profile_has_forecast(plan) ? "; times: forecast, below"
                                                      : "; times: not computed");
    bool is_any_saved = add_runs(plan, &report);
    tide_profile_say_forecasts(plan, &report);
    for (size_t i = 0; i < plan->n_runs; i++) {
        tide_say_spill(&report, plan->runs[i].name, &plan->runs[i].config.limits,
                       &plan->runs[i].result.memory, plan->runs[i].result.snapshot);
    }
    tide_status status = add_comparison(plan, &report, error);
    tide_profile_say_recorder(plan, &report);
    tide_profile_say_loss(plan, &report);
    say_emulated(plan, &report);
    say_dropped(plan, &report);
    if (is_any_saved && plan->report_path[0] != '\0') {
        say_path(&report, "report", plan->report_path);
    }
    return tide_report_end(&report, status, format_of(plan), error);
}
