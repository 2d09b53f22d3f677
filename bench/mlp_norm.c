/* mlp_norm.c - an MLP D -> 14336 -> D with layer norm and GELU between its two products: the
 * share of the device's stated peak that it achieves, FLOP over time over peak.
 */
#include "bench/subject_internal.h"

enum { HIDDEN = 14336, BRIEF_HIDDEN = 128 };

enum { OUT = 0, X, UP, DOWN, H, NORMED, WEIGHT, BIAS };

static size_t hidden_of(const tide_bench_case *on) {
    return on->place.run->settings->is_brief ? BRIEF_HIDDEN : HIDDEN;
}

static tide_status setup(tide_bench_case *on, tide_error *error) {
    size_t F = hidden_of(on);
    size_t D = on->size;
    size_t R = on->batch;
    TIDE_TRY(tide_bench_case_alloc(on, OUT, on->storage, R * D, error));
    TIDE_TRY(tide_bench_case_random(on, X, on->storage, R * D, 1.0, error));
    TIDE_TRY(tide_bench_case_random(on, UP, on->storage, F * D, 0.02, error));
    TIDE_TRY(tide_bench_case_random(on, DOWN, on->storage, D * F, 0.02, error));
    TIDE_TRY(tide_bench_case_alloc(on, H, on->storage, R * F, error));
    TIDE_TRY(tide_bench_case_alloc(on, NORMED, on->storage, R * F, error));
    TIDE_TRY(tide_bench_case_fill(on, WEIGHT, F, 1.0, error));
    TIDE_TRY(tide_bench_case_fill(on, BIAS, F, 0.0, error));
    on->work = 4.0 * (double)R * (double)D * (double)F; /* the two products alone */
    return TIDE_OK;
}

static tide_status linear(tide_bench_case *on, size_t out, size_t x, size_t weight, size_t n_out,
                          size_t n_in, tide_error *error) {
    const tide_matmul product = {.kind = TIDE_MATMUL_NT,
                                 .out = on->tensors[out].array,
                                 .a = on->tensors[x].array,
                                 .b = on->tensors[weight].array,
                                 .m = on->batch,
                                 .n = n_out,
                                 .k = n_in};
    return on->place.ops->table->matmul(on->place.ops, &product, error);
}

static tide_status call(void *ctx, tide_error *error) {
    tide_bench_case *on = ctx;
    tide_ops *ops = on->place.ops;
    size_t F = hidden_of(on);
    const tide_layernorm_forward norm = {.out = on->tensors[NORMED].array,
                                         .x = on->tensors[H].array,
                                         .weight = on->tensors[WEIGHT].array,
                                         .bias = on->tensors[BIAS].array,
                                         .R = on->batch,
                                         .C = F};
    TIDE_TRY(linear(on, H, X, UP, F, on->size, error));
    TIDE_TRY(ops->table->layernorm_forward(ops, &norm, error));
    const tide_gelu_forward call = {
        .out = on->tensors[NORMED].array,
        .x = on->tensors[NORMED].array,
        .n = on->batch * F,
    };
    TIDE_TRY(ops->table->gelu_forward(ops, &call, error));
    return linear(on, OUT, NORMED, DOWN, on->size, F, error);
}

static const tide_bench_sizes SIZES = {
    .name = "D",
    .cuda = {1024, 4096, 8192, 16384},
    .cpu = {256, 1024},
    .brief = 64,
    .cuda_batch = 4096,
    .cpu_batch = 32,
    .brief_batch = 8,
    .most = 65536,
};

static const tide_bench_subject SUBJECT = {
    .name = "mlp_layer_norm_gelu",
    .title = "Linear, layer norm, GELU, linear: time of one",
    .sizes = &SIZES,
    .dtypes = {"bf16", "fp32", "tf32"},
    .n_defaults = 1,
    .rate = TIDE_RATE_SHARE,
    .setup = setup,
    .call = call,
};

const tide_bench tide_bench_mlp_norm = {
    .name = "mlp-norm",
    .summary = "an MLP D -> 14336 -> D with layer norm: FLOP / time / stated peak",
    .subject = &SUBJECT,
};
