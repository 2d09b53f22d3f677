/* families.c - the kernels whose work is known, by a part of their names. Names of C++ have the
 * length of each word before it, which keeps a word from being found in a longer one. */
#include "virtual_cuda/work/families_internal.h"

/* A kernel of sorting.c, with the number of its arguments up to the last that is read. */
#define SORTING(part, family, n_arguments)                                                         \
    { part, TIDE_RUN_##family, n_arguments, tide_vc_parse_sorting, tide_vc_read_sorting }

static const tide_vc_work_family FAMILIES[] = {
    {"29vectorized_elementwise_kernelI", TIDE_RUN_VECTORISED, 3, tide_vc_parse_vectorised,
     tide_vc_read_vectorised},
    {"27unrolled_elementwise_kernelI", TIDE_RUN_CASTING, 7, tide_vc_parse_unrolled,
     tide_vc_read_unrolled},
    {"18elementwise_kernelI", TIDE_RUN_STRIDED, 2, NULL, tide_vc_read_strided},
    {"13reduce_kernelI", TIDE_RUN_REDUCTION, 1, tide_vc_parse_reduction, tide_vc_read_reduction},
    {"16flash_fwd_kernelI", TIDE_RUN_OTHER, 1, tide_vc_parse_flash_forward,
     tide_vc_read_flash_forward},
    {"24flash_fwd_splitkv_kernelI", TIDE_RUN_OTHER, 1, tide_vc_parse_flash_parts,
     tide_vc_read_flash_parts},
    {"32flash_fwd_splitkv_combine_kernelI", TIDE_RUN_ATTENTION_PARTS, 1, tide_vc_parse_flash_helper,
     tide_vc_read_flash_join},
    {"44flash_bwd_dq_dk_dv_loop_seqk_parallel_kernelI", TIDE_RUN_OTHER, 1,
     tide_vc_parse_flash_backward, tide_vc_read_flash_backward},
    {"25flash_bwd_dot_do_o_kernelI", TIDE_RUN_ATTENTION_PARTS, 1, tide_vc_parse_flash_helper,
     tide_vc_read_flash_dot},
    {"27flash_bwd_convert_dq_kernelI", TIDE_RUN_ATTENTION_PARTS, 1, tide_vc_parse_flash_helper,
     tide_vc_read_flash_convert},
    {"fmha_cutlassF_", TIDE_RUN_OTHER, 1, tide_vc_parse_efficient, tide_vc_read_efficient_forward},
    {"fmha_cutlassB_", TIDE_RUN_OTHER, 1, tide_vc_parse_efficient, tide_vc_read_efficient_backward},
    SORTING("30DeviceRadixSortHistogramKernel", SORT, 3),
    SORTING("29DeviceRadixSortOnesweepKernel", SORT, 9),
    SORTING("31DeviceRadixSortSingleTileKernel", SORT, 5),
    SORTING("33DeviceRadixSortExclusiveSumKernel", SORT, 1),
    SORTING("22warpMergeSortKVInPlace", SORT, 3),
    SORTING("20bitonicSortKVInPlace", SORT, 3),
    SORTING("18radixSortKVInPlace", SORT, 3),
    SORTING("29fill_index_and_segment_kernel", SORT, 2),
    SORTING("27fill_reverse_indices_kernel", SORT, 2),
    SORTING("23sort_postprocess_kernel", SORT, 6),
    SORTING("37randperm_handle_duplicate_keys_kernel", SORT, 4),
    SORTING("10gatherTopK", SORT, 5),
    SORTING("14gatherKthValue", SORT, 4),
    SORTING("12gatherMedian", SORT, 5),
    SORTING("23computeBlockDigitCounts", SORT, 4),
    SORTING("18computeDigitCumSum", SORT, 1),
    SORTING("29computeBlockwiseWithinKCounts", SORT, 1),
    SORTING("25computeBlockwiseKthCounts", SORT, 1),
    SORTING("6mbtopk4fillI", SORT, 1),
    SORTING("16DeviceScanKernel", SCAN, 7),
    SORTING("23DeviceSelectSweepKernel", SCAN, 8),
    SORTING("18DeviceReduceKernel", SCAN, 3),
    SORTING("28DeviceReduceSingleTileKernel", SCAN, 3),
    SORTING("23DeviceReduceByKeyKernel", SCAN, 10),
    SORTING("26adjacent_difference_kernel", SCAN, 3),
    SORTING("32tensor_kernel_scan_innermost_dim", SCAN, 4),
    SORTING("28tensor_kernel_scan_outer_dim", SCAN, 5),
    SORTING("45tensor_kernel_scan_innermost_dim_with_indices", SCAN, 5),
    SORTING("41tensor_kernel_scan_outer_dim_with_indices", SCAN, 6),
    SORTING("20DeviceScanInitKernel", SCAN, 1),
    SORTING("23DeviceCompactInitKernel", SCAN, 1),
    SORTING("25DeviceScanByKeyInitKernel", SCAN, 1),
    SORTING("21DeviceScanByKeyKernel", SCAN, 1),
    {"conv_depthwise", TIDE_RUN_DEPTHWISE, 3, tide_vc_parse_depthwise, tide_vc_read_depthwise},
};

const tide_vc_work_family *tide_vc_work_families(size_t *ret_n) {
    *ret_n = sizeof(FAMILIES) / sizeof(FAMILIES[0]);
    return FAMILIES;
}
