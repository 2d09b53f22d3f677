/* internal.h - the report of a benchmark, and its file of records. */
#ifndef TIDE_CLI_BENCH_INTERNAL_H
#define TIDE_CLI_BENCH_INTERNAL_H

#include <stdbool.h>

#include "bench/bench.h"
#include "common/status.h"
#include "report/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds sentences, groups, rows and targets; every sample, too, if with_samples. */
void tide_bench_report_results(tide_report *report, const tide_bench_run *run, bool with_samples);

/* Adds the table of records. */
void tide_bench_report_records(tide_report *report, const tide_bench_run *run);

/* Adds what everything was measured on. */
void tide_bench_report_environment(tide_report *report, const tide_bench_run *run);

/* Appends the records to the CSV file, unless there are none. */
TIDE_NODISCARD tide_status tide_bench_save_records(const tide_bench_run *run, const char *path,
                                                   tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
