/* test_matmul.c - matrix products of the cuda device, over a fake cuBLAS, compared with those of
 * the cpu device: every kind, shape and type; strict fp32 and TF32; batches; the workspace; and the
 * messages when cuBLAS fails. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/map.h"
#include "fake_cublas/fake_cublas.h"
#include "fake_cudart/fake_cudart.h"
#include "model/bf16.h"
#include "model/ops_cuda/gemm.h"
#include "support/hostmem_fault.h"

#define UNIT_ROUNDOFF 5.9604644775390625e-8 /* half of fp32's last place */

typedef struct fixture {
    tide_device *cpu, *cuda;      /* owned */
    tide_ops *cpu_ops, *cuda_ops; /* owned */
} fixture;

static tide_ops *open_ops(tide_device *device, tide_precision precision) {
    tide_ops *ops = NULL;
    tide_error error = {""};
    if (tide_ops_open(tide_hostmem_default(), device, precision, &ops, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    return ops;
}

static int setup(void **state) {
    fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    tide_fake_cudart_reset();
    tide_fake_cublas_reset();
    assert_int_equal(tide_device_open("cpu", NULL, &f->cpu, NULL), TIDE_OK);
    assert_int_equal(tide_device_open("cuda", NULL, &f->cuda, NULL), TIDE_OK);
    f->cpu_ops = open_ops(f->cpu, TIDE_PRECISION_FP32);
    f->cuda_ops = open_ops(f->cuda, TIDE_PRECISION_FP32);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    tide_ops_close(f->cuda_ops);
    tide_ops_close(f->cpu_ops);
    tide_device_close(f->cuda);
    tide_device_close(f->cpu);
    free(f);
    assert_int_equal(tide_fake_cublas_state()->n_handles, 0);
    assert_int_equal(tide_fake_cublas_state()->n_lt_objects, 0);
    assert_int_equal(tide_fake_cudart_state()->n_segments, 0);
    assert_int_equal(tide_fake_cudart_state()->n_mistakes, 0);
    return 0;
}

/* The same numbers in host memory and on the device. */
typedef struct twin {
    tide_array cpu, cuda; /* cpu.data is owned */
    uint64_t segment;     /* on the device */
    size_t n;             /* elements */
} twin;

static float number(tide_array x, size_t i) {
    return x.dtype == TIDE_BF16 ? tide_bf16_to_fp32(((uint16_t *)x.data)[i]) : ((float *)x.data)[i];
}

static void put(tide_array x, size_t i, float value) {
    if (x.dtype == TIDE_BF16) {
        ((uint16_t *)x.data)[i] = tide_fp32_to_bf16(value);
    } else {
        ((float *)x.data)[i] = value;
    }
}

/* Uniform in [-1, 1); the device's array ends where its segment does. */
static twin make_twin(fixture *f, tide_dtype dtype, size_t n, uint64_t seed) {
    const size_t n_bytes = n * tide_dtype_bytes(dtype);
    twin t = {.cpu = {malloc(n_bytes), dtype}, .cuda = {NULL, dtype}, .n = n};
    assert_non_null(t.cpu.data);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = tide_hash_u64(seed * UINT64_C(1000003) + i) >> 40;
        put(t.cpu, i, (float)((double)bits / 8388608.0 - 1));
    }
    const size_t n_segment = (n_bytes / TIDE_DEVICE_GRANULE + 1) * TIDE_DEVICE_GRANULE;
    assert_int_equal(tide_device_alloc(f->cuda, n_segment, &t.segment, NULL), TIDE_OK);
    t.cuda.data = tide_device_pointer(f->cuda, t.segment + n_segment - n_bytes);
    assert_int_equal(
        tide_device_copy(f->cuda, t.cuda.data, t.cpu.data, n_bytes, TIDE_COPY_TO_DEVICE, 0, NULL),
        TIDE_OK);
    return t;
}

static void free_twin(fixture *f, twin *t) {
    assert_int_equal(tide_device_release(f->cuda, t->segment, NULL), TIDE_OK);
    free(t->cpu.data);
}

/* |cuda - cpu| / |cpu| in the L2 norm; NaN counts as infinite. */
static double difference(const twin *t) {
    double sum = 0;
    double norm = 0;
    for (size_t i = 0; i < t->n; i++) {
        double want = (double)number(t->cpu, i);
        double off = (double)number(t->cuda, i) - want;
        sum += off * off;
        norm += want * want;
    }
    return isnan(sum) ? INFINITY : sqrt(sum / (norm == 0 ? 1 : norm));
}

/* Both sides round at most once per product and once per sum of k; random signs add up like a walk.
 * Storage as bf16 rounds once more, on each side. */
static double tolerance(size_t k, tide_dtype out) {
    return 2 * UNIT_ROUNDOFF * (sqrt((double)k) + 2) + (out == TIDE_BF16 ? 1.0 / 256 : 0);
}

typedef struct shape {
    size_t m, n, k; /* of a product */
} shape;

static const tide_dtype TYPES[][2] = {/* out, in */
                                      {TIDE_FP32, TIDE_FP32},
                                      {TIDE_FP32, TIDE_BF16},
                                      {TIDE_BF16, TIDE_BF16}};

/* The addend of a product. */
typedef enum adds_to { ADDS_TO_NOTHING = 0, ADDS_TO_OUT, ADDS_TO_ANOTHER, N_ADDS_TO } adds_to;

/* The difference of one product on both devices; `wrong` is the kind that the cuda device gets. */
static double product(fixture *f, tide_matmul_kind kind, tide_matmul_kind wrong, shape s,
                      const tide_dtype types[2], adds_to adds) {
    const bool accumulate = adds == ADDS_TO_OUT;
    twin a = make_twin(f, types[1], s.m * s.k, 1);
    twin b = make_twin(f, types[1], s.k * s.n, 2);
    twin out = make_twin(f, types[0], s.m * s.n, 3);
    twin addend = make_twin(f, types[0], s.m * s.n, 4);
    if (!accumulate) { /* the old content must not be read */
        memset(out.cpu.data, 0xFF, out.n * tide_dtype_bytes(types[0]));
        memset(out.cuda.data, 0xFF, out.n * tide_dtype_bytes(types[0]));
    }
    tide_error error = {""};
    tide_matmul call = {kind, out.cpu, a.cpu, b.cpu, s.m, s.n, s.k, accumulate, {0}};
    if (adds == ADDS_TO_ANOTHER) {
        call.addend = addend.cpu;
    }
    assert_int_equal(f->cpu_ops->table->matmul(f->cpu_ops, &call, NULL), TIDE_OK);
    call = (tide_matmul){wrong, out.cuda, a.cuda, b.cuda, s.m, s.n, s.k, accumulate, {0}};
    if (adds == ADDS_TO_ANOTHER) {
        call.addend = addend.cuda;
    }
    if (f->cuda_ops->table->matmul(f->cuda_ops, &call, &error) != TIDE_OK) {
        fail_msg("%s: %s", error.message, tide_fake_cublas_state()->mistake);
    }
    double off = difference(&out);
    free_twin(f, &addend);
    free_twin(f, &out);
    free_twin(f, &b);
    free_twin(f, &a);
    return off;
}

static void products_equal_the_cpu_s(void **state) {
    static const shape SHAPES[] = {{1, 1, 1},    {1, 33, 7},   {31, 1, 257},  {33, 31, 1},
                                   {65, 33, 31}, {31, 65, 33}, {16, 128, 64}, {100, 48, 129}};
    for (size_t i = 0; i < sizeof(SHAPES) / sizeof(SHAPES[0]); i++) {
        for (int kind = 0; kind < 3; kind++) {
            for (size_t t = 0; t < sizeof(TYPES) / sizeof(TYPES[0]); t++) {
                for (int adds = 0; adds < N_ADDS_TO; adds++) {
                    double off = product(*state, (tide_matmul_kind)kind, (tide_matmul_kind)kind,
                                         SHAPES[i], TYPES[t], (adds_to)adds);
                    double room = tolerance(SHAPES[i].k, TYPES[t][0]);
                    if (!(off <= room)) {
                        fail_msg("kind %d, shape %zu, types %zu, adds to %d: off by %.3g of "
                                 "%.3g",
                                 kind, i, t, adds, off, room);
                    }
                }
            }
        }
    }
    assert_int_equal(tide_fake_cublas_state()->n_mistakes, 0);
    assert_int_equal(tide_fake_cublas_state()->compute_type, TIDE_CUBLAS_COMPUTE_32F);
    assert_int_equal(tide_fake_cublas_state()->math_mode,
                     TIDE_CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
}

/* out (m, n) of a product of bf16 operands on the cuda device; the addend's data may be NULL. */
static void multiply(fixture *f, tide_array out, const twin *a, const twin *b, shape s,
                     tide_array addend) {
    tide_error error = {""};
    const tide_matmul call = {.kind = TIDE_MATMUL_NT,
                              .out = out,
                              .a = a->cuda,
                              .b = b->cuda,
                              .m = s.m,
                              .n = s.n,
                              .k = s.k,
                              .addend = addend};
    if (f->cuda_ops->table->matmul(f->cuda_ops, &call, &error) != TIDE_OK) {
        fail_msg("%s: %s", error.message, tide_fake_cublas_state()->mistake);
    }
}

/* Elements of `addend` + product that differ from the fp32 product, added to `addend` in fp32 and
 * rounded once to its type; `rounds_twice` rounds the product first. */
static size_t n_unlike_separate(fixture *f, tide_dtype type, shape s, bool rounds_twice) {
    const tide_array none = {NULL, TIDE_FP32};
    size_t n_different = 0;
    twin a = make_twin(f, TIDE_BF16, s.m * s.k, 1);
    twin b = make_twin(f, TIDE_BF16, s.k * s.n, 2);
    twin product = make_twin(f, TIDE_FP32, s.m * s.n, 3);
    twin addend = make_twin(f, type, s.m * s.n, 4);
    twin out = make_twin(f, type, s.m * s.n, 5);
    multiply(f, product.cuda, &a, &b, s, none);
    multiply(f, out.cuda, &a, &b, s, addend.cuda);
    for (size_t i = 0; i < out.n; i++) {
        const float term = number(product.cuda, i);
        put(out.cpu, i,
            number(addend.cuda, i) +
                (rounds_twice ? tide_bf16_to_fp32(tide_fp32_to_bf16(term)) : term));
        n_different += number(out.cpu, i) != number(out.cuda, i);
    }
    free_twin(f, &out);
    free_twin(f, &addend);
    free_twin(f, &product);
    free_twin(f, &b);
    free_twin(f, &a);
    return n_different;
}

/* The same sum over k, one addition and one rounding: the same bits, whether cuBLASLt or
 * cublasGemmEx adds. With a second rounding, of the product, some bits would differ. */
static void an_addend_is_added_before_the_rounding(void **state) {
    fixture *f = *state;
    tide_fake_cublas *fake = tide_fake_cublas_state();
    const shape s = {33, 24, 65};
    for (int i = 0; i < 2; i++) {
        fake->lt_has_nothing = i == 1;
        tide_ops_close(f->cuda_ops); /* clears how a product was computed */
        f->cuda_ops = open_ops(f->cuda, TIDE_PRECISION_FP32);
        const size_t n_before = fake->n_lt_products;
        assert_int_equal(n_unlike_separate(f, TIDE_FP32, s, false), 0);
        assert_int_equal(n_unlike_separate(f, TIDE_BF16, s, false), 0);
        assert_int_equal(fake->n_lt_products - n_before, i == 1 ? 0 : 2);
        assert_true(n_unlike_separate(f, TIDE_BF16, s, true) > 0);
        assert_int_equal(fake->n_mistakes, 0);
    }
}

/* cuBLASLt is asked once for each shape, and again after it got a workspace. */
static void a_product_is_prepared_once(void **state) {
    fixture *f = *state;
    tide_fake_cublas *fake = tide_fake_cublas_state();
    const size_t n_bytes = 1 << 20;
    uint64_t segment = 0;
    for (int turn = 0; turn < 3; turn++) {
        for (size_t k = 1; k <= TIDE_CUDA_PLANS; k++) {
            (void)product(f, TIDE_MATMUL_NT, TIDE_MATMUL_NT, (shape){2, 3, k}, TYPES[0],
                          ADDS_TO_ANOTHER);
        }
        assert_int_equal(fake->n_lt_choices, TIDE_CUDA_PLANS);
    }
    /* One more replaces the first, which then replaces the second, and so on. */
    for (size_t k = 0; k <= TIDE_CUDA_PLANS; k++) {
        (void)product(f, TIDE_MATMUL_NT, TIDE_MATMUL_NT, (shape){2, 3, k == 0 ? 99 : k}, TYPES[0],
                      ADDS_TO_ANOTHER);
    }
    assert_int_equal(fake->n_lt_choices, 2 * TIDE_CUDA_PLANS + 1);
    assert_int_equal(fake->n_lt_objects, 4 * TIDE_CUDA_PLANS);
    assert_int_equal(tide_device_alloc(f->cuda, 2 * n_bytes, &segment, NULL), TIDE_OK);
    assert_int_equal(f->cuda_ops->table->use_workspace(
                         f->cuda_ops, tide_device_pointer(f->cuda, segment), n_bytes, NULL),
                     TIDE_OK);
    (void)product(f, TIDE_MATMUL_NT, TIDE_MATMUL_NT, (shape){2, 3, TIDE_CUDA_PLANS}, TYPES[0],
                  ADDS_TO_ANOTHER);
    assert_int_equal(fake->n_lt_choices, 2 * TIDE_CUDA_PLANS + 2);
    assert_int_equal(tide_device_release(f->cuda, segment, NULL), TIDE_OK);
    assert_int_equal(fake->n_mistakes, 0);
}

/* With square operands every wrong transpose passes the checks of arguments. */
static void a_wrong_transpose_is_seen(void **state) {
    const shape square = {33, 33, 33};
    for (int kind = 0; kind < 3; kind++) {
        double off = product(*state, (tide_matmul_kind)kind, (tide_matmul_kind)((kind + 1) % 3),
                             square, TYPES[0], ADDS_TO_NOTHING);
        assert_true(off > 0.5);
    }
}

static void tf32_is_a_precision_of_its_own(void **state) {
    fixture *f = *state;
    const shape s = {64, 48, 96};
    const double strict = product(f, TIDE_MATMUL_NT, TIDE_MATMUL_NT, s, TYPES[0], ADDS_TO_NOTHING);
    tide_ops_close(f->cuda_ops);
    f->cuda_ops = open_ops(f->cuda, TIDE_PRECISION_TF32);
    const double tf32 = product(f, TIDE_MATMUL_NT, TIDE_MATMUL_NT, s, TYPES[0], ADDS_TO_NOTHING);
    assert_int_equal(tide_fake_cublas_state()->compute_type, TIDE_CUBLAS_COMPUTE_32F_FAST_TF32);
    assert_true(strict <= tolerance(s.k, TIDE_FP32));
    /* Two operands with 10 bits of fraction: far from strict, close to 2^-11. */
    assert_true(tf32 > 100 * strict && tf32 < 1e-3);
    /* TF32 does not affect bf16 operands. */
    assert_true(product(f, TIDE_MATMUL_NT, TIDE_MATMUL_NT, s, TYPES[1], ADDS_TO_NOTHING) <=
                tolerance(s.k, TIDE_FP32));
    assert_int_equal(tide_fake_cublas_state()->compute_type, TIDE_CUBLAS_COMPUTE_32F);
}

/* The heads of one sequence of (T, H, D), as attention multiplies them: strides inside rows. */
static void batches_of_heads(void **state) {
    fixture *f = *state;
    enum { T = 9, H = 3, D = 5, C = H * D };
    twin q = make_twin(f, TIDE_FP32, (size_t)T * C, 1);
    twin k = make_twin(f, TIDE_FP32, (size_t)T * C, 2);
    twin scores = make_twin(f, TIDE_FP32, (size_t)H * T * T, 3);
    const tide_cuda_gemm gemm = {.kind = TIDE_MATMUL_NT,
                                 .m = T,
                                 .n = T,
                                 .k = D,
                                 .n_batches = H,
                                 .alpha = 0.5F,
                                 .beta = 2,
                                 .out = {scores.cuda, T, (size_t)T * T},
                                 .a = {q.cuda, C, D},
                                 .b = {k.cuda, C, D}};
    assert_int_equal(tide_cuda_gemm_run(f->cuda_ops, "scores", &gemm, NULL), TIDE_OK);
    for (size_t h = 0; h < H; h++) {
        for (size_t i = 0; i < T * T; i++) {
            double sum = 0;
            for (size_t d = 0; d < D; d++) {
                sum += (double)number(q.cpu, i / T * C + h * D + d) *
                       (double)number(k.cpu, i % T * C + h * D + d);
            }
            size_t at = h * T * T + i;
            put(scores.cpu, at, (float)(0.5 * sum + 2 * (double)number(scores.cpu, at)));
        }
    }
    assert_true(difference(&scores) <= tolerance(D, TIDE_FP32));
    assert_int_equal(tide_fake_cublas_state()->n_products, 1);
    free_twin(f, &scores);
    free_twin(f, &k);
    free_twin(f, &q);
}

static void other_types_and_sizes_are_refused(void **state) {
    fixture *f = *state;
    const tide_ops_table *table = f->cuda_ops->table;
    float x = 0;
    tide_error error = {""};
    tide_matmul call = {.a = {&x, TIDE_INT32}, .m = 1, .n = 1, .k = 1};
    assert_int_equal(table->matmul(f->cuda_ops, &call, &error), TIDE_UNSUPPORTED);
    call = (tide_matmul){.a = {&x, TIDE_BF16}, .m = 1, .n = 1, .k = 1};
    assert_int_equal(table->matmul(f->cuda_ops, &call, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "two fp32, two bf16 or two fp16"));
    call = (tide_matmul){.out = {&x, TIDE_BF16}, .m = 1, .n = 1, .k = 1};
    assert_int_equal(table->matmul(f->cuda_ops, &call, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "as fp32"));
    call = (tide_matmul){.m = 1, .n = (size_t)INT_MAX + 1, .k = 1};
    assert_int_equal(table->matmul(f->cuda_ops, &call, &error), TIDE_LIMIT);
    assert_non_null(strstr(error.message, "2147483648"));
    call = (tide_matmul){.m = 1, .n = 1, .k = 0};
    assert_int_equal(table->matmul(f->cuda_ops, &call, &error), TIDE_LIMIT);
}

static void the_workspace_is_given(void **state) {
    fixture *f = *state;
    const tide_fake_cublas *fake = tide_fake_cublas_state();
    const size_t n_bytes = tide_device_get_info(f->cuda)->workspace_bytes;
    const shape one = {1, 1, 1};
    uint64_t segment = 0;
    tide_error error = {""};
    assert_int_equal(n_bytes, 33554432);
    (void)product(f, TIDE_MATMUL_NT, TIDE_MATMUL_NT, one, TYPES[0], ADDS_TO_NOTHING);
    assert_int_equal(fake->n_without_workspace, 1);
    assert_int_equal(tide_device_alloc(f->cuda, n_bytes, &segment, NULL), TIDE_OK);
    unsigned char *workspace = tide_device_pointer(f->cuda, segment);
    assert_int_equal(f->cuda_ops->table->use_workspace(f->cuda_ops, workspace + 4, 512, &error),
                     TIDE_DEVICE_FAILED);
    assert_non_null(
        strstr(error.message, "cublasSetWorkspace: cuBLAS answers an invalid value was used (7)"));
    assert_int_equal(f->cuda_ops->table->use_workspace(f->cuda_ops, workspace, n_bytes, NULL),
                     TIDE_OK);
    (void)product(f, TIDE_MATMUL_NT, TIDE_MATMUL_NT, one, TYPES[0], ADDS_TO_NOTHING);
    assert_int_equal(fake->n_without_workspace, 1);
    assert_int_equal(fake->n_products, 2);
    assert_int_equal(tide_device_release(f->cuda, segment, NULL), TIDE_OK);
}

static void the_ops_say_what_computes(void **state) {
    fixture *f = *state;
    assert_string_equal(f->cuda_ops->table->describe(f->cuda_ops), "Fake GPU 0, cuBLAS 13.1.0");
}

static void old_cards_are_refused(void **state) {
    fixture *f = *state;
    tide_device *device = NULL;
    tide_ops *ops = NULL;
    tide_error error = {""};
    tide_fake_cudart_state()->compute_capability = 75;
    assert_int_equal(tide_device_open("cuda", NULL, &device, NULL), TIDE_OK);
    assert_int_equal(
        tide_ops_open(tide_hostmem_default(), device, TIDE_PRECISION_FP32, &ops, &error),
        TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "has compute capability 7.5, and device cuda needs 8.0"));
    tide_device_close(device);
    tide_fake_cudart_state()->compute_capability = 90;
    (void)f;
}

/* Operators are opened on their own device, whichever device was opened or used since. */
static void each_device_has_its_operators(void **state) {
    (void)state;
    tide_device *devices[2] = {NULL, NULL};
    tide_ops *ops = NULL;
    int current = -1;
    tide_fake_cudart_state()->n_devices = 2;
    assert_int_equal(tide_device_open("cuda:0", NULL, &devices[0], NULL), TIDE_OK);
    assert_int_equal(tide_device_open("cuda:1", NULL, &devices[1], NULL), TIDE_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            tide_ops_open(tide_hostmem_default(), devices[i], TIDE_PRECISION_FP32, &ops, NULL),
            TIDE_OK);
        assert_int_equal(cudaGetDevice(&current), cudaSuccess);
        assert_int_equal(current, i);
        tide_ops_close(ops);
    }
    tide_device_close(devices[1]);
    tide_device_close(devices[0]);
}

/* Opening and one product, with each call failing in turn. */
static void every_call_may_fail(void **state) {
    fixture *f = *state;
    static const struct {
        cudaError_t failure;  /* of one call */
        tide_status expected; /* the operators' status */
    } CASES[] = {{cudaErrorMemoryAllocation, TIDE_DEVICE_OOM},
                 {cudaErrorUnknown, TIDE_DEVICE_FAILED},
                 {cudaErrorLaunchFailure, TIDE_DEVICE_LOST}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        size_t n = 1;
        for (tide_status status = TIDE_DEVICE_FAILED; status != TIDE_OK; n++) {
            tide_fake_cudart_reset();
            tide_hostmem_fault heap;
            tide_hostmem_fault_init(&heap, 0);
            tide_device *device = NULL;
            tide_ops *ops = NULL;
            uint64_t segment = 0;
            assert_int_equal(tide_device_open("cuda", NULL, &device, NULL), TIDE_OK);
            assert_int_equal(tide_device_alloc(device, 512, &segment, NULL), TIDE_OK);
            float *x = tide_device_pointer(device, segment);
            const tide_array array = {x, TIDE_FP32};
            const tide_matmul call = {TIDE_MATMUL_NN, {x + 2, TIDE_FP32}, array, array, 1, 1, 1,
                                      false,          {x + 4, TIDE_FP32}};
            tide_fake_cudart_fail(NULL, n, CASES[i].failure);
            status = tide_ops_open(&heap.mem, device, TIDE_PRECISION_FP32, &ops, NULL);
            if (status == TIDE_OK) {
                status = ops->table->matmul(ops, &call, NULL);
            }
            assert_true(status == TIDE_OK || status == CASES[i].expected);
            assert_int_equal(status == TIDE_OK, tide_fake_cudart_state()->failed_in == NULL);
            tide_ops_close(ops);
            assert_int_equal(heap.n_live, 0);
            assert_int_equal(tide_fake_cublas_state()->n_handles, 1); /* the fixture's */
            tide_device_close(device);
        }
        assert_int_equal(n, 10); /* two of the device, its number and attribute, create, stream,
                                     mode, product with an addend: each once */
    }
    tide_fake_cudart_reset();
    (void)f;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(products_equal_the_cpu_s, setup, teardown),
        cmocka_unit_test_setup_teardown(an_addend_is_added_before_the_rounding, setup, teardown),
        cmocka_unit_test_setup_teardown(a_product_is_prepared_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wrong_transpose_is_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(tf32_is_a_precision_of_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(batches_of_heads, setup, teardown),
        cmocka_unit_test_setup_teardown(other_types_and_sizes_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(the_workspace_is_given, setup, teardown),
        cmocka_unit_test_setup_teardown(the_ops_say_what_computes, setup, teardown),
        cmocka_unit_test_setup_teardown(old_cards_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(each_device_has_its_operators, setup, teardown),
        cmocka_unit_test_setup_teardown(every_call_may_fail, setup, teardown),
    };
    return cmocka_run_group_tests_name("ops_cuda.matmul", tests, NULL, NULL);
}
