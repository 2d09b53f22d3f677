/* test_micro.c - the operators of the micro-benchmarks on the cuda device, compared with their
 * twins: GELU, LayerNorm, the bias of linear layers, and products of matrices with one vector. */
#include "twin.h"

#include <string.h>

/* Half the distance between 1 and the next fp32 number: the largest relative error of a rounding.
 */
static const double U = 0x1p-24;

static const size_t SIZES[] = {1, 31, 33, 257, 5003};

static tide_dtype type_of(unsigned combination, unsigned i) {
    return (combination >> i & 1U) != 0 ? TIDE_BF16 : TIDE_FP32;
}

/* The twin's normal distribution errs by 1.3 u, erfc by 4 units in its last place, which are 8 u of
 * a number that is halved; and a dozen roundings on either side. */
static const double GELU_TOLERANCE = 32 * 0x1p-24;

static tide_status gelu_forward(const twin_side *side, const void *shape, tide_error *error) {
    const size_t *n = shape;
    return TWIN(side, gelu_forward)(
        side->ops, &(tide_gelu_forward){.out = side->arrays[0], .x = side->arrays[1], .n = *n},
        error);
}

static tide_status gelu_backward(const twin_side *side, const void *shape, tide_error *error) {
    const size_t *n = shape;
    return TWIN(side, gelu_backward)(
        side->ops,
        &(tide_gelu_backward){
            .dx = side->arrays[0], .dout = side->arrays[1], .x = side->arrays[2], .n = *n},
        error);
}

static tide_status gelu_in_place(const twin_side *side, const void *shape, tide_error *error) {
    const size_t *n = shape;
    return TWIN(side, gelu_backward)(
        side->ops,
        &(tide_gelu_backward){
            .dx = side->arrays[0], .dout = side->arrays[0], .x = side->arrays[1], .n = *n},
        error);
}

static tide_status gelu_forward_in_place(const twin_side *side, const void *shape,
                                         tide_error *error) {
    const size_t *n = shape;
    return TWIN(side, gelu_forward)(
        side->ops, &(tide_gelu_forward){.out = side->arrays[0], .x = side->arrays[0], .n = *n},
        error);
}

static tide_status gelu_exchanged(const twin_side *side, const void *shape, tide_error *error) {
    const size_t *n = shape;
    const size_t x = side->is_cuda ? 1 : 2;
    return TWIN(side, gelu_backward)(
        side->ops,
        &(tide_gelu_backward){
            .dx = side->arrays[0], .dout = side->arrays[3 - x], .x = side->arrays[x], .n = *n},
        error);
}

static twin_case *gelu_case(unsigned combination, size_t n, size_t shift, double scale) {
    twin_case *test = twin_begin("gelu_forward");
    twin_shift(test, shift);
    (void)twin_written(test, type_of(combination, 0), n);
    (void)twin_read(test, type_of(combination, 1), n, scale);
    return test;
}

static twin_case *gelu_backward_case(tide_dtype dtype, size_t n, size_t shift, double scale) {
    twin_case *test = twin_begin("gelu_backward");
    twin_shift(test, shift);
    (void)twin_written(test, dtype, n);
    (void)twin_read(test, dtype, n, 1);
    (void)twin_read(test, dtype, n, scale);
    return test;
}

static void check_gelu(size_t n, size_t shift, double scale) {
    for (unsigned combination = 0; combination < 4; combination++) {
        twin_check(gelu_case(combination, n, shift, scale), gelu_forward, &n, GELU_TOLERANCE);
    }
    for (unsigned bf16 = 0; bf16 < 2; bf16++) {
        const tide_dtype dtype = bf16 != 0 ? TIDE_BF16 : TIDE_FP32;
        twin_check(gelu_backward_case(dtype, n, shift, scale), gelu_backward, &n, GELU_TOLERANCE);
        twin_case *test = twin_begin("gelu_backward in place");
        twin_shift(test, shift);
        (void)twin_updated(test, dtype, n, 1);
        (void)twin_read(test, dtype, n, scale);
        twin_check(test, gelu_in_place, &n, GELU_TOLERANCE);
        test = twin_begin("gelu_forward in place");
        twin_shift(test, shift);
        (void)twin_updated(test, dtype, n, scale);
        twin_check(test, gelu_forward_in_place, &n, GELU_TOLERANCE);
    }
}

static void gelu(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        check_gelu(SIZES[i], 0, 4);
        check_gelu(SIZES[i], 1, 30); /* not aligned to a pack; exp underflows */
    }
    const size_t n = 257;
    twin_reject(gelu_backward_case(TIDE_FP32, n, 0, 4), gelu_exchanged, &n, GELU_TOLERANCE);
    twin_reject(gelu_backward_case(TIDE_BF16, n, 0, 4), gelu_exchanged, &n, GELU_TOLERANCE);
}

typedef struct norm_shape {
    size_t R, C;   /* rows, channels */
    bool is_wrong; /* the cuda side takes rows half as long, and twice as many */
} norm_shape;

static tide_status norm(const twin_side *side, const void *shape, tide_error *error) {
    const norm_shape *given = shape;
    const size_t factor = given->is_wrong && side->is_cuda ? 2 : 1;
    const tide_layernorm_forward call = {.out = side->arrays[0],
                                         .x = side->arrays[1],
                                         .weight = side->arrays[2],
                                         .bias = side->arrays[3],
                                         .R = given->R * factor,
                                         .C = given->C / factor};
    return TWIN(side, layernorm_forward)(side->ops, &call, error);
}

/* Bit 0 of the combination: rows are bf16; 1: weight and bias are. */
static twin_case *norm_case(const norm_shape *shape, unsigned combination, size_t shift) {
    twin_case *test = twin_begin("layernorm_forward");
    twin_shift(test, shift);
    (void)twin_written(test, type_of(combination, 0), shape->R * shape->C);
    (void)twin_read(test, type_of(combination, 0), shape->R * shape->C, 2);
    (void)twin_read(test, type_of(combination, 1), shape->C, 1);
    (void)twin_read(test, type_of(combination, 1), shape->C, 1);
    return test;
}

/* Mean and rstd are sums in double on both sides, each rounded once; then four roundings of terms
 * that may cancel, on either side. */
static const double NORM_TOLERANCE = 12 * 0x1p-24;

static void layernorm(void **state) {
    (void)state;
    static const norm_shape SHAPES[] = {{1, 2, false},   {33, 33, false}, {65, 24, false},
                                        {130, 8, false}, {3, 999, false}, {2, 2056, false}};
    for (size_t s = 0; s < sizeof(SHAPES) / sizeof(SHAPES[0]); s++) {
        for (unsigned i = 0; i < 8; i++) {
            twin_check(norm_case(&SHAPES[s], i % 4, i / 4), norm, &SHAPES[s], NORM_TOLERANCE);
        }
    }
    const norm_shape wrong = {4, 64, true};
    for (unsigned combination = 0; combination < 4; combination++) {
        twin_reject(norm_case(&wrong, combination, 0), norm, &wrong, NORM_TOLERANCE);
    }
}

typedef struct bias_shape {
    size_t R, C;   /* rows, channels */
    bool is_wrong; /* the cuda side lacks the last row, or has rows half as long */
} bias_shape;

static tide_status bias_forward(const twin_side *side, const void *shape, tide_error *error) {
    const bias_shape *given = shape;
    const size_t factor = given->is_wrong && side->is_cuda ? 2 : 1;
    const tide_bias_forward call = {.out = side->arrays[0],
                                    .bias = side->arrays[1],
                                    .R = given->R * factor,
                                    .C = given->C / factor};
    return TWIN(side, bias_forward)(side->ops, &call, error);
}

static tide_status bias_backward(const twin_side *side, const void *shape, tide_error *error) {
    const bias_shape *given = shape;
    const tide_bias_backward call = {.dbias = side->arrays[0],
                                     .dout = side->arrays[1],
                                     .R = given->R - (given->is_wrong && side->is_cuda ? 1 : 0),
                                     .C = given->C};
    return TWIN(side, bias_backward)(side->ops, &call, error);
}

/* Bit 0 of the combination: what is written is bf16; 1: what is read. */
static twin_case *bias_case(const char *name, size_t n_written, size_t n_read, unsigned combination,
                            size_t shift) {
    twin_case *test = twin_begin(name);
    twin_shift(test, shift);
    (void)twin_written(test, type_of(combination, 0), n_written);
    (void)twin_read(test, type_of(combination, 1), n_read, 1);
    return test;
}

/* Both sides sum in double and round once. */
static const double BIAS_TOLERANCE = 2 * 0x1p-24;

/* Forward is a copy, which is exact but for the rounding of a bf16 out. */
static void check_bias(const bias_shape *shape, unsigned combination, size_t shift) {
    const size_t n = shape->R * shape->C;
    twin_check(bias_case("bias_forward", n, shape->C, combination, shift), bias_forward, shape, 0);
    twin_check(bias_case("bias_backward", shape->C, n, combination, shift), bias_backward, shape,
               BIAS_TOLERANCE);
}

/* C: no, some and only whole packs, and more channels than the grid's blocks have. */
static void bias(void **state) {
    (void)state;
    static const bias_shape SHAPES[] = {{1, 1, false},   {33, 33, false}, {65, 24, false},
                                        {8, 130, false}, {3, 999, false}, {130, 64, false}};
    for (size_t s = 0; s < sizeof(SHAPES) / sizeof(SHAPES[0]); s++) {
        for (unsigned i = 0; i < 8; i++) {
            check_bias(&SHAPES[s], i % 4, i / 4);
        }
    }
    const bias_shape wrong = {9, 64, true};
    for (unsigned combination = 0; combination < 4; combination++) {
        twin_reject(bias_case("bias_forward", 9 * 64, 64, combination, 0), bias_forward, &wrong, 0);
        twin_reject(bias_case("bias_backward", 64, 9 * 64, combination, 0), bias_backward, &wrong,
                    BIAS_TOLERANCE);
    }
}

enum { MATRICES = 4 };

typedef struct gemv_shape {
    size_t n_chosen, m, k;
    bool gathers;  /* the matrices that array 4 names; else the first ones */
    bool is_wrong; /* the cuda side takes the first ones */
    bool has_bias; /* array 3 */
} gemv_shape;

static tide_status gemv(const twin_side *side, const void *shape, tide_error *error) {
    const gemv_shape *given = shape;
    const bool gathers = given->gathers && !(given->is_wrong && side->is_cuda);
    const tide_gemv call = {.out = side->arrays[0],
                            .weight = side->arrays[1],
                            .x = side->arrays[2],
                            .bias = given->has_bias ? side->arrays[3] : (tide_array){.data = NULL},
                            .chosen = gathers ? twin_int32(side, 4) : NULL,
                            .n_chosen = given->n_chosen,
                            .m = given->m,
                            .k = given->k};
    return TWIN(side, gemv)(side->ops, &call, error);
}

static twin_case *gemv_case(const gemv_shape *shape, tide_dtype weights, unsigned combination,
                            size_t shift) {
    twin_case *test = twin_begin("gemv");
    twin_shift(test, shift);
    (void)twin_written(test, type_of(combination, 0), shape->n_chosen * shape->m);
    (void)twin_read(test, weights, MATRICES * shape->m * shape->k, weights == TIDE_INT8 ? 128 : 1);
    (void)twin_read(test, type_of(combination, 1), shape->k, 1);
    (void)twin_read(test, type_of(combination, 2), MATRICES * shape->m, 1);
    twin_shift(test, 0);
    (void)twin_tokens(test, shape->n_chosen, MATRICES);
    return test;
}

/* The twin sums in double, the kernel in fp32: a sum of k random products errs by u sqrt(k) of its
 * own size, and the largest of a row is at least as large. */
static double gemv_tolerance(size_t k) {
    double root = 1;
    while (root * root < (double)k) {
        root++;
    }
    return (root + 3) * U;
}

static const tide_dtype WEIGHTS[] = {TIDE_FP32, TIDE_BF16, TIDE_INT8};

/* k: no, some and only whole packs; m: more rows than the grid has warps. */
static void products(void **state) {
    (void)state;
    static const size_t SHAPES[][3] = {{1, 1, 1},   {2, 31, 33},   {1, 33, 64},
                                       {3, 9, 257}, {2, 13, 1040}, {1, 5, 2048}};
    for (size_t i = 0; i < 6 * 3 * 4; i++) {
        const size_t *of = SHAPES[i / 12];
        const unsigned combination = (unsigned)(i % 4);
        const gemv_shape plain = {of[0], of[1], of[2], i / 12 % 2 == 1 || i / 12 > 3, false, false};
        gemv_shape biased = plain;
        biased.has_bias = true;
        const size_t shift = combination == 3;
        twin_check(gemv_case(&plain, WEIGHTS[i / 4 % 3], combination, shift), gemv, &plain,
                   gemv_tolerance(of[2]));
        for (unsigned of_bias = 0; of_bias < 2; of_bias++) {
            twin_check(gemv_case(&biased, WEIGHTS[i / 4 % 3], combination | of_bias << 2U, shift),
                       gemv, &biased, gemv_tolerance(of[2]));
        }
    }
}

static void another_matrix_is_seen(void **state) {
    (void)state;
    const gemv_shape wrong = {3, 9, 48, true, true, true};
    for (size_t w = 0; w < 3; w++) {
        twin_reject(gemv_case(&wrong, WEIGHTS[w], 0, 0), gemv, &wrong, gemv_tolerance(48));
        twin_reject(gemv_case(&wrong, WEIGHTS[w], 3, 0), gemv, &wrong, gemv_tolerance(48));
    }
}

static void other_types_are_refused(void **state) {
    (void)state;
    tide_ops_cuda cuda = {.max_blocks = 1};
    tide_error error = {.message = ""};
    const tide_array wide = {NULL, TIDE_FP32};
    const tide_array narrow = {NULL, TIDE_BF16};
    const tide_array whole = {NULL, TIDE_INT8};
    assert_int_equal(tide_cuda_gelu_forward(
                         &cuda.ops, &(tide_gelu_forward){.out = wide, .x = whole, .n = 1}, &error),
                     TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "array 2 of 2 is int8"));
    assert_int_equal(tide_cuda_gelu_backward(
                         &cuda.ops,
                         &(tide_gelu_backward){.dx = wide, .dout = narrow, .x = wide, .n = 1},
                         &error),
                     TIDE_UNSUPPORTED);
    assert_int_equal(
        tide_cuda_gelu_backward(
            &cuda.ops, &(tide_gelu_backward){.dx = wide, .dout = wide, .x = wide, .n = 0}, &error),
        TIDE_OK);
    const tide_layernorm_forward mixed = {wide, narrow, wide, wide, 1, 1};
    assert_int_equal(tide_cuda_layernorm_forward(&cuda.ops, &mixed, &error), TIDE_UNSUPPORTED);
    const tide_layernorm_forward weights = {narrow, narrow, wide, narrow, 1, 1};
    assert_int_equal(tide_cuda_layernorm_forward(&cuda.ops, &weights, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "layernorm's weight and bias: array 2 of 2"));
    const tide_layernorm_forward none = {wide, wide, wide, wide, 0, 1};
    assert_int_equal(tide_cuda_layernorm_forward(&cuda.ops, &none, &error), TIDE_OK);
    tide_gemv product = {.out = wide, .weight = whole, .x = whole, .n_chosen = 1, .m = 1, .k = 1};
    assert_int_equal(tide_cuda_gemv(&cuda.ops, &product, &error), TIDE_UNSUPPORTED);
    product.x = wide;
    product.weight.dtype = TIDE_INT32;
    assert_int_equal(tide_cuda_gemv(&cuda.ops, &product, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "gemv's weight"));
    product.weight.dtype = TIDE_BF16;
    product.bias = (tide_array){&error, TIDE_INT8}; /* not looked at */
    assert_int_equal(tide_cuda_gemv(&cuda.ops, &product, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "gemv's bias"));
    product.bias.data = NULL;
    product.m = 0;
    assert_int_equal(tide_cuda_gemv(&cuda.ops, &product, &error), TIDE_OK);
    const tide_bias_forward forward = {.out = wide, .bias = whole, .R = 1, .C = 1};
    assert_int_equal(tide_cuda_bias_forward(&cuda.ops, &forward, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "bias: array 2 of 2 is int8"));
    const tide_bias_backward backward = {.dbias = wide, .dout = whole, .R = 1, .C = 1};
    assert_int_equal(tide_cuda_bias_backward(&cuda.ops, &backward, &error), TIDE_UNSUPPORTED);
    const tide_bias_backward nothing = {.dbias = wide, .dout = wide, .R = 1, .C = 0};
    assert_int_equal(tide_cuda_bias_backward(&cuda.ops, &nothing, &error), TIDE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gelu),
        cmocka_unit_test(layernorm),
        cmocka_unit_test(bias),
        cmocka_unit_test(products),
        cmocka_unit_test(another_matrix_is_seen),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests_name("ops_cuda.micro", tests, NULL, NULL);
}
