/* test_decode_operators.c - the operators of decode on the cuda device, compared with their twins
 * of the cpu device, plain loops that sum in double. */
#include "twin.h"

#include <math.h>
#include <string.h>

#include "model/decode/operators.h"

/* Half the distance between 1 and the next fp32 number: the largest relative error of a rounding.
 */
static const double U = 0x1p-24;

/* A sum of n random numbers errs by u sqrt(n) of its own size, and the largest of an array is at
 * least as large. Tensor cores may truncate instead of rounding, which errs by twice as much. */
static double sum_tolerance(size_t n) {
    return (2 * sqrt((double)n) + 4) * U;
}

/* ---- fill ---- */

typedef struct fill_shape {
    size_t n;
    uint64_t first;
    uint64_t stream_of_cuda; /* 3 is right */
} fill_shape;

static tide_status fill(const twin_side *side, const void *shape, tide_error *error) {
    const fill_shape *given = shape;
    for (size_t i = 0; i < 4; i++) {
        const tide_decode_fill call = {
            .out = side->arrays[i],
            .n = given->n,
            .random = {.seed = 9, .stream = side->is_cuda ? given->stream_of_cuda : 3},
            .first = given->first,
            .offset = -0.5,
            .scale = 3.4641016151377544 / 7,
            .n_values = i == 2 ? 255 : 32000,
            .low = i == 2 ? -127 : 0};
        TIDE_TRY(TWIN(side, decode_fill)(side->ops, &call, error));
    }
    return TIDE_OK;
}

static twin_case *fill_case(const fill_shape *shape) {
    twin_case *test = twin_begin("decode_fill");
    (void)twin_written(test, TIDE_FP32, shape->n);
    (void)twin_written(test, TIDE_BF16, shape->n);
    (void)twin_written(test, TIDE_INT8, shape->n);
    (void)twin_written(test, TIDE_INT32, shape->n);
    return test;
}

static void both_devices_fill_with_the_same_numbers(void **state) {
    (void)state;
    static const fill_shape SHAPES[] = {{1, 0, 3}, {5003, 0, 3}, {4, 3, 3}, {999, 4097, 3}};
    for (size_t s = 0; s < sizeof(SHAPES) / sizeof(SHAPES[0]); s++) {
        twin_check(fill_case(&SHAPES[s]), fill, &SHAPES[s], 0);
    }
    const fill_shape wrong = {100, 0, 4};
    twin_reject(fill_case(&wrong), fill, &wrong, 0);
}

/* ---- product ---- */

typedef struct product_shape {
    size_t n_rows, n_shares, n_matrices, m, k;
    bool chooses;    /* the matrices that array 4 names */
    bool accumulate; /* out += */
    bool is_wrong;   /* the cuda side takes matrix 0 for all */
} product_shape;

static tide_status product(const twin_side *side, const void *shape, tide_error *error) {
    const product_shape *given = shape;
    const bool chooses = given->chooses && !(given->is_wrong && side->is_cuda);
    const tide_decode_product call = {
        .out = side->arrays[0],
        .x = side->arrays[1],
        .weight = side->arrays[2],
        .scale = side->arrays[2].dtype == TIDE_INT8 ? side->arrays[3].data : NULL,
        .chosen = chooses ? twin_int32(side, 4) : NULL,
        .n_rows = given->n_rows,
        .n_shares = given->n_shares,
        .n_matrices = chooses ? given->n_matrices : 1,
        .m = given->m,
        .k = given->k,
        .accumulate = given->accumulate};
    return TWIN(side, decode_product)(side->ops, &call, error);
}

static twin_case *product_case(const product_shape *shape, tide_dtype type, tide_dtype weights,
                               size_t shift) {
    twin_case *test = twin_begin("decode_product");
    size_t n_out = shape->n_rows * shape->m;
    twin_shift(test, shift);
    if (shape->accumulate) {
        (void)twin_updated(test, type, n_out, 1);
    } else {
        (void)twin_written(test, type, n_out);
    }
    (void)twin_read(test, type, shape->n_rows / shape->n_shares * shape->k, 1);
    (void)twin_read(test, weights, shape->n_matrices * shape->m * shape->k,
                    weights == TIDE_INT8 ? 128 : 1);
    (void)twin_read(test, TIDE_BF16, shape->n_matrices * shape->m, 1);
    twin_shift(test, 0);
    (void)twin_tokens(test, shape->n_rows, (int32_t)shape->n_matrices);
    return test;
}

static const tide_dtype TYPES[] = {TIDE_FP32, TIDE_BF16};

/* One row, some, and those of a prompt, which tiles have in bf16; rows that choose one of several
 * matrices, with one row of x for each or for two; matrices that no row chooses; rows and columns
 * that fill no warp, pack or tile. */
static const product_shape PRODUCTS[] = {
    {1, 1, 1, 3, 1040, false, false, false}, {1, 1, 1, 33, 33, false, true, false},
    {3, 1, 1, 31, 80, false, false, false},  {7, 1, 1, 5, 528, false, true, false},
    {9, 1, 1, 65, 48, false, true, false},   {70, 1, 1, 67, 48, false, false, false},
    {20, 1, 1, 9, 33, false, false, false},  {2, 2, 8, 9, 64, true, false, false},
    {12, 2, 4, 9, 48, true, false, false},   {6, 1, 3, 7, 257, true, false, false},
    {150, 2, 3, 5, 48, true, false, false},  {150, 1, 2, 3, 80, true, true, false},
    {40, 2, 30, 3, 32, true, false, false},
};

static void products(void **state) {
    (void)state;
    for (size_t i = 0; i < 4 * sizeof(PRODUCTS) / sizeof(PRODUCTS[0]); i++) {
        const product_shape *shape = &PRODUCTS[i / 4];
        const tide_dtype type = TYPES[i % 2];
        const tide_dtype weights = i % 4 < 2 ? TIDE_INT8 : type;
        twin_check(product_case(shape, type, weights, 0), product, shape, sum_tolerance(shape->k));
        twin_check(product_case(shape, type, weights, 1), product, shape, sum_tolerance(shape->k));
    }
    for (size_t i = 0; i < 2; i++) {
        const product_shape wrong[] = {{12, 2, 4, 9, 48, true, false, true},
                                       {150, 2, 3, 5, 48, true, false, true}};
        twin_reject(product_case(&wrong[i], TIDE_BF16, TIDE_INT8, 0), product, &wrong[i],
                    sum_tolerance(80));
    }
}

/* ---- rotate and attention ---- */

typedef struct heads_shape {
    size_t B, n, position, S, H, K, D;
    size_t position_of_cuda; /* `position` is right */
} heads_shape;

static tide_decode_heads heads_of(const twin_side *side, const heads_shape *given) {
    return (tide_decode_heads){.qkv = side->arrays[0],
                               .keys = side->arrays[1],
                               .values = side->arrays[2],
                               .B = given->B,
                               .n = given->n,
                               .position =
                                   side->is_cuda ? given->position_of_cuda : given->position,
                               .S = given->S,
                               .H = given->H,
                               .K = given->K,
                               .D = given->D};
}

static tide_status rotate(const twin_side *side, const void *shape, tide_error *error) {
    const tide_decode_rotate call = {.heads = heads_of(side, shape), .table = twin_fp32(side, 3)};
    return TWIN(side, decode_rotate)(side->ops, &call, error);
}

static tide_status attention(const twin_side *side, const void *shape, tide_error *error) {
    const tide_decode_attention call = {.heads = heads_of(side, shape), .out = side->arrays[3]};
    return TWIN(side, decode_attention)(side->ops, &call, error);
}

static size_t n_rows_of(const heads_shape *shape) {
    return shape->B * shape->n * (shape->H + 2 * shape->K) * shape->D;
}

static twin_case *rotate_case(const heads_shape *shape, tide_dtype type) {
    size_t n_cached = shape->B * shape->S * shape->K * shape->D;
    twin_case *test = twin_begin("decode_rotate");
    (void)twin_updated(test, type, n_rows_of(shape), 2);
    (void)twin_updated(test, type, n_cached, 1);
    (void)twin_updated(test, type, n_cached, 1);
    (void)twin_read(test, TIDE_FP32, shape->S * shape->D, 1);
    return test;
}

/* Queries, keys and values uniform in [-2, 2): scores have the standard deviation 4/3. */
static twin_case *attention_case(const heads_shape *shape, tide_dtype type) {
    size_t n_cached = shape->B * shape->S * shape->K * shape->D;
    twin_case *test = twin_begin("decode_attention");
    (void)twin_read(test, type, n_rows_of(shape), 2);
    (void)twin_read(test, type, n_cached, 2);
    (void)twin_read(test, type, n_cached, 2);
    (void)twin_written(test, type, shape->B * shape->n * shape->H * shape->D);
    return test;
}

/* A share errs as its score does, by u sqrt(D) of a number around 4, twice because the largest
 * score is subtracted, and expf by 2 u; the sum over n positions, each joined by two products, errs
 * by u sqrt(n) and 4 u more. */
static double attention_tolerance(const heads_shape *shape) {
    double n = (double)(shape->position + shape->n);
    return (8 * sqrt((double)shape->D) + 2 * sqrt(n) + 8) * U;
}

/* Prompts and later tokens; own keys for each head, and shared ones; heads of one lane and of a
 * whole warp; fewer and more positions than a turn of the block takes. */
static const heads_shape HEADS[] = {
    {1, 1, 0, 8, 2, 2, 8, 0},         {2, 5, 0, 8, 6, 2, 8, 0},     {3, 1, 13, 16, 4, 1, 16, 13},
    {1, 1, 300, 304, 2, 1, 128, 300}, {2, 3, 70, 80, 3, 3, 64, 70}, {1, 2, 200, 208, 4, 2, 32, 200},
};

static void rotations(void **state) {
    (void)state;
    for (size_t i = 0; i < 2 * sizeof(HEADS) / sizeof(HEADS[0]); i++) {
        /* Two products and a sum, of numbers up to twice as large as the largest result. */
        twin_check(rotate_case(&HEADS[i / 2], TYPES[i % 2]), rotate, &HEADS[i / 2], 4 * U);
    }
    heads_shape wrong = HEADS[4];
    wrong.position_of_cuda++;
    twin_reject(rotate_case(&wrong, TIDE_BF16), rotate, &wrong, 4 * U);
}

static void attentions(void **state) {
    (void)state;
    const heads_shape wide = {1, 2, 9, 16, 2, 1, 256, 9};
    for (size_t i = 0; i < 2 * sizeof(HEADS) / sizeof(HEADS[0]); i++) {
        twin_check(attention_case(&HEADS[i / 2], TYPES[i % 2]), attention, &HEADS[i / 2],
                   attention_tolerance(&HEADS[i / 2]));
    }
    twin_check(attention_case(&wide, TIDE_BF16), attention, &wide, attention_tolerance(&wide));
    heads_shape wrong = HEADS[4];
    wrong.position_of_cuda--;
    twin_reject(attention_case(&wrong, TIDE_BF16), attention, &wrong, attention_tolerance(&wrong));
}

/* ---- the others ---- */

static tide_status embed(const twin_side *side, const void *shape, tide_error *error) {
    const size_t *n = shape; /* sequences, tokens, channels, between sequences */
    const tide_decode_embed call = {.out = side->arrays[0],
                                    .table = side->arrays[1],
                                    .tokens = twin_int32(side, 2),
                                    .B = n[0],
                                    .n = n[1],
                                    .C = n[2],
                                    .stride = n[3]};
    return TWIN(side, decode_embed)(side->ops, &call, error);
}

static tide_status combine(const twin_side *side, const void *shape, tide_error *error) {
    const size_t *n = shape;
    const tide_decode_combine call = {.x = side->arrays[0],
                                      .outs = side->arrays[1],
                                      .shares = twin_fp32(side, 2),
                                      .R = n[0],
                                      .A = n[1],
                                      .C = n[2]};
    return TWIN(side, decode_combine)(side->ops, &call, error);
}

static void rows_are_looked_up_and_added(void **state) {
    (void)state;
    static const size_t SHAPE[] = {3, 2, 333, 7};
    for (size_t i = 0; i < 2; i++) {
        twin_case *test = twin_begin("decode_embed");
        (void)twin_written(test, TYPES[i], SHAPE[0] * SHAPE[1] * SHAPE[2]);
        (void)twin_read(test, TYPES[i], 97 * SHAPE[2], 1);
        (void)twin_tokens(test, SHAPE[0] * SHAPE[3], 97);
        twin_check(test, embed, SHAPE, 0);
        test = twin_begin("decode_combine");
        (void)twin_updated(test, TYPES[i], SHAPE[0] * SHAPE[2], 1);
        (void)twin_read(test, TYPES[i], SHAPE[0] * SHAPE[1] * SHAPE[2], 1);
        (void)twin_read(test, TIDE_FP32, SHAPE[0] * SHAPE[1], 1);
        twin_check(test, combine, SHAPE, 5 * U); /* two products and two sums */
    }
}

static tide_status choose(const twin_side *side, const void *shape, tide_error *error) {
    const size_t *n = shape;
    const tide_decode_choose call = {.chosen = twin_int32(side, 0),
                                     .shares = twin_fp32(side, 1),
                                     .scores = side->arrays[2],
                                     .R = n[0],
                                     .E = n[1],
                                     .A = n[2]};
    return TWIN(side, decode_choose)(side->ops, &call, error);
}

static tide_status next(const twin_side *side, const void *shape, tide_error *error) {
    const size_t *n = shape;
    const tide_decode_next call = {.tokens = twin_int32(side, 0),
                                   .logits = side->arrays[1],
                                   .B = n[0],
                                   .V = n[1],
                                   .stride = 2};
    return TWIN(side, decode_next)(side->ops, &call, error);
}

/* In bf16 many of these are equal: the first one counts. */
static void the_largest_are_chosen(void **state) {
    (void)state;
    static const size_t SHAPES[][3] = {{300, 8, 2}, {5, 4, 4}, {1, 1, 1}};
    static const size_t LOGITS[][2] = {{4, 5003}, {2, 31}, {1, 1}};
    for (size_t i = 0; i < 6; i++) {
        const size_t *shape = SHAPES[i / 2];
        twin_case *test = twin_begin("decode_choose");
        (void)twin_written(test, TIDE_INT32, shape[0] * shape[2]);
        (void)twin_written(test, TIDE_FP32, shape[0] * shape[2]);
        (void)twin_read(test, TYPES[i % 2], shape[0] * shape[1], 3);
        /* exp of a difference that is rounded, a sum and a quotient. */
        twin_check(test, choose, shape, 16 * U);
        test = twin_begin("decode_next");
        (void)twin_updated(test, TIDE_INT32, 2 * LOGITS[i / 2][0], 1);
        (void)twin_read(test, TYPES[i % 2], LOGITS[i / 2][0] * LOGITS[i / 2][1], 3);
        twin_check(test, next, LOGITS[i / 2], 0);
    }
    static const size_t EQUAL[] = {1, 300};
    float logits[300];
    for (size_t v = 0; v < 300; v++) {
        logits[v] = v == 77 || v == 290 ? 2.0F : -1.0F;
    }
    twin_case *test = twin_begin("decode_next");
    (void)twin_updated(test, TIDE_INT32, 2, 1);
    (void)twin_given(test, TIDE_FP32, logits, 300);
    twin_check(test, next, EQUAL, 0);
}

static void what_no_kernel_has_is_refused(void **state) {
    (void)state;
    tide_ops_cuda cuda = {.max_blocks = 1};
    tide_error error = {.message = ""};
    const tide_array wide = {NULL, TIDE_FP32};
    const tide_array narrow = {NULL, TIDE_BF16};
    tide_decode_product call = {
        .out = wide, .x = wide, .weight = narrow, .n_rows = 1, .n_shares = 1, .m = 1, .k = 1};
    assert_int_equal(tide_cuda_decode_product(&cuda.ops, &call, &error), TIDE_UNSUPPORTED);
    const tide_decode_heads heads = {
        .qkv = wide, .keys = wide, .values = wide, .B = 1, .n = 1, .S = 1, .H = 1, .K = 1, .D = 24};
    assert_int_equal(tide_cuda_decode_attention(
                         &cuda.ops, &(tide_decode_attention){.heads = heads, .out = wide}, &error),
                     TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "these have 24"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_devices_fill_with_the_same_numbers),
        cmocka_unit_test(products),
        cmocka_unit_test(rotations),
        cmocka_unit_test(attentions),
        cmocka_unit_test(rows_are_looked_up_and_added),
        cmocka_unit_test(the_largest_are_chosen),
        cmocka_unit_test(what_no_kernel_has_is_refused),
    };
    return cmocka_run_group_tests_name("ops_cuda.decode_operators", tests, NULL, NULL);
}
