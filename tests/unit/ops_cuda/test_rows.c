/* test_rows.c - the operators of the cuda device that work row by row, compared with their twins:
 * embedding, RMSNorm, RoPE, cross-entropy. */
#include "twin.h"

#include <math.h>
#include <string.h>

/* Half the distance between 1 and the next fp32 number: the largest relative error of a rounding.
 * Each side errs by as many as a bound counts. */
static const double U = 0x1p-24;

static tide_dtype type_of(unsigned combination, unsigned i) {
    return (combination >> i & 1U) != 0 ? TIDE_BF16 : TIDE_FP32;
}

typedef struct row_shape {
    size_t R, C, V; /* rows, channels, vocabulary */
} row_shape;

static tide_status embed(const twin_side *side, const void *shape, tide_error *error) {
    const row_shape *given = shape;
    return TWIN(side, embedding_forward)(side->ops,
                                         &(tide_embedding_forward){.out = side->arrays[0],
                                                                   .table = side->arrays[1],
                                                                   .tokens = twin_int32(side, 2),
                                                                   .R = given->R,
                                                                   .C = given->C},
                                         error);
}

static tide_status embed_backward(const twin_side *side, const void *shape, tide_error *error) {
    const row_shape *given = shape;
    return TWIN(side, embedding_backward)(side->ops,
                                          &(tide_embedding_backward){.dtable = side->arrays[0],
                                                                     .dout = side->arrays[1],
                                                                     .tokens = twin_int32(side, 2),
                                                                     .R = given->R,
                                                                     .C = given->C,
                                                                     .V = given->V},
                                          error);
}

/* The last row is left out. */
static tide_status embed_backward_less(const twin_side *side, const void *shape,
                                       tide_error *error) {
    row_shape given = *(const row_shape *)shape;
    given.R -= side->is_cuda ? 1 : 0;
    return embed_backward(side, &given, error);
}

static twin_case *embedding_case(const row_shape *shape, unsigned combination, size_t shift,
                                 bool is_forward) {
    const size_t n_rows = shape->R * shape->C;
    const size_t n_table = shape->V * shape->C;
    twin_case *test = twin_begin(is_forward ? "embedding_forward" : "embedding_backward");
    twin_shift(test, shift);
    (void)twin_written(test, type_of(combination, 0), is_forward ? n_rows : n_table);
    (void)twin_read(test, type_of(combination, 1), is_forward ? n_table : n_rows, 1);
    (void)twin_tokens(test, shape->R, (int32_t)shape->V);
    return test;
}

/* Copies; and sums in fp32 in the order of rows on both sides: the same bits. */
static void embedding(void **state) {
    (void)state;
    static const row_shape SHAPES[] = {
        {1, 1, 1}, {7, 8, 3}, {257, 33, 5}, {40, 1032, 7}, {65, 520, 11}};
    for (unsigned combination = 0; combination < 4; combination++) {
        for (size_t s = 0; s < sizeof(SHAPES) / sizeof(SHAPES[0]); s++) {
            for (size_t shift = 0; shift < (s == 4 ? 2 : 1); shift++) {
                twin_check(embedding_case(&SHAPES[s], combination, shift, true), embed, &SHAPES[s],
                           0);
                twin_check(embedding_case(&SHAPES[s], combination, shift, false), embed_backward,
                           &SHAPES[s], 0);
            }
        }
        twin_reject(embedding_case(&SHAPES[1], combination, 0, false), embed_backward_less,
                    &SHAPES[1], 0);
    }
}

static tide_status norm(const twin_side *side, const void *shape, tide_error *error) {
    const row_shape *given = shape;
    const tide_rmsnorm_forward call = {.out = side->arrays[0],
                                       .rstd = given->V == 0 ? NULL : twin_fp32(side, 1),
                                       .x = side->arrays[2],
                                       .weight = side->arrays[3],
                                       .R = given->R,
                                       .C = given->C};
    return TWIN(side, rmsnorm_forward)(side->ops, &call, error);
}

/* V 0: rstd is not wanted. */
static twin_case *norm_case(const row_shape *shape, unsigned combination, size_t shift) {
    const size_t n = shape->R * shape->C;
    twin_case *test = twin_begin("rmsnorm_forward");
    twin_shift(test, shift);
    (void)twin_written(test, type_of(combination, 0), n);
    (void)twin_written(test, TIDE_FP32, shape->R);
    (void)twin_read(test, type_of(combination, 1), n, 2);
    (void)twin_read(test, type_of(combination, 2), shape->C, 1);
    return test;
}

static tide_status norm_wrong(const twin_side *side, const void *shape, tide_error *error) {
    row_shape given = *(const row_shape *)shape;
    if (side->is_cuda) { /* rows half as long, and twice as many */
        given.R *= 2;
        given.C /= 2;
        given.V = 0;
    }
    return norm(side, &given, error);
}

typedef struct norm_shape {
    size_t R, C;     /* rows, channels */
    bool accumulate; /* dx += */
    bool is_wrong;   /* the cuda side does not accumulate */
} norm_shape;

static tide_status norm_backward(const twin_side *side, const void *shape, tide_error *error) {
    const norm_shape *given = shape;
    const tide_rmsnorm_backward call = {.dx = side->arrays[0],
                                        .dweight = side->arrays[1],
                                        .dout = side->arrays[2],
                                        .x = side->arrays[3],
                                        .weight = side->arrays[4],
                                        .rstd = twin_fp32(side, 5),
                                        .scratch = twin_fp32(side, 6),
                                        .R = given->R,
                                        .C = given->C,
                                        .accumulate = given->accumulate &&
                                                      !(given->is_wrong && side->is_cuda)};
    return TWIN(side, rmsnorm_backward)(side->ops, &call, error);
}

static twin_case *norm_backward_case(const norm_shape *shape, unsigned combination, size_t shift) {
    const size_t n = shape->R * shape->C;
    twin_case *test = twin_begin("rmsnorm_backward");
    twin_shift(test, shift);
    if (shape->accumulate) {
        (void)twin_updated(test, type_of(combination, 0), n, 1);
    } else {
        (void)twin_written(test, type_of(combination, 0), n);
    }
    (void)twin_written(test, type_of(combination, 1), shape->C);
    (void)twin_read(test, type_of(combination, 2), n, 1);
    (void)twin_read(test, type_of(combination, 3), n, 2);
    (void)twin_read(test, type_of(combination, 4), shape->C, 1);
    (void)twin_read(test, TIDE_FP32, shape->R, 1);
    twin_shift(test, 0);
    (void)twin_scratch(test, TIDE_FP32, tide_ops_rmsnorm_scratch_elements(shape->R, shape->C));
    return test;
}

/* dx: 24 roundings of terms that may cancel, on either side. dweight: sums of R products, which
 * grow as a random walk, so 3 + sqrt(R) <= 30 roundings. */
static const double NORM_TOLERANCE = 64 * 0x1p-24;

static void check_norms(size_t R, size_t C, unsigned combination, size_t shift) {
    const row_shape forward = {R, C, combination % 3};
    if (combination < 8) { /* the double sum, rstd and two products */
        twin_case *test = norm_case(&forward, combination, shift);
        twin_check(test, norm, &forward, 6 * U);
    }
    const norm_shape backward = {R, C, combination % 3 != 0, false};
    twin_check(norm_backward_case(&backward, combination, shift), norm_backward, &backward,
               NORM_TOLERANCE);
}

/* The combinations of the model: all fp32, bf16-mixed, all bf16. */
static const unsigned FORWARD_OF_MODEL[] = {0, 1, 7};
static const unsigned BACKWARD_OF_MODEL[] = {0, 4, 31};

static void rmsnorm(void **state) {
    (void)state;
    for (unsigned combination = 0; combination < 32; combination++) {
        check_norms(3, 40, combination, 0);
    }
    /* 515 rows are four for each block and three for the last; backward keeps the sums of 12232
     * channels outside of shared memory. */
    static const size_t SHAPES[][2] = {{1, 1},    {1, 7},    {33, 33},  {65, 24},  {130, 8},
                                       {3, 1000}, {2, 2056}, {515, 16}, {5, 12232}};
    for (size_t s = 0; s < sizeof(SHAPES) / sizeof(SHAPES[0]); s++) {
        for (size_t i = 0; i < 3; i++) {
            check_norms(SHAPES[s][0], SHAPES[s][1], FORWARD_OF_MODEL[i], s % 2);
            check_norms(SHAPES[s][0], SHAPES[s][1], BACKWARD_OF_MODEL[i], (s + 1) % 2);
        }
    }
    /* Many rows for each partial sum, aligned or not. */
    const norm_shape many = {64 * 128 + 5, 3, false, false};
    twin_check(norm_backward_case(&many, 0, 0), norm_backward, &many, 128 * U);
    twin_check(norm_backward_case(&many, 4, 1), norm_backward, &many, 128 * U);
    const row_shape wrong = {4, 64, 1};
    twin_reject(norm_case(&wrong, 0, 0), norm_wrong, &wrong, 6 * U);
    const norm_shape wrong_backward = {4, 64, true, true};
    twin_reject(norm_backward_case(&wrong_backward, 0, 0), norm_backward, &wrong_backward,
                NORM_TOLERANCE);
}

typedef struct rope_shape {
    size_t B, T, H, D; /* sequences, tokens, heads, channels of a head */
    bool inverse;      /* by the negative angle */
    bool is_other_way; /* the cuda side rotates by the other one */
} rope_shape;

static tide_status rope(const twin_side *side, const void *shape, tide_error *error) {
    const rope_shape *given = shape;
    const bool is_swapped = given->is_other_way && side->is_cuda;
    return TWIN(side, rope)(side->ops,
                            &(tide_rope){.x = side->arrays[0],
                                         .table = twin_fp32(side, 1),
                                         .B = given->B,
                                         .T = given->T,
                                         .H = given->H,
                                         .D = given->D,
                                         .inverse = given->inverse != is_swapped},
                            error);
}

static twin_case *rope_case(const rope_shape *shape, tide_dtype dtype, size_t shift) {
    twin_case *test = twin_begin("rope");
    twin_shift(test, shift);
    (void)twin_updated(test, dtype, shape->B * shape->T * shape->H * shape->D, 1);
    (void)twin_read(test, TIDE_FP32, shape->T * shape->D, 1);
    return test;
}

static void ropes(void **state) {
    (void)state;
    /* Two products and their sum on either side, fused or not. */
    const double tolerance = 6 * U;
    static const rope_shape SHAPES[] = {
        {1, 1, 1, 2, false, false},  {3, 7, 5, 10, true, false},   {2, 5, 3, 64, false, false},
        {1, 3, 2, 80, true, false},  {2, 3, 40, 8, false, false},  {1, 2, 2, 520, false, false},
        {1, 33, 31, 6, true, false}, {1, 2, 27, 80, false, false}, {2, 2, 1, 1026, true, false}};
    for (unsigned type = 0; type < 2; type++) {
        for (size_t s = 0; s < sizeof(SHAPES) / sizeof(SHAPES[0]); s++) {
            twin_check(rope_case(&SHAPES[s], type_of(type, 0), 0), rope, &SHAPES[s], tolerance);
            twin_check(rope_case(&SHAPES[s], type_of(type, 0), 1), rope, &SHAPES[s], tolerance);
        }
        const rope_shape other = {2, 5, 3, 64, false, true};
        twin_reject(rope_case(&other, type_of(type, 0), 0), rope, &other, tolerance);
    }
}

static tide_status cross_entropy(const twin_side *side, const void *shape, tide_error *error) {
    const row_shape *given = shape;
    const tide_cross_entropy call = {.logits = side->arrays[0],
                                     .row_losses = twin_fp32(side, 1),
                                     .loss = twin_fp32(side, 2),
                                     .targets = twin_int32(side, 3),
                                     .R = given->R,
                                     .V = given->V,
                                     .scale = 1};
    return TWIN(side, cross_entropy)(side->ops, &call, error);
}

/* The cuda side takes the first row's target for the second's. */
static tide_status cross_entropy_wrong(const twin_side *side, const void *shape,
                                       tide_error *error) {
    if (side->is_cuda) {
        int32_t targets[2];
        twin_load(side, 3, targets, sizeof(targets));
        targets[1] = (targets[0] + 1) % (int32_t)((const row_shape *)shape)->V;
        twin_store(side, 3, targets, sizeof(targets));
    }
    return cross_entropy(side, shape, error);
}

static twin_case *loss_case(const row_shape *shape, tide_dtype dtype, size_t shift, double scale) {
    twin_case *test = twin_begin("cross_entropy");
    twin_shift(test, shift);
    (void)twin_updated(test, dtype, shape->R * shape->V, scale);
    (void)twin_written(test, TIDE_FP32, shape->R);
    (void)twin_written(test, TIDE_FP32, 1);
    (void)twin_tokens(test, shape->R, (int32_t)shape->V);
    return test;
}

/* exp of a difference up to 2 scale, which one rounding moves by 2 scale u; exp itself errs by 4 u
 * at most, and six roundings follow: on either side. */
static double loss_tolerance(double scale) {
    return 2 * (10 + 2 * scale) * U;
}

static void losses(void **state) {
    (void)state;
    static const row_shape SHAPES[] = {{1, 0, 1},    {1, 0, 7},    {5, 0, 33},  {300, 0, 9},
                                       {7, 0, 1001}, {2, 0, 4099}, {3, 0, 2048}};
    for (unsigned type = 0; type < 2; type++) {
        const tide_dtype dtype = type_of(type, 0);
        for (size_t s = 0; s < sizeof(SHAPES) / sizeof(SHAPES[0]); s++) {
            for (size_t shift = 0; shift < 4; shift += 3) {
                twin_check(loss_case(&SHAPES[s], dtype, shift, 5), cross_entropy, &SHAPES[s],
                           loss_tolerance(5));
            }
        }
        twin_check(loss_case(&SHAPES[2], dtype, 0, 60), cross_entropy, &SHAPES[2],
                   loss_tolerance(60));
        twin_reject(loss_case(&SHAPES[2], dtype, 0, 5), cross_entropy_wrong, &SHAPES[2],
                    loss_tolerance(5));
    }
}

/* Logits from array 4. */
static tide_status cross_entropy_of_given(const twin_side *side, const void *shape,
                                          tide_error *error) {
    const row_shape *given = shape;
    TIDE_TRY(TWIN(side, cast)(
        side->ops,
        &(tide_cast){.out = side->arrays[0], .x = side->arrays[4], .n = given->R * given->V},
        error));
    return cross_entropy(side, shape, error);
}

/* Words with a logit of -infinity, for whole packs and whole threads, and a row with a NaN. */
static void infinite_logits(void **state) {
    (void)state;
    enum { V = 300, R = 3 };
    float values[R * V];
    for (size_t i = 0; i < R * V; i++) {
        values[i] = i % V >= 40 && i % V < 290 ? -INFINITY : (float)(i % 7);
    }
    values[V + 3] = NAN;
    const row_shape shape = {R, 0, V};
    for (unsigned type = 0; type < 2; type++) {
        twin_case *test = twin_begin("cross_entropy");
        (void)twin_written(test, type_of(type, 0), R * V);
        (void)twin_written(test, TIDE_FP32, R);
        (void)twin_written(test, TIDE_FP32, 1);
        (void)twin_tokens(test, R, 1); /* all 0 */
        (void)twin_given(test, type_of(type, 0), values, R * V);
        twin_check(test, cross_entropy_of_given, &shape, loss_tolerance(6));
    }
}

static void nothing_and_integers(void **state) {
    (void)state;
    tide_ops_cuda cuda = {.max_blocks = 1};
    tide_ops *ops = &cuda.ops;
    tide_error error = {.message = ""};
    const tide_array f = {NULL, TIDE_FP32};
    const tide_array i = {NULL, TIDE_INT32};
    const tide_rmsnorm_forward forward = {.out = f, .x = f, .weight = i, .R = 1, .C = 1};
    const tide_rmsnorm_backward backward = {
        .dx = f, .dweight = i, .dout = f, .x = f, .weight = f, .R = 1, .C = 1};
    const tide_cross_entropy loss = {.logits = i, .R = 1, .V = 1};
    assert_int_equal(
        tide_cuda_embedding_forward(
            ops, &(tide_embedding_forward){.out = f, .table = f, .tokens = NULL, .R = 0, .C = 8},
            &error),
        TIDE_OK);
    assert_int_equal(
        tide_cuda_rope(ops, &(tide_rope){.x = f, .table = NULL, .B = 1, .T = 0, .H = 1, .D = 2},
                       &error),
        TIDE_OK);
    assert_int_equal(
        tide_cuda_embedding_forward(
            ops, &(tide_embedding_forward){.out = f, .table = i, .tokens = NULL, .R = 1, .C = 1},
            &error),
        TIDE_UNSUPPORTED);
    assert_int_equal(tide_cuda_embedding_backward(
                         ops,
                         &(tide_embedding_backward){
                             .dtable = i, .dout = f, .tokens = NULL, .R = 1, .C = 1, .V = 1},
                         &error),
                     TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "embedding: array 1 of 2 is int32"));
    assert_int_equal(tide_cuda_rmsnorm_forward(ops, &forward, &error), TIDE_UNSUPPORTED);
    assert_int_equal(tide_cuda_rmsnorm_backward(ops, &backward, &error), TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "dweight"));
    assert_int_equal(
        tide_cuda_rope(ops, &(tide_rope){.x = i, .table = NULL, .B = 1, .T = 1, .H = 1, .D = 2},
                       &error),
        TIDE_UNSUPPORTED);
    assert_int_equal(tide_cuda_cross_entropy(ops, &loss, &error), TIDE_UNSUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embedding),       cmocka_unit_test(rmsnorm),
        cmocka_unit_test(ropes),           cmocka_unit_test(losses),
        cmocka_unit_test(infinite_logits), cmocka_unit_test(nothing_and_integers),
    };
    return cmocka_run_group_tests_name("ops_cuda.rows", tests, NULL, NULL);
}
