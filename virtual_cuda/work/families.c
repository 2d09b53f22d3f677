/* families.c - the kernels whose work is known, by a part of their names. Names of C++ have the
 * length of each word before it, which keeps a word from being found in a longer one. */
#include "virtual_cuda/work/families_internal.h"

static const tide_vc_work_family FAMILIES[] = {
    {"29vectorized_elementwise_kernelI", TIDE_RUN_VECTORISED, 3, tide_vc_parse_vectorised,
     tide_vc_read_vectorised},
    {"27unrolled_elementwise_kernelI", TIDE_RUN_CASTING, 7, tide_vc_parse_unrolled,
     tide_vc_read_unrolled},
    {"18elementwise_kernelI", TIDE_RUN_STRIDED, 2, NULL, tide_vc_read_strided},
    {"13reduce_kernelI", TIDE_RUN_REDUCTION, 1, tide_vc_parse_reduction, tide_vc_read_reduction},
    {"25multi_tensor_apply_kernelI", TIDE_RUN_MULTI_TENSOR, 2, tide_vc_parse_multi_tensor,
     tide_vc_read_multi_tensor},
    {"43distribution_elementwise_grid_stride_kernelI", TIDE_RUN_DROPOUT, 4, tide_vc_parse_random,
     tide_vc_read_filled},
    {"29elementwise_kernel_with_indexI", TIDE_RUN_VECTORISED, 3, tide_vc_parse_sequence,
     tide_vc_read_filled},
    {"24index_elementwise_kernelI", TIDE_RUN_GATHER_ROWS, 2, tide_vc_parse_indexed,
     tide_vc_read_indexed},
    {"34_scatter_gather_elementwise_kernelI", TIDE_RUN_GATHER_ROWS, 2, tide_vc_parse_indexed,
     tide_vc_read_indexed},
    {"19CatArrayBatchedCopy", TIDE_RUN_VECTORISED, 2, tide_vc_parse_cat, tide_vc_read_cat},
    {"26CatArrayBatchedCopy_contig", TIDE_RUN_VECTORISED, 2, tide_vc_parse_cat, tide_vc_read_cat},
    {"35CatArrayBatchedCopy_alignedK_contig", TIDE_RUN_VECTORISED, 2, tide_vc_parse_cat,
     tide_vc_read_cat},
    {"36CatArrayBatchedCopy_aligned16_contig", TIDE_RUN_VECTORISED, 2, tide_vc_parse_cat,
     tide_vc_read_cat},
    {"30CatArrayBatchedCopy_vectorized", TIDE_RUN_VECTORISED, 2, tide_vc_parse_cat,
     tide_vc_read_cat},
};

const tide_vc_work_family *tide_vc_work_families(size_t *ret_n) {
    *ret_n = sizeof(FAMILIES) / sizeof(FAMILIES[0]);
    return FAMILIES;
}
