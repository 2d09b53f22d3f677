/* test_work_depthwise.c - bytes of PyTorch's convolutions with a filter for each channel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/virtual_cuda/cuda_names.h"
#include "programs/virtual_cuda/launches/kernels/work.h"

static const char FORWARD[] =
    "_ZN2at6native51_GLOBAL__N__e3071600_18_DepthwiseConv2d_cu_9959487031conv_depthwise2d_forward_"
    "kernelILi3EfiEEvN5torch10headeronly6detail27GenericPackedTensorAccessorINS5_14TensorAccessorI"
    "N3c108ArrayRefIlEEKT0_Lm3ENS4_16DefaultPtrTraitsEiEENS_6detail16IndexBoundsCheckILm4EiEESC_"
    "Lm4ESD_iEENS6_INS7_ISA_SB_Lm3ESD_iEESH_SB_Lm4ESD_iEESI_NS6_INS7_ISA_SC_Lm0ESD_iEENSG_ILm1Ei"
    "EESC_Lm1ESD_iEEbT1_iiiiiiiiiiiiii";

/* An accessor: an address, and as many lengths and strides as dimensions. */
typedef struct accessor {
    char *at;
    int lengths[4], strides[4];
} accessor;

static tide_run_launch launch(accessor *input, accessor *output, accessor *weight) {
    void *arguments[] = {input, output, weight};
    tide_vc_kernel_call call = {FORWARD, FORWARD, {10, 1, 1}, {256, 1, 1}, arguments};
    tide_run_launch row;
    tide_vc_work_of(&call, &row);
    return row;
}

static void test_forward(void **state) {
    (void)state;
    char *card = NULL;
    assert_int_equal(cudaMalloc((void **)&card, 4096), 0);
    accessor input = {.at = card, .lengths = {4, 32, 20, 24}};
    accessor output = {.at = card, .lengths = {4, 32, 18, 22}};
    accessor weight = {.at = card, .lengths = {32, 1, 3, 3}};
    tide_run_launch row = launch(&input, &output, &weight);
    assert_int_equal(row.family, TIDE_RUN_DEPTHWISE);
    assert_int_equal(row.bytes, 4 * (4 * 32 * (20 * 24 + 18 * 22) + 32 * 9));
    assert_int_equal(row.elements, 4 * 32 * 20 * 24);
    assert_int_equal(row.flags, 0);
    weight.lengths[3] = 0;
    assert_int_equal(launch(&input, &output, &weight).flags, TIDE_RUN_GUESSED);
    weight.lengths[3] = 3;
    weight.at = NULL;
    assert_int_equal(launch(&input, &output, &weight).flags, TIDE_RUN_GUESSED);
    assert_int_equal(cudaFree(card), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
