/* gemv.c - a square matrix times a vector, and two chosen of eight: bytes of weights read per
 * second. Weights are bf16, or int8 cast at their use.
 */
#include "model/bench/subject_internal.h"

enum { OUT = 0, WEIGHT, X, CHOSEN };

/* The experts. Each call uses two that are not adjacent. */
enum { N_EXPERTS = 8, N_CHOSEN = 2 };
static const int32_t EXPERTS[N_CHOSEN] = {3, 5};

static tide_status setup_matrices(tide_bench_case *on, size_t n_matrices, size_t n_chosen,
                                  tide_error *error) {
    size_t D = on->size;
    tide_dtype weights = on->dtype[0] == 'i' ? TIDE_INT8 : on->storage;
    TIDE_TRY(tide_bench_case_alloc(on, OUT, on->storage, n_chosen * D, error));
    TIDE_TRY(tide_bench_case_random(on, WEIGHT, weights, n_matrices * D * D, 1.0, error));
    TIDE_TRY(tide_bench_case_random(on, X, on->storage, D, 1.0, error));
    on->work = (double)n_chosen * (double)D * (double)D * (double)tide_dtype_bytes(weights);
    return TIDE_OK;
}

static tide_status setup(tide_bench_case *on, tide_error *error) {
    return setup_matrices(on, 1, 1, error);
}

static tide_status setup_gathered(tide_bench_case *on, tide_error *error) {
    TIDE_TRY(setup_matrices(on, N_EXPERTS, N_CHOSEN, error));
    TIDE_TRY(tide_bench_case_alloc(on, CHOSEN, TIDE_INT32, N_CHOSEN, error));
    return tide_device_copy(on->place.device, on->tensors[CHOSEN].array.data, EXPERTS,
                            sizeof(EXPERTS), TIDE_COPY_TO_DEVICE, on->place.ops->stream, error);
}

static tide_status call(void *ctx, tide_error *error) {
    tide_bench_case *on = ctx;
    const int32_t *chosen = on->tensors[CHOSEN].array.data; /* NULL: the only one */
    const tide_gemv product = {.out = on->tensors[OUT].array,
                               .weight = on->tensors[WEIGHT].array,
                               .x = on->tensors[X].array,
                               .chosen = chosen,
                               .n_chosen = chosen != NULL ? N_CHOSEN : 1,
                               .m = on->size,
                               .k = on->size};
    return on->place.ops->table->gemv(on->place.ops, &product, error);
}

static const tide_bench_sizes GEMV_SIZES = {
    .name = "D",
    .cuda = {1024, 4096, 8192, 16384},
    .cpu = {1024, 4096, 8192},
    .brief = 64,
    .most = 65536,
};

static const tide_bench_subject GEMV = {
    .name = "gemv",
    .title = "Matrix times vector, time of one",
    .sizes = &GEMV_SIZES,
    .dtypes = {"bf16", "int8", "fp32"},
    .n_defaults = 2,
    .rate = TIDE_RATE_BYTES,
    .stated = {{"bf16", 990}, {"int8", 870}},
    .flushes = true,
    .setup = setup,
    .call = call,
};

static const tide_bench_sizes GATHER_GEMV_SIZES = {
    .name = "D",
    .cuda = {1024, 4096, 8192, 16384},
    .cpu = {1024, 4096},
    .brief = 64,
    .most = 65536,
};

static const tide_bench_subject GATHER_GEMV = {
    .name = "gather_gemv",
    .title = "Two of eight matrices times a vector, time of one call",
    .sizes = &GATHER_GEMV_SIZES,
    .dtypes = {"bf16", "int8", "fp32"},
    .n_defaults = 2,
    .rate = TIDE_RATE_BYTES,
    .stated = {{"bf16", 1060}, {"int8", 990}},
    .flushes = true,
    .setup = setup_gathered,
    .call = call,
};

const tide_bench tide_bench_gemv = {
    .name = "gemv",
    .summary = "a D x D matrix times a vector: GB/s of its weights, bf16 or int8 cast at use",
    .subject = &GEMV,
};

const tide_bench tide_bench_gather_gemv = {
    .name = "gather-gemv",
    .summary = "the same with two matrices chosen of eight by number",
    .subject = &GATHER_GEMV,
};
