/* records.h - what benchmarks of a device leave: experiment records, each a figure with what
 * it was to reach, and the environment it was measured in; as a table, and appended to a CSV file.
 */
#ifndef TIDE_CLI_BENCH_RECORDS_H
#define TIDE_CLI_BENCH_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/bench.h"
#include "run/run.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_BENCH_MAX_RECORDS = 128 }; /* 16 sizes, 4 types, and their means */

/* One figure. Texts are static but for the label. */
typedef struct tide_bench_record {
    const char *name;   /* of the benchmark: "gemv" */
    const char *metric; /* "memory_bandwidth(GB/s)": larger is better */
    const char *dtype;  /* "bf16" */
    char label[48];     /* the case: "D=1024" */
    double actual;      /* the figure */
    bool is_judged;     /* against the target, where there is one */
    bool is_model;      /* of a model, not of an operator */
    size_t n_samples;   /* 0: made of other records, with none of its own */
    size_t n_calls;     /* in a sample */
    tide_statistics us; /* of them, a call */
} tide_bench_record;

typedef struct tide_bench_records {
    tide_bench_record records[TIDE_BENCH_MAX_RECORDS];
    size_t n_records;                 /* further ones are left out */
    tide_run_environment environment; /* of all of them */
    int64_t flush_bytes;              /* written between samples; -1: none is */
    int64_t started_unix_us;
} tide_bench_records;

void tide_bench_add_record(tide_bench_run *run, const tide_bench_record *record);

/* What everything was measured on. */
void tide_bench_report_environment(const tide_bench_run *run);
/* Adds the table of records if a file or a target asks for them. True: a judged record misses the
 * target. */
bool tide_bench_report_records(const tide_bench_run *run);
/* Appends them to the file that the settings name, if any. */
TIDE_NODISCARD tide_status tide_bench_save_records(const tide_bench_run *run, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
