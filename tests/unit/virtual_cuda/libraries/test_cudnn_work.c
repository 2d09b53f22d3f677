/* test_cudnn_work.c - rows of the launch log for cuDNN: its older calls, and graphs whose
 * descriptors are destroyed before the plan is executed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/virtual_cuda/libraries/fake_core.h"

int cudnnCreate(void **handle);
int cudnnSetStream(void *handle, void *stream);
int cudnnCreateTensorDescriptor(void **tensor);
int cudnnDestroyTensorDescriptor(void *tensor);
int cudnnSetTensorNdDescriptor(void *tensor, int type, int n, const int *lengths,
                               const int *strides);
int cudnnCreateFilterDescriptor(void **filter);
int cudnnDestroyFilterDescriptor(void *filter);
int cudnnSetFilterNdDescriptor(void *filter, int type, int format, int n, const int *lengths);
int cudnnCreateConvolutionDescriptor(void **convolution);
int cudnnDestroyConvolutionDescriptor(void *convolution);
int cudnnSetConvolutionMathType(void *convolution, int math);
int cudnnConvolutionForward(void *handle, const void *alpha, const void *x_shape, const void *x,
                            const void *w_shape, const void *w, const void *convolution,
                            int algorithm, void *workspace, size_t n_bytes, const void *beta,
                            const void *y_shape, void *y);
int cudnnConvolutionBackwardFilter(void *handle, const void *alpha, const void *x_shape,
                                   const void *x, const void *dy_shape, const void *dy,
                                   const void *convolution, int algorithm, void *workspace,
                                   size_t n_bytes, const void *beta, const void *dw_shape,
                                   void *dw);
int cudnnBatchNormalizationForwardInference(void *handle, int mode, const void *alpha,
                                            const void *beta, const void *x_shape, const void *x,
                                            const void *y_shape, void *y, const void *bn_shape,
                                            const void *scale, const void *bias, const void *mean,
                                            const void *variance, double epsilon);
int cudnnBackendCreateDescriptor(int type, void **descriptor);
int cudnnBackendDestroyDescriptor(void *descriptor);
int cudnnBackendFinalize(void *descriptor);
int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t n, const void *values);
int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t wanted, int64_t *n,
                             void *values);
int cudnnBackendExecute(void *handle, void *plan, void *pack);

/* cudnnDataType_t, cudnnMathType_t */
enum { FLOAT = 0, INT32 = 4, BFLOAT16 = 9, FMA_MATH = 3 };

static char stream;

/* PyTorch never destroys a handle; any call that destroys one of the library's objects does. */
static void *new_handle(void) {
    void *handle = NULL;
    assert_int_equal(cudnnCreate(&handle), 0);
    assert_int_equal(cudnnSetStream(handle, &stream), 0);
    return handle;
}

static void is_convolution(const tide_run_launch *row, uint32_t m, uint32_t n, uint32_t k,
                           uint32_t count) {
    assert_int_equal(row->kind, TIDE_RUN_CONVOLUTION);
    assert_int_equal(row->m, m);
    assert_int_equal(row->n, n);
    assert_int_equal(row->k, k);
    assert_int_equal(row->count, count);
}

/* ---- older calls ---- */

/* 4 pictures of 12 channels, 18 filters of 3 x 5 in 3 groups, results of 10 x 11. */
typedef struct convolution {
    void *handle, *x, *w, *y, *convolution;
} convolution;

static convolution new_convolution(void) {
    static const int X[] = {4, 12, 20, 24}, W[] = {18, 4, 3, 5}, Y[] = {4, 18, 10, 11};
    convolution made = {.handle = new_handle()};
    cudnnCreateTensorDescriptor(&made.x);
    cudnnCreateTensorDescriptor(&made.y);
    cudnnCreateFilterDescriptor(&made.w);
    cudnnCreateConvolutionDescriptor(&made.convolution);
    cudnnSetTensorNdDescriptor(made.x, FLOAT, 4, X, X);
    cudnnSetTensorNdDescriptor(made.y, FLOAT, 4, Y, Y);
    cudnnSetFilterNdDescriptor(made.w, FLOAT, 0, 4, W);
    return made;
}

static void destroy_convolution(convolution *made) {
    cudnnDestroyTensorDescriptor(made->x);
    cudnnDestroyTensorDescriptor(made->y);
    cudnnDestroyFilterDescriptor(made->w);
    cudnnDestroyConvolutionDescriptor(made->convolution);
    cudnnDestroyTensorDescriptor(made->handle);
}

enum { CONVOLUTION_BYTES = 4 * (4 * 12 * 20 * 24 + 18 * 4 * 3 * 5 + 4 * 18 * 10 * 11) };

static void test_older_convolutions(void **state) {
    (void)state;
    convolution of = new_convolution();
    cudnnConvolutionForward(of.handle, NULL, of.x, card, of.w, card, of.convolution, 1, card, 0,
                            NULL, of.y, card);
    assert_int_equal(n_launches, 1);
    is_convolution(&launches[0], 440, 6, 60, 3);
    assert_int_equal(launches[0].type, TIDE_RUN_TF32);
    assert_int_equal(launches[0].flags, 0);
    assert_int_equal(launches[0].bytes, CONVOLUTION_BYTES);
    assert_ptr_equal(launch_streams[0], &stream);
    assert_string_equal(launch_names[0], "cudnnConvolutionForward");
    cudnnSetConvolutionMathType(of.convolution, FMA_MATH);
    cudnnConvolutionBackwardFilter(of.handle, NULL, of.x, card, of.y, card, of.convolution, 1, card,
                                   0, NULL, of.w, card);
    is_convolution(&launches[1], 440, 6, 60, 3);
    assert_int_equal(launches[1].type, TIDE_RUN_FP32);
    assert_int_equal(launches[1].flags, TIDE_RUN_BACKWARD);
    destroy_convolution(&of);
}

/* Layout and filter, as the steps of the tensors and the lengths of the filter give them. */
static void test_layouts_and_filters(void **state) {
    static const int LENGTHS[] = {4, 12, 20, 24}, FILTER[] = {12, 12, 1, 1};
    static const int FIRST[] = {5760, 480, 24, 1}, LAST[] = {5760, 1, 288, 12};
    (void)state;
    convolution of = new_convolution();
    cudnnConvolutionForward(of.handle, NULL, of.x, card, of.w, card, of.convolution, 1, card, 0,
                            NULL, of.y, card);
    assert_int_equal(launches[n_launches - 1].elements, 15); /* 3 x 5 */
    cudnnSetFilterNdDescriptor(of.w, FLOAT, 0, 4, FILTER);
    for (int is_last = 0; is_last < 2; is_last++) {
        cudnnSetTensorNdDescriptor(of.x, FLOAT, 4, LENGTHS, is_last ? LAST : FIRST);
        cudnnSetTensorNdDescriptor(of.y, FLOAT, 4, LENGTHS, is_last ? LAST : FIRST);
        cudnnConvolutionForward(of.handle, NULL, of.x, card, of.w, card, of.convolution, 1, card, 0,
                                NULL, of.y, card);
        const tide_run_launch *row = &launches[n_launches - 1];
        is_convolution(row, 4 * 20 * 24, 12, 12, 1);
        assert_int_equal(row->elements, 1);
        assert_int_equal(row->flags, TIDE_RUN_POINTWISE | (is_last ? TIDE_RUN_CHANNELS_LAST : 0));
    }
    destroy_convolution(&of);
}

/* Inconsistent lengths, or a type unknown to the log: a guess. */
static void test_older_convolutions_without_sense(void **state) {
    (void)state;
    static const int MORE_FILTERS[] = {4, 20, 10, 11}, X[] = {4, 12, 20, 24};
    convolution of = new_convolution();
    cudnnSetTensorNdDescriptor(of.y, FLOAT, 4, MORE_FILTERS, MORE_FILTERS);
    cudnnConvolutionForward(of.handle, NULL, of.x, card, of.w, card, of.convolution, 1, card, 0,
                            NULL, of.y, card);
    cudnnSetTensorNdDescriptor(of.x, INT32, 4, X, X);
    cudnnConvolutionForward(of.handle, NULL, of.x, card, of.w, card, of.convolution, 1, card, 0,
                            NULL, of.y, card);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(launches[i].kind, TIDE_RUN_KERNEL);
        assert_int_equal(launches[i].family, TIDE_RUN_LIBRARY);
        assert_int_equal(launches[i].flags, TIDE_RUN_GUESSED);
    }
    destroy_convolution(&of);
}

static void test_batch_norm(void **state) {
    (void)state;
    convolution of = new_convolution();
    cudnnBatchNormalizationForwardInference(of.handle, 0, NULL, NULL, of.x, card, of.x, card, NULL,
                                            NULL, NULL, NULL, NULL, 1e-5);
    assert_int_equal(n_launches, 1);
    assert_int_equal(launches[0].family, TIDE_RUN_NORM);
    assert_int_equal(launches[0].elements, 4 * 12 * 20 * 24);
    assert_int_equal(launches[0].bytes, 2 * 4 * 4 * 12 * 20 * 24);
    destroy_convolution(&of);
}

/* ---- graphs ---- */

/* cudnnBackendDescriptorType_t, cudnnBackendAttributeType_t */
enum { TYPE_NOTE = 11, ENGINE = 2 };
enum { CONFIGURATION = 3, HEURISTICS = 4, PLAN = 5, GRAPH = 15, PACK = 16, TENSOR = 17 };
enum { TYPE_DATA = 1, TYPE_BOOLEAN = 2, TYPE_INT64 = 3, TYPE_MODE = 14, TYPE_DESCRIPTOR = 15 };

static void *all[64]; /* descriptors to be destroyed */
static size_t n_all;

static void *new_descriptor(int type) {
    void *made = NULL;
    assert_int_equal(cudnnBackendCreateDescriptor(type, &made), 0);
    assert_true(n_all < 64);
    return all[n_all++] = made;
}

static void destroy_all(void) {
    for (size_t i = 0; i < n_all; i++) {
        cudnnBackendDestroyDescriptor(all[i]);
    }
    n_all = 0;
}

static void *new_tensor(int type, int n, int64_t a, int64_t b, int64_t c, int64_t d) {
    static int64_t ids;
    const int64_t lengths[] = {a, b, c, d};
    const bool is_virtual = n < 0; /* it exists only inside the kernel */
    void *made = new_descriptor(TENSOR);
    ids++;
    cudnnBackendSetAttribute(made, 901, TYPE_DATA, 1, &type);
    cudnnBackendSetAttribute(made, 902, TYPE_INT64, is_virtual ? -n : n, lengths);
    cudnnBackendSetAttribute(made, 906, TYPE_INT64, 1, &ids);
    cudnnBackendSetAttribute(made, 907, TYPE_BOOLEAN, 1, &is_virtual);
    cudnnBackendFinalize(made);
    return made;
}

static void name(void *object, int attribute, void *named) {
    assert_int_equal(cudnnBackendSetAttribute(object, attribute, TYPE_DESCRIPTOR, 1, &named), 0);
}

static void *new_operation(int type, const int *attributes, void *const *named, size_t n) {
    void *made = new_descriptor(type);
    for (size_t i = 0; i < n; i++) {
        name(made, attributes[i], named[i]);
    }
    cudnnBackendFinalize(made);
    return made;
}

static bool allows_tf32 = true, times_plans;

/* Whether the engine of a configuration reports that it uses tensor cores, queried as PyTorch
 * does. */
static bool has_tensor_cores(void *configuration) {
    int notes[9] = {-1};
    int64_t n = 0;
    void *engine = new_descriptor(ENGINE);
    cudnnBackendGetAttribute(configuration, 300, TYPE_DESCRIPTOR, 1, &n, &engine);
    cudnnBackendGetAttribute(engine, 1303, TYPE_NOTE, 9, &n, notes);
    return n == 1 && notes[0] == 0;
}

/* Makes the plan as PyTorch does, and destroys everything it was made from. Of several engines it
 * uses the first allowed one, or times all and uses the last. */
static void *new_plan(void *const *operations, int64_t n) {
    void *graph = new_descriptor(GRAPH);
    cudnnBackendSetAttribute(graph, 801, TYPE_DESCRIPTOR, n, operations);
    cudnnBackendFinalize(graph);
    void *heuristics = new_operation(HEURISTICS, (const int[]){201}, &graph, 1);
    void *found[] = {new_descriptor(CONFIGURATION), new_descriptor(CONFIGURATION)};
    int64_t n_found = 0;
    void *plan = NULL;
    cudnnBackendGetAttribute(heuristics, 202, TYPE_DESCRIPTOR, 1, &n_found, found);
    assert_int_equal(n_found, 1); /* as many as fit */
    cudnnBackendGetAttribute(heuristics, 202, TYPE_DESCRIPTOR, 2, &n_found, found);
    for (int64_t i = 0; i < n_found; i++) {
        bool is_allowed = allows_tf32 || !has_tensor_cores(found[i]);
        if (is_allowed && (plan == NULL || times_plans)) {
            plan = new_operation(PLAN, (const int[]){401}, &found[i], 1);
        }
    }
    n_all--;
    destroy_all();
    return plan;
}

static const tide_run_launch *execute(void *plan) {
    void *handle = new_handle();
    void *pack = NULL;
    cudnnBackendCreateDescriptor(PACK, &pack);
    n_launches = 0;
    assert_int_equal(cudnnBackendExecute(handle, plan, pack), 0);
    assert_int_equal(n_launches, 1);
    assert_ptr_equal(launch_streams[0], &stream);
    cudnnBackendDestroyDescriptor(pack);
    cudnnBackendDestroyDescriptor(plan);
    cudnnDestroyTensorDescriptor(handle);
    return &launches[0];
}

/* The engine that a program chooses shows whether it allows TF32. */
static void test_convolution_graphs_of_fp32(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++) {
        void *parts[] = {new_tensor(FLOAT, 4, 4, 12, 20, 24), new_tensor(FLOAT, 4, 18, 4, 3, 5),
                         new_tensor(FLOAT, 4, 4, 18, 10, 11)};
        void *operation = new_operation(10, (const int[]){704, 703, 705}, parts, 3);
        allows_tf32 = way < 2;
        times_plans = way % 2 == 1;
        const tide_run_launch *row = execute(new_plan(&operation, 1));
        is_convolution(row, 440, 6, 60, 3);
        assert_int_equal(row->type, allows_tf32 ? TIDE_RUN_TF32 : TIDE_RUN_FP32);
        assert_int_equal(row->out_type, row->type);
        assert_int_equal(row->bytes, CONVOLUTION_BYTES);
    }
    allows_tf32 = true;
    times_plans = false;
}

static void test_convolution_graphs(void **state) {
    (void)state;
    static const int NAMES[3][3] = {{704, 703, 705}, {716, 715, 717}, {710, 709, 711}};
    for (int way = 0; way < 3; way++) {
        void *parts[] = {new_tensor(BFLOAT16, 4, 4, 12, 20, 24),
                         new_tensor(BFLOAT16, 4, 18, 4, 3, 5),
                         new_tensor(BFLOAT16, 4, 4, 18, 10, 11)};
        void *operation = new_operation(10 + way, NAMES[way], parts, 3);
        const tide_run_launch *row = execute(new_plan(&operation, 1));
        is_convolution(row, 440, 6, 60, 3);
        assert_int_equal(row->type, TIDE_RUN_BF16);
        assert_int_equal(row->flags, way > 0 ? TIDE_RUN_BACKWARD : 0);
        assert_int_equal(row->bytes, CONVOLUTION_BYTES / 2);
    }
}

/* The recorder learns the area of each call, and its likely and largest size: of this convolution
 * in bf16 copies of all tensors with 16 channels for 12 and 24 for 18, and at most two of each and
 * 8 MiB. */
static void test_areas_are_recorded(void **state) {
    (void)state;
    void *parts[] = {new_tensor(BFLOAT16, 4, 4, 12, 20, 24), new_tensor(BFLOAT16, 4, 18, 12, 3, 5),
                     new_tensor(BFLOAT16, 4, 4, 18, 10, 11)};
    const uint64_t copies = 2 * (4 * 16 * 20 * 24 + 24 * 16 * 3 * 5 + 4 * 24 * 10 * 11);
    void *operation = new_operation(10, (const int[]){704, 703, 705}, parts, 3);
    void *plan = new_plan(&operation, 1);
    void *handle = new_handle();
    void *pack = NULL;
    const void *area = card;
    char expected[128];
    cudnnBackendCreateDescriptor(PACK, &pack);
    assert_int_equal(cudnnBackendSetAttribute(pack, 1003, 6, 1, &area), 0);
    n_labels = 0;
    assert_int_equal(cudnnBackendExecute(handle, plan, pack), 0);
    assert_int_equal(n_labels, 1);
    assert_true(last_label_at == (uint64_t)(uintptr_t)card);
    (void)snprintf(expected, sizeof(expected), "cudnn work area: %lu %lu %lu 0 0",
                   (unsigned long)copies + 16, (unsigned long)(2 * copies + (8 << 20)),
                   (unsigned long)(uintptr_t)&stream);
    assert_string_equal(last_label, expected);
    cudnnBackendDestroyDescriptor(pack);
    cudnnBackendDestroyDescriptor(plan);
    cudnnDestroyTensorDescriptor(handle);
}

/* Through the older interface: without a workspace, the call got none. */
static void test_areas_of_older_calls_are_recorded(void **state) {
    (void)state;
    convolution of = new_convolution();
    n_labels = 0;
    cudnnConvolutionForward(of.handle, NULL, of.x, card, of.w, card, of.convolution, 1, NULL, 0,
                            NULL, of.y, card);
    assert_int_equal(n_labels, 1);
    assert_int_equal(last_label_at, 0);
    cudnnConvolutionForward(of.handle, NULL, of.x, card, of.w, card, of.convolution, 1, card, 64,
                            NULL, of.y, card);
    assert_int_equal(n_labels, 2);
    assert_true(last_label_at == (uint64_t)(uintptr_t)card);
    destroy_convolution(&of);
}

static void *new_band(void) {
    void *scores = new_tensor(FLOAT, -4, 3, 10, 640, 640);
    return new_operation(44, (const int[]){3000}, &scores, 1);
}

static void is_attention(const tide_run_launch *row, uint32_t m, uint32_t n, uint32_t k,
                         unsigned flags) {
    assert_int_equal(row->kind, TIDE_RUN_ATTENTION);
    assert_int_equal(row->m, m);
    assert_int_equal(row->n, n);
    assert_int_equal(row->k, k);
    assert_int_equal(row->count, 30);
    assert_int_equal(row->type, TIDE_RUN_BF16);
    assert_int_equal(row->flags, flags);
}

/* 30 heads of m queries of 64 channels, and half as many of 640 keys with values of 32. */
static const tide_run_launch *attend(int64_t m, bool is_masked) {
    void *parts[] = {new_tensor(BFLOAT16, 4, 3, 10, m, 64), new_tensor(BFLOAT16, 4, 3, 5, 640, 64),
                     new_tensor(BFLOAT16, 4, 3, 5, 640, 32), new_tensor(BFLOAT16, 4, 3, 10, m, 32)};
    void *operation = new_descriptor(41);
    for (int i = 0; i < 4; i++) {
        name(operation, 2800 + i, parts[i]);
    }
    if (is_masked) {
        void *band = new_band();
        void *inner = new_descriptor(GRAPH);
        name(inner, 801, band);
        cudnnBackendFinalize(inner);
        name(operation, 2811, inner);
    }
    cudnnBackendFinalize(operation);
    return execute(new_plan(&operation, 1));
}

static void test_attention_operation(void **state) {
    (void)state;
    const tide_run_launch *row = attend(320, false);
    is_attention(row, 320, 640, 48, 0);
    assert_int_equal(row->bytes, 2 * (30 * 320 + 15 * 640) * (64 + 32));
    is_attention(attend(640, true), 640, 640, 48, TIDE_RUN_CAUSAL);
    is_attention(attend(320, true), 320, 640, 48, TIDE_RUN_ESTIMATED); /* where is the band? */
}

/* The backward pass as a graph of products, all of one head's queries, keys and channels. */
static void test_attention_of_products(void **state) {
    (void)state;
    static const int NAMES[] = {1520, 1521, 1522};
    void *q = new_tensor(BFLOAT16, 4, 3, 10, 640, 64);
    void *k = new_tensor(BFLOAT16, 4, 3, 10, 64, 640);
    void *scores = new_tensor(FLOAT, -4, 3, 10, 640, 640);
    void *gradient = new_tensor(BFLOAT16, 4, 3, 10, 640, 64);
    void *operations[6];
    operations[0] = new_operation(19, NAMES, (void *const[]){q, k, scores}, 3);
    for (int i = 1; i < 5; i++) {
        operations[i] = new_operation(19, NAMES, (void *const[]){scores, q, gradient}, 3);
    }
    operations[5] = new_band();
    const tide_run_launch *row = execute(new_plan(operations, 6));
    is_attention(row, 640, 640, 64, TIDE_RUN_BACKWARD | TIDE_RUN_CAUSAL);
    assert_int_equal(row->bytes, 3 * 30 * 640 * 64 * 2); /* each tensor in memory once */
}

/* Only a tensor's bytes, or not even those. */
static void test_other_plans(void **state) {
    (void)state;
    void *tensor = new_tensor(FLOAT, 2, 8, 8, 0, 0);
    void *operation = new_operation(29, (const int[]){2002}, &tensor, 1);
    const tide_run_launch *row = execute(new_plan(&operation, 1));
    assert_int_equal(row->family, TIDE_RUN_LIBRARY);
    assert_int_equal(row->bytes, 256);
    assert_int_equal(row->flags, TIDE_RUN_ESTIMATED);
    void *plan = new_descriptor(PLAN);
    n_all = 0;
    assert_int_equal(execute(plan)->flags, TIDE_RUN_GUESSED);
}

#define TEST(test) cmocka_unit_test_setup(test, forget)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_older_convolutions),
                                       TEST(test_layouts_and_filters),
                                       TEST(test_older_convolutions_without_sense),
                                       TEST(test_batch_norm),
                                       TEST(test_areas_are_recorded),
                                       TEST(test_areas_of_older_calls_are_recorded),
                                       TEST(test_convolution_graphs),
                                       TEST(test_convolution_graphs_of_fp32),
                                       TEST(test_attention_operation),
                                       TEST(test_attention_of_products),
                                       TEST(test_other_plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
