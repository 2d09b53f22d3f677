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
    {"16flash_fwd_kernelI", TIDE_RUN_OTHER, 1, tide_vc_parse_flash_forward,
     tide_vc_read_flash_forward},
    {"24flash_fwd_splitkv_kernelI", TIDE_RUN_OTHER, 1, tide_vc_parse_flash_parts,
     tide_vc_read_flash_parts},
    {"32flash_fwd_splitkv_combine_kernelI", TIDE_RUN_ATTENTION_PARTS, 1,
     tide_vc_parse_flash_helper, tide_vc_read_flash_join},
    {"44flash_bwd_dq_dk_dv_loop_seqk_parallel_kernelI", TIDE_RUN_OTHER, 1,
     tide_vc_parse_flash_backward, tide_vc_read_flash_backward},
    {"25flash_bwd_dot_do_o_kernelI", TIDE_RUN_ATTENTION_PARTS, 1, tide_vc_parse_flash_helper,
     tide_vc_read_flash_dot},
    {"27flash_bwd_convert_dq_kernelI", TIDE_RUN_ATTENTION_PARTS, 1, tide_vc_parse_flash_helper,
     tide_vc_read_flash_convert},
    {"fmha_cutlassF_", TIDE_RUN_OTHER, 1, tide_vc_parse_efficient, tide_vc_read_efficient_forward},
    {"fmha_cutlassB_", TIDE_RUN_OTHER, 1, tide_vc_parse_efficient,
     tide_vc_read_efficient_backward},
};

const tide_vc_work_family *tide_vc_work_families(size_t *ret_n) {
    *ret_n = sizeof(FAMILIES) / sizeof(FAMILIES[0]);
    return FAMILIES;
}
