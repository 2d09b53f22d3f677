/* bench.h - benchmarks of `tidemark bench NAME`: what one is, how it is timed, and what it reports.
 *
 * Variants of one thing are measured in turn within each round, and the order turns from round to
 * round, so that a machine that gets slower meanwhile is slower for all of them: ratios are taken
 * within a round. A target is a bound that the project states for itself; it is printed beside the
 * figure, and `--gate` makes a missed one an exit status.
 */
#ifndef TIDE_CLI_BENCH_H
#define TIDE_CLI_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/table.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_BENCH_MAX_ROUNDS = 101, TIDE_BENCH_MAX_VARIANTS = 8, TIDE_BENCH_MAX_TARGETS = 32 };

/* One of several ways to do the same, measured in turn. */
typedef struct tide_bench_variant {
    const char *name;
    /* Does it once, for some milliseconds, and tells how long one piece of it took. */
    tide_status (*sample)(void *ctx, double *ret_ns, tide_error *error);
    void *ctx;                             /* handed to `sample`; the benchmark's */
    double samples[TIDE_BENCH_MAX_ROUNDS]; /* ns of one piece, one a round */
} tide_bench_variant;

/* Variants measured together; the first is what the ratios of the others are to. */
typedef struct tide_bench_group {
    const char *name; /* of the workload */
    tide_bench_variant variants[TIDE_BENCH_MAX_VARIANTS];
    size_t n_variants;
    size_t n_rounds; /* samples of each; set by tide_bench_measure */
} tide_bench_group;

/* A bound, and what was measured. */
typedef struct tide_bench_target {
    char what[96];
    double bound;     /* at most this */
    double measured;  /* below 0: not measured, which counts as missed */
    const char *unit; /* "ns", "x", "B" */
} tide_bench_target;

/* One benchmark on its way. */
typedef struct tide_bench_run {
    tide_report *report; /* where figures go */
    size_t n_rounds;     /* 1..TIDE_BENCH_MAX_ROUNDS */
    bool with_samples;   /* every sample is reported, too */
    bool is_brief;       /* little work a sample: for tests, the figures mean nothing */
    tide_bench_target targets[TIDE_BENCH_MAX_TARGETS];
    size_t n_targets;
} tide_bench_run;

typedef struct tide_bench {
    const char *name;    /* "allocator" */
    const char *summary; /* what it measures, one line */
    tide_status (*run)(tide_bench_run *run, tide_error *error);
} tide_bench;

extern const tide_bench tide_bench_allocator;
extern const tide_bench tide_bench_recorder;
extern const tide_bench tide_bench_symbols;

/* One sample of each to warm up, which is thrown away, then n_rounds rounds. */
TIDE_NODISCARD tide_status tide_bench_measure(tide_bench_group *group, size_t n_rounds,
                                              tide_error *error);

/* The smallest sample: the machine at its fastest. */
double tide_bench_min(const tide_bench_group *group, size_t variant);
double tide_bench_median(const tide_bench_group *group, size_t variant);
/* Median over the rounds of `variant` to `base` within the round. */
double tide_bench_ratio(const tide_bench_group *group, size_t variant, size_t base);
/* What the smallest sample of `variant` is longer than that of `base`, in ns. */
double tide_bench_added(const tide_bench_group *group, size_t variant, size_t base);

/* A table `key` with a row for each variant of each group; `base` is the variant of the last
 * column.
 */
void tide_bench_report_groups(tide_bench_run *run, const char *key, const char *title,
                              const tide_bench_group *groups, size_t n_groups, size_t base);

/* A bound that holds where measured <= bound. */
void tide_bench_add_target(tide_bench_run *run, const char *what, const char *unit, double bound,
                           double measured);
/* The table of targets; true when one was missed. */
bool tide_bench_report_targets(tide_bench_run *run);

#ifdef __cplusplus
}
#endif

#endif
