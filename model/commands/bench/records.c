/* records.c - the figures of a benchmark as experiment records: a table, and rows of a CSV file. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "model/commands/bench/internal.h"
#include "model/commands/record_file.h"

/* ---- the environment ---- */

static void put_text(tide_table *table, const char *key, const char *value) {
    if (value[0] != '\0') {
        TIDE_ROW(table, tide_as_text(key), tide_as_text(value));
    }
}

/* Empty if it is unknown. */
static void put_number(tide_table *table, const char *key, int64_t number) {
    if (number >= 0) {
        TIDE_ROW(table, tide_as_text(key), tide_as_count(number));
    }
}

/* 2026-01-31T12:00:00Z. */
static void put_date(tide_table *table, const char *key, int64_t unix_us) {
    char text[sizeof("2026-01-31T12:00:00Z")];
    time_t seconds = (time_t)(unix_us / 1000000);
    struct tm parts;
    if (unix_us >= 0 && gmtime_r(&seconds, &parts) != NULL &&
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) > 0) {
        put_text(table, key, text);
    }
}

void tide_bench_report_environment(tide_report *report, const tide_bench_run *run) {
    const tide_run_environment *is = &run->environment;
    tide_table *table = tide_report_table(report, "environment", "Measured on");
    TIDE_COLUMNS(table, TIDE_TEXT("what", "what"), TIDE_TEXT("value", "value"));
    put_text(table, "device", is->device_kind);
    put_text(table, "device name", is->device_name);
    put_text(table, "computed by", is->computed_by);
    put_text(table, "driver", is->driver);
    put_number(table, "driver's CUDA version", is->driver_version);
    put_number(table, "runtime's CUDA version", is->runtime_version);
    put_number(table, "highest clock, kHz", is->sm_clock_khz);
    put_number(table, "highest memory clock, kHz", is->memory_clock_khz);
    put_number(table, "written between samples, bytes", run->flush_bytes);
    put_text(table, "host's processor", is->host.cpu);
    put_number(table, "host's processors", is->host.n_cpus);
    put_text(table, "host's system", is->host.os);
    put_text(table, "program", is->tool);
    put_text(table, "build", is->build);
    put_date(table, "started", run->started_unix_us);
}

/* ---- the table ---- */

/* "ok" or "missed"; for a stated target, whether its card is this one. "-": not judged. */
static const char *result_of(const tide_bench_run *run, const tide_bench_record *record) {
    const double target = tide_bench_record_target(run, record);
    const bool is_met = record->actual >= target;
    if (!tide_bench_record_target_is_stated(run, record)) {
        return target <= 0.0 ? "-" : is_met ? "ok" : "missed";
    }
    if (run->settings->is_brief) {
        return "-"; /* the figure is meaningless */
    }
    return tide_bench_is_stated_card(run->environment.device_name)
               ? (is_met ? "ok" : "missed")
               : (is_met ? "ok, another card" : "missed, another card");
}

/* The card of the target; empty: it was given for this device, or there is no target. */
static const char *target_card(const tide_bench_run *run, const tide_bench_record *record) {
    return tide_bench_record_target_is_stated(run, record) ? TIDE_BENCH_STATED_CARD : "";
}

static const char *yes_or_no(bool is_so) {
    return is_so ? "True" : "False"; /* as Python's programs write and read it */
}

static void add_records(tide_table *table, const tide_bench_run *run) {
    for (size_t i = 0; i < run->n_records; i++) {
        const tide_bench_record *record = &run->records[i];
        const double target = tide_bench_record_target(run, record);
        TIDE_ROW(table, tide_as_text(record->name), tide_as_text(record->label),
                 tide_as_text(record->metric), tide_as_real(target > 0.0 ? target : -1.0),
                 tide_as_real(record->actual), tide_as_text(tide_bench_record_dtype(record->dtype)),
                 tide_as_text(run->environment.device_kind),
                 tide_as_text(yes_or_no(record->is_model)), tide_as_text(target_card(run, record)),
                 tide_as_text(result_of(run, record)));
    }
}

void tide_bench_report_records(tide_report *report, const tide_bench_run *const *runs,
                               size_t n_runs) {
    tide_table *table = tide_report_table(report, "records", "Records");
    TIDE_COLUMNS(table, TIDE_TEXT("name", "name"), TIDE_TEXT("case", "case"),
                 TIDE_TEXT("metric", "metric"), TIDE_NUMBER("target", "target"),
                 TIDE_NUMBER("actual", "actual"), TIDE_TEXT("dtype", "dtype"),
                 TIDE_TEXT("device", "device"), TIDE_TEXT("is_model", "model"),
                 TIDE_TEXT("target_card", "target's card"), TIDE_TEXT("result", "result"));
    for (size_t i = 0; i < n_runs; i++) {
        add_records(table, runs[i]);
    }
}

/* ---- the file ---- */

/* Such files have always had the first seven. */
static const char *const COLUMNS[] = {
    "name",          "metric", "target",          "actual",      "dtype",     "device",
    "is_model",      "case",   "samples",         "calls",       "median_us", "mean_us",
    "sample_std_us", "min_us", "max_us",          "device_name", "driver",    "computed_by",
    "host_cpu",      "tool",   "started_unix_us", "target_card"};
enum { N_COLUMNS = sizeof(COLUMNS) / sizeof(COLUMNS[0]), N_NUMBERS = 10, NUMBER_BYTES = 32 };

/* The cells of one record, with room for its numbers. */
typedef struct record_cells {
    char numbers[N_NUMBERS][NUMBER_BYTES];
    const char *cells[N_COLUMNS]; /* some of them in numbers */
} record_cells;

/* As text with six decimals; 0 if it was not measured. */
static void write_real(char text[NUMBER_BYTES], double number) {
    (void)snprintf(text, NUMBER_BYTES, "%.6f", number >= 0.0 ? number : 0.0);
}

static void fill_cells(const tide_bench_run *run, const tide_bench_record *record,
                       record_cells *to) {
    const tide_run_environment *is = &run->environment;
    const double reals[] = {tide_bench_record_target(run, record),
                            record->actual,
                            record->us.median,
                            record->us.mean,
                            record->us.std,
                            record->us.min,
                            record->us.max};
    enum { N_REALS = sizeof(reals) / sizeof(reals[0]) };
    for (size_t i = 0; i < N_REALS; i++) {
        write_real(to->numbers[i], reals[i]);
    }
    char(*counts)[NUMBER_BYTES] = to->numbers + N_REALS;
    (void)snprintf(counts[0], NUMBER_BYTES, "%zu", record->n_samples);
    (void)snprintf(counts[1], NUMBER_BYTES, "%zu", record->n_calls);
    (void)snprintf(counts[2], NUMBER_BYTES, "%" PRId64, run->started_unix_us);
    const char *const cells[N_COLUMNS] = {record->name,
                                          record->metric,
                                          to->numbers[0],
                                          to->numbers[1],
                                          tide_bench_record_dtype(record->dtype),
                                          is->device_kind,
                                          yes_or_no(record->is_model),
                                          record->label,
                                          counts[0],
                                          counts[1],
                                          to->numbers[2],
                                          to->numbers[3],
                                          to->numbers[4],
                                          to->numbers[5],
                                          to->numbers[6],
                                          is->device_name,
                                          is->driver,
                                          is->computed_by,
                                          is->host.cpu,
                                          is->tool,
                                          counts[2],
                                          target_card(run, record)};
    for (size_t i = 0; i < N_COLUMNS; i++) {
        to->cells[i] = cells[i];
    }
}

tide_status tide_bench_save_records(const tide_bench_run *run, const char *path,
                                    tide_error *error) {
    static record_cells filled[TIDE_BENCH_MAX_RECORDS];
    static const char *cells[TIDE_BENCH_MAX_RECORDS * N_COLUMNS];
    size_t n = run->n_records;
    if (n == 0) {
        return TIDE_OK;
    }
    for (size_t i = 0; i < n; i++) {
        fill_cells(run, &run->records[i], &filled[i]);
        for (size_t k = 0; k < N_COLUMNS; k++) {
            cells[i * N_COLUMNS + k] = filled[i].cells[k];
        }
    }
    const tide_record_rows rows = {COLUMNS, N_COLUMNS, cells, n};
    return tide_record_append(path, &rows, error);
}
