/* layer.c - the matrix products of one layer of the transformer, alone: the time of its forward and
 * backward passes without anything else. With C channels, F = 4 C of the feed-forward network and R
 * rows (batch times context) a layer has seven linear layers: q, k, v and output (C to C), w1 and
 * w3 (C to F), and w2 (F to C).
 */
#include "model/bench/subject_internal.h"

enum { IN_C = 0, IN_F, OUT_C, OUT_F, SQUARE, LONG, SQUARE_OUT, LONG_OUT };
enum { N_LINEAR = 7 };

/* y (R, n_out) = x (R, n_in) weight (n_out, n_in)^T */
typedef struct linear_shape {
    size_t n_in, n_out; /* columns of x and of y */
    bool is_square;     /* n_in = n_out */
} linear_shape;

static linear_shape linear_at(const tide_bench_case *on, int i) {
    const size_t C = on->size;
    const size_t F = 4 * C;
    return i < 4   ? (linear_shape){C, C, true}
           : i < 6 ? (linear_shape){C, F, false}
                   : (linear_shape){F, C, false};
}

static tide_array input(const tide_bench_case *on, size_t n_columns) {
    return on->tensors[n_columns == on->size ? IN_C : IN_F].array;
}

static tide_array output(const tide_bench_case *on, size_t n_columns) {
    return on->tensors[n_columns == on->size ? OUT_C : OUT_F].array;
}

static tide_status setup(tide_bench_case *on, tide_error *error) {
    const size_t C = on->size;
    const size_t F = 4 * C;
    const size_t R = on->batch;
    const double weights = 4.0 * (double)C * (double)C + 3.0 * (double)C * (double)F;
    TIDE_TRY(tide_bench_case_random(on, IN_C, on->storage, R * C, 1.0, error));
    TIDE_TRY(tide_bench_case_random(on, IN_F, on->storage, R * F, 1.0, error));
    TIDE_TRY(tide_bench_case_alloc(on, OUT_C, on->storage, R * C, error));
    TIDE_TRY(tide_bench_case_alloc(on, OUT_F, on->storage, R * F, error));
    TIDE_TRY(tide_bench_case_random(on, SQUARE, on->storage, C * C, 1.0, error));
    TIDE_TRY(tide_bench_case_random(on, LONG, on->storage, C * F, 1.0, error));
    on->work = 2.0 * (double)R * weights;
    return TIDE_OK;
}

/* Two products of the same size for each of forward's. */
static tide_status setup_backward(tide_bench_case *on, tide_error *error) {
    const size_t C = on->size;
    TIDE_TRY(setup(on, error));
    TIDE_TRY(tide_bench_case_alloc(on, SQUARE_OUT, on->storage, C * C, error));
    TIDE_TRY(tide_bench_case_alloc(on, LONG_OUT, on->storage, 4 * C * C, error));
    on->work *= 2.0;
    return TIDE_OK;
}

static tide_status forward(void *ctx, tide_error *error) {
    const tide_bench_case *on = ctx;
    tide_ops *ops = on->place.ops;
    for (int i = 0; i < N_LINEAR; i++) {
        const linear_shape l = linear_at(on, i);
        const tide_matmul product = {.kind = TIDE_MATMUL_NT,
                                     .out = output(on, l.n_out),
                                     .a = input(on, l.n_in),
                                     .b = on->tensors[l.is_square ? SQUARE : LONG].array,
                                     .m = on->batch,
                                     .n = l.n_out,
                                     .k = l.n_in};
        TIDE_TRY(ops->table->matmul(ops, &product, error));
    }
    return TIDE_OK;
}

/* dx (R, n_in) = dy (R, n_out) weight; dweight (n_out, n_in) = dy^T x. */
static tide_status backward(void *ctx, tide_error *error) {
    const tide_bench_case *on = ctx;
    tide_ops *ops = on->place.ops;
    for (int i = N_LINEAR - 1; i >= 0; i--) {
        const linear_shape l = linear_at(on, i);
        const tide_matmul to_input = {.kind = TIDE_MATMUL_NN,
                                      .out = output(on, l.n_in),
                                      .a = input(on, l.n_out),
                                      .b = on->tensors[l.is_square ? SQUARE : LONG].array,
                                      .m = on->batch,
                                      .n = l.n_in,
                                      .k = l.n_out};
        const tide_matmul to_weight = {.kind = TIDE_MATMUL_TN,
                                       .out =
                                           on->tensors[l.is_square ? SQUARE_OUT : LONG_OUT].array,
                                       .a = input(on, l.n_out),
                                       .b = input(on, l.n_in),
                                       .m = l.n_out,
                                       .n = l.n_in,
                                       .k = on->batch};
        TIDE_TRY(ops->table->matmul(ops, &to_input, error));
        TIDE_TRY(ops->table->matmul(ops, &to_weight, error));
    }
    return TIDE_OK;
}

/* Widths of the sizes small to 2.7B; 2048 rows are batch 4 at context 512. */
static const tide_bench_sizes SIZES = {
    .name = "C",
    .cuda = {768, 1024, 1280, 1600, 2560},
    .cpu = {256, 768},
    .brief = 16,
    .cuda_batch = 2048,
    .cpu_batch = 128,
    .brief_batch = 8,
    .most = 1 << 15,
};

static const tide_bench_subject FORWARD = {
    .name = "layer_forward",
    .title = "Products of a layer's forward pass, time of all seven",
    .sizes = &SIZES,
    .dtypes = {"bf16", "fp32", "tf32"},
    .n_defaults = 1,
    .rate = TIDE_RATE_FLOPS,
    .setup = setup,
    .call = forward,
};

static const tide_bench_subject BACKWARD = {
    .name = "layer_backward",
    .title = "Products of a layer's backward pass, time of all fourteen",
    .sizes = &SIZES,
    .dtypes = {"bf16", "fp32", "tf32"},
    .n_defaults = 1,
    .rate = TIDE_RATE_FLOPS,
    .setup = setup_backward,
    .call = backward,
};

const tide_bench tide_bench_layer_forward = {
    .name = "layer-forward",
    .summary = "products of a transformer layer's forward pass: TFLOP/s",
    .subject = &FORWARD,
};

const tide_bench tide_bench_layer_backward = {
    .name = "layer-backward",
    .summary = "products of a transformer layer's backward pass: TFLOP/s",
    .subject = &BACKWARD,
};
