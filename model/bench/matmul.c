/* matmul.c - products of two square matrices. */
#include "model/bench/subject_internal.h"

enum { OUT = 0, A, B };

static tide_status setup(tide_bench_case *on, tide_error *error) {
    size_t n = on->size;
    double order = (double)n;
    TIDE_TRY(tide_bench_case_alloc(on, OUT, on->storage, n * n, error));
    TIDE_TRY(tide_bench_case_random(on, A, on->storage, n * n, 1.0, error));
    TIDE_TRY(tide_bench_case_random(on, B, on->storage, n * n, 1.0, error));
    on->work = 2.0 * order * order * order;
    return TIDE_OK;
}

static tide_status call(void *ctx, tide_error *error) {
    tide_bench_case *on = ctx;
    const tide_matmul product = {.kind = TIDE_MATMUL_NN,
                                 .out = on->tensors[OUT].array,
                                 .a = on->tensors[A].array,
                                 .b = on->tensors[B].array,
                                 .m = on->size,
                                 .n = on->size,
                                 .k = on->size};
    return on->place.ops->table->matmul(on->place.ops, &product, error);
}

static const tide_bench_sizes SIZES = {
    .name = "n",
    .cuda = {1024, 2048, 4096, 8192, 16384},
    .cpu = {1024, 2048},
    .brief = 64,
    .most = 65536,
};

static const tide_bench_subject SUBJECT = {
    .name = "matmul",
    .title = "Square matrix products, time of one",
    .sizes = &SIZES,
    .dtypes = {"fp32", "tf32", "bf16"},
    .n_defaults = 1,
    .rate = TIDE_RATE_FLOPS,
    .setup = setup,
    .call = call,
};

const tide_bench tide_bench_matmul = {
    .name = "matmul",
    .summary = "products of square matrices: time and TFLOP/s, 2 n^3 FLOP each",
    .subject = &SUBJECT,
};
