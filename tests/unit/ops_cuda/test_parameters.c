/* test_parameters.c - the operators of the cuda device over all parameters, compared with their
 * twins: AdamW, global norm, clipping, unscaling. */
#include "twin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tide_dtype type_of(unsigned combination, unsigned i) {
    return (combination >> i & 1U) != 0 ? TIDE_BF16 : TIDE_FP32;
}

/* More parameters than one launch takes (64): each is a slice of the case's arrays, so that many
 * begin where no pack does. */
enum { MANY = 150, MOST = 300 };

typedef struct list_shape {
    size_t n_parameters;
    size_t n_elements[MOST]; /* of each */
    double wrong;            /* how much larger the cuda side's norm, or eps, is */
} list_shape;

static size_t n_total(const list_shape *shape) {
    size_t n = 0;
    for (size_t i = 0; i < shape->n_parameters; i++) {
        n += shape->n_elements[i];
    }
    return n;
}

static tide_array slice(tide_array array, size_t at) {
    return (tide_array){(unsigned char *)array.data + at * tide_dtype_bytes(array.dtype),
                        array.dtype};
}

/* Parameter, gradient and moments of one set, and numbers above 0 for the second moment. */
enum { SET = 5 };

/* Slices of the first set in turn; if there are two, every other parameter is from the second,
 * which may have other types. */
static tide_status update(const twin_side *side, const list_shape *shape, size_t n_sets,
                          tide_error *error) {
    tide_parameter_arrays list[MOST];
    size_t at[2] = {0, 0};
    for (size_t i = 0; i < shape->n_parameters; i++) {
        const size_t set = i % n_sets;
        const tide_array *arrays = side->arrays + SET * set;
        list[i] = (tide_parameter_arrays){slice(arrays[0], at[set]), slice(arrays[1], at[set]),
                                          slice(arrays[2], at[set]), slice(arrays[3], at[set]),
                                          shape->n_elements[i]};
        at[set] += shape->n_elements[i];
    }
    for (size_t set = 0; set < n_sets; set++) {
        const tide_array *arrays = side->arrays + SET * set;
        TIDE_TRY(TWIN(side, cast)(
            side->ops, &(tide_cast){.out = arrays[3], .x = arrays[4], .n = at[set]}, error));
    }
    /* eps is as large as the roots of v, so that its place in the formula matters. */
    const tide_adamw_settings adamw = {.lr = 0.3,
                                       .beta1 = 0.8,
                                       .beta2 = 0.95,
                                       .eps = 0.1 + (side->is_cuda ? shape->wrong : 0),
                                       .weight_decay = 0.2};
    const tide_adamw call = {
        .settings = adamw, .t = 3, .parameters = list, .n_parameters = shape->n_parameters};
    return TWIN(side, adamw)(side->ops, &call, error);
}

static tide_status update_one_set(const twin_side *side, const void *shape, tide_error *error) {
    return update(side, shape, 1, error);
}

static tide_status update_two_sets(const twin_side *side, const void *shape, tide_error *error) {
    return update(side, shape, 2, error);
}

static void add_set(twin_case *test, unsigned combination, size_t n) {
    float *squares = malloc(n * sizeof(*squares));
    assert_non_null(squares);
    for (size_t i = 0; i < n; i++) {
        squares[i] = (float)(i * 37 % 101) / 101;
    }
    (void)twin_updated(test, type_of(combination, 0), n, 1);
    (void)twin_read(test, type_of(combination, 1), n, 1);
    (void)twin_updated(test, type_of(combination, 2), n, 1);
    (void)twin_written(test, type_of(combination, 3), n);
    (void)twin_given(test, TIDE_FP32, squares, n);
    free(squares);
}

static twin_case *adamw_case(const list_shape *shape, unsigned combination) {
    twin_case *test = twin_begin("adamw");
    add_set(test, combination, n_total(shape));
    return test;
}

/* Sizes of chunks (8192) and more, and around packs; 0 is one of them. */
static const list_shape FEW = {7, {1, 8192, 7, 0, 2 * 8192 + 9, 33, 1000}, 0};

/* A parameter's last step is some ten roundings on either side. */
static const double ADAMW_TOLERANCE = 2 * 20 * 0x1p-24;

static list_shape many_parameters(size_t n_parameters) {
    list_shape many = {n_parameters, {0}, 0};
    for (size_t i = 0; i < n_parameters; i++) {
        many.n_elements[i] = 1 + i * 7 % 23;
    }
    return many;
}

static void adamw(void **state) {
    (void)state;
    for (unsigned combination = 0; combination < 16; combination++) {
        twin_check(adamw_case(&FEW, combination), update_one_set, &FEW, ADAMW_TOLERANCE);
    }
    const list_shape many = many_parameters(MANY);
    for (unsigned combination = 0; combination < 16; combination += 15) {
        twin_check(adamw_case(&many, combination), update_one_set, &many, ADAMW_TOLERANCE);
        list_shape wrong = FEW;
        wrong.wrong = 0.001;
        twin_reject(adamw_case(&wrong, combination), update_one_set, &wrong, ADAMW_TOLERANCE);
    }
}

/* Parameters of two kinds in turn: launches of either kind skip the other's. */
static void adamw_of_several_types(void **state) {
    (void)state;
    static const unsigned PAIRS[][2] = {{0, 15}, {15, 0}, {0, 3}, {6, 15}};
    const list_shape many = many_parameters(MANY);
    for (size_t i = 0; i < sizeof(PAIRS) / sizeof(PAIRS[0]); i++) {
        twin_case *test = twin_begin("adamw");
        for (size_t set = 0; set < 2; set++) {
            size_t n = 0;
            for (size_t p = set; p < many.n_parameters; p += 2) {
                n += many.n_elements[p];
            }
            add_set(test, PAIRS[i][set], n);
        }
        twin_check(test, update_two_sets, &many, ADAMW_TOLERANCE);
    }
}

/* Gradients of array 0, or in turn of arrays 0 and 1 when there is a second. */
static size_t gradients(const twin_side *side, const list_shape *shape,
                        tide_parameter_arrays *list) {
    size_t at = 0;
    for (size_t i = 0; i < shape->n_parameters; i++) {
        list[i] = (tide_parameter_arrays){.gradient = slice(side->arrays[i % 2], at),
                                          .n_elements = shape->n_elements[i]};
        at += shape->n_elements[i];
    }
    return shape->n_parameters;
}

/* Arrays: gradients of two types, scratch, norm. */
static tide_status global_norm(const twin_side *side, const void *shape, tide_error *error) {
    tide_parameter_arrays list[MOST];
    const size_t n = gradients(side, shape, list);
    const bool is_wrong = ((const list_shape *)shape)->wrong != 0 && side->is_cuda;
    return TWIN(side, global_norm)(side->ops,
                                   &(tide_global_norm){.parameters = list,
                                                       .n_parameters = n - (is_wrong ? 1 : 0),
                                                       .scratch = twin_fp32(side, 2),
                                                       .norm = twin_fp32(side, 3)},
                                   error);
}

static twin_case *norm_case(const list_shape *shape, unsigned combination) {
    size_t n_chunks = 0;
    for (size_t i = 0; i < shape->n_parameters; i++) {
        n_chunks += (shape->n_elements[i] + TIDE_NORM_CHUNK - 1) / TIDE_NORM_CHUNK;
    }
    twin_case *test = twin_begin("global_norm");
    (void)twin_read(test, type_of(combination, 0), n_total(shape), 1);
    (void)twin_read(test, type_of(combination, 1), n_total(shape), 1);
    (void)twin_scratch(test, TIDE_FP32, n_chunks);
    (void)twin_written(test, TIDE_FP32, 1);
    return test;
}

/* Both sums in double on either side; partial sums and the norm are rounded. */
static const double NORM_TOLERANCE = 2 * 2 * 0x1p-24;

static void global_norms(void **state) {
    (void)state;
    static const list_shape LONG = {4, {33, TIDE_NORM_CHUNK + 1025, 0, 2 * TIDE_NORM_CHUNK}, 0};
    const list_shape many = many_parameters(MANY);
    const list_shape most = many_parameters(MOST); /* more than the last block has threads */
    const list_shape none = {0};
    for (unsigned combination = 0; combination < 4; combination++) {
        twin_check(norm_case(&many, combination), global_norm, &many, NORM_TOLERANCE);
        twin_check(norm_case(&FEW, combination), global_norm, &FEW, NORM_TOLERANCE);
        list_shape wrong = FEW; /* the last of them is left out */
        wrong.wrong = 1;
        twin_reject(norm_case(&wrong, combination), global_norm, &wrong, NORM_TOLERANCE);
    }
    twin_check(norm_case(&most, 1), global_norm, &most, NORM_TOLERANCE);
    twin_check(norm_case(&LONG, 2), global_norm, &LONG, NORM_TOLERANCE);
    twin_check(norm_case(&none, 0), global_norm, &none, 0);
}

typedef struct clip_shape {
    list_shape list;
    double max_norm; /* of all gradients; their norm is 10 */
} clip_shape;

static const float NORM[] = {10};

/* Arrays: gradients of two types, norm. */
static tide_status clip(const twin_side *side, const void *shape, tide_error *error) {
    const clip_shape *given = shape;
    tide_parameter_arrays list[MOST];
    const size_t n = gradients(side, &given->list, list);
    const bool is_wrong = given->list.wrong != 0 && side->is_cuda;
    return TWIN(side, clip)(side->ops,
                            &(tide_clip){.parameters = list,
                                         .n_parameters = n - (is_wrong ? 1 : 0),
                                         .norm = twin_fp32(side, 2),
                                         .max_norm = given->max_norm},
                            error);
}

static twin_case *clip_case(const clip_shape *shape, unsigned combination) {
    twin_case *test = twin_begin("clip");
    (void)twin_updated(test, type_of(combination, 0), n_total(&shape->list), 1);
    (void)twin_updated(test, type_of(combination, 1), n_total(&shape->list), 1);
    (void)twin_given(test, TIDE_FP32, NORM, 1);
    return test;
}

static void clips(void **state) {
    (void)state;
    /* The factor in double and rounded, then one product: the same on both sides. */
    const clip_shape cases[] = {{FEW, 0.5}, {FEW, 10}, {FEW, 10.5}, {many_parameters(MANY), 3}};
    for (unsigned combination = 0; combination < 4; combination++) {
        for (size_t i = 0; i < 4; i++) {
            twin_check(clip_case(&cases[i], combination), clip, &cases[i], 0);
        }
        clip_shape wrong = cases[0]; /* the last gradient is left as it is */
        wrong.list.wrong = 1;
        twin_reject(clip_case(&wrong, combination), clip, &wrong, 0);
    }
}

/* Arrays: gradients of two types, found_inf, and what the first gradients are before. */
static tide_status unscale(const twin_side *side, const void *shape, tide_error *error) {
    const list_shape *given = shape;
    tide_parameter_arrays list[MOST];
    const size_t n = gradients(side, given, list);
    const double wrong = side->is_cuda ? given->wrong : 0;
    const tide_cast before = {side->arrays[0], side->arrays[3], n_total(given)};
    TIDE_TRY(TWIN(side, cast)(side->ops, &before, error));
    TIDE_TRY(TWIN(side, fill)(side->ops, &(tide_fill){side->arrays[2], 0, 1}, error));
    return TWIN(side, unscale)(side->ops,
                               &(tide_unscale){.parameters = list,
                                               .n_parameters = n,
                                               .factor = 0x1p-16 * (1 + wrong),
                                               .found_inf = twin_fp32(side, 2)},
                               error);
}

/* Random gradients, one of which is `odd` at element `at` of the first set, if at >= 0. */
static twin_case *unscale_case(const list_shape *shape, unsigned combination, int at, float odd) {
    const size_t n = n_total(shape);
    twin_case *test = twin_begin("unscale");
    float *numbers = malloc(n * sizeof(*numbers));
    assert_non_null(numbers);
    for (size_t i = 0; i < n; i++) {
        numbers[i] = (float)(i * 53 % 211) - 105;
    }
    if (at >= 0) {
        numbers[at] = odd;
    }
    (void)twin_written(test, type_of(combination, 0), n);
    (void)twin_updated(test, type_of(combination, 1), n, 1);
    (void)twin_written(test, TIDE_FP32, 1);
    (void)twin_given(test, TIDE_FP32, numbers, n);
    free(numbers);
    return test;
}

/* One product with a power of two: the same bits on both sides. */
static void unscales(void **state) {
    (void)state;
    const list_shape shapes[] = {FEW, many_parameters(MANY)};
    for (unsigned combination = 0; combination < 4; combination++) {
        for (size_t i = 0; i < 2; i++) {
            twin_check(unscale_case(&shapes[i], combination, -1, 0), unscale, &shapes[i], 0);
            twin_check(unscale_case(&shapes[i], combination, 3, INFINITY), unscale, &shapes[i], 0);
            twin_check(unscale_case(&shapes[i], combination, 0, -INFINITY), unscale, &shapes[i], 0);
        }
        list_shape wrong = shapes[0];
        wrong.wrong = 1;
        twin_reject(unscale_case(&wrong, combination, -1, 0), unscale, &wrong, 0);
    }
}

static void integers_are_refused(void **state) {
    (void)state;
    tide_ops_cuda cuda = {.max_blocks = 1};
    tide_ops *ops = &cuda.ops;
    tide_error error = {.message = ""};
    const tide_array f = {NULL, TIDE_FP32};
    const tide_array i = {NULL, TIDE_INT32};
    const tide_parameter_arrays list[] = {{f, f, f, f, 1}, {f, i, f, f, 1}};
    assert_int_equal(
        tide_cuda_adamw(ops, &(tide_adamw){.t = 1, .parameters = list, .n_parameters = 2}, &error),
        TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "adamw: array 2 of 4 is int32"));
    assert_int_equal(tide_cuda_global_norm(
                         ops,
                         &(tide_global_norm){
                             .parameters = list, .n_parameters = 2, .scratch = NULL, .norm = NULL},
                         &error),
                     TIDE_UNSUPPORTED);
    assert_int_equal(
        tide_cuda_clip(
            ops, &(tide_clip){.parameters = list, .n_parameters = 2, .norm = NULL, .max_norm = 1},
            &error),
        TIDE_UNSUPPORTED);
    assert_int_equal(tide_cuda_adamw(ops, &(tide_adamw){.t = 1}, &error), TIDE_OK);
    assert_int_equal(
        tide_cuda_clip(
            ops, &(tide_clip){.parameters = NULL, .n_parameters = 0, .norm = NULL, .max_norm = 1},
            &error),
        TIDE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adamw),        cmocka_unit_test(adamw_of_several_types),
        cmocka_unit_test(global_norms), cmocka_unit_test(clips),
        cmocka_unit_test(unscales),     cmocka_unit_test(integers_are_refused),
    };
    return cmocka_run_group_tests_name("ops_cuda.parameters", tests, NULL, NULL);
}
