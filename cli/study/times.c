/* The studies of whole steps: end-to-end, warmup, precision. */
#include <stdio.h>
#include <string.h>

#include "cli/figures.h"
#include "cli/study/conclusions.h"
#include "cli/study/internal.h"

/* ---- presets ---- */

static void fill_common(tide_study_options *options) {
    tide_study_fill(&options->run.modes, "forward-backward");
    tide_study_fill(&options->run.contexts, "128");
    tide_study_fill(&options->warmups, "5");
}

static void fill_end_to_end(tide_study_options *options) {
    tide_study_fill_sizes(options, false);
    fill_common(options);
}

static void fill_warmup(tide_study_options *options) {
    tide_study_fill_size(options, "small");
    tide_study_fill(&options->warmups, "0,1,2,5");
    fill_common(options);
}

static void fill_precision(tide_study_options *options) {
    tide_study_fill_sizes(options, false);
    tide_study_fill(&options->run.precisions, "fp32,tf32,bf16-mixed,bf16-true");
    fill_common(options);
}

/* ---- the table ---- */

/* Shown if some cell has them. */
static const tide_figure FIGURES[] = {
    TIDE_FIGURE_TIMES,
    TIDE_FIGURE(TIDE_FIGURE_RATE, "tokens_per_second", "tokens/s", tokens_per_second,
                tokens_per_second),
    TIDE_FIGURE(TIDE_FIGURE_TERA, "tflops", "TFLOP/s", achieved_flops, tokens_per_second),
    TIDE_FIGURE(TIDE_FIGURE_SHARE, "peak_share", "of stated peak", peak_share, peak_share),
    TIDE_FIGURE(TIDE_FIGURE_BYTES, "asked_bytes", "asked for", asked_bytes, asked_bytes),
    TIDE_FIGURE(TIDE_FIGURE_BYTES, "free_bytes", "free", free_bytes, asked_bytes),
};

enum { N_FIGURES = sizeof(FIGURES) / sizeof(FIGURES[0]) };

static void add_columns(const tide_study_work *work, const tide_study_columns *columns,
                        bool is_shown[N_FIGURES], tide_table *table) {
    tide_study_add_columns(columns, table);
    tide_table_column(table, "outcome", "outcome", false);
    for (size_t k = 0; k < N_FIGURES; k++) {
        is_shown[k] = false;
        for (size_t i = 0; i < work->n_run; i++) {
            is_shown[k] = is_shown[k] || tide_figure_is_known(&FIGURES[k], &work->cells[i].result);
        }
        if (is_shown[k]) {
            tide_figure_column(&FIGURES[k], table);
        }
    }
    tide_table_column(table, "allocated_bytes", "allocated", true);
}

static void add_row(const tide_study_columns *columns, const bool is_shown[N_FIGURES],
                    const tide_study_cell *cell, tide_table *table) {
    const tide_run_result *result = &cell->result;
    tide_table_row_begin(table);
    tide_study_add_cells(columns, cell, table);
    tide_cell_text(table, tide_outcome_name((int)result->outcome));
    for (size_t k = 0; k < N_FIGURES; k++) {
        if (is_shown[k]) {
            tide_figure_cell(&FIGURES[k], result, table);
        }
    }
    tide_cell_bytes(table, result->outcome == TIDE_OUTCOME_COMPLETED
                               ? result->memory.allocated_peak_bytes
                               : -1);
}

/* ---- the conclusion ---- */

typedef void conclusion_of(const tide_conclusion_times *runs, size_t n,
                           char ret_text[TIDE_CONCLUSION_BYTES]);

static tide_conclusion_times times_of(const tide_study_columns *label,
                                      const tide_study_cell *cell) {
    const tide_run_result *result = &cell->result;
    tide_conclusion_times times = {
        .n_parameters = tide_run_workload_n_parameters(&cell->config.workload),
        .forward_ms = result->ms[TIDE_TIMED_FORWARD],
        .backward_ms = result->ms[TIDE_TIMED_BACKWARD],
        .step_ms = result->ms[TIDE_TIMED_STEP],
    };
    tide_study_label(label, cell, times.label, sizeof(times.label));
    if (times.label[0] == '\0') {
        snprintf(times.label, sizeof(times.label), "%s", tide_study_model(cell)->model.size);
    }
    return times;
}

/* Gathers the cells that are like `like` in everything but what the study compares. */
static size_t gather(const tide_study_work *work, const tide_study_columns *compared,
                     const tide_study_columns *others, const char *like,
                     tide_conclusion_times *ret_runs) {
    size_t n = 0;
    for (size_t i = 0; i < work->n_run; i++) {
        char label[TIDE_CONCLUSION_LABEL_BYTES];
        tide_study_label(others, &work->cells[i], label, sizeof(label));
        if (strcmp(label, like) == 0) {
            ret_runs[n++] = times_of(compared, &work->cells[i]);
        }
    }
    return n;
}

static size_t n_timed(const tide_conclusion_times *runs, size_t n) {
    size_t n_found = 0;
    for (size_t i = 0; i < n; i++) {
        n_found += runs[i].step_ms.mean > 0.0 ? 1 : 0;
    }
    return n_found;
}

/* Says one conclusion: about the last group with two runs that can be compared, because the last
 * are the largest; if there is no such group, about the last one that has times. */
static void say_conclusion(tide_study_work *work, const tide_study_columns *compared,
                           const tide_study_columns *others, conclusion_of *conclude,
                           tide_conclusion_times *runs) {
    char like[TIDE_CONCLUSION_LABEL_BYTES] = "";
    char text[TIDE_CONCLUSION_BYTES];
    size_t most = 0; /* runs with times in the chosen group; 2 are enough */
    for (size_t i = work->n_run; i > 0; i--) {
        char label[TIDE_CONCLUSION_LABEL_BYTES];
        tide_study_label(others, &work->cells[i - 1], label, sizeof(label));
        size_t n = n_timed(runs, gather(work, compared, others, label, runs));
        if (most < 2 && n > most) {
            most = n;
            snprintf(like, sizeof(like), "%s", label);
        }
    }
    size_t n = most > 0 ? gather(work, compared, others, like, runs) : 0;
    bool is_one_of_many = most > 0 && n < work->n_run;
    conclude(runs, n, text);
    tide_report_say(&work->report, "conclusion", "%s%s%s", is_one_of_many ? like : "",
                    is_one_of_many ? ": " : "", text);
}

static tide_status report_times(tide_study_work *work, const tide_study_columns *compared,
                                conclusion_of *conclude) {
    const tide_hostmem *mem = tide_hostmem_default();
    const tide_study_columns columns = tide_study_columns_of(work);
    bool is_shown[N_FIGURES];
    tide_conclusion_times *runs = tide_hostmem_zeroed(mem, work->n_cells, sizeof(*runs));
    if (runs == NULL) {
        return TIDE_NO_MEMORY;
    }
    /* Groups differ in all columns except the compared ones. */
    const tide_study_columns others = {
        .size = columns.size && !compared->size,
        .mode = columns.mode && !compared->mode,
        .context = columns.context && !compared->context,
        .batch = columns.batch && !compared->batch,
        .precision = columns.precision && !compared->precision,
        .attention = columns.attention && !compared->attention,
        .recompute = columns.recompute && !compared->recompute,
        .warmup = columns.warmup && !compared->warmup,
    };
    tide_table *table = tide_report_table(&work->report, "times", "times");
    add_columns(work, &columns, is_shown, table);
    for (size_t i = 0; i < work->n_run; i++) {
        add_row(&columns, is_shown, &work->cells[i], table);
    }
    say_conclusion(work, compared, &others, conclude, runs);
    mem->release(mem->ctx, runs);
    return TIDE_OK;
}

/* Chooses one column only, so that a ratio has one cause: sizes, or else the first one that varies.
 */
static tide_study_columns first_that_varies(const tide_study_work *work) {
    const tide_study_columns varies = tide_study_columns_of(work);
    return varies.size        ? (tide_study_columns){.size = true}
           : varies.context   ? (tide_study_columns){.context = true}
           : varies.batch     ? (tide_study_columns){.batch = true}
           : varies.mode      ? (tide_study_columns){.mode = true}
           : varies.precision ? (tide_study_columns){.precision = true}
           : varies.attention ? (tide_study_columns){.attention = true}
                              : (tide_study_columns){.recompute = varies.recompute};
}

static tide_status report_end_to_end(tide_study_work *work, tide_error *error) {
    const tide_study_columns compared = first_that_varies(work);
    (void)error;
    return report_times(work, &compared, tide_conclusion_of_end_to_end);
}

static tide_status report_warmup(tide_study_work *work, tide_error *error) {
    (void)error;
    return report_times(work, &(tide_study_columns){.warmup = true}, tide_conclusion_of_warmup);
}

static tide_status report_precision(tide_study_work *work, tide_error *error) {
    (void)error;
    return report_times(work, &(tide_study_columns){.precision = true},
                        tide_conclusion_of_precision);
}

const tide_study tide_study_end_to_end = {
    .name = "end-to-end",
    .summary =
        "forward and backward of five sizes: mean, sample standard deviation, tokens a second",
    .device = "auto",
    .kind = TIDE_STUDY_SUBPROCESS,
    .fill = fill_end_to_end,
    .report = report_end_to_end,
};

const tide_study tide_study_warmup = {
    .name = "warmup",
    .summary = "what 0, 1, 2 and 5 steps of warm-up do to mean and sample standard deviation",
    .device = "auto",
    .kind = TIDE_STUDY_SUBPROCESS,
    .takes_warmups = true,
    .fill = fill_warmup,
    .report = report_warmup,
};

const tide_study tide_study_precision = {
    .name = "precision",
    .summary = "fp32, tf32, bf16-mixed and bf16-true: times, speed-up, peaks",
    .device = "auto",
    .kind = TIDE_STUDY_SUBPROCESS,
    .fill = fill_precision,
    .report = report_precision,
};
