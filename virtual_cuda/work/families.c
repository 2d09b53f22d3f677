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
};

const tide_vc_work_family *tide_vc_work_families(size_t *ret_n) {
    *ret_n = sizeof(FAMILIES) / sizeof(FAMILIES[0]);
    return FAMILIES;
}
