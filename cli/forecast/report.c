/* What `tidemark forecast` prints: one line, and the tables behind it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/forecast/forecast.h"
#include "common/bytes.h"

enum { N_CATEGORIES_SAID = 3, PART_BYTES = 512, TIMES_BYTES = 32 };

static int64_t countable(uint64_t n_bytes) {
    return n_bytes > INT64_MAX ? INT64_MAX : (int64_t)n_bytes;
}

static const char *text_of(uint64_t n_bytes, char text[TIDE_BYTES_TEXT]) {
    return tide_bytes_format(countable(n_bytes), text);
}

/* "2.7B train, context 1024, batch 4, bf16-mixed, as PyTorch runs it (edition 2026)". */
static void describe_run(const tide_workload_config *workload, char text[PART_BYTES]) {
    const tide_model_config *model = &workload->model;
    (void)snprintf(text, PART_BYTES,
                   "%s %s%s, context %zu, batch %zu, %s%s%s, as PyTorch runs it (edition %s)",
                   model->size, tide_mode_name((int)workload->mode),
                   workload->keep_graph ? " with its graph" : "", model->context_length,
                   model->batch_size, tide_precision_name((int)workload->precision),
                   workload->attention == TIDE_ATTENTION_FLASH ? ", flash attention" : "",
                   workload->recompute == TIDE_RECOMPUTE_BLOCK ? ", recompute of each block" : "",
                   tide_edition_name((int)workload->edition));
}

/* "once", "3 times". */
static const char *times_of(uint64_t n, char text[TIMES_BYTES]) {
    if (n == 1) {
        return "once";
    }
    (void)snprintf(text, TIMES_BYTES, "%" PRIu64 " times", n);
    return text;
}

/* "fits virtual:h100-80 with 3.00 GiB to spare". */
static void describe_answer(const tide_forecast *f, char text[PART_BYTES]) {
    char bytes[TIDE_BYTES_TEXT];
    char times[TIMES_BYTES];
    if (f->usable_bytes == UINT64_MAX) {
        (void)snprintf(text, PART_BYTES, "has no bound on %s", f->device.spec);
    } else if (f->fits && f->memory.n_retries > 0) {
        (void)snprintf(text, PART_BYTES,
                       "fits the %s of %s, but only by giving cached memory back and buying it "
                       "again %s",
                       text_of(f->usable_bytes, bytes), f->device.spec,
                       times_of((uint64_t)f->memory.n_retries, times));
    } else if (f->fits) {
        (void)snprintf(text, PART_BYTES, "fits %s with %s to spare", f->device.spec,
                       text_of(f->usable_bytes - (uint64_t)f->memory.reserved_peak_bytes, bytes));
    } else {
        (void)snprintf(text, PART_BYTES, "does not fit the %s of %s",
                       text_of(f->usable_bytes, bytes), f->device.spec);
    }
}

/* "47.00 GiB activation (most: 16.00 GiB attn.exp), 25.38 GiB optimizer_state": why it is high. */
static void describe_why(const tide_forecast *f, char text[PART_BYTES]) {
    const tide_split *split = &f->peak.peak->by_category;
    bool is_said[TIDE_MAX_CATEGORIES] = {false};
    size_t n = 0;
    text[0] = '\0';
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
        char bytes[TIDE_BYTES_TEXT];
        n += (size_t)snprintf(text + n, PART_BYTES - n, "%s%s %s", i > 0 ? ", " : "",
                              tide_bytes_format(best->bytes, bytes), best->label);
        for (size_t k = 0; k < f->peak.n_groups && n < PART_BYTES; k++) {
            if (f->peak.groups[k].category == best->key && best->key == TIDE_ACTIVATION) {
                n += (size_t)snprintf(text + n, PART_BYTES - n, " (most of it %s: %s)",
                                      f->peak.groups[k].name,
                                      tide_bytes_format(f->peak.groups[k].bytes, bytes));
                break;
            }
        }
        if (n >= PART_BYTES) {
            return;
        }
    }
}

/* The first change that fits, which is the one that takes the least. */
static void describe_change(const tide_forecast *f, char text[PART_BYTES]) {
    char allocated[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    text[0] = '\0';
    if (f->fits) {
        return;
    }
    for (size_t i = 0; i < TIDE_N_CHANGES; i++) {
        const tide_forecast_change *change = &f->changes[i];
        if (change->applies && change->fits) {
            (void)snprintf(
                text, PART_BYTES,
                "; the smallest change that makes it fit: %s (%s allocated, %s reserved)",
                change->text, tide_bytes_format(change->memory.allocated_peak_bytes, allocated),
                tide_bytes_format(change->memory.reserved_peak_bytes, reserved));
            return;
        }
    }
    (void)snprintf(text, PART_BYTES,
                   "; no smaller context or batch makes it fit, nor flash attention or recompute: "
                   "it takes a smaller model or a larger card");
}

/* What the run takes on the card, or would take if it fitted. */
static const tide_run_memory *taken_by(const tide_forecast *f) {
    return f->fits ? &f->memory : &f->peak.memory;
}

static void say_line(const tide_forecast *f, tide_report *report) {
    const tide_run_memory *taken = taken_by(f);
    char run[PART_BYTES];
    char answer[PART_BYTES];
    char why[PART_BYTES];
    char change[PART_BYTES];
    char allocated[TIDE_BYTES_TEXT];
    char reserved[TIDE_BYTES_TEXT];
    describe_run(tide_run_workload_model(&f->config.workload), run);
    describe_answer(f, answer);
    describe_why(f, why);
    describe_change(f, change);
    tide_report_say(report, "forecast",
                    "%s, %s: at most %s allocated and %s reserved; the peak is in %s, with %s%s",
                    run, answer, tide_bytes_format(taken->allocated_peak_bytes, allocated),
                    tide_bytes_format(taken->reserved_peak_bytes, reserved),
                    f->peak.peak->scope_path[0] != '\0' ? f->peak.peak->scope_path : "setup", why,
                    change);
}

/* ---- tables ---- */

static void add_changes(const tide_forecast *f, tide_report *report) {
    tide_table *table = tide_report_table(report, "changes", "the run, and what would change it");
    tide_table_column(table, "change", "change", false);
    tide_table_column(table, "fits", "fits", false);
    tide_table_column(table, "allocated_peak_bytes", "allocated", true);
    tide_table_column(table, "reserved_peak_bytes", "reserved", true);
    tide_table_column(table, "usable_bytes", "usable", true);
    tide_table_row_begin(table);
    tide_cell_text(table, "none");
    tide_cell_text(table, f->fits ? "yes" : "no");
    tide_cell_bytes(table, taken_by(f)->allocated_peak_bytes);
    tide_cell_bytes(table, taken_by(f)->reserved_peak_bytes);
    tide_cell_bytes(table, f->usable_bytes == UINT64_MAX ? -1 : countable(f->usable_bytes));
    for (size_t i = 0; i < TIDE_N_CHANGES; i++) {
        const tide_forecast_change *change = &f->changes[i];
        if (change->applies) {
            tide_table_row_begin(table);
            tide_cell_text(table, change->text);
            tide_cell_text(table, change->fits ? "yes" : "no");
            tide_cell_bytes(table, change->memory.allocated_peak_bytes);
            tide_cell_bytes(table, change->memory.reserved_peak_bytes);
            tide_cell_bytes(table, countable(f->usable_bytes));
        }
    }
}

static void add_groups(const tide_forecast *f, tide_report *report) {
    enum { N_SHOWN = 16 };
    tide_table *table = tide_report_table(report, "alive", "alive at the peak, by tensor");
    tide_table_column(table, "tensor", "tensor", false);
    tide_table_column(table, "category", "category", false);
    tide_table_column(table, "blocks", "blocks", true);
    tide_table_column(table, "bytes", "bytes", true);
    tide_table_column(table, "share_percent", "share", true);
    for (size_t i = 0; i < f->peak.n_groups && i < N_SHOWN; i++) {
        const tide_peak_group *group = &f->peak.groups[i];
        tide_table_row_begin(table);
        tide_cell_text(table, group->name);
        tide_cell_text(table, tide_snapshot_category(f->peak.snapshot, group->category));
        tide_cell_count(table, group->n_blocks);
        tide_cell_bytes(table, group->bytes);
        tide_cell_percent(table, 100.0 * (double)group->bytes /
                                     (double)f->peak.peak->totals.allocated_bytes);
    }
}

static void add_categories(const tide_forecast *f, tide_report *report) {
    const tide_split *split = &f->peak.peak->by_category;
    tide_table *table = tide_report_table(report, "categories", "alive at the peak, by category");
    tide_table_column(table, "category", "category", false);
    tide_table_column(table, "bytes", "bytes", true);
    tide_table_column(table, "share_percent", "share", true);
    for (size_t i = 0; i < split->n_shares; i++) {
        const tide_share *share = &split->shares[i];
        if (share->bytes > 0) {
            tide_table_row_begin(table);
            tide_cell_text(table, share->label);
            tide_cell_bytes(table, share->bytes);
            tide_cell_percent(table, 100.0 * (double)share->bytes /
                                         (double)f->peak.peak->totals.allocated_bytes);
        }
    }
}

static void add_figures(const tide_forecast *f, tide_report *report) {
    bool is_bounded = f->usable_bytes != UINT64_MAX;
    tide_report_figure_text(report, "fits", f->fits ? "yes" : "no");
    tide_report_figure_bytes(report, "allocated_peak_bytes", taken_by(f)->allocated_peak_bytes);
    tide_report_figure_bytes(report, "reserved_peak_bytes", taken_by(f)->reserved_peak_bytes);
    tide_report_figure_bytes(report, "usable_bytes", is_bounded ? countable(f->usable_bytes) : -1);
}

tide_status tide_forecast_print(const tide_forecast *f, tide_format format, bool details,
                                tide_error *error) {
    tide_report report;
    tide_report_init(&report, "forecast");
    add_figures(f, &report);
    say_line(f, &report);
    if (details || format.kind != TIDE_FORMAT_TEXT || format.table != NULL) {
        add_changes(f, &report);
        add_categories(f, &report);
        add_groups(f, &report);
    }
    tide_status status = tide_report_print(&report, format, stdout, stderr, error);
    tide_report_fini(&report);
    return status;
}
