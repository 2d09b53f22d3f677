/* test_host_outputs.c - outputs that a program reads on the host: each is written, and what only
 * the card could compute is reported. What a program sets is read back; what it creates is freed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/virtual_cuda/libraries/fake_core.h"

/* --- prototypes as in NVIDIA's headers --- */

int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutDestroy(void *layout);
int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes);
int cublasLtMatrixLayoutGetAttribute(const void *layout, int attribute, void *value, size_t bytes,
                                     size_t *written);
int cublasLtMatmulDescInit_internal(void *description, size_t bytes, int compute, int scale_type);
int cublasLtMatmulDescCreate(void **description, int compute, int scale_type);
int cublasLtMatmulDescDestroy(void *description);
int cublasLtMatmulDescSetAttribute(void *description, int attribute, const void *value,
                                   size_t bytes);
int cublasLtMatmulDescGetAttribute(const void *description, int attribute, void *value,
                                   size_t bytes, size_t *written);
int cublasLtMatmulPreferenceCreate(void **preference);
int cublasLtMatmulPreferenceDestroy(void *preference);
int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value,
                                         size_t bytes);
int cublasLtMatmulPreferenceGetAttribute(const void *preference, int attribute, void *value,
                                         size_t bytes, size_t *written);
int cufftCreate(int *plan);
int cufftDestroy(int plan);
int cufftPlan1d(int *plan, int n, int type, int batch);
int cufftExecC2C(int plan, void *input, void *output, int direction);
int cufftGetSize(int plan, size_t *bytes);
int cufftSetWorkArea(int plan, void *area);
int cusolverDnXgesvdjGetResidual(void *handle, void *info, double *residual);
int cusolverDnSgesvdaStridedBatched(void *handle, int jobz, int rank, int m, int n, const float *a,
                                    int lda, long long a_stride, float *s, long long s_stride,
                                    float *u, int ldu, long long u_stride, float *v, int ldv,
                                    long long v_stride, float *work, int lwork, int *info,
                                    double *residuals, int batch);
int cusparseCreate(void **handle);
int cusparseDestroy(void *handle);
int cusparseCreateDnMat(void **matrix, int64_t rows, int64_t columns, int64_t ld, void *values,
                        int type, int order);
int cusparseDestroyDnMat(const void *matrix);
int cusparseDnMatSetValues(void *matrix, void *values);
int cusparseSparseToDense(void *handle, const void *a, void *b, int algorithm, void *buffer);
int cusparseSpGEMM_getNumProducts(void *description, int64_t *n);
int cusparseSpGEMMreuse_nnz(void *handle, int a_operation, int b_operation, const void *a,
                            const void *b, void *c, int algorithm, void *description, size_t *n2,
                            void *buffer2, size_t *n3, void *buffer3, size_t *n4, void *buffer4);
int cusparseSpMMOp_createPlan(void *handle, void **plan, int a_operation, int b_operation,
                              const void *a, const void *b, void *c, int type, int algorithm,
                              const void *add, size_t add_bytes, const void *multiply,
                              size_t multiply_bytes, const void *epilogue, size_t epilogue_bytes,
                              size_t *work_bytes);
int cusparseSpGEMM_compute(void *handle, int a_operation, int b_operation, const void *alpha,
                           const void *a, const void *b, const void *beta, void *c, int type,
                           int algorithm, void *description, size_t *n, void *buffer);
int cusparseCreateCsr(void **matrix, int64_t rows, int64_t columns, int64_t nonzero, void *offsets,
                      void *indices, void *values, int offset_type, int index_type, int base,
                      int type);
int cusparseDestroySpMat(const void *matrix);
int cusparseSpMatGetSize(const void *matrix, int64_t *rows, int64_t *columns, int64_t *nonzero);
int cusparseSpMMOp(void *plan, void *buffer);
int cusparseSpMMOp_destroyPlan(void *plan);
int cusparseSpVV(void *handle, int operation, const void *x, const void *y, void *result, int type,
                 void *buffer);
int cusparseXbsrsm2_zeroPivot(void *handle, void *info, int *position);
int cusparseXcsrilu02_zeroPivot(void *handle, void *info, int *position);
int nvmlSystemGetConfComputeState(void *state);

enum { OK = 0, INVALID_VALUE = 7 };

/* --- cuBLASLt --- */

static void attributes_of_a_layout_are_read_back(void **state) {
    void *layout = NULL;
    uint64_t wide = 9;
    int narrow = 9;
    size_t n_bytes = 9;
    (void)state;
    assert_int_equal(cublasLtMatrixLayoutCreate(&layout, 14, 30, 20, 32), OK);
    assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, 4, &wide, 8, &n_bytes), OK);
    assert_int_equal(wide, 32);
    assert_int_equal(n_bytes, 8);
    assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, 5, &narrow, 4, NULL), OK);
    assert_int_equal(narrow, 1); /* batch count by default */
    wide = 600;
    assert_int_equal(cublasLtMatrixLayoutSetAttribute(layout, 6, &wide, 8), OK);
    wide = 0;
    assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, 6, &wide, 8, NULL), OK);
    assert_int_equal(wide, 600);
    assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, 6, NULL, 0, &n_bytes), OK);
    assert_int_equal(n_bytes, 8);
    assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, 6, &narrow, 4, NULL), INVALID_VALUE);
    assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, 6, NULL, 0, NULL), INVALID_VALUE);
    assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, 99, &wide, 8, NULL), INVALID_VALUE);
    assert_int_equal(cublasLtMatrixLayoutSetAttribute(layout, 6, &narrow, 4), INVALID_VALUE);
    assert_int_equal(cublasLtMatrixLayoutDestroy(layout), OK);
}

static int described(const void *description, int attribute) {
    int value = 99;
    assert_int_equal(cublasLtMatmulDescGetAttribute(description, attribute, &value, 4, NULL), OK);
    return value;
}

static void attributes_of_a_product_are_read_back(void **state) {
    void *description = NULL, *pointer = card;
    int mode = 2;
    signed char is_fast = 1;
    (void)state;
    assert_int_equal(cublasLtMatmulDescCreate(&description, 68, 1), OK);
    assert_int_equal(described(description, 0), 68);
    assert_int_equal(described(description, 1), 1);
    assert_int_equal(described(description, 6), 2);   /* the full matrix */
    assert_int_equal(described(description, 7), 1);   /* no special epilogue */
    assert_int_equal(described(description, 26), -1); /* the bias's type is the output's */
    assert_int_equal(cublasLtMatmulDescSetAttribute(description, 20, &pointer, 8), OK);
    assert_int_equal(cublasLtMatmulDescSetAttribute(description, 25, &is_fast, 1), OK);
    assert_int_equal(cublasLtMatmulDescSetAttribute(description, 33, &mode, 4), OK);
    pointer = NULL;
    is_fast = 0;
    assert_int_equal(cublasLtMatmulDescGetAttribute(description, 20, &pointer, 8, NULL), OK);
    assert_int_equal(cublasLtMatmulDescGetAttribute(description, 25, &is_fast, 1, NULL), OK);
    assert_ptr_equal(pointer, card);
    assert_int_equal(is_fast, 1);
    assert_int_equal(described(description, 33), 2);
    assert_int_equal(described(description, 32), 0);
    assert_int_equal(cublasLtMatmulDescDestroy(description), OK);
}

/* A program for an older cuBLASLt has less room on its stack. */
static void a_short_description_is_not_exceeded(void **state) {
    uint64_t room[12];
    int value = 7;
    (void)state;
    memset(room, 0x55, sizeof(room));
    assert_int_equal(cublasLtMatmulDescInit_internal(room, 88, 68, 0), OK);
    assert_int_equal(cublasLtMatmulDescSetAttribute(room, 3, &value, 4), OK);
    assert_int_equal(described(room, 3), 7);
    for (int i = 0; i < 40; i++) {
        (void)cublasLtMatmulDescSetAttribute(room, i, room, 8);
    }
    assert_true(room[11] == 0x5555555555555555ULL);
}

static void attributes_of_a_preference_are_read_back(void **state) {
    void *preference = NULL;
    uint64_t wide = 32 << 20;
    int narrow = 0;
    (void)state;
    assert_int_equal(cublasLtMatmulPreferenceCreate(&preference), OK);
    assert_int_equal(cublasLtMatmulPreferenceSetAttribute(preference, 1, &wide, 8), OK);
    wide = 0;
    assert_int_equal(cublasLtMatmulPreferenceGetAttribute(preference, 1, &wide, 8, NULL), OK);
    assert_int_equal(wide, 32 << 20);
    assert_int_equal(cublasLtMatmulPreferenceGetAttribute(preference, 8, &narrow, 4, NULL), OK);
    assert_int_equal(narrow, 256);
    assert_int_equal(cublasLtMatmulPreferenceGetAttribute(preference, 12, &wide, 8, NULL), OK);
    assert_true(wide == UINT64_MAX);
    assert_int_equal(cublasLtMatmulPreferenceDestroy(preference), OK);
    assert_int_equal(n_handles, 0);
}

/* --- cuFFT --- */

enum { C2C = 0x29, MOST_PLANS = 1 << 14, ALLOC_FAILED = 2 };

static void numbers_of_plans_are_used_again(void **state) {
    int first = 0, plan = 0, n = 0;
    size_t n_bytes = 9;
    (void)state;
    assert_int_equal(cufftCreate(&first), OK);
    assert_int_equal(cufftDestroy(first), OK);
    assert_int_equal(cufftDestroy(first), OK); /* the number is free once */
    for (int i = 0; i < MOST_PLANS; i++) {
        assert_int_equal(cufftCreate(&plan), OK);
        assert_int_equal(plan, first);
        assert_int_equal(cufftGetSize(plan, &n_bytes), OK);
        assert_int_equal(cufftDestroy(plan), OK);
    }
    last_refused = "";
    while (n < MOST_PLANS && cufftCreate(&plan) == OK) {
        n++;
    }
    assert_int_equal(n, MOST_PLANS - 1);
    assert_string_equal(last_refused, "cufftCreate");
    for (int i = 1; i < MOST_PLANS; i++) {
        assert_int_equal(cufftDestroy(i), OK);
    }
    assert_int_equal(cufftPlan1d(NULL, 8, C2C, 1), 4);
}

static void a_lent_work_area_replaces_the_plans(void **state) {
    int plan = 0;
    (void)state;
    assert_int_equal(cufftPlan1d(&plan, 3 * 5 * 7, C2C, 2), OK);
    n_freed = 0;
    assert_int_equal(cufftSetWorkArea(plan, card + 512), OK);
    assert_int_equal(n_freed, 1);
    n_touched = 0;
    assert_int_equal(cufftExecC2C(plan, card + 64, card + 128, 1), OK);
    assert_int_equal(n_touched, 3);
    assert_ptr_equal(touched[2], card + 512);
    assert_int_equal(cufftDestroy(plan), OK);
    assert_int_equal(n_freed, 1); /* not a second time */
}

/* --- cuSOLVER, cuSPARSE, NVML --- */

static void residuals_are_zero_and_reported(void **state) {
    double residuals[4] = {7, 7, 7, 7};
    int info = 7;
    (void)state;
    assert_int_equal(cusolverDnXgesvdjGetResidual(NULL, NULL, residuals), OK);
    assert_true(residuals[0] == 0 && residuals[1] == 7);
    assert_string_equal(last_inexact, "cusolverDnXgesvdjGetResidual");
    residuals[0] = 7;
    assert_int_equal(cusolverDnSgesvdaStridedBatched(NULL, 0, 0, 1, 1, NULL, 1, 1, NULL, 1, NULL, 1,
                                                     1, NULL, 1, 1, NULL, 0, &info, residuals, 3),
                     OK);
    assert_true(residuals[0] == 0 && residuals[2] == 0 && residuals[3] == 7);
    assert_string_equal(last_inexact, "cusolverDnSgesvdaStridedBatched");
}

static void sizes_of_sparse_products_are_written(void **state) {
    size_t sizes[3] = {7, 7, 7};
    int64_t n = 7;
    (void)state;
    assert_int_equal(cusparseSpGEMMreuse_nnz(NULL, 0, 0, NULL, NULL, NULL, 0, NULL, &sizes[0], NULL,
                                             &sizes[1], NULL, &sizes[2], NULL),
                     OK);
    assert_int_equal(sizes[0] + sizes[1] + sizes[2], 0);
    assert_string_equal(last_inexact, "cusparseSpGEMMreuse_nnz");
    last_inexact = "";
    void *c = NULL;
    int64_t rows = 0, columns = 0, nonzero = 9;
    assert_int_equal(cusparseCreateCsr(&c, 2, 3, 0, NULL, NULL, NULL, 2, 2, 0, 0), OK);
    assert_int_equal(cusparseSpMatGetSize(c, &rows, &columns, &nonzero), OK);
    assert_string_equal(last_inexact, ""); /* the program's own */
    (void)cusparseSpGEMM_compute(NULL, 0, 0, NULL, NULL, NULL, NULL, c, 0, 0, NULL, &sizes[0],
                                 NULL);
    assert_int_equal(cusparseSpMatGetSize(c, &rows, &columns, &nonzero), OK);
    assert_int_equal(nonzero, 0);
    assert_string_equal(last_inexact, "cusparseSpMatGetSize");
    assert_int_equal(cusparseDestroySpMat(c), OK);
    assert_int_equal(cusparseSpGEMM_getNumProducts(NULL, &n), 10);
    assert_string_equal(last_refused, "cusparseSpGEMM_getNumProducts");
}

static void a_planned_product_makes_its_result_unknown(void **state) {
    void *c = NULL, *plan = NULL;
    size_t n_bytes = 7;
    (void)state;
    assert_int_equal(cusparseCreateDnMat(&c, 2, 2, 2, card, 0, 1), OK);
    assert_int_equal(cusparseSpMMOp_createPlan(NULL, &plan, 0, 0, NULL, NULL, c, 0, 0, NULL, 0,
                                               NULL, 0, NULL, 0, &n_bytes),
                     OK);
    assert_int_equal(n_bytes, 0);
    assert_string_equal(last_inexact, "cusparseSpMMOp_createPlan");
    assert_int_equal(cusparseDnMatSetValues(c, card + 256), OK);
    assert_int_equal(cusparseSpMMOp(plan, NULL), OK);
    assert_int_equal(n_touched, 1);
    assert_ptr_equal(touched[0], card + 256);
    assert_int_equal(cusparseSparseToDense(NULL, NULL, c, 0, NULL), OK);
    assert_int_equal(n_touched, 2);
    assert_int_equal(cusparseSpMMOp_destroyPlan(plan), OK);
    assert_int_equal(cusparseDestroyDnMat(c), OK);
    assert_int_equal(n_handles, 0);
}

static void a_scalar_result_is_written_where_it_is(void **state) {
    float result[2] = {7, 7};
    double wide[3] = {7, 7, 7};
    (void)state;
    assert_int_equal(cusparseSpVV(NULL, 0, NULL, NULL, result, 0, NULL), OK);
    assert_true(result[0] == 0 && result[1] == 7);
    assert_int_equal(cusparseSpVV(NULL, 0, NULL, NULL, wide, 5, NULL), OK);
    assert_true(wide[0] == 0 && wide[1] == 0 && wide[2] == 7);
    assert_int_equal(n_touched, 0);
    assert_int_equal(cusparseSpVV(NULL, 0, NULL, NULL, card, 0, NULL), OK);
    assert_int_equal(n_touched, 1);
}

static void no_pivot_is_zero(void **state) {
    int on_host = 7, *on_card = (int *)(void *)card;
    (void)state;
    assert_int_equal(cusparseXbsrsm2_zeroPivot(NULL, NULL, &on_host), OK);
    assert_int_equal(on_host, -1);
    n_written = 0;
    assert_int_equal(cusparseXcsrilu02_zeroPivot(NULL, NULL, on_card), OK);
    assert_int_equal(*on_card, -1);
    assert_int_equal(n_written, 1); /* as a known value of the card, not through its address */
}

static void computing_is_not_confidential(void **state) {
    unsigned settings[4] = {7, 7, 7, 7};
    (void)state;
    assert_int_equal(nvmlSystemGetConfComputeState(settings), OK);
    assert_int_equal(settings[0] + settings[1] + settings[2], 0);
    assert_int_equal(settings[3], 7);
}

#define TEST(name) cmocka_unit_test_setup(name, forget)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(attributes_of_a_layout_are_read_back),
        TEST(attributes_of_a_product_are_read_back),
        TEST(a_short_description_is_not_exceeded),
        TEST(attributes_of_a_preference_are_read_back),
        TEST(numbers_of_plans_are_used_again),
        TEST(a_lent_work_area_replaces_the_plans),
        TEST(residuals_are_zero_and_reported),
        TEST(sizes_of_sparse_products_are_written),
        TEST(a_planned_product_makes_its_result_unknown),
        TEST(a_scalar_result_is_written_where_it_is),
        TEST(no_pivot_is_zero),
        TEST(computing_is_not_confidential),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
