/* test_swiglu.c - swiglu.cu compared with its twin. */
#include "twin.h"

/* Odd ones, and one that several turns of the loop over the grid handle. */
static const size_t SIZES[] = {1, 31, 33, 257, 5003};
static const tide_dtype DTYPES[] = {TIDE_FP32, TIDE_BF16, TIDE_FP16};

/* A dozen roundings of 2^-24 and exp's error of a few more on either side. */
static const double TOLERANCE = 4e-6;

static tide_status forward(const twin_side *side, const void *shape, tide_error *error) {
    const size_t *n = shape;
    const tide_array *arrays = side->arrays;
    return TWIN(side, swiglu_forward)(
        side->ops,
        &(tide_swiglu_forward){.out = arrays[0], .gate = arrays[1], .up = arrays[2], .n = *n},
        error);
}

static tide_status backward(const twin_side *side, const void *shape, tide_error *error) {
    const size_t *n = shape;
    const tide_array *arrays = side->arrays;
    return TWIN(side, swiglu_backward)(side->ops,
                                       &(tide_swiglu_backward){.dgate = arrays[0],
                                                               .dup = arrays[1],
                                                               .dout = arrays[2],
                                                               .gate = arrays[3],
                                                               .up = arrays[4],
                                                               .n = *n},
                                       error);
}

static tide_status exchanged(const twin_side *side, const void *shape, tide_error *error) {
    const size_t *n = shape;
    const tide_array *arrays = side->arrays;
    const size_t gate = side->is_cuda ? 2 : 1;
    return TWIN(side, swiglu_forward)(
        side->ops,
        &(tide_swiglu_forward){
            .out = arrays[0], .gate = arrays[gate], .up = arrays[3 - gate], .n = *n},
        error);
}

static twin_case *forward_case(tide_dtype dtype, size_t n, size_t shift, double scale) {
    twin_case *test = twin_begin("swiglu_forward");
    twin_shift(test, shift);
    (void)twin_written(test, dtype, n);
    (void)twin_read(test, dtype, n, scale);
    (void)twin_read(test, dtype, n, 1);
    return test;
}

static void check(tide_dtype dtype, size_t n, size_t shift) {
    twin_check(forward_case(dtype, n, shift, 4), forward, &n, TOLERANCE);
    twin_check(forward_case(dtype, n, shift, 100), forward, &n, TOLERANCE); /* exp overflows */
    twin_case *test = twin_begin("swiglu_backward");
    twin_shift(test, shift);
    (void)twin_written(test, dtype, n);
    (void)twin_written(test, dtype, n);
    (void)twin_read(test, dtype, n, 1);
    (void)twin_read(test, dtype, n, 4);
    (void)twin_read(test, dtype, n, 1);
    twin_check(test, backward, &n, TOLERANCE);
}

static void matches_its_twin(void **state) {
    (void)state;
    for (size_t d = 0; d < 2; d++) {
        for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
            check(DTYPES[d], SIZES[i], 0);
            check(DTYPES[d], SIZES[i], 1); /* not aligned to a pack */
        }
    }
}

static void exchanged_operands_are_seen(void **state) {
    (void)state;
    const size_t n = 257;
    for (size_t d = 0; d < 2; d++) {
        twin_reject(forward_case(DTYPES[d], n, 0, 4), exchanged, &n, TOLERANCE);
    }
}

static void mixed_types_are_refused(void **state) {
    (void)state;
    tide_ops_cuda cuda = {.max_blocks = 1};
    tide_error error = {.message = ""};
    const tide_array wide = {NULL, TIDE_FP32};
    const tide_array narrow = {NULL, TIDE_BF16};
    assert_int_equal(tide_cuda_swiglu_forward(
                         &cuda.ops,
                         &(tide_swiglu_forward){.out = wide, .gate = narrow, .up = wide, .n = 1},
                         &error),
                     TIDE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "swiglu: array 2 of 3"));
    assert_int_equal(tide_cuda_swiglu_forward(
                         &cuda.ops,
                         &(tide_swiglu_forward){.out = wide, .gate = wide, .up = wide, .n = 0},
                         &error),
                     TIDE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_its_twin),
        cmocka_unit_test(exchanged_operands_are_seen),
        cmocka_unit_test(mixed_types_are_refused),
    };
    return cmocka_run_group_tests_name("ops_cuda.swiglu", tests, NULL, NULL);
}
