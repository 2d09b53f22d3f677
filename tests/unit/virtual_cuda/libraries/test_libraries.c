/* test_libraries.c - functions of NVIDIA's libraries as a program calls them, with the core of the
 * virtual card replaced by counters: outputs are written, handles are made, refusals are
 * reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/virtual_cuda/libraries/fake_core.h"
#include "programs/virtual_cuda/libraries/list.h"

/* --- prototypes as in NVIDIA's headers --- */

typedef struct file_error {
    int status, cuda;
} file_error;

int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSetMathMode(void *handle, int mode);
int cublasGetMathMode(void *handle, int *mode);
int cublasSdot_v2(void *handle, int n, const float *x, int incx, const float *y, int incy,
                  float *result);
int cublasDscal_v2(void *handle, int n, const double *alpha, double *x, int incx);
int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
                   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
                   int ldc);
int cublasGemmStridedBatchedEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                               const void *a, int a_type, int lda, long long a_stride,
                               const void *b, int b_type, int ldb, long long b_stride,
                               const void *beta, void *c, int c_type, int ldc, long long c_stride,
                               int count, int compute, int algorithm);
int cublasGetMatrixAsync(int rows, int columns, int bytes, const void *a, int lda, void *b, int ldb,
                         void *stream);
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *product, void *a, void *b, void *c, void *d,
                                   void *preference, int wanted, void *results, int *found);
int cublasSetWorkspace_v2(void *handle, void *workspace, size_t n_bytes);
int cublasLtMatmul(void *handle, void *product, const void *alpha, const void *a, void *a_layout,
                   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                   void *d, void *d_layout, const void *algorithm, void *workspace, size_t n_bytes,
                   void *stream);
int cublasLtMatmulAlgoConfigGetAttribute(const void *algo, int attribute, void *buffer,
                                         size_t bytes, size_t *written);
int cusolverDnSgetrf_bufferSize(void *handle, int m, int n, float *a, int lda, int *lwork);
int cusolverDnXgesvdjSetTolerance(void *info, double tolerance);
int cusparseCreateDnMat(void **matrix, int64_t rows, int64_t columns, int64_t ld, void *values,
                        int type, int order);
int cusparseDestroyDnMat(const void *matrix);
int cusparseSpMM(void *handle, int ta, int tb, const void *alpha, const void *a, const void *b,
                 const void *beta, void *c, int type, int algorithm, void *buffer);
int cufftCreate(int *plan);
int cufftSetAutoAllocation(int plan, int is_automatic);
int cufftXtMakePlanMany(int plan, int rank, long long *n, long long *inembed, long long istride,
                        long long idist, int in, long long *onembed, long long ostride,
                        long long odist, int out, long long batch, size_t *work, int execution);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes, void **record);
file_error cuFileBufRegister(const void *buffer, size_t bytes, int flags);
void *nvshmem_malloc(size_t bytes);
int cudnnCreateRNNDescriptor(void **rnn);
int cudnnDestroyRNNDescriptor(void *rnn);
int cudnnCreateTensorDescriptor(void **tensor);
int cudnnDestroyTensorDescriptor(void *tensor);
int cudnnGetTensorNdDescriptor(const void *tensor, int wanted, int *type, int *n, int *lengths,
                               int *steps);
int cudnnSetRNNDescriptor_v8(void *rnn, int algo, int cell, int bias, int direction, int input_mode,
                             int type, int precision, int math, int32_t input, int32_t hidden,
                             int32_t projected, int32_t layers, void *dropout, uint32_t flags);
int cudnnGetRNNWeightSpaceSize(void *handle, void *rnn, size_t *bytes);
int cudnnGetRNNWeightParams(void *handle, void *rnn, int32_t pseudo, size_t bytes,
                            const void *weights, int32_t id, void *matrix, void **matrix_at,
                            void *bias, void **bias_at);
int cudnnDropoutGetStatesSize(void *handle, size_t *bytes);
int cudnnGetConvolutionForwardAlgorithm_v7(void *handle, const void *x, const void *w,
                                           const void *convolution, const void *y, int wanted,
                                           int *found, void *results);
int cudnnBackendCreateDescriptor(int type, void **descriptor);
int cudnnBackendDestroyDescriptor(void *descriptor);
int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t n, const void *values);
int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t wanted, int64_t *n,
                             void *values);
int cudnnBackendExecute(void *handle, void *plan, void *pack);

/* --- tests --- */

static void test_a_handle_is_made_and_keeps_its_mode(void **state) {
    void *handle = NULL;
    int mode = -1;
    (void)state;
    assert_int_equal(cublasCreate_v2(&handle), 0);
    assert_non_null(handle);
    assert_int_equal(cublasSetMathMode(handle, 3), 0);
    assert_int_equal(cublasGetMathMode(handle, &mode), 0);
    assert_int_equal(mode, 3);
    assert_int_equal(cublasDestroy_v2(handle), 0);
    assert_int_equal(n_handles, 0);
}

static void test_outputs_become_zero_or_unknown(void **state) {
    float result[2] = {7.0F, 7.0F}, *on_card = (float *)(void *)card;
    double alpha = 2.0, *doubles = (double *)(void *)(card + 64);
    (void)state;
    assert_int_equal(cublasSdot_v2(NULL, 1, on_card, 1, on_card, 1, result), 0);
    assert_true(result[0] >= 0.0F && result[0] <= 0.0F);
    assert_true(result[1] > 6.0F); /* not a byte more */
    assert_int_equal(n_touched, 0);
    assert_int_equal(cublasSdot_v2(NULL, 1, on_card, 1, on_card, 1, on_card + 4), 0);
    assert_int_equal(cublasDscal_v2(NULL, 1, &alpha, doubles, 1), 0);
    assert_int_equal(n_touched, 2);
    assert_ptr_equal(touched[0], on_card + 4);
    assert_ptr_equal(touched[1], doubles);
}

/* The result of a product is far down the caller's stack. */
static void test_arguments_on_the_stack_are_found(void **state) {
    float one = 1.0F, *a = (float *)(void *)card, *c = a + 100;
    (void)state;
    assert_int_equal(cublasSgemm_v2(NULL, 0, 0, 1, 1, 1, &one, a, 1, a + 1, 1, &one, c, 1), 0);
    assert_int_equal(cublasGemmStridedBatchedEx(NULL, 0, 0, 1, 1, 1, &one, a, 0, 1, 1, a + 1, 0, 1,
                                                1, &one, c + 1, 0, 1, 1, 1, 68, -1),
                     0);
    assert_int_equal(n_touched, 2);
    assert_ptr_equal(touched[0], c);
    assert_ptr_equal(touched[1], c + 1);
}

static void test_a_matrix_is_copied_by_column(void **state) {
    unsigned char to[64];
    (void)state;
    assert_int_equal(cublasGetMatrixAsync(3, 5, 4, card, 10, to, 3, NULL), 0);
    assert_int_equal(copied_width, 12);
    assert_int_equal(copied_height, 5);
    assert_int_equal(copied_pitch, 40);
}

static void test_unknown_work_areas_are_zero_and_said(void **state) {
    int words[2] = {-5, -5};
    size_t work = 5;
    long long lengths[] = {64, 64};
    (void)state;
    assert_int_equal(cusolverDnSgetrf_bufferSize(NULL, 8, 8, NULL, 8, words), 0);
    assert_int_equal(words[0], 0);
    assert_int_equal(words[1], -5);
    assert_string_equal(last_inexact, "cusolverDnSgetrf_bufferSize");
    assert_int_equal(cufftSetAutoAllocation(1, 0), 0);
    assert_int_equal(cufftXtMakePlanMany(1, 2, lengths, NULL, 1, 1, 4, NULL, 1, 1, 4, 3, &work, 4),
                     0);
    assert_int_equal(work, 3 * 64 * 64 * 8);
    assert_string_equal(last_inexact, "cufftXtMakePlanMany");
    assert_int_equal(cusolverDnXgesvdjSetTolerance(NULL, 1e-6), 0);
}

static void test_one_algorithm_without_a_workspace(void **state) {
    struct {
        uint64_t algorithm[8];
        size_t workspace;
        int status;
        float waves;
        int reserved[4], after;
    } found;
    uint64_t value = 9;
    size_t written = 9;
    int n = 0;
    (void)state;
    memset(&found, 0x55, sizeof(found));
    assert_int_equal(
        cublasLtMatmulAlgoGetHeuristic(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, &found, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(found.workspace, 0);
    assert_int_equal(found.status, 0);
    assert_int_equal(found.after, 0x55555555);
    assert_int_equal(cublasLtMatmulAlgoConfigGetAttribute(found.algorithm, 0, &value, 4, &written),
                     0);
    assert_int_equal(value, 0); /* the lower half became 0, the upper was 0 */
    assert_int_equal(written, 0);
}

static void test_workspaces_that_the_program_lends_are_remembered(void **state) {
    (void)state;
    assert_int_equal(cublasSetWorkspace_v2(NULL, card + 64, 1024), 0);
    assert_ptr_equal(last_workspace, card + 64);
    assert_int_equal(last_workspace_bytes, 1024);
    assert_int_equal(last_lent, TIDE_VC_BY_HANDLE);
    assert_int_equal(cublasLtMatmul(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                    card, NULL, NULL, card + 128, 2048, NULL),
                     0);
    assert_ptr_equal(last_workspace, card + 128);
    assert_int_equal(last_workspace_bytes, 2048);
    assert_int_equal(last_lent, TIDE_VC_BY_CALL);
}

static void test_a_sparse_product_makes_its_result_unknown(void **state) {
    void *b = NULL, *c = NULL;
    float one = 1.0F;
    (void)state;
    assert_int_equal(cusparseCreateDnMat(&b, 2, 2, 2, card, 0, 1), 0);
    assert_int_equal(cusparseCreateDnMat(&c, 2, 2, 2, card + 256, 0, 1), 0);
    assert_int_equal(n_touched, 0);
    assert_int_equal(cusparseSpMM(NULL, 0, 0, &one, NULL, b, &one, c, 0, 0, NULL), 0);
    assert_int_equal(n_touched, 1);
    assert_ptr_equal(touched[0], card + 256);
    cusparseDestroyDnMat(b);
    cusparseDestroyDnMat(c);
    assert_int_equal(n_handles, 0);
}

static void test_refusals_are_said(void **state) {
    (void)state;
    assert_int_equal(cuFileBufRegister(card, 8, 0).status, 5007);
    assert_string_equal(last_refused, "cuFileBufRegister");
    assert_null(nvshmem_malloc(8));
    assert_string_equal(last_refused, "nvshmem_malloc");
}

static void test_no_record_is_an_end_and_not_a_failure(void **state) {
    void *record = card;
    uint8_t buffer[8];
    (void)state;
    assert_int_equal(cuptiActivityGetNextRecord(buffer, sizeof(buffer), &record), 12);
    assert_null(record);
}

/* An LSTM of 10 inputs and 6 hidden values, two layers: PyTorch has 4*6*(10+6)+4*6*(6+6) weights
 * and 2*2*4*6 biases. */
static void test_weights_of_an_lstm_lie_as_pytorch_expects(void **state) {
    void *rnn = NULL, *tensor = NULL, *at = NULL, *bias_at = NULL;
    size_t bytes = 0;
    int type = -1, n = 0, lengths[5] = {9, 9, 9, 9, 9}, steps[5];
    (void)state;
    assert_int_equal(cudnnCreateRNNDescriptor(&rnn), 0);
    assert_int_equal(cudnnCreateTensorDescriptor(&tensor), 0);
    assert_int_equal(cudnnSetRNNDescriptor_v8(rnn, 0, 2, 2, 0, 0, 0, 0, 0, 10, 6, 6, 2, NULL, 0),
                     0);
    assert_int_equal(cudnnGetRNNWeightSpaceSize(NULL, rnn, &bytes), 0);
    assert_int_equal(bytes, (4 * 6 * (10 + 6) + 4 * 6 * (6 + 6) + 2 * 2 * 4 * 6) * 4);
    assert_int_equal(cudnnGetRNNWeightParams(NULL, rnn, 1, bytes, card, 5, tensor, &at, NULL, NULL),
                     0);
    assert_ptr_equal(at, card + (4 * 6 * (10 + 6) + 4 * 6 * 6 + 6 * 6) * 4);
    assert_int_equal(cudnnGetTensorNdDescriptor(tensor, 5, &type, &n, lengths, steps), 0);
    assert_int_equal(n, 3);
    assert_int_equal(lengths[1], 6);
    assert_int_equal(lengths[2], 6);
    assert_int_equal(lengths[4], 0);
    assert_int_equal(
        cudnnGetRNNWeightParams(NULL, rnn, 1, bytes, card, 5, NULL, NULL, tensor, &bias_at), 0);
    assert_ptr_equal(bias_at, card + (4 * 6 * (10 + 6) + 4 * 6 * (6 + 6) + 8 * 6 + 5 * 6) * 4);
    cudnnDestroyRNNDescriptor(rnn);
    cudnnDestroyTensorDescriptor(tensor);
    assert_int_equal(n_handles, 0);
}

static void test_convolutions_and_dropout_say_what_is_not_known(void **state) {
    unsigned char found[64];
    size_t bytes = 0, workspace = 1;
    int n = 0;
    (void)state;
    memset(found, 0x55, sizeof(found));
    assert_int_equal(
        cudnnGetConvolutionForwardAlgorithm_v7(NULL, NULL, NULL, NULL, NULL, 8, &n, found), 0);
    assert_int_equal(n, 1);
    memcpy(&workspace, found + 16, sizeof(workspace));
    assert_int_equal(workspace, 0);
    assert_int_equal(found[48], 0x55);
    assert_string_equal(last_inexact, "cudnnGetConvolutionForwardAlgorithm_v7");
    assert_int_equal(cudnnDropoutGetStatesSize(NULL, &bytes), 0);
    assert_int_equal(bytes, 132 * 2048 * 24);
}

static void test_attributes_of_a_graph_are_kept(void **state) {
    void *pack = NULL, *engine = card, *data[] = {card, card + 16};
    int64_t uids[] = {11, 12, 13}, got[2] = {0, 0}, n = 0;
    (void)state;
    assert_int_equal(cudnnBackendCreateDescriptor(7, &pack), 0);
    assert_int_equal(cudnnBackendSetAttribute(pack, 1000, 3, 3, uids), 0);
    assert_int_equal(cudnnBackendSetAttribute(pack, 1001, 6, 1, data), 0);
    assert_int_equal(cudnnBackendSetAttribute(pack, 1001, 6, 2, data), 0);
    assert_int_equal(cudnnBackendGetAttribute(pack, 1000, 3, 2, &n, got), 0);
    assert_int_equal(n, 3);
    assert_int_equal(got[1], 12);
    assert_int_equal(cudnnBackendGetAttribute(pack, 300, 15, 1, &n, &engine), 0);
    assert_int_equal(n, 1);
    assert_ptr_equal(engine, card); /* the caller's descriptor stays its own */
    assert_int_equal(cudnnBackendGetAttribute(pack, 402, 3, 1, &n, got), 0);
    assert_int_equal(got[0], 0);
    assert_string_equal(last_inexact, "cudnnBackendGetAttribute");
    assert_int_equal(cudnnBackendExecute(NULL, pack, pack), 0);
    assert_int_equal(n_touched, 2);
    assert_ptr_equal(touched[1], card + 16);
    assert_int_equal(cudnnBackendDestroyDescriptor(pack), 0);
}

int curandCreateGenerator(void **generator, int type);
int curandCreateGeneratorHost(void **generator, int type);
int curandGenerateNormal(void *generator, float *output, size_t n, float mean, float deviation);
int curandDestroyGenerator(void *generator);

static void test_random_numbers_are_not_made(void **state) {
    void *generator = NULL;
    (void)state;
    assert_int_equal(curandCreateGenerator(&generator, 100), 0);
    assert_non_null(generator);
    assert_string_equal(last_inexact, "curandCreateGenerator");
    assert_int_equal(curandGenerateNormal(generator, (float *)(void *)(card + 8), 2, 0, 1), 0);
    assert_int_equal(n_touched, 1);
    assert_ptr_equal(touched[0], card + 8);
    assert_int_equal(curandDestroyGenerator(generator), 0);
    assert_int_equal(n_handles, 0);
    assert_int_equal(curandCreateGeneratorHost(&generator, 100), 204);
    assert_string_equal(last_refused, "curandCreateGeneratorHost");
}

static int effects_of(const char *name) {
    size_t n = 0;
    const tide_vc_function *functions = tide_vc_functions(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(functions[i].name, name) == 0) {
            return functions[i].effects;
        }
    }
    return -1;
}

static void test_the_list_tells_the_kinds_apart(void **state) {
    (void)state;
    assert_int_equal(effects_of("cublasSgemm_v2"), TIDE_VC_SIMULATED);
    assert_int_equal(effects_of("cublasLoggerConfigure"), 0);
    assert_int_equal(effects_of("cusolverDnSgetrf_bufferSize"),
                     TIDE_VC_SIMULATED | TIDE_VC_INEXACT);
    assert_int_equal(effects_of("cuFileRead"), TIDE_VC_REFUSED);
    assert_int_equal(effects_of("cudnnGetVersion"), TIDE_VC_LEFT_TO_REAL);
    assert_int_equal(effects_of("ncclCommInitRank"), TIDE_VC_SIMULATED | TIDE_VC_BY_HAND);
    assert_int_equal(effects_of("no such function"), -1);
}

/* --- the launch log --- */

int cublasSetStream_v2(void *handle, void *stream);
int cublasSgemmBatched(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
                       const float *const *a, int lda, const float *const *b, int ldb,
                       const float *beta, float *const *c, int ldc, int count);
int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                 const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                 const void *beta, void *c, int c_type, int ldc, int compute, int algorithm);
int cublasSgemv_v2(void *handle, int trans, int m, int n, const float *alpha, const float *a,
                   int lda, const float *x, int incx, const float *beta, float *y, int incy);
int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes);
int cublasLtMatrixLayoutDestroy(void *layout);
int cublasLtMatmulDescCreate(void **description, int compute, int scale_type);
int cublasLtMatmulDescSetAttribute(void *description, int attribute, const void *value,
                                   size_t bytes);
int cublasLtMatmulDescDestroy(void *description);

static void check_product(size_t i, const tide_run_launch *wanted, void *stream) {
    const tide_run_launch *row = &launches[i];
    assert_true(i < n_launches);
    assert_int_equal(row->kind, TIDE_RUN_PRODUCT);
    assert_int_equal(row->m, wanted->m);
    assert_int_equal(row->n, wanted->n);
    assert_int_equal(row->k, wanted->k);
    assert_int_equal(row->count, wanted->count);
    assert_int_equal(row->type, wanted->type);
    assert_int_equal(row->out_type, wanted->out_type);
    assert_int_equal(row->flags, wanted->flags);
    assert_ptr_equal(launch_streams[i], stream);
}

/* The upper halves of 32-bit arguments are undefined, and the settings of a handle count. */
static void test_products_are_logged(void **state) {
    void *handle = NULL, *stream = &handle;
    float *c = (float *)(void *)card;
    (void)state;
    (void)cublasCreate_v2(&handle);
    (void)cublasSetStream_v2(handle, stream);
    (void)cublasSgemm_v2(handle, 1, 0, 128, 16, 64, NULL, NULL, 64, NULL, 64, NULL, c, 128);
    check_product(
        0,
        &(tide_run_launch){.m = 128, .n = 16, .k = 64, .count = 1, .flags = TIDE_RUN_TRANSPOSED_A},
        stream);
    (void)cublasSetMathMode(handle, 3);
    (void)cublasSgemmBatched(handle, 0, 2, 5, 6, 7, NULL, NULL, 5, NULL, 6, NULL, NULL, 5, 9);
    check_product(1,
                  &(tide_run_launch){.m = 5,
                                     .n = 6,
                                     .k = 7,
                                     .count = 9,
                                     .type = TIDE_RUN_TF32,
                                     .flags = TIDE_RUN_TRANSPOSED_B},
                  stream);
    (void)cublasGemmEx(handle, 0, 0, 1, 2, 3, NULL, NULL, 14, 1, NULL, 14, 3, NULL, c, 0, 1, 68,
                       -1);
    check_product(
        2,
        &(tide_run_launch){
            .m = 1, .n = 2, .k = 3, .count = 1, .type = TIDE_RUN_BF16, .out_type = TIDE_RUN_FP32},
        stream);
    (void)cublasGemmStridedBatchedEx(handle, 0, 0, 1, 2, 3, NULL, NULL, 0, 1, 0, NULL, 0, 3, 0,
                                     NULL, c, 0, 1, 0, 11, 69, -1);
    check_product(3, &(tide_run_launch){.m = 1, .n = 2, .k = 3, .count = 11}, stream);
    (void)cublasSgemm_v2(handle, 0, 0, 0, 16, 64, NULL, NULL, 64, NULL, 64, NULL, c, 128);
    assert_int_equal(n_launches, 4); /* no rows: nothing to do */
    (void)cublasDestroy_v2(handle);
}

static void test_described_products_are_logged(void **state) {
    void *a = NULL, *d = NULL, *description = NULL, *stream = &a;
    int32_t transposed = 1, count = 3;
    uint64_t n_rows = 20;
    (void)state;
    (void)cublasLtMatrixLayoutCreate(&a, 14, 40, 10, 40);
    (void)cublasLtMatrixLayoutCreate(&d, 0, 9, 30, 10);
    (void)cublasLtMatrixLayoutSetAttribute(d, 5, &count, sizeof(count));
    (void)cublasLtMatrixLayoutSetAttribute(d, 2, &n_rows, sizeof(n_rows));
    (void)cublasLtMatrixLayoutSetAttribute(d, 3, &count, sizeof(count)); /* no such size */
    (void)cublasLtMatmulDescCreate(&description, 68, 0);
    (void)cublasLtMatmulDescSetAttribute(description, 3, &transposed, sizeof(transposed));
    (void)cublasLtMatmul(NULL, description, NULL, NULL, a, NULL, a, NULL, NULL, d, card, d, NULL,
                         NULL, 0, stream);
    check_product(0,
                  &(tide_run_launch){.m = 20,
                                     .n = 30,
                                     .k = 40,
                                     .count = 3,
                                     .type = TIDE_RUN_BF16,
                                     .flags = TIDE_RUN_TRANSPOSED_A},
                  stream);
    assert_int_equal(n_launches, 1);
    (void)cublasLtMatmulDescDestroy(description);
    (void)cublasLtMatrixLayoutDestroy(d);
    (void)cublasLtMatrixLayoutDestroy(a);
}

static void test_other_work_is_logged(void **state) {
    (void)state;
    (void)cublasSgemv_v2(NULL, 0, 30, 20, NULL, NULL, 30, NULL, 1, NULL, (float *)(void *)card, 1);
    (void)cusparseSpMM(NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL);
    assert_int_equal(n_launches, 2);
    assert_int_equal(launches[0].family, TIDE_RUN_LIBRARY);
    assert_int_equal(launches[0].bytes, 30 * 20 * 4);
    assert_int_equal(launches[0].flags, 0);
    assert_string_equal(launch_names[0], "cublasSgemv_v2");
    assert_int_equal(launches[1].flags, TIDE_RUN_GUESSED);
    assert_string_equal(launch_names[1], "cusparseSpMM");
}

#define TEST(name) cmocka_unit_test_setup(name, forget)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_handle_is_made_and_keeps_its_mode),
        TEST(test_outputs_become_zero_or_unknown),
        TEST(test_random_numbers_are_not_made),
        TEST(test_arguments_on_the_stack_are_found),
        TEST(test_a_matrix_is_copied_by_column),
        TEST(test_unknown_work_areas_are_zero_and_said),
        TEST(test_one_algorithm_without_a_workspace),
        TEST(test_workspaces_that_the_program_lends_are_remembered),
        TEST(test_a_sparse_product_makes_its_result_unknown),
        TEST(test_refusals_are_said),
        TEST(test_no_record_is_an_end_and_not_a_failure),
        TEST(test_weights_of_an_lstm_lie_as_pytorch_expects),
        TEST(test_convolutions_and_dropout_say_what_is_not_known),
        TEST(test_attributes_of_a_graph_are_kept),
        TEST(test_the_list_tells_the_kinds_apart),
        TEST(test_products_are_logged),
        TEST(test_described_products_are_logged),
        TEST(test_other_work_is_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
