/* test_elements.c - cast and the fills of the cuda device, compared with their cpu
 * twins. */
#include "twin.h"

#include <math.h>
#include <string.h>

/* Odd sizes, and some that take several turns of the loop over the grid. */
static const size_t SIZES[] = {1, 7, 33, 257, 7003};
enum { N_SIZES = sizeof(SIZES) / sizeof(SIZES[0]) };

/* Elements after an aligned address: packs are used only if it is 0. */
static const size_t SHIFTS[] = {0, 1};

/* One unit in the last place of an fp32 number, relative to it. */
static const double ONE_ULP = 0x1p-23;

static tide_dtype type_of(unsigned combination, unsigned i) {
    return (combination >> i & 1U) != 0 ? TIDE_BF16 : TIDE_FP32;
}

static tide_status cast(const twin_side *side, const void *shape, tide_error *error) {
    const size_t *n = shape;
    return TWIN(side, cast)(
        side->ops, &(tide_cast){.out = side->arrays[0], .x = side->arrays[1], .n = *n}, error);
}

static tide_status cast_less(const twin_side *side, const void *shape, tide_error *error) {
    const size_t n = *(const size_t *)shape - (side->is_cuda ? 1 : 0);
    return cast(side, &n, error);
}

static twin_case *cast_case(unsigned combination, size_t n, size_t shift) {
    twin_case *test = twin_begin("cast");
    twin_shift(test, shift);
    (void)twin_written(test, type_of(combination, 0), n);
    (void)twin_read(test, type_of(combination, 1), n, 1);
    return test;
}

/* One rounding: the same on both sides. */
static void casts(void **state) {
    (void)state;
    for (unsigned combination = 0; combination < 4; combination++) {
        for (size_t i = 0; i < 2 * N_SIZES; i++) {
            const size_t n = SIZES[i / 2];
            twin_check(cast_case(combination, n, SHIFTS[i % 2]), cast, &n, 0);
        }
        const size_t n = 33;
        twin_reject(cast_case(combination, n, 0), cast_less, &n, 0);
    }
}

/* Only one of two arrays is aligned. */
static void one_array_is_unaligned(void **state) {
    (void)state;
    const size_t n = 257;
    for (unsigned combination = 0; combination < 4; combination++) {
        twin_case *test = twin_begin("cast");
        (void)twin_written(test, type_of(combination, 0), n);
        twin_shift(test, 3);
        (void)twin_read(test, type_of(combination, 1), n, 1);
        twin_check(test, cast, &n, 0);
    }
}

static void special_numbers_are_cast(void **state) {
    (void)state;
    /* Halves between two bf16 numbers, to even both ways; beyond the largest; signs, NaN. */
    static const float VALUES[] = {1.00390625F, 1.01171875F, 1.00390637F, 3.4e38F,  0.0F,
                                   -0.0F,       INFINITY,    -INFINITY,   1e-45F,   NAN,
                                   -2.5F,       1e38F,       -1e-39F,     65504.0F, 1.0F};
    const size_t n = sizeof(VALUES) / sizeof(VALUES[0]);
    twin_case *test = twin_begin("cast");
    (void)twin_written(test, TIDE_BF16, n);
    (void)twin_given(test, TIDE_FP32, VALUES, n);
    twin_check(test, cast, &n, 0);
}

static tide_status fill(const twin_side *side, const void *shape, tide_error *error) {
    const size_t *n = shape;
    return TWIN(side, fill)(side->ops, &(tide_fill){.out = side->arrays[0], .value = 0.3, .n = *n},
                            error);
}

static tide_status fill_more(const twin_side *side, const void *shape, tide_error *error) {
    const size_t *n = shape;
    return TWIN(side, fill)(
        side->ops,
        &(tide_fill){.out = side->arrays[0], .value = side->is_cuda ? 0.4 : 0.3, .n = *n}, error);
}

typedef struct random_shape {
    tide_random random;
    size_t n;      /* elements */
    uint64_t next; /* stream that the cuda side draws from is so much further */
    size_t bound;  /* of tokens */
} random_shape;

static tide_random random_of(const twin_side *side, const random_shape *given) {
    return (tide_random){given->random.seed,
                         given->random.stream + (side->is_cuda ? given->next : 0)};
}

static tide_status fill_normal(const twin_side *side, const void *shape, tide_error *error) {
    const random_shape *given = shape;
    return TWIN(side, fill_normal)(
        side->ops,
        &(tide_fill_normal){
            .out = side->arrays[0], .sigma = 0.02, .random = random_of(side, given), .n = given->n},
        error);
}

static tide_status fill_tokens(const twin_side *side, const void *shape, tide_error *error) {
    const random_shape *given = shape;
    return TWIN(side, fill_tokens)(side->ops,
                                   &(tide_fill_tokens){.out = twin_int32(side, 0),
                                                       .bound = given->bound,
                                                       .random = random_of(side, given),
                                                       .n = given->n},
                                   error);
}

static twin_case *written_case(const char *name, tide_dtype dtype, size_t n, size_t shift) {
    twin_case *test = twin_begin(name);
    twin_shift(test, shift);
    (void)twin_written(test, dtype, n);
    return test;
}

static void fills(void **state) {
    (void)state;
    for (unsigned type = 0; type < 2; type++) {
        const tide_dtype dtype = type_of(type, 0);
        for (size_t i = 0; i < 2 * N_SIZES; i++) {
            const size_t n = SIZES[i / 2];
            twin_check(written_case("fill", dtype, n, SHIFTS[i % 2]), fill, &n, 0);
            /* The same algorithm in double: a fused product may move the last bit. */
            const random_shape shape = {{42, 3}, n, 0, 0};
            twin_check(written_case("fill_normal", dtype, n, SHIFTS[i % 2]), fill_normal, &shape,
                       ONE_ULP);
        }
        const size_t n = 33;
        twin_reject(written_case("fill", dtype, n, 0), fill_more, &n, 0);
        const random_shape other = {{42, 3}, n, 1, 0};
        twin_reject(written_case("fill_normal", dtype, n, 0), fill_normal, &other, ONE_ULP);
    }
}

static void tokens(void **state) {
    (void)state;
    static const size_t BOUNDS[] = {1, 6, 50257, INT32_MAX};
    for (size_t i = 0; i < 2 * N_SIZES; i++) {
        const size_t n = SIZES[i / 2];
        /* Seeds and streams of more than 32 bits; integers: the same to the bit. */
        const random_shape shape = {
            {UINT64_C(0x123456789ABCDEF), UINT64_C(0xFEDCBA987654321)}, n, 0, BOUNDS[i % 4]};
        twin_check(written_case("fill_tokens", TIDE_INT32, n, SHIFTS[i % 2]), fill_tokens, &shape,
                   0);
    }
    const random_shape other = {{42, 3}, 33, 1, 50257};
    twin_reject(written_case("fill_tokens", TIDE_INT32, 33, 0), fill_tokens, &other, 0);
    tide_ops_cuda cuda = {.max_blocks = 1};
    tide_error error = {.message = ""};
    int32_t token = 0;
    assert_int_equal(tide_cuda_fill_tokens(
                         &cuda.ops,
                         &(tide_fill_tokens){.out = &token, .bound = 0, .random = {1, 2}, .n = 1},
                         &error),
                     TIDE_LIMIT);
    assert_non_null(strstr(error.message, "bound 0"));
}

typedef struct table_shape {
    size_t T, D;  /* tokens, channels of a head */
    double theta; /* of the angles */
    double more;  /* that the cuda side adds to it */
} table_shape;

static tide_status fill_rope(const twin_side *side, const void *shape, tide_error *error) {
    const table_shape *given = shape;
    return TWIN(side, fill_rope)(
        side->ops,
        &(tide_fill_rope){.table = twin_fp32(side, 0),
                          .T = given->T,
                          .D = given->D,
                          .theta = given->theta + (side->is_cuda ? given->more : 0)},
        error);
}

static void rope_tables(void **state) {
    (void)state;
    static const table_shape SHAPES[] = {
        {1, 2, 10000, 0}, {7, 10, 10000, 0}, {33, 64, 500, 0}, {513, 6, 10000, 0}};
    for (size_t i = 0; i < sizeof(SHAPES) / sizeof(SHAPES[0]); i++) {
        const size_t n = SHAPES[i].T * SHAPES[i].D;
        twin_check(written_case("fill_rope", TIDE_FP32, n, 0), fill_rope, &SHAPES[i], ONE_ULP);
    }
    const table_shape other = {7, 10, 10000, 1};
    twin_reject(written_case("fill_rope", TIDE_FP32, 70, 0), fill_rope, &other, ONE_ULP);
}

/* Nothing is launched for no elements, and integers are refused by name. */
static void nothing_and_integers(void **state) {
    (void)state;
    tide_ops_cuda cuda = {.max_blocks = 1};
    tide_ops *ops = &cuda.ops;
    tide_error error = {.message = ""};
    const tide_array wide = {NULL, TIDE_FP32};
    const tide_array whole = {NULL, TIDE_INT32};
    const tide_random random = {1, 2};
    assert_int_equal(tide_cuda_cast(ops, &(tide_cast){.out = wide, .x = wide, .n = 0}, &error),
                     TIDE_OK);
    assert_int_equal(tide_cuda_fill(ops, &(tide_fill){.out = wide, .value = 1, .n = 0}, &error),
                     TIDE_OK);
    assert_int_equal(
        tide_cuda_fill_normal(
            ops, &(tide_fill_normal){.out = wide, .sigma = 1, .random = random, .n = 0}, &error),
        TIDE_OK);
    assert_int_equal(
        tide_cuda_fill_tokens(
            ops, &(tide_fill_tokens){.out = NULL, .bound = 1, .random = random, .n = 0}, &error),
        TIDE_OK);
    assert_int_equal(
        tide_cuda_fill_rope(ops, &(tide_fill_rope){.table = NULL, .T = 0, .D = 8, .theta = 10000},
                            &error),
        TIDE_OK);
    assert_int_equal(tide_cuda_cast(ops, &(tide_cast){.out = whole, .x = wide, .n = 1}, &error),
                     TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "cast: array 1 of 2"));
    assert_int_equal(tide_cuda_fill(ops, &(tide_fill){.out = whole, .value = 1, .n = 1}, &error),
                     TIDE_UNSUPPORTED);
    assert_int_equal(
        tide_cuda_fill_normal(
            ops, &(tide_fill_normal){.out = whole, .sigma = 1, .random = random, .n = 1}, &error),
        TIDE_UNSUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(casts),
        cmocka_unit_test(one_array_is_unaligned),
        cmocka_unit_test(special_numbers_are_cast),
        cmocka_unit_test(fills),
        cmocka_unit_test(tokens),
        cmocka_unit_test(rope_tables),
        cmocka_unit_test(nothing_and_integers),
    };
    return cmocka_run_group_tests_name("ops_cuda.elements", tests, NULL, NULL);
}
