/* The output of `tidemark forecast`: one line, and the tables after it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/commands/forecast/internal.h"
#include "cli/options/report_options.h"
#include "cli/words/snapshot_words.h"
#include "cli/words/spill_words.h"
#include "cli/time_kernels.h"
#include "common/text/text.h"
#include "programs/launch/time.h"
#include "snapshot/plan/texts.h"

enum { N_CATEGORIES_SAID = 3, PART_BYTES = 512, TIMES_BYTES = 32 };

static int64_t countable(uint64_t n_bytes) {
    return n_bytes > INT64_MAX ? INT64_MAX : (int64_t)n_bytes;
}

/* "2.7B train, context 1024, batch 4, bf16-mixed, as PyTorch runs it (edition 2026)". */
static const char *describe_run(tide_report *report, const tide_workload_config *workload) {
    const tide_model_config *model = &workload->model;
    return tide_report_text(
        report, "%s %s%s, context %zu, batch %zu, %s%s%s, as PyTorch runs it (edition %s)",
        model->size, tide_mode_name((int)workload->mode),
        workload->keep_graph ? " with its graph" : "", model->context_length, model->batch_size,
        tide_precision_name((int)workload->precision),
        workload->attention == TIDE_ATTENTION_FLASH ? ", flash attention" : "",
        workload->recompute == TIDE_RECOMPUTE_BLOCK ? ", recompute of each block" : "",
        tide_edition_name((int)workload->edition));
}

/* "fits virtual:h100-80 with 3.00 GiB to spare". */
static const char *describe_answer(tide_report *report, const tide_forecast *f) {
    const char *usable = tide_report_bytes(report, countable(f->usable_bytes));
    const char *spec = f->device.spec;
    if (f->usable_bytes == UINT64_MAX) {
        return tide_report_text(report, "has no bound on %s", spec);
    }
    if (f->fits && f->memory.n_retries > 0) {
        const char *times =
            f->memory.n_retries == 1
                ? "once"
                : tide_report_text(report, "%" PRIu64 " times", (uint64_t)f->memory.n_retries);
        return tide_report_text(report,
                                "fits the %s of %s, but only by giving cached memory back and "
                                "buying it again %s",
                                usable, spec, times);
    }
    if (f->fits) {
        uint64_t spare = f->usable_bytes - (uint64_t)f->memory.reserved_peak_bytes;
        return tide_report_text(report, "fits %s with %s to spare", spec,
                                tide_report_bytes(report, countable(spare)));
    }
    return tide_report_text(report, "does not fit the %s of %s", usable, spec);
}

/* "47.00 GiB activation (most: 16.00 GiB attn.exp), 25.38 GiB optimizer_state": why it is high. */
static const char *describe_why(tide_report *report, const tide_forecast *f) {
    const tide_split *split = &f->peak.peak->by_category;
    bool is_said[TIDE_MAX_CATEGORIES] = {false};
    char text[PART_BYTES];
    tide_text to = tide_text_in(text, sizeof(text));
    for (size_t i = 0; i < N_CATEGORIES_SAID; i++) {
        const tide_share *best = NULL;
        for (size_t k = 0; k < split->n_shares; k++) {
            const tide_share *share = &split->shares[k];
            if (!is_said[share->key] && share->bytes > 0 &&
                (best == NULL || share->bytes > best->bytes)) {
                best = share;
            }
        }
        if (best == NULL) {
            break;
        }
        is_said[best->key] = true;
        tide_text_add_item(&to, ", ", "%s %s", tide_report_bytes(report, best->bytes), best->label);
        for (size_t k = 0; k < f->peak.n_groups && best->key == TIDE_ACTIVATION; k++) {
            const tide_peak_group *group = &f->peak.groups[k];
            if (group->category == best->key) {
                tide_text_add(&to, " (most of it %s: %s)", group->name,
                              tide_report_bytes(report, group->bytes));
                break;
            }
        }
    }
    return tide_report_text(report, "%s", text);
}

/* The first change that fits, which is the mildest one. */
static const char *describe_change(tide_report *report, const tide_forecast *f) {
    if (f->fits) {
        return "";
    }
    for (size_t i = 0; i < TIDE_N_CHANGES; i++) {
        const tide_forecast_change *change = &f->changes[i];
        if (change->applies && change->fits) {
            return tide_report_text(
                report, "; the smallest change that makes it fit: %s (%s allocated, %s reserved)",
                change->text, tide_report_bytes(report, change->memory.allocated_peak_bytes),
                tide_report_bytes(report, change->memory.reserved_peak_bytes));
        }
    }
    return "; no smaller context or batch makes it fit, nor flash attention or recompute: it takes "
           "a smaller model or a larger card";
}

/* The memory that the run uses on the card, or would use if it fitted. */
static const tide_run_memory *taken_by(const tide_forecast *f) {
    return f->fits ? &f->memory : &f->unlimited_memory;
}

static void say_line(const tide_forecast *f, tide_report *report) {
    const tide_run_memory *taken = taken_by(f);
    const char *place = f->peak.peak->scope_path;
    tide_report_say(
        report, "forecast",
        "%s, %s: at most %s allocated and %s reserved; the peak is in %s, with %s%s",
        describe_run(report, tide_run_workload_model(&f->config.workload)),
        describe_answer(report, f), tide_report_bytes(report, taken->allocated_peak_bytes),
        tide_report_bytes(report, taken->reserved_peak_bytes), place[0] != '\0' ? place : "setup",
        describe_why(report, f), describe_change(report, f));
}

/* The forecast's changes are those of our own model; a plan makes such changes in other programs.
 */
static void say_plan(const tide_forecast *f, tide_report *report) {
    const tide_workload_config *workload = tide_run_workload_model(&f->config.workload);
    bool is_virtual = strncmp(f->device.spec, "virtual:", strlen("virtual:")) == 0;
    char title[PART_BYTES];
    if (!f->fits && is_virtual && workload->mode == TIDE_TRAIN) {
        tide_plan_title(&tide_plan_texts[TIDE_PLAN_CHECKPOINT], "block", title, sizeof(title));
        tide_report_say(report, "plan",
                        "in a training program of your own, `tidemark plan --device %s -- python "
                        "train.py` tries such changes: %s, and others",
                        f->device.spec, title);
    }
}

/* ---- tables ---- */

static void add_changes(const tide_forecast *f, tide_report *report) {
    tide_table *table = tide_report_table(report, "changes", "the run, and what would change it");
    TIDE_COLUMNS(table, TIDE_TEXT("change", "change"), TIDE_TEXT("fits", "fits"),
                 TIDE_NUMBER("allocated_peak_bytes", "allocated"),
                 TIDE_NUMBER("reserved_peak_bytes", "reserved"),
                 TIDE_NUMBER("usable_bytes", "usable"));
    TIDE_ROW(table, tide_as_text("none"), tide_as_text(f->fits ? "yes" : "no"),
             tide_as_bytes(taken_by(f)->allocated_peak_bytes),
             tide_as_bytes(taken_by(f)->reserved_peak_bytes),
             tide_as_bytes(f->usable_bytes == UINT64_MAX ? -1 : countable(f->usable_bytes)));
    for (size_t i = 0; i < TIDE_N_CHANGES; i++) {
        const tide_forecast_change *change = &f->changes[i];
        if (change->applies) {
            TIDE_ROW(table, tide_as_text(change->text), tide_as_text(change->fits ? "yes" : "no"),
                     tide_as_bytes(change->memory.allocated_peak_bytes),
                     tide_as_bytes(change->memory.reserved_peak_bytes),
                     tide_as_bytes(countable(f->usable_bytes)));
        }
    }
}

static void add_groups(const tide_forecast *f, tide_report *report) {
    enum { N_SHOWN = 16 };
    tide_table *table = tide_report_table(report, "alive", "alive at the peak, by tensor");
    TIDE_COLUMNS(table, TIDE_TEXT("tensor", "tensor"), TIDE_TEXT("category", "category"),
                 TIDE_NUMBER("blocks", "blocks"), TIDE_NUMBER("bytes", "bytes"),
                 TIDE_NUMBER("share_percent", "share"));
    for (size_t i = 0; i < f->peak.n_groups && i < N_SHOWN; i++) {
        const tide_peak_group *group = &f->peak.groups[i];
        TIDE_ROW(table, tide_as_text(group->name),
                 tide_as_text(tide_snapshot_category(f->peak.snapshot, group->category)),
                 tide_as_count(group->n_blocks), tide_as_bytes(group->bytes),
                 tide_as_share((double)group->bytes, (double)f->peak.peak->totals.allocated_bytes));
    }
}

static void add_figures(const tide_forecast *f, tide_report *report) {
    bool is_bounded = f->usable_bytes != UINT64_MAX;
    tide_report_figure_text(report, "fits", f->fits ? "yes" : "no");
    tide_report_figure_bytes(report, "allocated_peak_bytes", taken_by(f)->allocated_peak_bytes);
    tide_report_figure_bytes(report, "reserved_peak_bytes", taken_by(f)->reserved_peak_bytes);
    tide_report_figure_bytes(report, "usable_bytes", is_bounded ? countable(f->usable_bytes) : -1);
}

/* Why there is no forecast of time: the memory, a failure of the run that was timed, or the card.
 */
static const char *why_no_time(const tide_forecast *f, const tide_run_result *timed) {
    return !f->fits                   ? "it does not fit"
           : timed->reason[0] != '\0' ? timed->reason
                                      : timed->no_forecast;
}

tide_status tide_forecast_print(const tide_forecast *f, const tide_run_result *timed,
                                tide_format format, bool details, tide_error *error) {
    tide_report report;
    tide_report_init(&report, "forecast");
    add_figures(f, &report);
    say_line(f, &report);
    say_plan(f, &report);
    tide_say_spill(&report, NULL, &f->config.limits, &f->memory, NULL);
    if (timed != NULL) {
        tide_time_say(&report, timed->time != NULL ? &timed->time->forecast : NULL,
                      why_no_time(f, timed));
    }
    if (details || format.kind != TIDE_FORMAT_TEXT || format.table != NULL) {
        add_changes(f, &report);
        tide_report_categories(&report, "alive at the peak, by category", f->peak.peak);
        add_groups(f, &report);
    }
    return tide_report_end(&report, TIDE_OK, format, error);
}
