/* layernorm.c - layer norm of rows of several widths: bytes moved in a second. */
#include "bench/place_internal.h"

enum { OUT = 0, X, WEIGHT, BIAS };

static tide_status setup(tide_bench_case *on, tide_error *error) {
    tide_ops *ops = on->place.ops;
    size_t n = on->batch * on->size;
    TIDE_TRY(tide_bench_case_alloc(on, OUT, on->storage, n, error));
    TIDE_TRY(tide_bench_case_random(on, X, on->storage, n, 1.0, error));
    TIDE_TRY(tide_bench_case_alloc(on, WEIGHT, on->storage, on->size, error));
    TIDE_TRY(tide_bench_case_alloc(on, BIAS, on->storage, on->size, error));
    TIDE_TRY(ops->table->fill(
        ops, &(tide_fill){.out = on->tensors[WEIGHT].array, .value = 1.0, .n = on->size}, error));
    TIDE_TRY(ops->table->fill(
        ops, &(tide_fill){.out = on->tensors[BIAS].array, .value = 0.0, .n = on->size}, error));
    on->work =
        2.0 * (double)n * (double)tide_dtype_bytes(on->storage); /* read once, written once */
    return TIDE_OK;
}

static tide_status call(void *ctx, tide_error *error) {
    tide_bench_case *on = ctx;
    const tide_layernorm_forward norm = {.out = on->tensors[OUT].array,
                                         .x = on->tensors[X].array,
                                         .weight = on->tensors[WEIGHT].array,
                                         .bias = on->tensors[BIAS].array,
                                         .R = on->batch,
                                         .C = on->size};
    return on->place.ops->table->layernorm_forward(on->place.ops, &norm, error);
}

static const tide_bench_subject SUBJECT = {
    .name = "layernorm",
    .title = "Layer norm, time of one",
    .size_name = "D",
    .dtypes = {"bf16", "fp32"},
    .n_defaults = 1,
    .cuda_sizes = {1024, 4096, 8192, 16384},
    .cpu_sizes = {1024, 4096, 8192, 16384},
    .brief_size = 64,
    .cuda_batch = 4096,
    .cpu_batch = 4096,
    .brief_batch = 8,
    .max_size = 1 << 20,
    .rate = TIDE_RATE_BYTES,
    .flushes = true,
    .setup = setup,
    .call = call,
};

static tide_status run_layernorm(tide_bench_run *run, tide_error *error) {
    return tide_bench_run_subject(run, &SUBJECT, error);
}

const tide_bench tide_bench_layernorm = {
    .name = "layernorm",
    .summary = "layer norm of rows of D: GB/s, 2 rows D bytes of an element each",
    .takes = TIDE_BENCH_TAKES_DEVICE | TIDE_BENCH_TAKES_SIZES | TIDE_BENCH_TAKES_DTYPE |
             TIDE_BENCH_TAKES_BATCH | TIDE_BENCH_TAKES_FLUSH | TIDE_BENCH_TAKES_TARGET,
    .run = run_layernorm,
};
