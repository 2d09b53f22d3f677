/* parts.c - a benchmark that consists of others: each is measured in a run of its own, and one
 * report has the figures of all.
 */
#include <string.h>

#include "model/commands/bench/internal.h"
#include "cli/cli.h"
#include "cli/options/report_options.h"
#include "common/text/plural.h"
#include "programs/runs/outcome.h"

enum { MAX_PARTS = 4 };

/* A benchmark that was measured. */
typedef struct part {
    const tide_bench *bench; /* static */
    tide_bench_run *run;     /* owned; NULL: no host memory for it */
    tide_status status;      /* of the measurement */
    tide_error error;        /* why it failed */
} part;

/* ---- the report ---- */

static void add_figures(tide_table *table, const part *of) {
    for (size_t i = 0; i < of->run->n_rows; i++) {
        const tide_bench_row *row = &of->run->rows[i];
        const bool is_bytes = of->run->heading.rate == TIDE_RATE_BYTES;
        tide_table_row_begin(table);
        TIDE_CELLS(table, tide_as_text(of->bench->name), tide_as_text(row->label),
                   tide_as_text(row->dtype),
                   tide_as_text(tide_outcome_name(row->is_unfit ? TIDE_OUTCOME_OOM
                                                                : TIDE_OUTCOME_COMPLETED)));
        if (!row->is_unfit) { /* else the other cells stay empty */
            TIDE_CELLS(table, tide_as_ns(row->us.min), tide_as_ns(row->us.median),
                       tide_as_ns(row->us.std), tide_as_ratio(is_bytes ? row->rate : -1.0),
                       tide_as_ratio(is_bytes ? -1.0 : row->rate), tide_as_ratio(row->share));
        }
    }
}

static void report_figures(tide_report *report, const part *parts, size_t n) {
    tide_table *table = tide_report_table(report, "figures", "Time of a call");
    TIDE_COLUMNS(table, TIDE_TEXT("benchmark", "benchmark"), TIDE_TEXT("case", "case"),
                 TIDE_TEXT("dtype", "dtype"), TIDE_TEXT("outcome", "outcome"),
                 TIDE_NUMBER("min_us", "best us"), TIDE_NUMBER("median_us", "median us"),
                 TIDE_NUMBER("sample_std_us", "± sample std us"), TIDE_NUMBER("gb_per_s", "GB/s"),
                 TIDE_NUMBER("tflops", "TFLOP/s"), TIDE_NUMBER("utilization", "of the peak"));
    for (size_t i = 0; i < n; i++) {
        add_figures(table, &parts[i]);
    }
}

/* The sentences of each part. Those that do not begin with its name in records get its name. */
static void report_notes(tide_report *report, const part *parts, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const tide_bench_run *run = parts[i].run;
        for (size_t k = 0; k < run->n_notes; k++) {
            const tide_bench_note *note = &run->notes[k];
            const char *name = run->heading.name;
            const bool is_named = name != NULL && strncmp(note->text, name, strlen(name)) == 0;
            tide_report_say(report, note->key, "%s%s%s", is_named ? "" : parts[i].bench->name,
                            is_named ? "" : ": ", note->text);
        }
        if (parts[i].status != TIDE_OK) {
            tide_report_say(report, "failed", "%s was not measured to its end: %s",
                            parts[i].bench->name, parts[i].error.message);
        }
    }
}

static tide_status report_parts(const tide_bench *bench, const tide_bench_settings *settings,
                                const part *parts, size_t n, tide_format format,
                                tide_error *error) {
    const tide_bench_run *runs[MAX_PARTS] = {NULL};
    tide_report report;
    int64_t n_unfit = 0;
    int64_t n_failed = 0;
    size_t described = 0; /* the index of a part with an environment */
    for (size_t i = 0; i < n; i++) {
        runs[i] = parts[i].run;
        n_unfit += (int64_t)runs[i]->n_unfit;
        n_failed += parts[i].status != TIDE_OK;
        described = runs[described]->n_records > 0 ? described : i;
    }
    tide_report_init(&report, "bench");
    tide_report_say(&report, "bench", "%s: %s; %zu round%s%s", bench->name, bench->summary,
                    settings->n_rounds, tide_plural(settings->n_rounds, "", "s"),
                    settings->is_brief ? ", brief: the figures mean nothing"
                                       : "; best on a machine with nothing else to do");
    report_figures(&report, parts, n);
    report_notes(&report, parts, n);
    tide_bench_report_records(&report, runs, n);
    tide_bench_report_environment(&report, runs[described]);
    tide_report_figure_count(&report, "rounds", (int64_t)settings->n_rounds);
    tide_report_figure_count(&report, "unfit_cases", n_unfit);
    tide_report_figure_count(&report, "failed_benchmarks", n_failed);
    return tide_report_end(&report, TIDE_OK, format, error);
}

/* ---- measuring ---- */

/* Saves the records immediately, also those before a failure. Returns the file's status. */
static tide_status measure_part(part *of, tide_bench_settings *settings, const char *record_path,
                                tide_error *error) {
    of->status = tide_bench_measure_shown(of->bench, settings, &of->run, &of->error);
    return of->run != NULL && record_path != NULL
               ? tide_bench_save_records(of->run, record_path, error)
               : TIDE_OK;
}

/* The exit status from the parts' outcomes; prints a message for each that failed. */
static int judge(const part *parts, size_t n) {
    int exit_status = TIDE_EXIT_SUCCESS;
    for (size_t i = 0; i < n; i++) {
        if (parts[i].status != TIDE_OK) {
            tide_cli_note("bench", "%s: %s", parts[i].bench->name, parts[i].error.message);
            exit_status = TIDE_EXIT_FAILURE;
        } else if (parts[i].run->n_unfit > 0 && exit_status == TIDE_EXIT_SUCCESS) {
            exit_status = TIDE_EXIT_DEVICE_OOM;
        }
    }
    return exit_status;
}

tide_status tide_bench_measure_parts(const tide_bench *bench, tide_bench_settings *settings,
                                     const char *record_path, tide_format format,
                                     int *ret_exit_status, tide_error *error) {
    part parts[MAX_PARTS] = {{.bench = NULL}};
    tide_status status = TIDE_OK;
    size_t n = 0;
    for (; n < MAX_PARTS && bench->parts[n] != NULL && status == TIDE_OK; n++) {
        parts[n].bench = bench->parts[n];
        status = measure_part(&parts[n], settings, record_path, error);
        if (parts[n].run == NULL) {
            status = tide_fail(error, TIDE_NO_MEMORY, "%s", parts[n].error.message);
            break;
        }
    }
    if (n > 0) { /* the measurements are printed even if the file could not be written */
        const tide_status of_report =
            report_parts(bench, settings, parts, n, format, status == TIDE_OK ? error : NULL);
        status = status == TIDE_OK ? of_report : status;
    }
    *ret_exit_status = judge(parts, n);
    for (size_t i = 0; i < n; i++) {
        tide_bench_run_destroy(parts[i].run);
    }
    return status;
}
