/* bench.h - benchmarks of `tidemark bench NAME`: what one is, how it is timed, and what it reports.
 *
 * Variants of one thing are measured in turn within each round, and the order turns from round to
 * round, so that a machine that gets slower meanwhile is slower for all of them: ratios are taken
 * within a round. A target is a bound that the project states for itself; it is printed beside the
 * figure, and `--gate` makes a missed one an exit status.
 */
#ifndef TIDE_BENCH_BENCH_H
#define TIDE_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "cli/progress.h"
#include "report/table.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_BENCH_MAX_ROUNDS = 101, TIDE_BENCH_MAX_VARIANTS = 8, TIDE_BENCH_MAX_TARGETS = 32 };

/* One of several ways of doing the same, which are measured in turn. */
typedef struct tide_bench_variant {
    const char *name;
    /* Does it for some milliseconds and returns how long one piece of it took. */
    tide_status (*sample)(void *ctx, double *ret_ns, tide_error *error);
    void *ctx;                             /* handed to `sample`; the benchmark's */
    double samples[TIDE_BENCH_MAX_ROUNDS]; /* ns of one piece, one a round */
} tide_bench_variant;

/* Variants that are measured together. The ratios of the others are to the first one. */
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

#define TIDE_BENCH_NOT_GIVEN UINT64_MAX /* a count that is not on the command line */

/* What benchmarks of a device are told on the command line. All texts are borrowed. */
typedef struct tide_bench_settings {
    const char *device;          /* NULL: not given; then "auto", or what tide_device_open takes */
    tide_option_list sizes;      /* n 0: the benchmark's own for the device */
    tide_option_list dtypes;     /* the same */
    tide_option_list vary;       /* mlp-scaling: what is varied; n 0: everything */
    uint64_t batch;              /* rows; TIDE_BENCH_NOT_GIVEN, as the three below */
    uint64_t dim, layers, steps; /* of the MLP */
    uint64_t warmup;             /* calls before the first sample */
    uint64_t calls;              /* in a sample */
    bool no_flush;               /* caches are not flushed between samples */
    double peak_tflops;          /* the rate that is 100 %; 0: the card's stated rate */
    double target;               /* that the figure must reach; 0: none */
    const char *record_path;     /* of the CSV file; NULL: none */
} tide_bench_settings;

/* Which of the settings a benchmark takes. */
enum {
    TIDE_BENCH_TAKES_DEVICE = 1 << 0, /* and warmup, calls, record */
    TIDE_BENCH_TAKES_SIZES = 1 << 1,
    TIDE_BENCH_TAKES_DTYPE = 1 << 2,
    TIDE_BENCH_TAKES_BATCH = 1 << 3,
    TIDE_BENCH_TAKES_MODEL = 1 << 4, /* dim, layers, steps */
    TIDE_BENCH_TAKES_VARY = 1 << 5,
    TIDE_BENCH_TAKES_FLUSH = 1 << 6,
    TIDE_BENCH_TAKES_PEAK = 1 << 7,
    TIDE_BENCH_TAKES_TARGET = 1 << 8,
    TIDE_BENCH_TAKES_GATE = 1 << 9
};

struct tide_bench_records; /* records.h */

/* One benchmark on its way. */
typedef struct tide_bench_run {
    tide_report *report; /* where figures go */
    size_t n_rounds;     /* 1..TIDE_BENCH_MAX_ROUNDS */
    bool with_samples;   /* every sample is reported, too */
    bool is_brief;       /* little work a sample: for tests, the figures mean nothing */
    tide_bench_target targets[TIDE_BENCH_MAX_TARGETS];
    size_t n_targets;
    const tide_bench_settings *settings; /* borrowed */
    struct tide_bench_records *records;  /* borrowed; what a benchmark of a device leaves */
    size_t n_unfit;                      /* cases that the device had no memory for */
    tide_progress progress;              /* the case that is measured, on a terminal */
} tide_bench_run;

typedef struct tide_bench {
    const char *name;    /* "allocator" */
    const char *summary; /* what it measures, one line */
    unsigned takes;      /* TIDE_BENCH_TAKES_... */
    tide_status (*run)(tide_bench_run *run, tide_error *error);
} tide_bench;

extern const tide_bench tide_bench_allocator;
extern const tide_bench tide_bench_recorder;
extern const tide_bench tide_bench_symbols;
extern const tide_bench tide_bench_matmul;
extern const tide_bench tide_bench_mlp;
extern const tide_bench tide_bench_mlp_scaling;
extern const tide_bench tide_bench_layernorm;
extern const tide_bench tide_bench_layer_forward;
extern const tide_bench tide_bench_layer_backward;
extern const tide_bench tide_bench_copy;
extern const tide_bench tide_bench_mlp_norm;
extern const tide_bench tide_bench_gemv;
extern const tide_bench tide_bench_gather_gemv;

/* Takes one sample of each to warm up, which is discarded, then n_rounds rounds. */
TIDE_NODISCARD tide_status tide_bench_measure(tide_bench_group *group, size_t n_rounds,
                                              tide_error *error);

/* The smallest sample: the machine at its fastest. */
double tide_bench_min(const tide_bench_group *group, size_t variant);
double tide_bench_median(const tide_bench_group *group, size_t variant);
/* Median over the rounds of `variant` to `base` within the round. */
double tide_bench_ratio(const tide_bench_group *group, size_t variant, size_t base);
/* By how many ns the smallest sample of `variant` is longer than that of `base`. */
double tide_bench_added(const tide_bench_group *group, size_t variant, size_t base);

/* A table `key` with a row for each variant of each group; `base` is the variant of the last
 * column.
 */
void tide_bench_report_groups(tide_bench_run *run, const char *key, const char *title,
                              const tide_bench_group *groups, size_t n_groups, size_t base);

/* A bound that holds where measured <= bound. */
void tide_bench_add_target(tide_bench_run *run, const char *what, const char *unit, double bound,
                           double measured);
/* Adds the table of targets. True: a target was missed. */
bool tide_bench_report_targets(tide_bench_run *run);

#ifdef __cplusplus
}
#endif

#endif
