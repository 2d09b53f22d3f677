/* mlp_norm.c - linear, layer norm, linear, layer norm of one vector, D -> 14336 -> D: the share of
 * the device's stated peak that it achieves, FLOP over time over peak.
 *
 * It is the sequence of PyTorch's benchmarks/gpt_fast, whose name for it ends in "gelu" although it
 * has no GELU. The linear layers have biases of the vector's type. Weights and biases of the norms
 * are fp32.
 */
#include "model/bench/subject_internal.h"

enum { HIDDEN = 14336, BRIEF_HIDDEN = 128 };

/* Tensors of a linear layer and its norm, from its first one on. */
enum { WEIGHT = 0, BIAS, OUT, NORM_WEIGHT, NORM_BIAS, NORM_OUT, N_OF_LAYER };
enum { X = 0, UP, DOWN = UP + N_OF_LAYER, N_TENSORS = DOWN + N_OF_LAYER };

static size_t hidden_of(const tide_bench_case *on) {
    return on->place.run->settings->is_brief ? BRIEF_HIDDEN : HIDDEN;
}

static tide_status setup_layer(tide_bench_case *on, size_t layer, size_t n_out, size_t n_in,
                               tide_error *error) {
    TIDE_TRY(tide_bench_case_random(on, layer + WEIGHT, on->storage, n_out * n_in, 0.02, error));
    TIDE_TRY(tide_bench_case_random(on, layer + BIAS, on->storage, n_out, 0.02, error));
    TIDE_TRY(tide_bench_case_alloc(on, layer + OUT, on->storage, n_out, error));
    TIDE_TRY(tide_bench_case_fill(on, layer + NORM_WEIGHT, TIDE_FP32, n_out, 1.0, error));
    TIDE_TRY(tide_bench_case_fill(on, layer + NORM_BIAS, TIDE_FP32, n_out, 0.0, error));
    return tide_bench_case_alloc(on, layer + NORM_OUT, on->storage, n_out, error);
}

static tide_status setup(tide_bench_case *on, tide_error *error) {
    _Static_assert((int)N_TENSORS <= (int)TIDE_BENCH_CASE_TENSORS, "each tensor has room");
    const size_t F = hidden_of(on);
    const size_t D = on->size;
    TIDE_TRY(tide_bench_case_random(on, X, on->storage, D, 1.0, error));
    TIDE_TRY(setup_layer(on, UP, F, D, error));
    TIDE_TRY(setup_layer(on, DOWN, D, F, error));
    on->work = 4.0 * (double)D * (double)F; /* only the two products */
    return TIDE_OK;
}

/* The linear layer whose tensors begin at `layer`, and its norm. */
static tide_status call_layer(tide_bench_case *on, size_t x, size_t layer, size_t n_out,
                              size_t n_in, tide_error *error) {
    tide_ops *ops = on->place.ops;
    const tide_tensor *of = on->tensors + layer;
    const tide_gemv linear = {.out = of[OUT].array,
                              .weight = of[WEIGHT].array,
                              .x = on->tensors[x].array,
                              .bias = of[BIAS].array,
                              .n_chosen = 1,
                              .m = n_out,
                              .k = n_in};
    const tide_layernorm_forward norm = {.out = of[NORM_OUT].array,
                                         .x = of[OUT].array,
                                         .weight = of[NORM_WEIGHT].array,
                                         .bias = of[NORM_BIAS].array,
                                         .R = 1,
                                         .C = n_out};
    TIDE_TRY(ops->table->gemv(ops, &linear, error));
    return ops->table->layernorm_forward(ops, &norm, error);
}

static tide_status call(void *ctx, tide_error *error) {
    tide_bench_case *on = ctx;
    const size_t F = hidden_of(on);
    TIDE_TRY(call_layer(on, X, UP, F, on->size, error));
    return call_layer(on, UP + NORM_OUT, DOWN, on->size, F, error);
}

static const tide_bench_sizes SIZES = {
    .name = "D",
    .cuda = {1024, 4096, 8192, 16384},
    .cpu = {1024, 4096, 8192, 16384},
    .brief = 64,
    .most = 65536,
};

static const tide_bench_subject SUBJECT = {
    .name = "mlp_layer_norm_gelu",
    .title = "Linear, layer norm, linear, layer norm of one vector: time of one",
    .sizes = &SIZES,
    .dtypes = {"bf16", "fp32"},
    .n_defaults = 1,
    .rate = TIDE_RATE_SHARE,
    .stated = {{"bf16", 0.8}},
    .flushes = true,
    .setup = setup,
    .call = call,
};

const tide_bench tide_bench_mlp_norm = {
    .name = "mlp-norm",
    .summary = "two linear layers, each with a layer norm, D -> 14336 -> D: FLOP / time / peak",
    .subject = &SUBJECT,
};
