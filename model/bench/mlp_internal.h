/* mlp_internal.h - an MLP to time: its shape, and a run of k steps forward and backward. */
#ifndef TIDE_MODEL_BENCH_MLP_INTERNAL_H
#define TIDE_MODEL_BENCH_MLP_INTERNAL_H

#include <stddef.h>

#include "model/bench/subject_internal.h"
#include "common/status.h"
#include "model/layers/mlp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A run of several steps is long compared with one operator, so few samples suffice. */
enum { TIDE_BENCH_MLP_ROUNDS = 3, TIDE_BENCH_MLP_WARMUP = 1 };

typedef struct tide_bench_mlp_shape {
    const char *name; /* "base" */
    size_t dim, n_layers, batch, n_steps;
} tide_bench_mlp_shape;

/* 256 wide, 4 layers, batch 256, 2 steps, with the replacements of the settings; brief: a small
 * one. The message of TIDE_INVALID names an invalid number. */
TIDE_NODISCARD tide_status tide_bench_mlp_base(const tide_bench_run *run,
                                               tide_bench_mlp_shape *ret_shape, tide_error *error);

/* "4 layers of width 256, batch 256, 2 steps" */
enum { TIDE_BENCH_SHAPE_BYTES = 128 };
void tide_bench_mlp_describe(const tide_bench_mlp_shape *shape,
                             char ret_text[TIDE_BENCH_SHAPE_BYTES]);

/* The types of the settings, or fp32. */
TIDE_NODISCARD tide_status tide_bench_mlp_dtypes(const tide_bench_run *run,
                                                 const char *ret_dtypes[TIDE_BENCH_MAX_DTYPES],
                                                 size_t *ret_n, tide_error *error);

/* The shape on a device. */
typedef struct tide_bench_mlp_state {
    tide_bench_place place;     /* owned */
    tide_mlp *mlp;              /* owned */
    tide_bench_mlp_shape shape; /* of it */
    double forward_flops, backward_flops;
} tide_bench_mlp_state;

/* The caller closes it in any case. */
TIDE_NODISCARD tide_status tide_bench_mlp_open(tide_bench_mlp_state *state, tide_bench_run *run,
                                               const tide_bench_mlp_shape *shape, const char *dtype,
                                               tide_error *error);
void tide_bench_mlp_close(tide_bench_mlp_state *state);

/* For tide_timing_subject; `ctx` is the state. n_steps times forward, loss and backward, which
 * releases everything; and one of the two halves, between calls of tide_bench_mlp_clear and
 * tide_bench_mlp_half, which prepare for them. */
TIDE_NODISCARD tide_status tide_bench_mlp_run(void *ctx, tide_error *error);
TIDE_NODISCARD tide_status tide_bench_mlp_clear(void *ctx, tide_error *error);
TIDE_NODISCARD tide_status tide_bench_mlp_forward(void *ctx, tide_error *error);
TIDE_NODISCARD tide_status tide_bench_mlp_half(void *ctx, tide_error *error);
TIDE_NODISCARD tide_status tide_bench_mlp_backward(void *ctx, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
