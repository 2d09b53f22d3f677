/* subject_internal.h - benchmarks of one operation at several sizes. */
#ifndef TIDE_MODEL_BENCH_SUBJECT_INTERNAL_H
#define TIDE_MODEL_BENCH_SUBJECT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "model/bench/place_internal.h"
#include "model/bench/run_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_BENCH_CASE_TENSORS = 13, TIDE_BENCH_DEFAULT_SIZES = 6 };

/* One size of a benchmark. */
typedef struct tide_bench_case {
    tide_bench_place place;
    size_t size;                                  /* the varied quantity */
    size_t batch;                                 /* rows of the input */
    const char *dtype;                            /* as in the settings; static */
    tide_dtype storage;                           /* of activations, and of weights except int8
                                                     weights */
    tide_tensor tensors[TIDE_BENCH_CASE_TENSORS]; /* owned; those that setup allocated */
    double work;                                  /* of a call, FLOP or bytes; setup sets it */
} tide_bench_case;

/* The sizes at which a subject is measured. */
typedef struct tide_bench_sizes {
    const char *name;                          /* "D" */
    size_t cuda[TIDE_BENCH_DEFAULT_SIZES];     /* up to 0 */
    size_t cpu[TIDE_BENCH_DEFAULT_SIZES];      /* the same */
    size_t brief;                              /* for tests */
    size_t cuda_batch, cpu_batch, brief_batch; /* rows of the input; 0: no rows */
    size_t most; /* the largest size, and batch, whose counts and bytes do not overflow */
} tide_bench_sizes;

/* The target of the experiment's authors for the mean over its sizes, for one type, on the card
 * TIDE_BENCH_STATED_CARD: GB/s, or a share of the peak. */
typedef struct tide_bench_stated {
    const char *dtype; /* NULL: none */
    double target;
} tide_bench_stated;

/* An operation. It uses the settings for sizes and target, for types if it supports several, for
 * the batch if it has rows, for the flush if it flushes, and for the peak if its rate is a
 * share. */
typedef struct tide_bench_subject {
    const char *name;  /* "gemv" */
    const char *title; /* of its table */
    const tide_bench_sizes *sizes;
    const char *dtypes[TIDE_BENCH_MAX_DTYPES]; /* supported types, up to NULL */
    size_t n_defaults;                         /* this many, the first ones, are measured by
                                                  default */
    tide_bench_rate rate;
    tide_bench_stated stated[TIDE_BENCH_MAX_DTYPES]; /* of some types, up to a NULL */
    bool flushes; /* a short kernel, whose data would stay in the cache */
    /* Allocates and fills tensors, sets work. */
    tide_status (*setup)(tide_bench_case *on, tide_error *error);
    tide_timing_call call; /* ctx: a tide_bench_case */
} tide_bench_subject;

/* The settings that it uses: a set of TIDE_BENCH_TAKES_... */
unsigned tide_bench_subject_takes(const tide_bench_subject *subject);

/* All types, all sizes, and their mean. */
TIDE_NODISCARD tide_status tide_bench_run_subject(tide_bench_run *run,
                                                  const tide_bench_subject *subject,
                                                  tide_error *error);

/* Tensor i of the case, n elements: normal numbers of that sigma; int8: any. */
TIDE_NODISCARD tide_status tide_bench_case_random(tide_bench_case *on, size_t i, tide_dtype dtype,
                                                  size_t n, double sigma, tide_error *error);
/* Tensor i, to be written by the call. */
TIDE_NODISCARD tide_status tide_bench_case_alloc(tide_bench_case *on, size_t i, tide_dtype dtype,
                                                 size_t n, tide_error *error);
/* Tensor i, n elements filled with one value. */
TIDE_NODISCARD tide_status tide_bench_case_fill(tide_bench_case *on, size_t i, tide_dtype dtype,
                                                size_t n, double value, tide_error *error);

/* The types of the settings, or the first n_defaults of `valid`, which ends at NULL or after
 * TIDE_BENCH_MAX_DTYPES. The message of TIDE_INVALID names one that is not valid. */
TIDE_NODISCARD tide_status tide_bench_choose_dtypes(const tide_bench_run *run,
                                                    const char *const *valid, size_t n_defaults,
                                                    const char *ret_dtypes[TIDE_BENCH_MAX_DTYPES],
                                                    size_t *ret_n, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
