/* tables.c - rows of benchmarks of a device: times of a call, the figure made of them, every
 * sample where asked for, and the records.
 */
#include <stdio.h>
#include <string.h>

#include "bench/place_internal.h"
#include "common/statistics.h"
#include "model/peak.h"

/* The name of a rate, and its unit in work a second. */
typedef struct unit {
    const char *key, *title; /* of the column */
    const char *metric;      /* in records */
    double divisor;
} unit;

static const unit UNITS[] = {
    [TIDE_RATE_FLOPS] = {"tflops", "TFLOP/s", "TFLOP/s", 1e12},
    [TIDE_RATE_BYTES] = {"gb_per_s", "GB/s", "memory_bandwidth(GB/s)", 1e9},
};

static const char *const SHARE_METRIC = "flops_utilization";

static void begin_samples(tide_bench_tables *tables, tide_bench_run *run) {
    tables->samples = tide_report_table(run->report, "samples", "Samples in us of a call");
    tide_table_column(tables->samples, "case", "case", false);
    tide_table_column(tables->samples, "dtype", "dtype", false);
    tide_table_column(tables->samples, "round", "round", true);
    tide_table_column(tables->samples, "device_us", "device us", true);
    tide_table_column(tables->samples, "host_us", "host us", true);
}

void tide_bench_tables_begin(tide_bench_tables *tables, tide_bench_run *run, tide_bench_rate rate,
                             const char *name, const char *title, bool is_model) {
    const unit *shown = &UNITS[rate == TIDE_RATE_SHARE ? TIDE_RATE_FLOPS : rate];
    *tables = (tide_bench_tables){.rate = rate, .name = name, .is_model = is_model};
    tide_table *table = tide_report_table(run->report, "figures", title);
    tables->figures = table;
    tide_table_column(table, "case", "case", false);
    tide_table_column(table, "dtype", "dtype", false);
    tide_table_column(table, "outcome", "outcome", false);
    tide_table_column(table, "min_us", "best us", true);
    tide_table_column(table, "median_us", "median us", true);
    tide_table_column(table, "iqr_us", "quartiles apart us", true);
    tide_table_column(table, "mean_us", "mean us", true);
    tide_table_column(table, "sample_std_us", "± sample std us", true);
    tide_table_column(table, shown->key, shown->title, true);
    if (rate == TIDE_RATE_SHARE) {
        tide_table_column(table, "utilization", "of the peak", true);
    }
    if (run->with_samples) {
        begin_samples(tables, run);
    }
}

static void put_samples(const tide_bench_tables *tables, const char *label, const char *dtype,
                        const tide_timing *timing) {
    for (size_t i = 0; tables->samples != NULL && i < timing->n_samples; i++) {
        tide_table_row_begin(tables->samples);
        tide_cell_text(tables->samples, label);
        tide_cell_text(tables->samples, dtype);
        tide_cell_count(tables->samples, (int64_t)i);
        tide_cell_ns(tables->samples, timing->device_ms[i] * 1e3);
        tide_cell_ns(tables->samples, timing->host_ms[i] < 0.0 ? -1.0 : timing->host_ms[i] * 1e3);
    }
}

/* The peak that the user or the vendor states; -1: unknown. */
static double peak_flops(const tide_bench_run *run, const char *dtype) {
    return run->settings->peak_tflops > 0.0
               ? run->settings->peak_tflops * 1e12
               : tide_stated_peak_flops(run->records->environment.device_name,
                                        tide_bench_precision(dtype));
}

static double times_1000(double ms) {
    return ms < 0.0 ? ms : ms * 1e3;
}

/* The samples' statistics, without the figure. */
static tide_bench_record make_record(const tide_bench_tables *tables, const char *label,
                                     const char *dtype, const tide_timing *timing) {
    tide_statistics ms = tide_statistics_of(timing->device_ms, timing->n_samples);
    tide_bench_record record = {.name = tables->name,
                                .dtype = dtype,
                                .is_model = tables->is_model,
                                .n_samples = timing->n_samples,
                                .n_calls = timing->n_calls,
                                .us = {times_1000(ms.mean), times_1000(ms.std),
                                       times_1000(ms.median), times_1000(ms.min),
                                       times_1000(ms.max)}};
    (void)snprintf(record.label, sizeof(record.label), "%s", label);
    return record;
}

double tide_bench_tables_row(tide_bench_tables *tables, tide_bench_run *run, const char *label,
                             const char *dtype, double work, const tide_timing *timing,
                             bool is_judged) {
    tide_table *table = tables->figures;
    tide_bench_record record = make_record(tables, label, dtype, timing);
    const unit *shown = &UNITS[tables->rate == TIDE_RATE_SHARE ? TIDE_RATE_FLOPS : tables->rate];
    double seconds = record.us.median * 1e-6;
    double rate = seconds > 0.0 ? work / seconds / shown->divisor : -1.0;
    double share = tide_stated_peak_share(work, seconds, peak_flops(run, dtype));
    double quartiles_ms[2] = {tide_statistics_quantile(timing->device_ms, timing->n_samples, 0.25),
                              tide_statistics_quantile(timing->device_ms, timing->n_samples, 0.75)};
    tide_table_row_begin(table);
    tide_cell_text(table, label);
    tide_cell_text(table, dtype);
    tide_cell_text(table, tide_outcome_name(TIDE_OUTCOME_COMPLETED));
    tide_cell_ns(table, record.us.min);
    tide_cell_ns(table, record.us.median);
    tide_cell_ns(table, timing->n_samples > 1 ? (quartiles_ms[1] - quartiles_ms[0]) * 1e3 : -1.0);
    tide_cell_ns(table, record.us.mean);
    tide_cell_ns(table, record.us.std);
    tide_cell_ratio(table, rate);
    if (tables->rate == TIDE_RATE_SHARE) {
        tide_cell_ratio(table, share);
    }
    put_samples(tables, label, dtype, timing);
    bool is_share = tables->rate == TIDE_RATE_SHARE && share >= 0.0;
    record.metric = is_share ? SHARE_METRIC : shown->metric;
    record.actual = is_share ? share : rate;
    record.is_judged = is_judged;
    tide_bench_add_record(run, &record);
    return record.actual;
}

void tide_bench_show_case(tide_bench_run *run, const char *name, const char *label,
                          const char *dtype) {
    run->progress.next_ns =
        0; /* at once, because the line on the terminal is about a finished case */
    tide_progress_say(&run->progress, "%s %s, %s", name, label, dtype);
}

bool tide_bench_is_unfit(tide_bench_run *run, const char *label, const char *dtype,
                         tide_status status, tide_error *error) {
    if (status != TIDE_DEVICE_OOM) {
        return false;
    }
    tide_report_say(run->report, "outcome", "%s, %s: %.*s", label, dtype,
                    (int)strcspn(error->message, "\n"), error->message);
    *error = (tide_error){""};
    run->n_unfit++;
    return true;
}

void tide_bench_tables_unfit(tide_bench_tables *tables, const char *label, const char *dtype) {
    size_t n_figures = tables->rate == TIDE_RATE_SHARE ? 7 : 6;
    tide_table_row_begin(tables->figures);
    tide_cell_text(tables->figures, label);
    tide_cell_text(tables->figures, dtype);
    tide_cell_text(tables->figures, tide_outcome_name(TIDE_OUTCOME_OOM));
    for (size_t i = 0; i < n_figures; i++) {
        tide_cell_none(tables->figures);
    }
}
