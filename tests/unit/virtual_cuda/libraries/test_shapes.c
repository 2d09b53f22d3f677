/* test_shapes.c - what programs decide by: shapes of cuDNN, work areas that cuFFT allocates, sizes
 * of 64 bits, values of descriptors of cuSPARSE. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/virtual_cuda/libraries/fake_core.h"

enum { OK = 0 };

int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes);
int cublasLtMatrixLayoutGetAttribute(void *layout, int attribute, void *value, size_t bytes,
                                     size_t *written);
int cublasLtMatrixLayoutDestroy(void *layout);
int cublasLtMatmulDescCreate(void **description, int compute, int scale_type);
int cublasLtMatmulDescGetAttribute(void *description, int attribute, void *value, size_t bytes,
                                   size_t *written);
int cublasLtMatmulDescDestroy(void *description);
int cudnnCreateTensorDescriptor(void **ret);
int cudnnCreateFilterDescriptor(void **ret);
int cudnnCreateConvolutionDescriptor(void **ret);
int cudnnCreatePoolingDescriptor(void **ret);
int cudnnDestroyTensorDescriptor(void *tensor);
int cudnnDestroyFilterDescriptor(void *filter);
int cudnnDestroyConvolutionDescriptor(void *convolution);
int cudnnDestroyPoolingDescriptor(void *pooling);
int cudnnSetTensor4dDescriptor(void *tensor, int format, int type, int n, int c, int h, int w);
int cudnnGetTensor4dDescriptor(const void *tensor, int *type, int *n, int *c, int *h, int *w,
                               int *n_step, int *c_step, int *h_step, int *w_step);
int cudnnGetTensorSizeInBytes(const void *tensor, size_t *ret_bytes);
int cudnnSetFilter4dDescriptor(void *filter, int type, int format, int k, int c, int h, int w);
int cudnnSetConvolution2dDescriptor(void *convolution, int pad_h, int pad_w, int step_h, int step_w,
                                    int dilation_h, int dilation_w, int mode, int type);
int cudnnGetConvolution2dForwardOutputDim(const void *convolution, const void *x, const void *w,
                                          int *n, int *c, int *h, int *ret_w);
int cudnnSetPooling2dDescriptor(void *pooling, int mode, int nan, int h, int w, int pad_h,
                                int pad_w, int step_h, int step_w);
int cudnnGetPooling2dForwardOutputDim(const void *pooling, const void *x, int *n, int *c, int *h,
                                      int *w);
int cufftPlan1d(int *ret_plan, int n, int type, int n_transforms);
int cufftCreate(int *ret_plan);
int cufftSetAutoAllocation(int plan, int is_automatic);
int cufftMakePlan1d(int plan, int n, int type, int n_transforms, size_t *ret_bytes);
int cufftGetSize(int plan, size_t *ret_bytes);
int cufftExecC2C(int plan, void *input, void *output, int direction);
int cublasSgemm_v2_64(void *handle, int ta, int tb, int64_t m, int64_t n, int64_t k,
                      const float *alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                      const float *beta, float *c, int64_t ldc);
int cublasGetStream_v2(const void *handle, void **ret_stream);
int cublasSetStream_v2(void *handle, void *stream);
int cublasCreate_v2(void **ret_handle);
int cublasDestroy_v2(void *handle);
int cusparseCreateConstDnVec(void **ret, int64_t n, const void *values, int type);
int cusparseDestroyDnVec(void *vector);
int cusparseConstDnVecGetValues(const void *vector, const void **ret_values);
int cusparseXcsrilu02_zeroPivot(void *handle, void *info, int *ret_position);

static void cudnn_computes_shapes(void **state) {
    (void)state;
    enum { NCHW = 0, NHWC = 1, FP16 = 2 };
    void *x = NULL, *w = NULL, *convolution = NULL, *pooling = NULL;
    int n = 0, c = 0, h = 0, width = 0, type = 0, steps[4];
    size_t n_bytes = 0;
    assert_int_equal(cudnnCreateTensorDescriptor(&x), OK);
    assert_int_equal(cudnnCreateFilterDescriptor(&w), OK);
    assert_int_equal(cudnnCreateConvolutionDescriptor(&convolution), OK);
    assert_int_equal(cudnnCreatePoolingDescriptor(&pooling), OK);
    assert_int_equal(cudnnSetTensor4dDescriptor(x, NHWC, FP16, 2, 3, 224, 200), OK);
    assert_int_equal(cudnnGetTensor4dDescriptor(x, &type, &n, &c, &h, &width, &steps[0], &steps[1],
                                                &steps[2], &steps[3]),
                     OK);
    assert_int_equal(steps[0], 3 * 224 * 200);
    assert_int_equal(steps[1], 1);
    assert_int_equal(steps[2], 3 * 200);
    assert_int_equal(steps[3], 3);
    assert_int_equal(cudnnGetTensorSizeInBytes(x, &n_bytes), OK);
    assert_int_equal(n_bytes, 2 * 3 * 224 * 200 * 2);

    assert_int_equal(cudnnSetFilter4dDescriptor(w, FP16, NCHW, 64, 3, 7, 5), OK);
    assert_int_equal(cudnnSetConvolution2dDescriptor(convolution, 3, 2, 2, 1, 1, 2, 1, 0), OK);
    assert_int_equal(cudnnGetConvolution2dForwardOutputDim(convolution, x, w, &n, &c, &h, &width),
                     OK);
    assert_int_equal(n, 2);
    assert_int_equal(c, 64);
    assert_int_equal(h, 1 + (224 + 2 * 3 - 7) / 2);
    assert_int_equal(width, 1 + (200 + 2 * 2 - ((5 - 1) * 2 + 1)) / 1);

    assert_int_equal(cudnnSetPooling2dDescriptor(pooling, 0, 0, 3, 2, 1, 0, 2, 2), OK);
    assert_int_equal(cudnnGetPooling2dForwardOutputDim(pooling, x, &n, &c, &h, &width), OK);
    assert_int_equal(c, 3);
    assert_int_equal(h, 1 + (224 + 2 - 3) / 2);
    assert_int_equal(width, 1 + (200 - 2) / 2);
    assert_int_equal(cudnnDestroyPoolingDescriptor(pooling), OK);
    assert_int_equal(cudnnDestroyConvolutionDescriptor(convolution), OK);
    assert_int_equal(cudnnDestroyFilterDescriptor(w), OK);
    assert_int_equal(cudnnDestroyTensorDescriptor(x), OK);
}

static void a_plan_of_cufft_measures_its_work_area(void **state) {
    (void)state;
    enum { C2C = 0x29, BAD_TYPE = 0x77, ALLOC_FAILED = 2, INVALID_TYPE = 3 };
    int plan = 0;
    size_t n_bytes = 0;
    assert_int_equal(cufftPlan1d(&plan, 3 * 5 * 7, C2C, 2), OK);
    assert_true(plan > 0);
    assert_string_equal(last_inexact, "cufftPlan1d");
    assert_int_equal(cufftGetSize(plan, &n_bytes), OK);
    assert_int_equal(n_bytes, 3 * 5 * 7 * 2 * 8);
    /* The library allocates the area, which is larger than the card, unless the program does. */
    assert_int_equal(cufftCreate(&plan), OK);
    assert_int_equal(cufftMakePlan1d(plan, 3 << 20, C2C, 1, &n_bytes), ALLOC_FAILED);
    assert_int_equal(cufftSetAutoAllocation(plan, 0), OK);
    assert_int_equal(cufftMakePlan1d(plan, 3 << 20, C2C, 1, &n_bytes), OK);
    assert_int_equal(n_bytes, (size_t)(3 << 20) * 8);
    assert_int_equal(cufftExecC2C(plan, card, card + 64, -1), OK);
    assert_int_equal(n_touched, 2);
    assert_int_equal(cufftPlan1d(&plan, 16, BAD_TYPE, 1), INVALID_TYPE);
}

static void sizes_of_64_bits_are_read(void **state) {
    (void)state;
    void *handle = NULL;
    void *stream = NULL;
    assert_int_equal(cublasCreate_v2(&handle), OK);
    assert_int_equal(cublasSetStream_v2(handle, card + 8), OK);
    assert_int_equal(cublasGetStream_v2(handle, &stream), OK);
    assert_ptr_equal(stream, card + 8);
    assert_int_equal(cublasSgemm_v2_64(handle, 0, 1, 300, (int64_t)5 << 32, 7, NULL, NULL, 300,
                                       NULL, 7, NULL, (float *)(void *)card, 300),
                     OK);
    assert_int_equal(n_launches, 1);
    assert_int_equal(launches[0].m, 300);
    assert_int_equal(launches[0].n, INT32_MAX); /* at most */
    assert_int_equal(launches[0].k, 7);
    assert_int_equal(cublasDestroy_v2(handle), OK);
}

static void cusparse_returns_what_it_was_given(void **state) {
    (void)state;
    void *vector = NULL;
    const void *values = NULL;
    int position = 0;
    assert_int_equal(cusparseCreateConstDnVec(&vector, 10, card, 0), OK);
    assert_int_equal(cusparseConstDnVecGetValues(vector, &values), OK);
    assert_ptr_equal(values, card);
    assert_int_equal(cusparseXcsrilu02_zeroPivot(NULL, NULL, &position), OK);
    assert_int_equal(position, -1);
    assert_int_equal(cusparseDestroyDnVec(vector), OK);
}

/* What XLA reads back: sizes, the leading dimension and modes. */
static void attributes_of_cublaslt_are_kept(void **state) {
    (void)state;
    enum { LAYOUT_LD = 4, LAYOUT_STRIDE = 6, OTHER = 99 };
    enum { SCALE_TYPE = 1, EPILOGUE = 7, BIAS_POINTER = 8, INVALID = 7 };
    void *layout = NULL;
    void *description = NULL;
    int64_t value = -1;
    int mode = -1;
    size_t written = 0;
    const int64_t stride = 400;
    assert_int_equal(cublasLtMatrixLayoutCreate(&layout, 14, 40, 10, 64), OK);
    assert_int_equal(cublasLtMatrixLayoutSetAttribute(layout, LAYOUT_STRIDE, &stride, 8), OK);
    assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, LAYOUT_LD, &value, 8, &written), OK);
    assert_int_equal(value, 64);
    assert_int_equal(written, 8);
    assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, LAYOUT_STRIDE, &value, 8, NULL), OK);
    assert_int_equal(value, 400);
    assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, LAYOUT_LD, NULL, 0, &written), OK);
    assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, LAYOUT_LD, &value, 4, NULL), INVALID);
    assert_int_equal(cublasLtMatrixLayoutGetAttribute(layout, OTHER, &value, 8, NULL), INVALID);
    assert_int_equal(cublasLtMatmulDescCreate(&description, 68, 14), OK);
    assert_int_equal(cublasLtMatmulDescGetAttribute(description, SCALE_TYPE, &mode, 4, NULL), OK);
    assert_int_equal(mode, 14);
    assert_int_equal(cublasLtMatmulDescGetAttribute(description, EPILOGUE, &mode, 4, NULL), OK);
    assert_int_equal(mode, 1); /* the default: none */
    assert_int_equal(cublasLtMatmulDescGetAttribute(description, BIAS_POINTER, &value, 8, NULL),
                     OK);
    assert_int_equal(value, 0);
    assert_int_equal(cublasLtMatmulDescDestroy(description), OK);
    assert_int_equal(cublasLtMatrixLayoutDestroy(layout), OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(attributes_of_cublaslt_are_kept, forget),
        cmocka_unit_test_setup(cudnn_computes_shapes, forget),
        cmocka_unit_test_setup(a_plan_of_cufft_measures_its_work_area, forget),
        cmocka_unit_test_setup(sizes_of_64_bits_are_read, forget),
        cmocka_unit_test_setup(cusparse_returns_what_it_was_given, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
