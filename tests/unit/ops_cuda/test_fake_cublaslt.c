/* test_fake_cublaslt.c - the fake cuBLASLt refuses what the real one refuses: an algorithm of
 * another product, and a result with another layout than its addend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/device.h"
#include "fake_cublas/fake_cublas.h"
#include "fake_cudart/fake_cudart.h"

enum { N = 8 }; /* rows and columns of each matrix, so that every transpose fits */

/* A product of square matrices of fp32 on the device. */
typedef struct fixture {
    tide_cublas cublas;
    tide_device *device;
    struct cublasContext *handle;
    struct tide_cublaslt_operation_st *operation;
    struct tide_cublaslt_layout_st *layout; /* of A, B, C and D */
    tide_cublaslt_choice choice;
    uint64_t address;
} fixture;

static int set_transposed(const fixture *f, bool is_transposed) {
    const int op = is_transposed ? TIDE_CUBLAS_OP_T : TIDE_CUBLAS_OP_N;
    return f->cublas.lt_operation_set(f->operation, TIDE_CUBLASLT_DESC_TRANSA, &op, sizeof(op));
}

static void choose(fixture *f) {
    const uint32_t reductions = TIDE_CUBLASLT_REDUCTION_COMPUTE_TYPE;
    struct tide_cublaslt_preference_st *preference = NULL;
    int n_choices = 0;
    assert_int_equal(f->cublas.lt_preference_create(&preference), 0);
    assert_int_equal(f->cublas.lt_preference_set(preference, TIDE_CUBLASLT_PREF_REDUCTION_SCHEMES,
                                                 &reductions, sizeof(reductions)),
                     0);
    assert_int_equal(f->cublas.lt_choose(f->handle, f->operation, f->layout, f->layout, f->layout,
                                         f->layout, preference, 1, &f->choice, &n_choices),
                     0);
    assert_int_equal(n_choices, 1);
    assert_int_equal(f->cublas.lt_preference_destroy(preference), 0);
}

static fixture start(void) {
    fixture f = {.device = NULL};
    tide_fake_cudart_reset();
    tide_fake_cublas_reset();
    assert_int_equal(tide_device_open("cuda", NULL, &f.device, NULL), TIDE_OK);
    assert_int_equal(tide_device_alloc(f.device, 1 << 20, &f.address, NULL), TIDE_OK);
    assert_int_equal(tide_cublas_load(&f.cublas, NULL), TIDE_OK);
    assert_int_equal(f.cublas.create(&f.handle), 0);
    assert_int_equal(
        f.cublas.lt_operation_create(&f.operation, TIDE_CUBLAS_COMPUTE_32F, TIDE_CUBLAS_R_32F), 0);
    assert_int_equal(f.cublas.lt_layout_create(&f.layout, TIDE_CUBLAS_R_32F, N, N, N), 0);
    choose(&f);
    return f;
}

static void finish(fixture *f) {
    assert_int_equal(f->cublas.lt_layout_destroy(f->layout), 0);
    assert_int_equal(f->cublas.lt_operation_destroy(f->operation), 0);
    assert_int_equal(f->cublas.destroy(f->handle), 0);
    assert_int_equal(tide_device_release(f->device, f->address, NULL), TIDE_OK);
    tide_device_close(f->device);
}

static int multiply(const fixture *f, struct tide_cublaslt_layout_st *layout_d) {
    const float one = 1;
    char *matrix = tide_device_pointer(f->device, f->address);
    return f->cublas.lt_matmul(f->handle, f->operation, &one, matrix, f->layout, matrix + 4096,
                               f->layout, &one, matrix + 8192, f->layout, matrix + 12288, layout_d,
                               f->choice.algorithm, NULL, 0, NULL);
}

static void an_algorithm_is_for_one_product(void **state) {
    (void)state;
    fixture f = start();
    assert_int_equal(multiply(&f, f.layout), 0);
    assert_int_equal(set_transposed(&f, true), 0);
    assert_int_equal(multiply(&f, f.layout), TIDE_CUBLAS_STATUS_INVALID_VALUE);
    choose(&f);
    assert_int_equal(multiply(&f, f.layout), 0);
    struct tide_cublaslt_operation_st *strict = f.operation;
    assert_int_equal(f.cublas.lt_operation_create(&f.operation, TIDE_CUBLAS_COMPUTE_32F_FAST_TF32,
                                                  TIDE_CUBLAS_R_32F),
                     0);
    assert_int_equal(set_transposed(&f, true), 0);
    assert_int_equal(multiply(&f, f.layout), TIDE_CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(f.cublas.lt_operation_destroy(strict), 0);
    assert_int_equal(tide_fake_cublas_state()->n_mistakes, 2);
    finish(&f);
}

static void a_result_is_laid_out_as_the_addend(void **state) {
    (void)state;
    fixture f = start();
    struct tide_cublaslt_layout_st *wide = NULL;
    assert_int_equal(f.cublas.lt_layout_create(&wide, TIDE_CUBLAS_R_32F, N, N, N + 1), 0);
    assert_int_equal(multiply(&f, wide), TIDE_CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(f.cublas.lt_layout_destroy(wide), 0);
    finish(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_algorithm_is_for_one_product),
        cmocka_unit_test(a_result_is_laid_out_as_the_addend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
