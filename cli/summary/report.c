#include "cli/summary/report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/clocks.h"
#include "cli/words/snapshot_words.h"
#include "cli/summary/kernels.h"
#include "cli/summary/origin.h"
#include "cli/summary/settings.h"
#include "cli/summary/verdict.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "common/statistics.h"
#include "snapshot/analysis/summary.h"

enum { SENTENCE_BYTES = 1024 };

/* ---- sentences ---- */

static void say_run(const tide_summary_view *of, const char *path) {
    char words[SENTENCE_BYTES];
    tide_words_run(of->snapshot, words, sizeof(words));
    tide_report_say(of->report, "run", "%s: %s", path, words);
}

static void say_peak(const tide_summary_view *of) {
    const tide_summary_peak *peak = &of->device->peak;
    char where[SENTENCE_BYTES];
    char parts[SENTENCE_BYTES] = "";
    const char *time = "";
    tide_words_peak_place(peak, where, sizeof(where));
    if (!tide_summary_lacks_categories(peak)) {
        tide_words_categories(peak, parts, sizeof(parts));
    }
    if (!of->is_peak && peak->time_ns > 0) {
        time = tide_report_text(of->report, " (%.6f ms)", (double)peak->time_ns * 1e-6);
    }
    tide_report_say(of->report, of->is_peak ? "peak" : "instant",
                    "%s%s%s %s (%" PRId64 " bytes) allocated%s%s%s%s",
                    of->is_peak ? "peak" : of->when, time, of->is_peak ? "" : ":",
                    tide_report_bytes(of->report, peak->totals.allocated_bytes),
                    peak->totals.allocated_bytes, where[0] != '\0' ? " in " : "", where,
                    parts[0] != '\0' ? ": " : "", parts);
    tide_report_say(of->report, "accounting",
                    "allocated = requested %" PRId64 " + rounding %" PRId64
                    " + unsplit tails %" PRId64 " bytes, in %zu %s",
                    peak->account.asked_bytes, peak->account.rounding_bytes,
                    peak->account.unsplit_bytes, peak->n_blocks,
                    tide_plural(peak->n_blocks, "block", "blocks"));
}

/* ---- figures ---- */

/* The mean of the phase "step", by the device's clock if it has one; -1: not timed. */
static double step_ms(const tide_snapshot_timing *timing) {
    for (size_t i = 0; i < timing->n_phases; i++) {
        const tide_snapshot_phase *phase = &timing->phases[i];
        if (strcmp(phase->name, "step") == 0) {
            double device_ms = tide_statistics_of(phase->device_ms, phase->n_samples).mean;
            return device_ms >= 0.0 ? device_ms
                                    : tide_statistics_of(phase->host_ms, phase->n_samples).mean;
        }
    }
    return -1.0;
}

static void add_figures(const tide_summary_view *of) {
    const tide_summary_device *device = of->device;
    const tide_summary_peak *instant = &device->peak;
    const tide_account *account = &instant->account;
    bool is_recorded = of->snapshot->n_events > 0 || of->snapshot->n_start_blocks > 0;
    const struct {
        const char *key;
        int64_t n_bytes;
    } BYTES[] = {
        {"requested_bytes", account->asked_bytes},
        {"rounding_bytes", account->rounding_bytes},
        {"unsplit_bytes", account->unsplit_bytes},
        {"allocated_bytes", instant->totals.allocated_bytes},
        {"cached_bytes", account->splittable_bytes + account->releasable_bytes},
        {"reserved_bytes", account->reserved_bytes},
        {"requested_peak_bytes", tide_summary_peak_bytes(of, TIDE_MAX_REQUESTED)},
        {"allocated_peak_bytes", tide_summary_peak_bytes(of, TIDE_MAX_ALLOCATED)},
        {"active_peak_bytes", tide_summary_peak_bytes(of, TIDE_MAX_ACTIVE)},
        {"reserved_peak_bytes", tide_summary_peak_bytes(of, TIDE_MAX_RESERVED)},
        {"allocated_end_bytes", device->end.allocated_bytes},
        {"reserved_end_bytes", device->end.reserved_bytes},
    };
    tide_report_figure_text(of->report, "outcome", of->snapshot->run.outcome);
    tide_summary_fits(of);
    tide_report_figure_count(of->report, "device", (int64_t)of->device_number);
    tide_report_figure_count(of->report, "event", is_recorded ? instant->event : -1);
    for (size_t i = 0; i < sizeof(BYTES) / sizeof(BYTES[0]); i++) {
        tide_report_figure_bytes(of->report, BYTES[i].key, is_recorded ? BYTES[i].n_bytes : -1);
    }
    tide_report_figure_count(of->report, "blocks", is_recorded ? (int64_t)instant->n_blocks : -1);
    tide_report_figure_count(of->report, "ooms", device->n_oom);
    tide_report_figure_count(of->report, "dropped_events", (int64_t)of->snapshot->n_dropped);
    tide_report_figure_ns_of_ms(of->report, "step_ns", step_ms(&of->snapshot->timing));
}

/* ---- tables ---- */

static void maxima_table(const tide_summary_view *of) {
    const tide_totals *end = &of->device->end;
    int64_t ends[TIDE_N_MAX] = {end->requested_bytes, end->allocated_bytes, end->active_bytes,
                                end->reserved_bytes};
    tide_table *table =
        tide_report_table(of->report, "maxima",
                          of->is_cut ? "Highest bytes of the events that were kept, and the end"
                                     : "Highest bytes and the end");
    TIDE_COLUMNS(table, TIDE_TEXT("quantity", "bytes"), TIDE_NUMBER("max_bytes", "highest"),
                 TIDE_NUMBER("event", "at event"), TIDE_NUMBER("end_bytes", "at the end"),
                 TIDE_TEXT("counted", "counted"));
    for (int i = 0; i < TIDE_N_MAX; i++) {
        TIDE_ROW(table, tide_as_text(tide_words_total(i)), tide_as_bytes(of->device->max[i].bytes),
                 tide_as_count(of->device->max[i].event), tide_as_bytes(ends[i]),
                 tide_as_text(tide_words_total_rule(i)));
    }
}

/* ---- the report ---- */

static tide_status add_memory(const tide_summary_view *of, const tide_verdict *verdict,
                              const char *rules, tide_error *error) {
    tide_say_unfinished(of->report, of->snapshot, NULL);
    say_peak(of);
    tide_summary_alive(of, verdict);
    TIDE_TRY(tide_summary_rules(of, rules, error));
    tide_summary_account(of);
    TIDE_TRY(tide_summary_pools(of));
    tide_summary_owners(of);
    maxima_table(of);
    tide_summary_alive_places(of, verdict);
    return TIDE_OK;
}

static tide_status build_with(const tide_summary_view *of, const tide_verdict *verdict,
                              const char *path, const char *rules, tide_error *error) {
    say_run(of, path);
    TIDE_TRY(tide_say_verdict(of, verdict));
    tide_summary_say_origin(of);
    tide_summary_software(of);
    tide_summary_settings(of->report, of->snapshot);
    tide_summary_warnings(of);
    if (of->snapshot->n_events == 0 && of->snapshot->n_start_blocks == 0) {
        tide_summary_owners(of);
    } else {
        TIDE_TRY(add_memory(of, verdict, rules, error));
    }
    tide_summary_inexact(of);
    tide_summary_assumed(of);
    tide_summary_serving(of);
    tide_summary_timing(of);
    return tide_add_clocks(of->report, of->snapshot);
}

static tide_status build(const tide_summary_view *of, const char *path, const char *rules,
                         tide_error *error) {
    tide_verdict verdict;
    tide_status status = tide_verdict_init(&verdict, of);
    if (status == TIDE_OK) {
        status = build_with(of, &verdict, path, rules, error);
    }
    tide_verdict_fini(&verdict);
    return status;
}

/* The parts of the report that are only on request. */
static tide_status add_asked(const tide_summary_view *of, const tide_summary_plan *plan) {
    if (plan->tree.n_keys > 0) {
        TIDE_TRY(tide_summary_tree(of, &plan->tree));
    }
    if (plan->fragmentation) {
        TIDE_TRY(tide_summary_fragmentation(of));
    }
    return plan->steps || plan->leaks ? tide_summary_steps(of, plan->steps, plan->leaks) : TIDE_OK;
}

static tide_status add_all(const tide_summary_view *of, const tide_summary_plan *plan,
                           tide_error *error) {
    if (of->snapshot->n_devices > 1) {
        bool has_pinned = tide_snapshot_is_pinned(of->snapshot, of->snapshot->n_devices - 1);
        tide_report_say(
            of->report, "device", "device %zu of %zu%s", of->device_number, of->snapshot->n_devices,
            plan->choice.device != TIDE_ANY_DEVICE ? ""
            : has_pinned ? ", the card with the highest peak; the last one is pinned memory of the "
                           "host: --device shows the others"
                         : ", the one with the highest peak: --device shows the others");
    }
    add_figures(of);
    TIDE_TRY(build(of, plan->path, plan->rules, error));
    TIDE_TRY(add_asked(of, plan));
    return tide_summary_kernels(of->report, of->snapshot, of->top);
}

tide_status tide_summary_fill(tide_summary_view *view, tide_report *report,
                              const tide_snapshot *snapshot, const tide_summary_plan *plan,
                              tide_error *error) {
    *view = (tide_summary_view){.report = report, .snapshot = snapshot};
    if (snapshot->n_devices == 0) {
        return tide_fail(error, TIDE_FORMAT, "'%s' records no device", plan->path);
    }
    TIDE_TRY(tide_summary_view_init(view, report, snapshot, &plan->choice, error));
    view->top = plan->top;
    view->is_text = plan->is_text;
    view->is_for_programs = plan->is_for_programs;
    return add_all(view, plan, error);
}
