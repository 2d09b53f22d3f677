/* place_internal.h - where benchmarks of a device measure: the device with its operators, a cache for
 * their memory, and the flush of its caches; and benchmarks of one operator at several sizes.
 */
#ifndef TIDE_BENCH_PLACE_INTERNAL_H
#define TIDE_BENCH_PLACE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "allocator/cache.h"
#include "cli/bench/records.h"
#include "common/status.h"
#include "device/device.h"
#include "model/ops.h"
#include "model/timing.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_bench_place {
    const tide_bench_run *run; /* borrowed */
    tide_device *device;       /* owned */
    tide_cache *cache;         /* owned */
    tide_ops *ops;             /* owned */
    tide_tensor workspace;     /* owned; of matrix products */
    tide_timing_flush flush;   /* owned */
    bool flushes;              /* between samples */
    bool is_cpu;               /* the device */
} tide_bench_place;

/* "fp32", "tf32", "bf16", "int8" (bf16 but for the weights): the precision of its products. */
tide_precision tide_bench_precision(const char *dtype);

/* The device of the settings, for a type. Notes the environment in the run's records. TIDE_INVALID:
 * the device does not compute it. The caller closes it in any case. */
TIDE_NODISCARD tide_status tide_bench_place_open(tide_bench_place *place, tide_bench_run *run,
                                                 const char *dtype, bool flushes,
                                                 tide_error *error);
void tide_bench_place_close(tide_bench_place *place);

/* Samples as the settings want them, of n_calls each. The caller calls fini. */
TIDE_NODISCARD tide_status tide_bench_place_measure(const tide_bench_place *place,
                                                    const tide_timing_subject *subject,
                                                    size_t n_calls, tide_timing *ret_timing,
                                                    tide_error *error);

/* What a figure is made of. It is the work of a call over its median time. */
typedef enum tide_bench_rate {
    TIDE_RATE_FLOPS = 0, /* TFLOP/s */
    TIDE_RATE_BYTES,     /* GB/s */
    TIDE_RATE_SHARE      /* of the device's stated peak; TFLOP/s where none is known */
} tide_bench_rate;

/* Tables of one benchmark under way. */
typedef struct tide_bench_tables {
    tide_table *figures; /* in the run's report */
    tide_table *samples; /* the same; NULL: not asked for */
    tide_bench_rate rate;
    const char *name; /* of the benchmark, in records */
    bool is_model;    /* in records */
} tide_bench_tables;

void tide_bench_tables_begin(tide_bench_tables *tables, tide_bench_run *run, tide_bench_rate rate,
                             const char *name, const char *title, bool is_model);
/* A row, its samples, and its record: `work` FLOP or bytes a call. Returns the figure; -1: there is
 * none. */
double tide_bench_tables_row(tide_bench_tables *tables, tide_bench_run *run, const char *label,
                             const char *dtype, double work, const tide_timing *timing,
                             bool is_judged);

/* Shows the case on a terminal, while it is measured. */
void tide_bench_show_case(tide_bench_run *run, const char *name, const char *label,
                          const char *dtype);

/* Whether a case ended because the device had no memory for it. If so, the reason goes below the
 * tables and `error` is cleared: the case is a row, and the next one follows. */
bool tide_bench_is_unfit(tide_bench_run *run, const char *label, const char *dtype,
                         tide_status status, tide_error *error);
/* The row of such a case. */
void tide_bench_tables_unfit(tide_bench_tables *tables, const char *label, const char *dtype);

enum { TIDE_BENCH_CASE_TENSORS = 8, TIDE_BENCH_DEFAULT_SIZES = 6 };

/* One size of a benchmark. */
typedef struct tide_bench_case {
    tide_bench_place place;
    size_t size;                                  /* what the benchmark varies */
    size_t batch;                                 /* rows of the input */
    const char *dtype;                            /* as on the command line */
    tide_dtype storage;                           /* of activations, and of weights but int8 ones */
    tide_tensor tensors[TIDE_BENCH_CASE_TENSORS]; /* owned; those that setup allocated */
    double work;                                  /* of a call, FLOP or bytes; setup sets it */
} tide_bench_case;

/* A benchmark of something at several sizes. */
typedef struct tide_bench_subject {
    const char *name;                            /* "gemv" */
    const char *title;                           /* of its table */
    const char *size_name;                       /* "D" */
    const char *dtypes[4];                       /* what it can do, up to NULL */
    size_t n_defaults;                           /* the first so many are measured by default */
    size_t cuda_sizes[TIDE_BENCH_DEFAULT_SIZES]; /* up to 0 */
    size_t cpu_sizes[TIDE_BENCH_DEFAULT_SIZES];  /* the same */
    size_t brief_size;                           /* for tests */
    size_t cuda_batch, cpu_batch, brief_batch;
    size_t max_size; /* that counts and bytes of it can bear */
    tide_bench_rate rate;
    bool flushes; /* a short kernel, whose data would stay in the cache */
    /* Allocates and fills tensors, sets work. */
    tide_status (*setup)(tide_bench_case *on, tide_error *error);
    tide_timing_call call; /* ctx: a tide_bench_case */
} tide_bench_subject;

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

/* The dtypes asked for, or the first n_defaults of `valid`, up to 4. TIDE_INVALID names one that is
 * not valid. */
TIDE_NODISCARD tide_status tide_bench_choose_dtypes(const tide_bench_run *run,
                                                    const char *const *valid, size_t n_defaults,
                                                    const char *ret_dtypes[4], size_t *ret_n,
                                                    tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
