/* mlp_scaling.c - how the time of an MLP grows with its steps, layers, batch and width: one
 * of them made 2 to 5 times as much, the others as in the base.
 */
#include <stdio.h>
#include <string.h>

#include "bench/mlp_internal.h"
#include "common/plural.h"
#include "common/statistics.h"

static const char *const DTYPES[] = {"fp32", "tf32", "bf16", NULL};

enum { N_FACTORS = 5, N_VARIED = 4 };

/* A quantity that is varied, its place in a shape, and how the time should grow with it. */
static const struct varied {
    const char *name;
    size_t offset;   /* in tide_bench_mlp_shape */
    double expected; /* exponent where the products decide */
} VARIED[N_VARIED] = {
    {"steps", offsetof(tide_bench_mlp_shape, n_steps), 1.0},
    {"layers", offsetof(tide_bench_mlp_shape, n_layers), 1.0},
    {"batch", offsetof(tide_bench_mlp_shape, batch), 1.0},
    {"dim", offsetof(tide_bench_mlp_shape, dim), 2.0},
};

/* The tables of one run of the benchmark. */
typedef struct scaling {
    tide_bench_run *run;   /* borrowed */
    tide_table *times;     /* in the report */
    tide_table *exponents; /* the same */
    tide_table *samples;   /* the same; NULL: not asked for */
    const char *dtype;     /* static */
    tide_bench_mlp_shape base;
} scaling;

static size_t *number_of(tide_bench_mlp_shape *shape, const struct varied *varied) {
    return (size_t *)(void *)((char *)shape + varied->offset);
}

static void begin_tables(scaling *to) {
    tide_report *report = to->run->report;
    to->times = tide_report_table(report, "figures", "Time of a run, and its ratio to the base's");
    tide_table_column(to->times, "varied", "varied", false);
    tide_table_column(to->times, "value", "value", true);
    tide_table_column(to->times, "factor", "times", true);
    tide_table_column(to->times, "outcome", "outcome", false);
    tide_table_column(to->times, "min_us", "best us", true);
    tide_table_column(to->times, "median_us", "median us", true);
    tide_table_column(to->times, "mean_us", "mean us", true);
    tide_table_column(to->times, "std_us", "± sample std us", true);
    tide_table_column(to->times, "ratio", "x base", true);
    to->exponents =
        tide_report_table(report, "exponents", "Exponent p of time ~ factor^p, least squares");
    tide_table_column(to->exponents, "varied", "varied", false);
    tide_table_column(to->exponents, "exponent", "p", true);
    tide_table_column(to->exponents, "expected", "where products decide", true);
    if (to->run->with_samples) {
        to->samples = tide_report_table(report, "samples", "Samples in us of a run");
        tide_table_column(to->samples, "varied", "varied", false);
        tide_table_column(to->samples, "value", "value", true);
        tide_table_column(to->samples, "round", "round", true);
        tide_table_column(to->samples, "device_us", "device us", true);
    }
}

static tide_status time_shape(scaling *to, const tide_bench_mlp_shape *shape,
                              tide_timing *ret_timing, tide_error *error) {
    tide_bench_mlp_state state;
    const tide_timing_subject steps = {NULL, tide_bench_mlp_run, &state};
    tide_status status = tide_bench_mlp_open(&state, to->run, shape, to->dtype, error);
    if (status == TIDE_OK) {
        status = tide_bench_place_measure(&state.place, &steps, (size_t)to->run->settings->calls,
                                          ret_timing, error);
    }
    tide_bench_mlp_close(&state);
    return status;
}

/* A row; base_us 0: of the base, or that one did not fit. Returns the median in us. */
static double add_row(scaling *to, const char *varied, size_t value, size_t factor, double base_us,
                      const tide_timing *timing) {
    tide_statistics ms = tide_statistics_of(timing->device_ms, timing->n_samples);
    double median_us = ms.median * 1e3;
    tide_table_row_begin(to->times);
    tide_cell_text(to->times, varied);
    tide_cell_count(to->times, (int64_t)value);
    tide_cell_count(to->times, (int64_t)factor);
    tide_cell_text(to->times, tide_outcome_name(TIDE_OUTCOME_COMPLETED));
    tide_cell_ns(to->times, ms.min * 1e3);
    tide_cell_ns(to->times, median_us);
    tide_cell_ns(to->times, ms.mean * 1e3);
    tide_cell_ns(to->times, ms.std < 0.0 ? -1.0 : ms.std * 1e3);
    tide_cell_ratio(to->times, factor == 1 ? 1.0 : base_us > 0.0 ? median_us / base_us : -1.0);
    for (size_t i = 0; to->samples != NULL && i < timing->n_samples; i++) {
        tide_table_row_begin(to->samples);
        tide_cell_text(to->samples, varied);
        tide_cell_count(to->samples, (int64_t)value);
        tide_cell_count(to->samples, (int64_t)i);
        tide_cell_ns(to->samples, timing->device_ms[i] * 1e3);
    }
    return median_us;
}

static void add_unfit_row(scaling *to, const char *varied, size_t value, size_t factor) {
    enum { N_FIGURES = 5 };
    tide_table_row_begin(to->times);
    tide_cell_text(to->times, varied);
    tide_cell_count(to->times, (int64_t)value);
    tide_cell_count(to->times, (int64_t)factor);
    tide_cell_text(to->times, tide_outcome_name(TIDE_OUTCOME_OOM));
    for (size_t i = 0; i < N_FIGURES; i++) {
        tide_cell_none(to->times);
    }
}

static void add_exponent(scaling *to, const struct varied *varied, double exponent) {
    tide_table_row_begin(to->exponents);
    tide_cell_text(to->exponents, varied->name);
    tide_cell_ratio(to->exponents, exponent);
    tide_cell_ratio(to->exponents, varied->expected);
    tide_bench_record record = {.name = "mlp_scaling",
                                .metric = "exponent",
                                .dtype = to->dtype,
                                .actual = exponent,
                                .is_model = true,
                                .us = tide_statistics_of(NULL, 0)};
    (void)snprintf(record.label, sizeof(record.label), "%s", varied->name);
    tide_bench_add_record(to->run, &record);
}

/* Measures the base anew beside what is compared with it, so that a machine that has become slower
 * is slower for both. A case that does not fit is a row, and the exponent is that of the others. */
static tide_status vary(scaling *to, const struct varied *varied, tide_error *error) {
    double factors[N_FACTORS];
    double medians_us[N_FACTORS] = {0.0};
    double base_us = 0.0;
    size_t n = 0;
    for (size_t i = 0; i < N_FACTORS; i++) {
        tide_bench_mlp_shape shape = to->base;
        tide_timing timing;
        size_t *number = number_of(&shape, varied);
        char label[48];
        *number *= i + 1;
        (void)snprintf(label, sizeof(label), "%s %zu", varied->name, *number);
        tide_bench_show_case(to->run, "mlp-scaling", label, to->dtype);
        tide_status status = time_shape(to, &shape, &timing, error);
        if (tide_bench_is_unfit(to->run, label, to->dtype, status, error)) {
            add_unfit_row(to, varied->name, *number, i + 1);
            continue;
        }
        TIDE_TRY(status);
        factors[n] = (double)(i + 1);
        medians_us[n] = add_row(to, varied->name, *number, i + 1, base_us, &timing);
        base_us = i == 0 ? medians_us[n] : base_us;
        tide_timing_fini(&timing);
        n++;
    }
    if (n > 1) {
        add_exponent(to, varied, tide_statistics_exponent(factors, medians_us, n));
    }
    return TIDE_OK;
}

static bool is_asked_for(const tide_bench_run *run, const char *name) {
    const tide_option_list *asked = &run->settings->vary;
    for (size_t i = 0; i < asked->n; i++) {
        if (strcmp(asked->texts[i], name) == 0) {
            return true;
        }
    }
    return asked->n == 0;
}

static tide_status run_mlp_scaling(tide_bench_run *run, tide_error *error) {
    scaling to = {.run = run};
    const char *dtypes[4] = {NULL};
    size_t n_dtypes = 0;
    TIDE_TRY(tide_bench_mlp_base(run, &to.base, error));
    TIDE_TRY(tide_bench_choose_dtypes(run, DTYPES, 1, dtypes, &n_dtypes, error));
    if (n_dtypes > 1) {
        return tide_fail(error, TIDE_INVALID, "--dtype: mlp-scaling takes one at a time");
    }
    to.dtype = dtypes[0];
    tide_report_say(run->report, "shape",
                    "base: %zu layer%s of width %zu, batch %zu, %zu step%s, %s", to.base.n_layers,
                    tide_plural(to.base.n_layers, "", "s"), to.base.dim, to.base.batch,
                    to.base.n_steps, tide_plural(to.base.n_steps, "", "s"), to.dtype);
    begin_tables(&to);
    for (size_t i = 0; i < N_VARIED; i++) {
        if (is_asked_for(run, VARIED[i].name)) {
            TIDE_TRY(vary(&to, &VARIED[i], error));
        }
    }
    return TIDE_OK;
}

const tide_bench tide_bench_mlp_scaling = {
    .name = "mlp-scaling",
    .summary = "how the MLP's time grows with steps, layers, batch and width",
    .takes = TIDE_BENCH_TAKES_DEVICE | TIDE_BENCH_TAKES_DTYPE | TIDE_BENCH_TAKES_BATCH |
             TIDE_BENCH_TAKES_MODEL | TIDE_BENCH_TAKES_VARY,
    .run = run_mlp_scaling,
};
