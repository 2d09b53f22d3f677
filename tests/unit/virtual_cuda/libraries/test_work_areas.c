/* test_work_areas.c - sizes of work areas that only a library knows: the returned size, and the
 * bound reported with it. The figures follow from the shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/virtual_cuda/libraries/fake_core.h"

/* --- prototypes as in NVIDIA's headers --- */

int cudnnCreateTensorDescriptor(void **tensor);
int cudnnDestroyTensorDescriptor(void *tensor);
int cudnnSetTensorNdDescriptor(void *tensor, int type, int n, const int *lengths, const int *steps);
int cudnnSetFilterNdDescriptor(void *filter, int type, int format, int n, const int *lengths);
int cudnnGetConvolutionForwardAlgorithm_v7(void *handle, const void *x, const void *w,
                                           const void *convolution, const void *y, int wanted,
                                           int *found, void *results);
int cudnnGetConvolutionForwardWorkspaceSize(void *handle, const void *x, const void *w,
                                            const void *convolution, const void *y, int algorithm,
                                            size_t *bytes);
int cudnnGetConvolutionBackwardDataWorkspaceSize(void *handle, const void *w, const void *dy,
                                                 const void *convolution, const void *dx,
                                                 int algorithm, size_t *bytes);
int cudnnGetConvolutionBackwardFilterWorkspaceSize(void *handle, const void *x, const void *dy,
                                                   const void *convolution, const void *dw,
                                                   int algorithm, size_t *bytes);
int cudnnBackendCreateDescriptor(int type, void **descriptor);
int cudnnBackendDestroyDescriptor(void *descriptor);
int cudnnBackendFinalize(void *descriptor);
int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t n, const void *values);
int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t wanted, int64_t *n,
                             void *values);
int cudnnCreateRNNDescriptor(void **rnn);
int cudnnDestroyRNNDescriptor(void *rnn);
int cudnnSetRNNDescriptor_v6(void *handle, void *rnn, int hidden, int layers, void *dropout,
                             int input_mode, int direction, int cell, int algorithm, int precision);
int cudnnSetRNNProjectionLayers(void *handle, void *rnn, int projected, int output);
int cudnnGetRNNParamsSize(void *handle, const void *rnn, const void *x, size_t *bytes, int type);
int cudnnGetRNNLinLayerMatrixParams(void *handle, const void *rnn, int layer, const void *x,
                                    const void *w, const void *weights, int id, void *matrix,
                                    void **at);
int cudnnGetRNNLinLayerBiasParams(void *handle, const void *rnn, int layer, const void *x,
                                  const void *w, const void *weights, int id, void *bias,
                                  void **at);
int cudnnGetRNNTrainingReserveSize(void *handle, const void *rnn, int steps, void *const *x,
                                   size_t *bytes);
int cusolverDnDgetrf_bufferSize(void *handle, int m, int n, double *a, int lda, int *lwork);
int cusolverDnCheevjBatched_bufferSize(void *handle, int jobz, int uplo, int n, const void *a,
                                       int lda, const float *w, int *lwork, void *parameters,
                                       int batch);
int cusolverDnXsyevd_bufferSize(void *handle, void *parameters, int jobz, int uplo, int64_t n,
                                int type, const void *a, int64_t lda, int w_type, const void *w,
                                int compute_type, size_t *device_bytes, size_t *host_bytes);
int cusparseCreateCsr(void **matrix, int64_t rows, int64_t columns, int64_t nonzero, void *offsets,
                      void *indices, void *values, int offset_type, int index_type, int base,
                      int type);
int cusparseDestroySpMat(const void *matrix);
int cusparseSpMM_bufferSize(void *handle, int ta, int tb, const void *alpha, const void *a,
                            const void *b, const void *beta, void *c, int type, int algorithm,
                            size_t *bytes);
int cufftCreate(int *plan);
int cufftSetAutoAllocation(int plan, int is_automatic);
int cufftSetStream(int plan, void *stream);
int cufftXtExec(int plan, void *input, void *output, int direction);
int cufftXtMakePlanMany(int plan, int rank, long long *n, long long *inembed, long long istride,
                        long long idist, int in, long long *onembed, long long ostride,
                        long long odist, int out, long long batch, size_t *work, int execution);

enum { FLOAT = 0, HALF = 2, TENSOR = 17, FORWARD = 10, GRAPH = 15, ENGINE = 2, CONFIG = 3 };
enum { HEURISTICS = 4, PLAN = 5 };
enum { TYPE_BOOLEAN = 2, TYPE_INT64 = 3, TYPE_DESCRIPTOR = 15, TYPE_ENUM = 1 };

/* x (2, 3, 8, 8), w (4, 3, 3, 3), y (2, 4, 6, 6): likely are copies of all three with 4 channels,
 * which are 16 bytes; at most two of each and 8 MiB. */
static const int X[] = {2, 3, 8, 8}, W[] = {4, 3, 3, 3}, Y[] = {2, 4, 6, 6};
enum { VALUES = 512 + 144 + 288, LIKELY = 4 * VALUES + 16 };
enum { EXPECTED = 2 * 4 * VALUES + (8 << 20) - LIKELY };
/* The same in fp16, with 8 channels. */
enum { HALF_VALUES = 1024 + 576 + 576, HALF_LIKELY = 2 * HALF_VALUES + 16 };
enum { HALF_EXPECTED = 2 * 2 * HALF_VALUES + (8 << 20) - HALF_LIKELY };

static void *tensor(const int *lengths, int n, int type) {
    void *made = NULL;
    int steps[4] = {0, 0, 0, 1}; /* not those of channels that come last */
    assert_int_equal(cudnnCreateTensorDescriptor(&made), 0);
    assert_int_equal(cudnnSetTensorNdDescriptor(made, type, n, lengths, steps), 0);
    return made;
}

static void test_a_convolution_names_a_bound(void **state) {
    void *x = tensor(X, 4, FLOAT), *w = tensor(W, 4, FLOAT), *y = tensor(Y, 4, FLOAT);
    static const int NO_TENSOR_CORES = 3; /* the mathematics of the convolution */
    size_t found[6] = {0}, bytes = 1;
    int n = 0;
    (void)state;
    assert_int_equal(cudnnGetConvolutionForwardAlgorithm_v7(NULL, x, w, NULL, y, 1, &n, found), 0);
    assert_int_equal(found[2], LIKELY);
    assert_int_equal(last_bound, EXPECTED);
    last_bound = 0;
    assert_int_equal(cudnnGetConvolutionForwardWorkspaceSize(NULL, x, w, NULL, y, 1, &bytes), 0);
    assert_int_equal(bytes, LIKELY);
    assert_int_equal(last_bound, EXPECTED);
    last_bound = 0;
    assert_int_equal(cudnnGetConvolutionBackwardDataWorkspaceSize(NULL, w, y, NULL, x, 1, &bytes),
                     0);
    assert_int_equal(last_bound, EXPECTED);
    last_bound = 0;
    assert_int_equal(cudnnGetConvolutionBackwardFilterWorkspaceSize(NULL, x, y, NULL, w, 1, &bytes),
                     0);
    assert_int_equal(last_bound, EXPECTED);
    assert_int_equal(bytes, LIKELY);
    assert_string_equal(last_kind, "the workspace is the likely one");
    assert_string_equal(last_inexact, "cudnnGetConvolutionBackwardFilterWorkspaceSize");
    assert_int_equal(
        cudnnGetConvolutionForwardWorkspaceSize(NULL, x, w, &NO_TENSOR_CORES, y, 1, &bytes), 0);
    assert_int_equal(bytes, 0);
    assert_string_equal(last_kind, "the workspace is an estimate that was never measured");
    cudnnDestroyTensorDescriptor(x);
    cudnnDestroyTensorDescriptor(w);
    cudnnDestroyTensorDescriptor(y);
}

static void *make(int type) {
    void *made = NULL;
    assert_int_equal(cudnnBackendCreateDescriptor(type, &made), 0);
    return made;
}

static void set_descriptor(void *of, int name, void *to) {
    assert_int_equal(cudnnBackendSetAttribute(of, name, TYPE_DESCRIPTOR, 1, (const void *)&to), 0);
}

static void *graph_tensor(const int *lengths, bool is_virtual) {
    void *made = make(TENSOR);
    int64_t dimensions[4] = {lengths[0], lengths[1], lengths[2], lengths[3]};
    int type = HALF;
    assert_int_equal(cudnnBackendSetAttribute(made, 901, TYPE_ENUM, 1, &type), 0);
    assert_int_equal(cudnnBackendSetAttribute(made, 902, TYPE_INT64, 4, dimensions), 0);
    assert_int_equal(cudnnBackendSetAttribute(made, 907, TYPE_BOOLEAN, 1, &is_virtual), 0);
    assert_int_equal(cudnnBackendFinalize(made), 0);
    return made;
}

/* The likely area is checked; returns the bytes that it may need more. */
static uint64_t bound_of_plan(void *config, int64_t likely) {
    int64_t n = 0, bytes = -1;
    void *plan = make(PLAN);
    set_descriptor(plan, 401, config);
    assert_int_equal(cudnnBackendFinalize(plan), 0);
    last_bound = 0;
    assert_int_equal(cudnnBackendGetAttribute(plan, 402, TYPE_INT64, 1, &n, &bytes), 0);
    assert_int_equal(bytes, likely);
    assert_int_equal(cudnnBackendDestroyDescriptor(plan), 0);
    return last_bound;
}

/* By the heuristics, and by the caller's engine. */
static void test_a_plan_names_the_bound_of_its_graph(void **state) {
    void *parts[] = {graph_tensor(X, false), graph_tensor(W, false), graph_tensor(Y, true)};
    void *operation = make(FORWARD), *graph = make(GRAPH), *heuristics = make(HEURISTICS);
    void *result = make(CONFIG), *engine = make(ENGINE), *config = make(CONFIG);
    int64_t n = 0;
    (void)state;
    set_descriptor(operation, 704, parts[0]);
    set_descriptor(operation, 703, parts[1]);
    set_descriptor(operation, 705, parts[2]);
    assert_int_equal(cudnnBackendFinalize(operation), 0);
    for (size_t i = 0; i < 3; i++) {
        cudnnBackendDestroyDescriptor(parts[i]); /* as PyTorch does */
    }
    set_descriptor(graph, 801, operation);
    assert_int_equal(cudnnBackendFinalize(graph), 0);
    set_descriptor(heuristics, 201, graph);
    assert_int_equal(cudnnBackendFinalize(heuristics), 0);
    assert_int_equal(
        cudnnBackendGetAttribute(heuristics, 202, TYPE_DESCRIPTOR, 1, &n, (void *)&result), 0);
    /* The virtual output, which an activation follows, counts. */
    assert_int_equal(bound_of_plan(result, HALF_LIKELY), HALF_EXPECTED);
    set_descriptor(engine, 1300, graph);
    assert_int_equal(cudnnBackendFinalize(engine), 0);
    set_descriptor(config, 300, engine);
    assert_int_equal(cudnnBackendFinalize(config), 0);
    assert_int_equal(bound_of_plan(config, HALF_LIKELY), HALF_EXPECTED);
    void *all[] = {operation, graph, heuristics, result, engine, config};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        cudnnBackendDestroyDescriptor(all[i]);
    }
}

/* With the channels last tensor cores need no copy; and a graph that is no convolution. */
static void test_plans_that_were_never_measured(void **state) {
    static const int64_t STEPS[2][4] = {{192, 1, 24, 3}, {144, 1, 24, 4}};
    void *parts[] = {graph_tensor(X, false), graph_tensor(W, false), graph_tensor(Y, false)};
    void *operation = make(FORWARD), *other = make(20), *graph = make(GRAPH),
         *config = make(CONFIG);
    (void)state;
    for (int i = 0; i < 2; i++) {
        void *part = parts[2 * i];
        assert_int_equal(cudnnBackendSetAttribute(part, 903, TYPE_INT64, 4, STEPS[i]), 0);
        assert_int_equal(cudnnBackendFinalize(part), 0);
    }
    for (int i = 0; i < 3; i++) {
        static const int NAMES[] = {704, 703, 705};
        set_descriptor(operation, NAMES[i], parts[i]);
    }
    assert_int_equal(cudnnBackendFinalize(operation), 0);
    set_descriptor(graph, 801, operation);
    assert_int_equal(cudnnBackendFinalize(graph), 0);
    set_descriptor(config, 300, graph);
    assert_int_equal(cudnnBackendFinalize(config), 0);
    assert_int_equal(bound_of_plan(config, 0), 2 * (384 + 108 + 288) + (8 << 20));
    assert_string_equal(last_kind, "the workspace is an estimate that was never measured");
    set_descriptor(other, 704, parts[0]);
    assert_int_equal(cudnnBackendFinalize(other), 0);
    set_descriptor(config, 300, other);
    assert_int_equal(cudnnBackendFinalize(config), 0);
    assert_int_equal(bound_of_plan(config, 0), 4 * 384); /* a copy in fp32 */
    assert_string_equal(last_kind, "the workspace was never measured and is counted as 0");
    void *all[] = {parts[0], parts[1], parts[2], operation, other, graph, config};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        cudnnBackendDestroyDescriptor(all[i]);
    }
}

/* Two LSTM layers, 5 values in, 7 hidden: gates of 7 x 5 and 7 x 7, then 7 x 7 twice, two biases a
 * gate. */
static void test_networks_as_cudnn_8_describes_them(void **state) {
    static const int INPUT[] = {3, 5, 1};
    void *rnn = NULL, *x = tensor(INPUT, 3, FLOAT), *w = tensor(INPUT, 3, FLOAT);
    void *out = tensor(INPUT, 3, FLOAT), *at = NULL, *const steps[] = {x, x};
    size_t bytes = 0;
    (void)state;
    assert_int_equal(cudnnCreateRNNDescriptor(&rnn), 0);
    assert_int_equal(cudnnSetRNNDescriptor_v6(NULL, rnn, 7, 2, NULL, 0, 0, 2, 0, FLOAT), 0);
    assert_int_equal(cudnnGetRNNParamsSize(NULL, rnn, x, &bytes, FLOAT), 0);
    assert_int_equal(bytes, 4 * (4 * 7 * (5 + 7) + 4 * 7 * 14 + 2 * 8 * 7));
    assert_int_equal(cudnnGetRNNParamsSize(NULL, rnn, x, &bytes, HALF), 0);
    assert_int_equal(bytes, 2 * (4 * 7 * (5 + 7) + 4 * 7 * 14 + 2 * 8 * 7));
    assert_int_equal(cudnnGetRNNLinLayerMatrixParams(NULL, rnn, 0, x, w, card, 4, out, &at), 0);
    assert_ptr_equal(at, card + 4 * (4 * 7 * 5));
    assert_int_equal(cudnnGetRNNLinLayerBiasParams(NULL, rnn, 1, x, w, card, 1, out, &at), 0);
    assert_ptr_equal(at, card + 4 * (4 * 7 * (5 + 7) + 4 * 7 * 14 + 8 * 7 + 7));
    /* Two steps of three sequences; a layer keeps gates, cells and outputs. */
    assert_int_equal(cudnnGetRNNTrainingReserveSize(NULL, rnn, 2, steps, &bytes), 0);
    assert_int_equal(bytes, 4 * (2 * 3 * 7) * (4 + 2) * 2);
    assert_int_equal(last_bound, bytes + 4 * (2 * 3 * 7) * 5);
    assert_int_equal(cudnnSetRNNProjectionLayers(NULL, rnn, 4, 0), 0);
    assert_int_equal(cudnnGetRNNParamsSize(NULL, rnn, x, &bytes, FLOAT), 0);
    assert_int_equal(bytes, 4 * ((4 * 7 * (5 + 4) + 4 * 7) + (4 * 7 * 8 + 4 * 7) + 2 * 8 * 7));
    cudnnDestroyRNNDescriptor(rnn);
    cudnnDestroyTensorDescriptor(x);
    cudnnDestroyTensorDescriptor(w);
    cudnnDestroyTensorDescriptor(out);
}

/* The manual of cuFFT: at worst eight times the values of all transforms. */
static void test_a_transform_names_the_bound_of_the_manual(void **state) {
    long long lengths[] = {100, 30};
    size_t bytes = 0;
    (void)state;
    assert_int_equal(cufftSetAutoAllocation(1, 0), 0);
    assert_int_equal(cufftXtMakePlanMany(1, 2, lengths, NULL, 1, 0, 4, NULL, 1, 0, 4, 5, &bytes, 4),
                     0);
    assert_int_equal(bytes, 100 * 30 * 5 * 8);
    assert_int_equal(last_bound, 7 * bytes);
}

/* The row of one execution of such a plan. cudaDataType: 0, 1 are real, 4, 5 complex, of 32 and 64
 * bits. */
static tide_run_launch fourier(int n_dimensions, long long *lengths, int in, int out, int with,
                               long long n_transforms) {
    int plan = 0;
    size_t bytes = 0;
    n_launches = 0;
    assert_int_equal(cufftCreate(&plan), 0);
    assert_int_equal(cufftSetAutoAllocation(plan, 0), 0);
    assert_int_equal(cufftXtMakePlanMany(plan, n_dimensions, lengths, NULL, 1, 0, in, NULL, 1, 0,
                                         out, n_transforms, &bytes, with),
                     0);
    assert_int_equal(cufftSetStream(plan, card + 7), 0);
    assert_int_equal(cufftXtExec(plan, card, card + 1, 1), 0);
    assert_int_equal(n_launches, 1);
    assert_ptr_equal(launch_streams[0], card + 7);
    assert_int_equal(launches[0].kind, TIDE_RUN_KERNEL);
    return launches[0];
}

static void test_transforms_move_their_values(void **state) {
    (void)state;
    long long line[] = {1024}, plane[] = {96, 160}, longer[] = {1 << 20}, prime[] = {131};
    tide_run_launch row = fourier(1, line, 4, 4, 4, 3); /* in place of one pass: read and written */
    assert_int_equal(row.family, TIDE_RUN_FOURIER);
    assert_int_equal(row.flags, TIDE_RUN_ESTIMATED);
    assert_int_equal(row.elements, 3 * 1024);
    assert_int_equal(row.bytes, 3 * 1024 * (8 + 8));
    row = fourier(1, line, 0, 4, 4, 3); /* real values, and 513 complex ones of each line */
    assert_int_equal(row.bytes, 3 * (1024 * 4 + 513 * 8));
    row = fourier(2, plane, 4, 0, 4, 1); /* back, in two passes */
    assert_int_equal(row.bytes, 96 * 81 * 8 + 96 * 160 * 4 + 2 * 96 * 81 * 8);
    row = fourier(1, longer, 4, 4, 4, 1); /* 4096 x 256: two passes */
    assert_int_equal(row.bytes, (1 << 20) * (16 + 16));
    assert_int_equal(fourier(1, prime, 4, 4, 4, 1).flags, TIDE_RUN_GUESSED);
    assert_int_equal(fourier(1, line, 5, 5, 5, 1).flags, TIDE_RUN_GUESSED);
    n_launches = 0;
    assert_int_equal(cufftXtExec(-1, card, card, 1), 0); /* no plan: a guess */
    assert_int_equal(launches[0].family, TIDE_RUN_LIBRARY);
    assert_int_equal(launches[0].flags, TIDE_RUN_GUESSED);
}

/* Copies of the matrix, as LAPACK's own work areas are; upper halves of 32-bit arguments are
 * ignored. */
static void test_linear_algebra_names_a_bound(void **state) {
    int n_values = 7;
    size_t device_bytes = 7, host_bytes = 7;
    (void)state;
    assert_int_equal(cusolverDnDgetrf_bufferSize(NULL, 100, 30, NULL, 100, &n_values), 0);
    assert_int_equal(n_values, 0);
    assert_int_equal(last_bound, 100 * 30 * 8);
    assert_string_equal(last_inexact, "cusolverDnDgetrf_bufferSize");
    assert_int_equal(
        cusolverDnCheevjBatched_bufferSize(NULL, 0, 0, 20, NULL, 20, NULL, &n_values, NULL, 5), 0);
    assert_int_equal(last_bound, 5 * 3 * 20 * 20 * 8);
    assert_int_equal(cusolverDnXsyevd_bufferSize(NULL, NULL, 0, 0, 50, 1, NULL, 50, 1, NULL, 1,
                                                 &device_bytes, &host_bytes),
                     0);
    assert_int_equal(device_bytes + host_bytes, 0);
    assert_int_equal(last_bound, 3 * 50 * 50 * 8);
    assert_int_equal(cusolverDnXsyevd_bufferSize(NULL, NULL, 0, 0, 50, 0, NULL, 50, 0, NULL, 0,
                                                 &device_bytes, &host_bytes),
                     0);
    assert_int_equal(last_bound, 3 * 50 * 50 * 4);
}

/* A copy of the sparse matrix with the widest values and indices. */
static void test_a_sparse_product_names_a_bound(void **state) {
    void *matrix = NULL;
    size_t bytes = 7;
    (void)state;
    assert_int_equal(cusparseCreateCsr(&matrix, 10, 20, 40, NULL, NULL, NULL, 0, 0, 0, 0), 0);
    assert_int_equal(
        cusparseSpMM_bufferSize(NULL, 0, 0, NULL, matrix, NULL, NULL, NULL, 0, 0, &bytes), 0);
    assert_int_equal(bytes, 0);
    assert_int_equal(last_bound, 40 * 32 + 10 * 8);
    assert_int_equal(cusparseDestroySpMat(matrix), 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(test_a_convolution_names_a_bound),
        TEST(test_a_plan_names_the_bound_of_its_graph),
        TEST(test_plans_that_were_never_measured),
        TEST(test_networks_as_cudnn_8_describes_them),
        TEST(test_linear_algebra_names_a_bound),
        TEST(test_a_sparse_product_names_a_bound),
        TEST(test_a_transform_names_the_bound_of_the_manual),
        TEST(test_transforms_move_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
