/* result.h - the results of a measurement: groups of variants, rows, records, targets, sentences.
 *
 * Texts that are not arrays are static.
 */
#ifndef TIDE_MODEL_BENCH_RESULT_H
#define TIDE_MODEL_BENCH_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/statistics.h"
#include "common/status.h"
#include "model/workload/timing.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_BENCH_MAX_ROUNDS = 101,
    TIDE_BENCH_MAX_VARIANTS = 8,
    TIDE_BENCH_MAX_GROUPS = 16,
    TIDE_BENCH_MAX_GROUP_SETS = 2,
    TIDE_BENCH_MAX_TARGETS = 32,
    TIDE_BENCH_MAX_SIZES = 16,
    TIDE_BENCH_MAX_DTYPES = 4,
    TIDE_BENCH_MAX_VARIED = 4,
    TIDE_BENCH_MAX_ROWS = 64,     /* every size with every type */
    TIDE_BENCH_MAX_RECORDS = 128, /* the same, and their means */
    TIDE_BENCH_MAX_NOTES = 96,
    TIDE_BENCH_LABEL_BYTES = 48,
    TIDE_BENCH_NOTE_BYTES = 1024
};

/* ---- variants of one thing ---- */

/* One of several ways to do the same work, which are measured in turn. */
typedef struct tide_bench_variant {
    const char *name;
    /* Works for a few milliseconds and returns the time of one piece. Called only by
     * tide_bench_measure, while `ctx` lives. */
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

/* Takes one sample of each to warm up, which is discarded, then n_rounds rounds. */
TIDE_NODISCARD tide_status tide_bench_measure(tide_bench_group *group, size_t n_rounds,
                                              tide_error *error);

/* The smallest sample: the machine at its fastest. */
double tide_bench_min(const tide_bench_group *group, size_t variant);
double tide_bench_median(const tide_bench_group *group, size_t variant);
/* Median over the rounds of `variant` to `base` within the round. */
double tide_bench_ratio(const tide_bench_group *group, size_t variant, size_t base);
/* The ns by which the smallest sample of `variant` exceeds that of `base`. */
double tide_bench_added(const tide_bench_group *group, size_t variant, size_t base);

/* Groups of one table. */
typedef struct tide_bench_group_set {
    const char *key, *title; /* of the table */
    size_t n_groups;
    size_t base; /* the base of the ratios */
} tide_bench_group_set;

/* ---- cases on a device ---- */

/* The unit of a figure, which is the work of a call divided by its median time. */
typedef enum tide_bench_rate {
    TIDE_RATE_FLOPS = 0, /* TFLOP/s */
    TIDE_RATE_BYTES,     /* GB/s */
    TIDE_RATE_SHARE      /* of the device's stated peak; TFLOP/s if it is unknown */
} tide_bench_rate;

/* What all rows of a benchmark have in common. */
typedef struct tide_bench_heading {
    const char *name;  /* of the benchmark in records: "layer_forward" */
    const char *title; /* of the table */
    tide_bench_rate rate;
    bool is_model;   /* in records: of a model, not of an operator */
    bool is_scaling; /* rows state the varied quantity, and have no rates */
} tide_bench_heading;

/* A case. */
typedef struct tide_bench_row {
    char label[TIDE_BENCH_LABEL_BYTES]; /* "D=1024" */
    const char *dtype;                  /* "bf16" */
    bool is_unfit;                      /* the device had no memory for it, so it has no figures */
    tide_timing timing;                 /* owned */
    tide_statistics us;                 /* of the device's time of a call */
    double rate;                        /* TFLOP/s or GB/s; -1: none */
    double share;                       /* of the device's stated peak; -1: unknown */
    const char *varied;                 /* is_scaling: "steps" */
    size_t value;                       /* of the varied quantity */
    size_t factor;                      /* times the base's */
    double ratio;                       /* median divided by the base's; -1: the base did not fit */
} tide_bench_row;

/* The exponent p of time ~ factor^p. */
typedef struct tide_bench_exponent {
    const char *varied;
    double exponent; /* by least squares */
    double expected; /* if the products dominate */
} tide_bench_exponent;

/* ---- records, targets and sentences ---- */

/* The card of all stated targets. */
#define TIDE_BENCH_STATED_CARD "A100-40GB"

/* One figure of a benchmark of a device. */
typedef struct tide_bench_record {
    const char *name;                   /* of the benchmark: "gemv" */
    const char *metric;                 /* "memory_bandwidth(GB/s)": larger is better */
    const char *dtype;                  /* "bf16" */
    char label[TIDE_BENCH_LABEL_BYTES]; /* the case: "D=1024" */
    double actual;                      /* the figure */
    double stated_target;               /* the target of the experiment's authors on the card
                                           TIDE_BENCH_STATED_CARD; 0: none */
    bool is_judged;                     /* compared with the target, if there is one */
    bool is_model;                      /* of a model, not of an operator */
    size_t n_samples;                   /* 0: computed from other records */
    size_t n_calls;                     /* in a sample */
    tide_statistics us;                 /* of them, a call */
} tide_bench_record;

/* A bound that the project sets for itself, and the measured value. */
typedef struct tide_bench_target {
    char what[96];
    double bound;     /* at most this */
    double measured;  /* below 0: not measured, which counts as missed */
    const char *unit; /* "ns", "x", "B" */
} tide_bench_target;

/* A sentence. */
typedef struct tide_bench_note {
    const char *key; /* its kind: "shape", "mean" */
    bool is_below;   /* belongs below the table of rows, because it is computed from them */
    char text[TIDE_BENCH_NOTE_BYTES];
} tide_bench_note;

#ifdef __cplusplus
}
#endif

#endif
