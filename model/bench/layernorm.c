/* layernorm.c - layer norm of rows of several widths: bytes moved per second. Weight and bias are
 * always fp32, as in PyTorch's nn.LayerNorm(D).
 */
#include "model/bench/subject_internal.h"

enum { OUT = 0, X, WEIGHT, BIAS };

static tide_status setup(tide_bench_case *on, tide_error *error) {
    size_t n = on->batch * on->size;
    TIDE_TRY(tide_bench_case_alloc(on, OUT, on->storage, n, error));
    TIDE_TRY(tide_bench_case_random(on, X, on->storage, n, 1.0, error));
    TIDE_TRY(tide_bench_case_fill(on, WEIGHT, TIDE_FP32, on->size, 1.0, error));
    TIDE_TRY(tide_bench_case_fill(on, BIAS, TIDE_FP32, on->size, 0.0, error));
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

static const tide_bench_sizes SIZES = {
    .name = "D",
    .cuda = {1024, 4096, 8192, 16384},
    .cpu = {1024, 4096, 8192, 16384},
    .brief = 64,
    .cuda_batch = 4096,
    .cpu_batch = 4096,
    .brief_batch = 8,
    .most = 1 << 20,
};

static const tide_bench_subject SUBJECT = {
    .name = "layer_norm",
    .title = "Layer norm, time of one",
    .sizes = &SIZES,
    .dtypes = {"bf16", "fp32"},
    .n_defaults = 1,
    .rate = TIDE_RATE_BYTES,
    .stated = {{"bf16", 950}},
    .flushes = true,
    .setup = setup,
    .call = call,
};

const tide_bench tide_bench_layernorm = {
    .name = "layernorm",
    .summary = "layer norm of rows of D: GB/s, 2 rows D bytes of an element each",
    .subject = &SUBJECT,
};
