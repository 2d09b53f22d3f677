/* test_work_sorting.c - bytes of sorts, scans and selections, counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "programs/virtual_cuda/launches/kernels/work.h"

#define CUB "_ZN14at_cuda_detail3cub6detail"
#define OPAQUE "N2at4cuda3cub6detail10OpaqueTypeILi8EEE"
#define RADIX CUB "10radix_sort"
#define POLICY "INS1_5radix10policy_hubIf" OPAQUE "yE10Policy1000ELNS0_9SortOrderE0Ef"

static const char HISTOGRAM[] = RADIX "30DeviceRadixSortHistogramKernel" POLICY
                                      "yNS1_21identity_decomposer_tEEEvPT2_PKT1_SG_iiT3_";
static const char ONESWEEP[] =
    RADIX "29DeviceRadixSortOnesweepKernel" POLICY
          "SB_yiiNS1_21identity_decomposer_tEEEvPT5_SH_PT3_PKSI_PT1_PKSM_PT2_PKSQ_T4_iiT6_";
static const char KEYS_ALONE[] = RADIX
    "29DeviceRadixSortOnesweepKernelINS1_5radix10policy_hubIlNS0_8NullTypeEyE10Policy1000ELNS0_"
    "9SortOrderE0ElS6_yiiNS1_21identity_decomposer_tEEEvPT5_SC_PT3_PKSD_PT1_PKSH_PT2_PKSL_T4_iiT6_";
static const char SEGMENTED[] = RADIX
    "30DeviceSegmentedRadixSortKernelINS1_5radix10policy_hubIfliE10Policy1000ELb0ELNS0_9SortOrderE"
    "0EflN2at6native46_GLOBAL__N__c76d7d8e_13_SortStable_cu_f7bb90a18offset_tESC_iNS1_21identity_"
    "decomposer_tEEEvPKT2_PSE_PKT3_PSI_T4_T5_iiiT7_";
static const char SCAN[] = CUB
    "4scan16DeviceScanKernelINS2_10policy_hubIilijN4cuda3std3__44plusIvEEE10Policy1000EPKiPlNS0_"
    "13ScanTileStateIiLb1EEES9_NS0_8NullTypeEjiLb0ESH_EEvT0_T1_T2_iT3_T4_T5_";
static const char ROWS[] =
    "_ZN2at6native32tensor_kernel_scan_innermost_dimIfSt4plusIfEEEvPT_PKS4_jjjS4_T0_";
static const char MERGE[] =
    "_ZN2at6native22warpMergeSortKVInPlaceILi2ELin1ELi128ELi16EflNS0_4LTOpIfLb1EEEjLi32EEEvNS_"
    "4cuda6detail10TensorInfoIT3_T6_EES8_S8_S8_NS6_IT4_S8_EES8_T5_S7_";
static const char LARGEST[] =
    "_ZN2at6native6sbtopk10gatherTopKIfjLi2ELb0EEEvNS_4cuda6detail10TensorInfoIKT_T0_EES8_S8_bS8_"
    "S8_NS5_IS6_S8_EES8_NS5_IlS8_EES8_PS6_";
static const char PREPARE[] = CUB "4scan20DeviceScanInitKernelINS0_13ScanTileStateIfLb1EEEEEvT_i";

enum { N = 100000 };
static uint64_t words[16]; /* the arguments; their address is that of each */

static tide_run_launch launch(const char *name) {
    void *arguments[16];
    for (size_t i = 0; i < 16; i++) {
        arguments[i] = &words[i];
    }
    tide_vc_kernel_call call = {name, name, {20, 1, 1}, {384, 1, 1}, arguments};
    tide_run_launch row;
    tide_vc_work_of(&call, &row);
    return row;
}

static void is(tide_run_launch row, tide_run_family family, uint64_t elements, uint64_t bytes_each,
               int flags) {
    assert_int_equal(row.kind, TIDE_RUN_KERNEL);
    assert_int_equal(row.family, family);
    assert_int_equal(row.elements, elements);
    assert_int_equal(row.bytes, elements * bytes_each);
    assert_int_equal(row.flags, flags);
}

static int set(void **state) {
    (void)state;
    for (size_t i = 0; i < 16; i++) {
        words[i] = UINT64_C(0xdeadbeef00000000) + 50; /* of 4 bytes in a longer place */
    }
    return 0;
}

static void test_sorts(void **state) {
    (void)state;
    words[2] = N; /* 64 bits */
    is(launch(HISTOGRAM), TIDE_RUN_SORT, N, 4, 0);
    words[8] = UINT64_C(0xdeadbeef00000000) + N; /* 32 bits */
    is(launch(ONESWEEP), TIDE_RUN_SORT, N, 2 * (4 + 8), 0);
    is(launch(KEYS_ALONE), TIDE_RUN_SORT, N, 2 * 8, 0);
    is(launch(MERGE), TIDE_RUN_SORT, 50 * N, 2 * (4 + 8), 0);
    is(launch(LARGEST), TIDE_RUN_SORT, 50 * 50, 3 * 4, TIDE_RUN_ESTIMATED);
}

/* A block of the grid sorts a row; offset_t begins with the length of a row. */
static void test_a_sort_of_rows(void **state) {
    (void)state;
    words[4] = N; /* 32 bits, followed by the first row */
    tide_run_launch row = launch(SEGMENTED);
    is(row, TIDE_RUN_SORT, UINT64_C(20) * N, 3 * (4 + 8), 0);
    assert_int_equal(row.k, TIDE_RUN_SEGMENTS);
}

static void test_scans(void **state) {
    (void)state;
    is(launch(SCAN), TIDE_RUN_SCAN, 50, 4 + 8, 0);
    is(launch(ROWS), TIDE_RUN_SCAN, 50 * 50, 2 * 4, 0);
    is(launch(PREPARE), TIDE_RUN_SCAN, 20 * 384, 8, TIDE_RUN_ESTIMATED);
}

static void test_counts_without_sense(void **state) {
    (void)state;
    words[8] = 0;
    assert_int_equal(launch(ONESWEEP).flags, TIDE_RUN_GUESSED);
    words[2] = UINT64_C(1) << 40; /* 140 million elements a thread */
    assert_int_equal(launch(HISTOGRAM).flags, TIDE_RUN_GUESSED);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_sorts, set),
                                       cmocka_unit_test_setup(test_a_sort_of_rows, set),
                                       cmocka_unit_test_setup(test_scans, set),
                                       cmocka_unit_test_setup(test_counts_without_sense, set)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
