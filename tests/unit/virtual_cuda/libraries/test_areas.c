/* test_areas.c - the rule for the work areas of cuDNN's convolutions, compared with published
 * sizes, and its lines. */
#define _GNU_SOURCE /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "programs/virtual_cuda/libraries/cudnn/areas_internal.h"
#include "unit/virtual_cuda/libraries/fake_core.h"

/* ---- published sizes ---- */

typedef struct published {
    unsigned n_calls;
    tide_vc_cudnn_way way;
    unsigned n_input, n_output, window, step, n_pixels; /* channels; pixels of the input's side */
    uint64_t n_bytes;
} published;

/* ResNet-50 with batch 1 in fp32, PyTorch 2.2 with cuDNN 8: snapshot.html of PyTorch's blog
 * "Understanding GPU memory 1". Every second distinct convolution. */
static const published RESNET[] = {
    {4, TIDE_VC_CUDNN_OUTPUT, 64, 256, 1, 1, 56, 134217728},
    {2, TIDE_VC_CUDNN_OUTPUT, 256, 64, 1, 1, 56, 134217728},
    {1, TIDE_VC_CUDNN_OUTPUT, 256, 128, 1, 1, 56, 134217728},
    {4, TIDE_VC_CUDNN_OUTPUT, 128, 512, 1, 1, 28, 134217728},
    {1, TIDE_VC_CUDNN_OUTPUT, 256, 512, 1, 2, 56, 5341200},
    {3, TIDE_VC_CUDNN_OUTPUT, 512, 128, 1, 1, 28, 134217728},
    {3, TIDE_VC_CUDNN_OUTPUT, 128, 128, 3, 1, 28, 991248},
    {1, TIDE_VC_CUDNN_OUTPUT, 256, 256, 3, 2, 28, 3424687},
    {6, TIDE_VC_CUDNN_OUTPUT, 256, 1024, 1, 1, 14, 0},
    {1, TIDE_VC_CUDNN_OUTPUT, 512, 1024, 1, 2, 28, 2048},
    {5, TIDE_VC_CUDNN_OUTPUT, 1024, 256, 1, 1, 14, 134217728},
    {1, TIDE_VC_CUDNN_OUTPUT, 1024, 2048, 1, 2, 14, 4096},
    {2, TIDE_VC_CUDNN_OUTPUT, 512, 512, 3, 1, 7, 9931183},
    {3, TIDE_VC_CUDNN_DATA, 512, 2048, 1, 1, 7, 134217728},
    {2, TIDE_VC_CUDNN_DATA, 2048, 512, 1, 1, 7, 134217728},
    {1, TIDE_VC_CUDNN_DATA, 1024, 2048, 1, 2, 14, 9592848},
    {1, TIDE_VC_CUDNN_DATA, 1024, 512, 1, 1, 14, 0},
    {5, TIDE_VC_CUDNN_DATA, 256, 256, 3, 1, 14, 3023279},
    {1, TIDE_VC_CUDNN_DATA, 512, 256, 1, 1, 28, 134217728},
    {3, TIDE_VC_CUDNN_DATA, 512, 128, 1, 1, 28, 134217728},
    {1, TIDE_VC_CUDNN_DATA, 256, 512, 1, 2, 56, 5341200},
    {2, TIDE_VC_CUDNN_DATA, 256, 64, 1, 1, 56, 134217728},
    {1, TIDE_VC_CUDNN_FILTER, 1024, 512, 1, 1, 14, 136314880},
    {6, TIDE_VC_CUDNN_FILTER, 256, 1024, 1, 1, 14, 135266304},
    {5, TIDE_VC_CUDNN_FILTER, 256, 256, 3, 1, 14, 2760720},
    {1, TIDE_VC_CUDNN_FILTER, 256, 256, 3, 2, 28, 3362832},
    {1, TIDE_VC_CUDNN_FILTER, 512, 256, 1, 1, 28, 134742016},
    {4, TIDE_VC_CUDNN_FILTER, 128, 512, 1, 1, 28, 134479872},
    {1, TIDE_VC_CUDNN_FILTER, 256, 512, 1, 2, 56, 4816912},
    {3, TIDE_VC_CUDNN_FILTER, 64, 64, 3, 1, 56, 3080208},
    {2, TIDE_VC_CUDNN_FILTER, 256, 64, 1, 1, 56, 134283264},
    {1, TIDE_VC_CUDNN_FILTER, 64, 64, 1, 1, 56, 134234112},
    {1, TIDE_VC_CUDNN_FILTER, 3, 64, 7, 2, 224, 6272016},
};

/* Of pointwise convolutions in fp32, snapshots of HugePandaCoder/octree-nca-groupeq: PyTorch 2.3
 * with cuDNN 8 and PyTorch 2.5 with cuDNN 9. */
static const struct {
    int cudnn_major;
    uint64_t y_bytes, n_bytes;
} NCA[] = {{8, 23348224, 4194304}, {8, 18970432, 0},           {8, 303275700, 0},
           {8, 1213102800, 0},     {8, 1493049600, 134217728}, {9, 5834400, 0},
           {9, 28723200, 0},       {9, 1838284800, 0},         {9, 7353139200, 0}};

enum { FP32 = 4 };

static tide_vc_cudnn_problem problem_of(const published *of) {
    uint64_t side = of->n_pixels / of->step;
    uint64_t w_values = (uint64_t)of->n_input * of->n_output * of->window * of->window;
    return (tide_vc_cudnn_problem){.way = of->way,
                                   .x_bytes =
                                       (uint64_t)FP32 * of->n_input * of->n_pixels * of->n_pixels,
                                   .w_bytes = FP32 * w_values,
                                   .y_bytes = FP32 * of->n_output * side * side,
                                   .w_values = w_values,
                                   .is_pointwise = of->window == 1 && of->step == 1,
                                   .has_tensor_cores = true,
                                   .cudnn_major = 8};
}

static void test_published_areas(void **state) {
    unsigned n = 0, n_exact = 0, n_within = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(RESNET) / sizeof(RESNET[0]); i++) {
        const published *row = &RESNET[i];
        tide_vc_cudnn_problem problem = problem_of(row);
        tide_vc_cudnn_area area = tide_vc_cudnn_area_of(&problem);
        assert_true(area.is_measured);
        assert_true(row->n_bytes <= area.most_bytes); /* none is above */
        assert_true(row->n_bytes <= 2 * area.likely_bytes);
        n += row->n_calls;
        n_exact += area.likely_bytes == row->n_bytes ? row->n_calls : 0;
        n_within += area.likely_bytes <= 2 * row->n_bytes ? row->n_calls : 0;
    }
    assert_int_equal(n, 79);
    assert_int_equal(n_exact, 54);
    assert_int_equal(n_within, 70);
}

static void test_published_pointwise_areas(void **state) {
    unsigned n_exact[2] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(NCA) / sizeof(NCA[0]); i++) {
        tide_vc_cudnn_problem problem = {.x_bytes = NCA[i].y_bytes,
                                         .y_bytes = NCA[i].y_bytes,
                                         .is_pointwise = true,
                                         .has_tensor_cores = true,
                                         .cudnn_major = NCA[i].cudnn_major};
        tide_vc_cudnn_area area = tide_vc_cudnn_area_of(&problem);
        n_exact[NCA[i].cudnn_major == 9] += area.likely_bytes == NCA[i].n_bytes;
        assert_true(NCA[i].n_bytes <= area.most_bytes);
    }
    assert_int_equal(n_exact[0], 1); /* of 5 */
    assert_int_equal(n_exact[1], 4); /* of 4 */
}

/* ---- the lines ---- */

/* Of 1000 bytes of input, 30 of filter (15 values) and 500 of output. */
static tide_vc_cudnn_problem small(tide_vc_cudnn_way way) {
    return (tide_vc_cudnn_problem){.way = way,
                                   .x_bytes = 1000,
                                   .w_bytes = 30,
                                   .y_bytes = 500,
                                   .w_values = 15,
                                   .has_tensor_cores = true,
                                   .cudnn_major = 9};
}

static void is_area(tide_vc_cudnn_problem problem, uint64_t likely, uint64_t most) {
    tide_vc_cudnn_area area = tide_vc_cudnn_area_of(&problem);
    assert_int_equal(area.likely_bytes, likely);
    assert_int_equal(area.most_bytes, most);
}

enum { COPIES = 1530, MIB_8 = 8 << 20, MIB_128 = 128 << 20 };

static void test_lines_of_the_rule(void **state) {
    (void)state;
    for (int i = 0; i < TIDE_VC_CUDNN_N_WAYS; i++) {
        tide_vc_cudnn_way way = (tide_vc_cudnn_way)i;
        bool is_filter = way == TIDE_VC_CUDNN_FILTER;
        tide_vc_cudnn_problem of = small(way);
        is_area(of, COPIES + 16, 2 * COPIES + MIB_8);
        of.is_pointwise = true;
        is_area(of, is_filter ? 1500 + 16 : 0, COPIES + MIB_8);
        of.cudnn_major = 8;
        is_area(of, MIB_128 + (is_filter ? 30 : 0), MIB_128 + 30);
        of.y_bytes = UINT64_C(1) << 30; /* the copies are then the larger end */
        is_area(of, MIB_128 + (is_filter ? 30 : 0), 1030 + of.y_bytes + MIB_8);
        of = small(way);
        of.is_channels_last = true;
        is_area(of, is_filter ? 60 : 0, COPIES + MIB_8);
        of.has_tensor_cores = false;
        is_area(of, 0, 2 * COPIES + MIB_8);
        of = small(way);
        of.is_grouped = true;
        is_area(of, 0, 2 * COPIES + MIB_8);
        assert_false(tide_vc_cudnn_area_of(&of).is_measured);
    }
}

/* A filter larger than all copies: the likely area is also the largest. */
static void test_the_likely_area_is_never_above_the_largest(void **state) {
    tide_vc_cudnn_problem of = small(TIDE_VC_CUDNN_FILTER);
    (void)state;
    of.is_channels_last = true;
    of.w_bytes = 1U << 26;
    of.w_values = 1U << 25;
    is_area(of, 1U << 27, 1U << 27);
    of.x_bytes = 0; /* not a convolution */
    is_area(of, 0, 0);
}

static void test_the_variable_of_cudnn_limits_areas(void **state) {
    tide_vc_cudnn_problem of = small(TIDE_VC_CUDNN_OUTPUT);
    (void)state;
    of.x_bytes = 5 << 20;
    setenv("CUDNN_CONV_WSCAP_DBG", "3", 1);
    tide_vc_cudnn_area area = tide_vc_cudnn_area_here(&of, TIDE_RUN_TF32);
    assert_int_equal(area.likely_bytes, 3 << 20);
    assert_int_equal(area.most_bytes, 3 << 20);
    setenv("CUDNN_CONV_WSCAP_DBG", "0", 1);
    assert_int_equal(tide_vc_cudnn_area_here(&of, TIDE_RUN_TF32).most_bytes, 0);
    setenv("CUDNN_CONV_WSCAP_DBG", "none", 1);
    assert_int_equal(tide_vc_cudnn_area_here(&of, TIDE_RUN_TF32).likely_bytes,
                     (5 << 20) + 530 + 16);
    unsetenv("CUDNN_CONV_WSCAP_DBG");
    assert_int_equal(tide_vc_cudnn_area_here(&of, TIDE_RUN_FP32).likely_bytes, 0);
}

static void test_tensor_cores(void **state) {
    (void)state;
    assert_false(tide_vc_cudnn_has_tensor_cores(TIDE_RUN_FP16, 61));
    assert_true(tide_vc_cudnn_has_tensor_cores(TIDE_RUN_FP16, 70));
    assert_false(tide_vc_cudnn_has_tensor_cores(TIDE_RUN_TF32, 75));
    assert_false(tide_vc_cudnn_has_tensor_cores(TIDE_RUN_BF16, 75));
    assert_true(tide_vc_cudnn_has_tensor_cores(TIDE_RUN_TF32, 80));
    assert_true(tide_vc_cudnn_has_tensor_cores(TIDE_RUN_BF16, 80));
    assert_false(tide_vc_cudnn_has_tensor_cores(TIDE_RUN_FP8, 86));
    assert_false(tide_vc_cudnn_has_tensor_cores(TIDE_RUN_FP32, 90));
    assert_false(tide_vc_cudnn_has_tensor_cores(TIDE_RUN_FP64, 90));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_areas),
        cmocka_unit_test(test_published_pointwise_areas),
        cmocka_unit_test(test_lines_of_the_rule),
        cmocka_unit_test(test_the_likely_area_is_never_above_the_largest),
        cmocka_unit_test(test_the_variable_of_cudnn_limits_areas),
        cmocka_unit_test(test_tensor_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
