/* The studies of whole steps: end-to-end, warmup, precision. */
#include <stdio.h>
#include <string.h>

#include "cli/figures.h"
#include "model/commands/study/conclusions.h"
#include "model/commands/study/internal.h"

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
    TIDE_FIGURE(MS, "forecast_step_ms", "step, forecast", program.step_ms, program.step_ms),
    TIDE_FIGURE(MS, "forecast_step_low_ms", "at least", program.step_low_ms, program.step_low_ms),
    TIDE_FIGURE(MS, "forecast_step_high_ms", "at most", program.step_high_ms, program.step_high_ms),
    TIDE_FIGURE(CHARS, "forecast_bound", "bound by", program.step_bound, program.step_bound),
    TIDE_FIGURE(RATE, "tokens_per_second", "tokens/s", tokens_per_second, tokens_per_second),
    TIDE_FIGURE(TERA, "tflops", "TFLOP/s", achieved_flops, tokens_per_second),
    TIDE_FIGURE(SHARE, "peak_share", "of stated peak", peak_share, peak_share),
    TIDE_FIGURE(BYTES, "asked_bytes", "asked for", asked_bytes, asked_bytes),
    TIDE_FIGURE(BYTES, "free_bytes", "free", free_bytes, asked_bytes),
};

enum { N_FIGURES = sizeof(FIGURES) / sizeof(FIGURES[0]) };

static void add_times(tide_study_work *work) {
    const tide_study_table to =
        tide_study_table_of(work, tide_study_columns_of(work), "times", "times");
    bool is_shown[N_FIGURES] = {false};
    for (size_t i = 0; i < work->n_run; i++) {
        tide_figures_note(TIDE_ITEMS(FIGURES), &work->cells[i].result, is_shown);
    }
    tide_table_column(to.table, "outcome", "outcome", false);
    tide_figures_columns(TIDE_ITEMS(FIGURES), is_shown, to.table);
    tide_table_column(to.table, "allocated_bytes", "allocated", true);
    for (size_t i = 0; i < work->n_run; i++) {
        const tide_run_result *result = &work->cells[i].result;
        bool fits = result->outcome == TIDE_OUTCOME_COMPLETED;
        tide_study_row_begin(&to, &work->cells[i]);
        TIDE_CELLS(to.table, tide_as_text(tide_outcome_name((int)result->outcome)));
        tide_figures_cells(TIDE_ITEMS(FIGURES), is_shown, result, to.table);
        TIDE_CELLS(to.table, tide_as_bytes(fits ? result->memory.allocated_peak_bytes : -1));
    }
}

/* The times, and those of each repeat. */
static void add_all_times(tide_study_work *work) {
    add_times(work);
    tide_study_add_repeats(work);
}

static double ratio_or_none(double a, double b) {
    return a >= 0.0 && b > 0.0 ? a / b : -1.0;
}

static bool has_times(const tide_study_cell *cell) {
    return cell->result.ms[TIDE_TIMED_STEP].mean > 0.0;
}

/* The first cell with times that equals this one except in the compared columns. */
static const tide_study_cell *base_of(const tide_study_work *work, tide_study_columns others,
                                      const tide_study_cell *cell) {
    char like[TIDE_CONCLUSION_LABEL_BYTES];
    char label[TIDE_CONCLUSION_LABEL_BYTES];
    tide_study_label(others, cell, like, sizeof(like));
    for (size_t i = 0; i < work->n_run; i++) {
        tide_study_label(others, &work->cells[i], label, sizeof(label));
        if (strcmp(label, like) == 0 && has_times(&work->cells[i])) {
            return &work->cells[i];
        }
    }
    return cell;
}

/* The ratios of parameters and time of each run to the first one, and the comparison of the two
 * phases in each. */
static void add_growth(tide_study_work *work, tide_study_columns compared) {
    const tide_study_columns varied = tide_study_columns_of(work);
    const tide_study_table to =
        tide_study_table_of(work, varied, "growth", "growth, each as a multiple of the first run");
    TIDE_COLUMNS(to.table, TIDE_NUMBER("parameters", "parameters"),
                 TIDE_NUMBER("parameters_ratio", "parameters, times"),
                 TIDE_NUMBER("forward_ratio", "forward, times"),
                 TIDE_NUMBER("backward_ratio", "backward, times"),
                 TIDE_NUMBER("step_ratio", "step, times"),
                 TIDE_NUMBER("backward_forward", "backward : forward"));
    for (size_t i = 0; i < work->n_run; i++) {
        const tide_study_cell *cell = &work->cells[i];
        const tide_study_cell *base = base_of(work, varied & ~compared, cell);
        const tide_statistics *ms = cell->result.ms;
        const tide_statistics *base_ms = base->result.ms;
        uint64_t n = tide_workload_n_parameters(tide_run_workload_model(&cell->config.workload));
        uint64_t n_base =
            tide_workload_n_parameters(tide_run_workload_model(&base->config.workload));
        tide_study_row_begin(&to, cell);
        TIDE_CELLS(
            to.table, tide_as_count((int64_t)n),
            tide_as_ratio(ratio_or_none((double)n, (double)n_base)),
            tide_as_ratio(
                ratio_or_none(ms[TIDE_TIMED_FORWARD].mean, base_ms[TIDE_TIMED_FORWARD].mean)),
            tide_as_ratio(
                ratio_or_none(ms[TIDE_TIMED_BACKWARD].mean, base_ms[TIDE_TIMED_BACKWARD].mean)),
            tide_as_ratio(ratio_or_none(ms[TIDE_TIMED_STEP].mean, base_ms[TIDE_TIMED_STEP].mean)),
            tide_as_ratio(
                ratio_or_none(ms[TIDE_TIMED_BACKWARD].mean, ms[TIDE_TIMED_FORWARD].mean)));
    }
}

/* ---- the conclusion ---- */

typedef void conclusion_of(const tide_conclusion_times *runs, size_t n,
                           char ret_text[TIDE_CONCLUSION_BYTES]);

static tide_conclusion_times times_of(tide_study_columns label, const tide_study_cell *cell) {
    const tide_run_result *result = &cell->result;
    tide_conclusion_times times = {
        .n_parameters = tide_workload_n_parameters(tide_run_workload_model(&cell->config.workload)),
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

/* Gathers the cells that equal `like` except in the columns that the study compares. */
static size_t gather(const tide_study_work *work, tide_study_columns compared,
                     tide_study_columns others, const char *like, tide_conclusion_times *ret_runs) {
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

/* Adds one conclusion: about the last group with two runs that can be compared, because the last
 * are the largest; if there is no such group, about the last one that has times. */
static void say_conclusion(tide_study_work *work, tide_study_columns compared,
                           tide_study_columns others, conclusion_of *conclude,
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

/* Adds the conclusion about the cells with times. Groups differ in all columns except the compared
 * ones. */
static tide_status conclude_times(tide_study_work *work, tide_study_columns compared,
                                  conclusion_of *conclude) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_conclusion_times *runs = tide_hostmem_zeroed(mem, work->n_cells, sizeof(*runs));
    if (runs == NULL) {
        return TIDE_NO_MEMORY;
    }
    say_conclusion(work, compared, tide_study_columns_of(work) & ~compared, conclude, runs);
    mem->release(mem->ctx, runs);
    return TIDE_OK;
}

/* Chooses only one column, so a ratio has one cause: sizes, or else the first one that varies. */
static tide_study_columns first_that_varies(const tide_study_work *work) {
    static const tide_study_column ORDER[] = {
        TIDE_STUDY_SIZE,      TIDE_STUDY_CONTEXT,   TIDE_STUDY_BATCH,    TIDE_STUDY_MODE,
        TIDE_STUDY_PRECISION, TIDE_STUDY_ATTENTION, TIDE_STUDY_RECOMPUTE};
    const tide_study_columns varied = tide_study_columns_of(work);
    for (size_t i = 0; i < sizeof(ORDER) / sizeof(ORDER[0]); i++) {
        if ((varied & TIDE_STUDY_SET(ORDER[i])) != 0) {
            return TIDE_STUDY_SET(ORDER[i]);
        }
    }
    return 0U;
}

static tide_status report_end_to_end(tide_study_work *work, tide_error *error) {
    (void)error;
    add_all_times(work);
    for (size_t i = 0; i < work->n_run; i++) {
        if (has_times(&work->cells[i])) {
            add_growth(work, first_that_varies(work));
            break;
        }
    }
    return conclude_times(work, first_that_varies(work), tide_conclusion_of_end_to_end);
}

static tide_status report_warmup(tide_study_work *work, tide_error *error) {
    (void)error;
    add_all_times(work);
    return conclude_times(work, TIDE_STUDY_SET(TIDE_STUDY_WARMUP), tide_conclusion_of_warmup);
}

static tide_status report_precision(tide_study_work *work, tide_error *error) {
    (void)error;
    add_all_times(work);
    return conclude_times(work, TIDE_STUDY_SET(TIDE_STUDY_PRECISION), tide_conclusion_of_precision);
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
