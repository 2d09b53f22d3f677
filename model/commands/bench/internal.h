/* internal.h - the report of a benchmark, and its file of records. */
#ifndef TIDE_MODEL_COMMANDS_BENCH_INTERNAL_H
#define TIDE_MODEL_COMMANDS_BENCH_INTERNAL_H

#include <stdbool.h>

#include "model/bench/bench.h"
#include "common/status.h"
#include "report/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds sentences, groups, rows and targets; with_samples: also every sample. */
void tide_bench_report_results(tide_report *report, const tide_bench_run *run, bool with_samples);

/* Adds the table of the records of n_runs runs. */
void tide_bench_report_records(tide_report *report, const tide_bench_run *const *runs,
                               size_t n_runs);

/* Adds the environment of the measurements. */
void tide_bench_report_environment(tide_report *report, const tide_bench_run *run);

/* Creates a run and measures it, with a line of progress on the terminal. The caller destroys the
 * run also after a failure, unless it is NULL. */
TIDE_NODISCARD tide_status tide_bench_measure_shown(const tide_bench *bench,
                                                    tide_bench_settings *settings,
                                                    tide_bench_run **ret_run, tide_error *error);

/* Measures the parts of a benchmark one after the other, immediately appends the records of each to
 * the file (NULL: to none), and prints one report of all. The status is that of the report and the
 * file. *ret_exit_status is the outcome of the parts: TIDE_EXIT_FAILURE if one failed, else
 * TIDE_EXIT_DEVICE_OOM if a case had no memory. */
TIDE_NODISCARD tide_status tide_bench_measure_parts(const tide_bench *bench,
                                                    tide_bench_settings *settings,
                                                    const char *record_path, tide_format format,
                                                    int *ret_exit_status, tide_error *error);

/* Appends the records to the CSV file, unless there are none. */
TIDE_NODISCARD tide_status tide_bench_save_records(const tide_bench_run *run, const char *path,
                                                   tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
