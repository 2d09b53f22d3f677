/* variants.c - kernels of a family that work in different ways, by a part of their names, and the
 * rows on which they work. */
#include "programs/virtual_cuda/launches/kernels/parameters_internal.h"

static const tide_vc_variant VARIANTS[] = {
    {"20softmax_warp_forwardI", TIDE_RUN_BY_WARP, 'e'},
    {"21softmax_warp_backwardI", TIDE_RUN_BY_WARP_BACKWARD, 'f'},
    {"22cunn_SoftMaxForwardRegI", TIDE_RUN_BY_BLOCK_ONCE, 'c'},
    {"23cunn_SoftMaxForwardSmemI", TIDE_RUN_BY_BLOCK_ONCE, 'c'},
    {"23cunn_SoftMaxForwardGmemI", TIDE_RUN_BY_BLOCK, 'c'},
    {"19cunn_SoftMaxForwardI", TIDE_RUN_BY_BLOCK, 'c'},
    {"24cunn_SoftMaxBackwardSmemI", TIDE_RUN_BY_BLOCK_BACKWARD, 'd'},
    {"20cunn_SoftMaxBackwardI", TIDE_RUN_BY_BLOCK_BACKWARD, 'd'},
    {"28vectorized_layer_norm_kernelI", TIDE_RUN_LAYER, 'a'},
    {"28layer_norm_grad_input_kernelI", TIDE_RUN_LAYER_BACKWARD, 'g'},
    {"39layer_norm_grad_input_kernel_vectorizedI", TIDE_RUN_LAYER_BACKWARD, 'g'},
    {"35GammaBetaBackwardCUDAKernelTemplateI", TIDE_RUN_LAYER_PARAMETERS, 'b'},
    {"33GammaBetaBackwardSimpleCUDAKernelI", TIDE_RUN_LAYER_PARAMETERS, 'b'},
    {"27GammaBetaBackwardCUDAKernelI", TIDE_RUN_LAYER_PARAMETERS, 'b'},
    {"24RowwiseMomentsCUDAKernelI", TIDE_RUN_GROUPS, 0},
    {"21indexSelectSmallIndexI", TIDE_RUN_INDEXED_ROWS, 0},
    {"21indexSelectLargeIndexI", TIDE_RUN_INDEXED_ROWS, 0},
    {"19compute_grad_weightI", TIDE_RUN_PARTIAL_SUMS, 'e'},
    {"34_scatter_gather_elementwise_kernelI", TIDE_RUN_SINGLE_ELEMENTS, 0},
    {"30DeviceSegmentedRadixSortKernelI", TIDE_RUN_SEGMENTS, 0},
};

const tide_vc_variant *tide_vc_variant_of(const char *name) {
    for (size_t i = 0; i < sizeof(VARIANTS) / sizeof(VARIANTS[0]); i++) {
        if (tide_vc_name_has(name, VARIANTS[i].part)) {
            return &VARIANTS[i];
        }
    }
    return NULL;
}

void tide_vc_variant_fill(const tide_vc_variant *variant, const tide_vc_launched_kernel *launched,
                          tide_run_launch *row) {
    uint64_t length = 0;
    row->k = variant->variant;
    if (variant->row_length != 0 &&
        tide_vc_parameter_count(launched, (size_t)(variant->row_length - 'a'), &length) &&
        length > 0 && length <= UINT32_MAX && row->elements / length <= UINT32_MAX) {
        row->n = (uint32_t)length;
        row->m = (uint32_t)(row->elements / length);
    }
}
