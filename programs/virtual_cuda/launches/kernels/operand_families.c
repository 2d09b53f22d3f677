/* operand_families.c - PyTorch's kernels whose parameters give all their operands. operands.c
 * defines the syntax of a line; names are cut as in families.c, and * matches anything.
 *
 * Elements chosen by index are read or written in sectors of 32 bytes, however few of them are
 * used.
 */
#include "programs/virtual_cuda/launches/kernels/family_internal.h"

#define SOFTMAX TIDE_RUN_SOFTMAX
#define NORM TIDE_RUN_NORM
#define LOSS TIDE_RUN_LOSS
#define GATHER TIDE_RUN_GATHER_ROWS
#define SCATTER TIDE_RUN_SCATTER_ROWS
#define STRIDED TIDE_RUN_STRIDED
#define QUANTIZED TIDE_RUN_QUANTIZED

static const tide_vc_operand_family FAMILIES[] = {
    /* (out, in, rows, stride, columns, mask, ...) */
    {"20softmax_warp_forwardI", SOFTMAX, 8, "a:ce b:ce f:ce"},
    /* (grad in, grad out, out, rows, stride, columns, mask) */
    {"21softmax_warp_backwardI", SOFTMAX, 7, "a:df b:df c:df g:df"},
    /* (out, in, columns); a block has a row */
    {"19cunn_SoftMaxForwardI", SOFTMAX, 3, "a:cX b:cX"},
    {"22cunn_SoftMaxForwardRegI", SOFTMAX, 3, "a:cX b:cX"},
    {"23cunn_SoftMaxForwardSmemI", SOFTMAX, 3, "a:cX b:cX"},
    {"23cunn_SoftMaxForwardGmemI", SOFTMAX, 3, "a:cX b:cX"},
    {"20cunn_SoftMaxBackwardI", SOFTMAX, 4, "a:dX b:dX c:dX"},
    {"24cunn_SoftMaxBackwardSmemI", SOFTMAX, 4, "a:dX b:dX c:dX"},
    /* (out, in, outer, columns, inner) */
    {"26cunn_SpatialSoftMaxForwardI", SOFTMAX, 5, "a:cde b:cde"},
    {"27cunn_SpatialSoftMaxBackwardI", SOFTMAX, 6, "a:def b:def c:def"},

    /* (columns, epsilon, in, gamma, beta, mean, rstd, out) */
    {"28vectorized_layer_norm_kernelI", NORM, 8, "c:aX d:a e:a f:X g:X h:aX"},
    /* (rows, columns, epsilon, in, mean, rstd), and without the rows for a block each */
    {"24RowwiseMomentsCUDAKernelI", NORM, 6, "d:ab e:a f:a"},
    {"24RowwiseMomentsCUDAKernelI", NORM, 5, "c:aX d:X e:X"},
    {"24RowwiseMomentsCUDAKernelI", NORM, 7, "c:aX d:X e:X f:X g:X"},
    /* (rows, columns, in, mean, rstd, gamma, beta, out) */
    {"26LayerNormForwardCUDAKernelI", NORM, 8, "c:ab d:a e:a f:b g:b h:ab"},
    {"26LayerNormForwardCUDAKernelI", NORM, 7, "b:aX c:X d:X e:a f:a g:aX"},
    /* (grad out, in, mean, rstd, gamma, grad in, columns) */
    {"28layer_norm_grad_input_kernelI*Lb1EEEv", NORM, 7, "a:gX b:gX d:X e:g f:gX"}, /* RMS norm */
    {"28layer_norm_grad_input_kernelI", NORM, 7, "a:gX b:gX c:X d:X e:g f:gX"},
    {"39layer_norm_grad_input_kernel_vectorizedI*Lb1EEEv", NORM, 7, "a:gX b:gX d:X e:g f:gX"},
    {"39layer_norm_grad_input_kernel_vectorizedI", NORM, 7, "a:gX b:gX c:X d:X e:g f:gX"},
    /* (rows, columns, grad out, in, mean, rstd, grad gamma, grad beta); a row of blocks has its own
     * gradients */
    {"35GammaBetaBackwardCUDAKernelTemplateI*ELb*ELb*ELb1EEEv", NORM, 8,
     "c:ab d:ab f:a g:bY"}, /* RMS norm */
    {"35GammaBetaBackwardCUDAKernelTemplateI", NORM, 8, "c:ab d:ab e:a f:a g:bY h:bY"},
    {"33GammaBetaBackwardSimpleCUDAKernelI", NORM, 8, "c:ab d:ab e:a f:a g:b h:b"},
    {"27GammaBetaBackwardCUDAKernelI", NORM, 8, "c:ab d:ab e:a f:a g:b h:b"},

    /* group norm: (images, channels, groups, mean, rstd, gamma, beta, scale, shift) */
    {"28ComputeFusedParamsCUDAKernelI", NORM, 9, "d:ac e:ac f:b g:b h:ab i:ab"},
    /* (pixels, grad out, in, sums) */
    {"34ComputeInternalGradientsCUDAKernelI", NORM, 5, "b:aX c:aX d:X e:X"},
    /* (channels, pixels, groups, mean, rstd, gamma, sums, factors) */
    {"36ComputeBackwardFusedParamsCUDAKernelI", NORM, 10, "d:XY e:XY f:a g:aX h:aX i:XY j:XY"},
    /* (images, channels, groups, mean, rstd, sums, grad gamma, grad beta) */
    {"28GammaBetaBackwardCUDAKernel1I", NORM, 9, "d:ac e:ac f:ab g:ab h:b i:b"},
    {"28GammaBetaBackwardCUDAKernel2I", NORM, 9, "d:ac e:ac f:ab g:ab h:b i:b"},
    {"38Compute1dBackwardFusedParamsCUDAKernelI", NORM, 9, "c:aX d:aX e:XY f:XY g:a h:XY i:XY"},
    {"30GammaBeta1dBackwardCUDAKernel1I", NORM, 9, "d:ab e:ab f:ac g:ac h:b i:b"},
    {"30GammaBeta1dBackwardCUDAKernel2I", NORM, 9, "d:ab e:ab f:ac g:ac h:b i:b"},

    /* batch norm, by channels first */
    {"36batch_norm_collect_statistics_kernelI", NORM, 5, "*"},
    {"35batch_norm_reduce_statistics_kernelI", NORM, 9, "*"},
    {"33batch_norm_transform_input_kernelI", NORM, 7, "*"},
    {"26batch_norm_backward_kernelI", NORM, 12, "*"},
    {"33batch_norm_backward_reduce_kernelI", NORM, 8, "*"},
    {"32batch_norm_backward_elemt_kernelI", NORM, 9, "*"},
    {"32batch_norm_backward_elemt_kernelI", NORM, 10, "*"},
    /* by channels last: (in, mean, rstd, staging, semaphores, rows, channels, epsilon) */
    {"50batch_norm_collect_statistics_channels_last_kernelI", NORM, 8, "a:fg b:g c:g"},
    /* (in, other, mean, rstd, gamma, beta, out, rows, channels, relu) */
    {"47batch_norm_transform_input_channels_last_kernelI", NORM, 10,
     "a:hi b:hi c:i d:i e:i f:i g:hi"},
    /* (in, grad out, mean, rstd, sums, grad gamma, grad beta, staging, semaphores, rows, channels)
     */
    {"47batch_norm_backward_reduce_channels_last_kernelI", NORM, 12,
     "a:kl b:kl c:l d:l e:l f:l g:l h:l"},
    /* (grad out, in, mean, rstd, gamma, sums, grad in, factor or counts, rows, channels) */
    {"46batch_norm_backward_elemt_channels_last_kernelI", NORM, 11,
     "a:jk b:jk c:k d:k e:k f:k g:k h:jk"},
    {"46batch_norm_backward_elemt_channels_last_kernelI", NORM, 12,
     "a:kl b:kl c:l d:l e:l f:l g:l h:kl"},

    /* (loss, weight, in, targets, weights, mean?, classes, ignored) */
    {"38nll_loss_forward_reduce_cuda_kernel_1dI", LOSS, 8, "a:1 b:1 c:!32 d:1 e:!32"},
    /* (loss, weight, in, targets, weights, mean?, rows, classes, classes, ignored) */
    {"38nll_loss_forward_reduce_cuda_kernel_2dI", LOSS, 10, "a:1 b:1 c:!32g d:g e:g,i"},
    /* (rows, in, targets, losses, weights, classes, ignored) */
    {"38nll_loss_forward_no_reduce_cuda_kernelI", LOSS, 7, "b:!32a c:a d:a e:a,f"},
    /* (grad in, grad out, weights, targets, weight, mean?, classes, ignored) */
    {"39nll_loss_backward_reduce_cuda_kernel_1dI", LOSS, 8, "a:!32 b:1 c:!32 d:1 e:1"},
    /* (grad in, grad out, targets, weights, weight, mean?, rows, classes, classes, ignored) */
    {"39nll_loss_backward_reduce_cuda_kernel_2dI", LOSS, 10, "a:!32g b:1 c:g d:g,i e:1"},
    {"39nll_loss_backward_no_reduce_cuda_kernelI", LOSS, 7, "b:a c:c d:!32a e:a,f"},
    /* (sums of chunks, results, chunks of a tensor); a block has a tensor */
    {"14lpnorm_cleanupI", TIDE_RUN_MULTI_TENSOR, 3, "a:cX"},
    {"13lpmax_cleanupI", TIDE_RUN_MULTI_TENSOR, 3, "a:cX"},
    /* (scale, steps without infinity, whether one is infinite, ...) */
    {"28amp_update_scale_cuda_kernelE", TIDE_RUN_MULTI_TENSOR, 6, "a:2 b:2 c:1"},
    {"25_assert_async_cuda_kernel", LOSS, 2, "a:1"},

    /* dropout: (in, out, mask, elements, kept, seed) */
    {"24fused_dropout_kernel_vecI", TIDE_RUN_DROPOUT, 6, "a:d b:d c:d"},
    {"20fused_dropout_kernelI", TIDE_RUN_DROPOUT, 6, "a:d b:d c:d"},

    /* (out, in, indices, indices, bytes of a row, rows, stride, stride, negative?) */
    {"24vectorized_gather_kernelI", GATHER, 9, "a:!de b:!de,fe c:d =:T"},
    /* (out, in, indices, dimensions, ..., rows); of out and in, the lengths are those of a row */
    {"21indexSelectSmallIndexI", GATHER, 7, "a:ac b:bc,bg c:c"},
    {"21indexSelectLargeIndexI", GATHER, 8, "a:ac b:bc,bh c:c"},
    {"19indexFuncSmallIndexI", SCATTER, 10, "~a:2bc b:bc c:c"},
    {"19indexFuncLargeIndexI", SCATTER, 11, "~a:2bc b:bc c:c"},
    /* (sum, in, indices, indices, elements or bytes of a row, ...) */
    {"22tma_scatter_add_kernelI", SCATTER, 10, "~a:2de b:de c:d"},
    {"29vectorized_scatter_add_kernelI", SCATTER, 10, "~a:!2de b:!de c:d =:T"},

    /* (indices, grad out, grad of the table, indices, columns, padding) */
    {"33embedding_backward_feature_kernelI", SCATTER, 6, "~a:d b:de c:2de"},
    /* (order, grad out, counts, indices, columns, segments, n, sums of segments, columns) */
    {"19compute_grad_weightI", SCATTER, 9, "~a:d b:de c:d f:d h:T =:de"},
    /* (keys, values, their outs, how many there are, ..., keys, tiles, ...) */
    {"28DeviceUniqueByKeySweepKernelI", TIDE_RUN_SCAN, 10, "~a:h c:h d:h"},
    /* (sorted, grad of the table, columns, segments, n, sums of segments, segments, n, padding,
     * columns) */
    {"15sum_and_scatterI", SCATTER, 10, "~b:T f:T =:T"},
    {"24krn_partials_per_segmentI", SCATTER, 4, "~a:T b:T"},
    {"26krn_partial_segment_offsetI", SCATTER, 5, "~a:T b:T c:T d:T"},
    {"31compute_num_of_partial_segmentsI", SCATTER, 4, "a:1 b:1 c:1 d:1"},
    /* (sorted, order, grad out, grad, indices, columns, stride, outer, accumulate?) */
    {"24indexing_backward_kernelI", SCATTER, 9, "~a:e b:e c:efh d:2efh"},
    {"33indexing_backward_kernel_stride_1I", SCATTER, 9, "~a:e b:e c:efh d:2efh"},
    {"37indexing_backward_kernel_small_strideI", SCATTER, 9, "~a:e b:e c:efh d:2efh"},

    /* bags: (indices, begins, table, out, bag of an index, indices, bags, columns, ...) */
    {"40EmbeddingBag_updateOutputKernel_sum_meanI", GATHER, 16, "~a:f b:g c:fh d:gh e:f"},
    {"24compute_grad_weight_bagsI", SCATTER, 14, "~a:e b:ef c:e m:T =:ef"},
    /* (repeats, their sums, out, repeats, out) */
    {"19compute_cuda_kernelI", GATHER, 5, "a:d b:d c:e"},
    /* (out, in, boundaries, order, boundaries, boundaries, in, ...) */
    {"24searchsorted_cuda_kernelI", GATHER, 9, "~a:g b:g c:f,g"},
    /* (elements, tensors with lengths, ...) */
    {"22grid_sampler_2d_kernelI", GATHER, 7, "~*"},
    {"31grid_sampler_2d_backward_kernelI", SCATTER, 11, "~*"},
    {"33transform_bias_rescale_qkv_kernelI", STRIDED, 4, "*"},
    {"21kernelPointwiseApply2I", TIDE_RUN_DROPOUT, 4, "*"},
    /* (in, out, height, width, ...); a layer of blocks has a plane */
    {"27reflection_pad2d_out_kernelI", GATHER, 11, "~a:cdYZ b:T"},
    {"32replication_pad_forward_kernel1dI", GATHER, 5, "*"},
    {"32replication_pad_forward_kernel2dI", GATHER, 6, "*"},

    {"16triu_tril_kernelI", STRIDED, 5, "~a:a b:b"},
    /* (in, out, elements, ...) */
    {"16roll_cuda_kernelI", STRIDED, 8, "a:c b:c"},

    /* (in, out, planes, height, width, height out, width out, ...) */
    {"28upsample_nearest2d_out_frameI", GATHER, 9, "a:cde,cfg b:cfg"},
    {"33upsample_nearest2d_nhwc_out_frameI", GATHER, 10, "a:jde/fg,j b:j"},
    /* (grad out, planes, batch, height, width, height in, width in, grad in, ...) */
    {"29upsample_bilinear2d_out_frameI", GATHER, 6, "*"},
    {"28upsample_bicubic2d_out_frameI", GATHER, 6, "*"},
    {"30upsample_trilinear3d_out_frameI", GATHER, 7, "*"},
    {"27upsample_linear1d_out_frameI", GATHER, 5, "*"},
    {"38upsample_bilinear2d_backward_out_frameI", SCATTER, 10, "i:2abc j:ade"},

    /* (elements out, in, channels, height, width, height out, width out, ..., out, where) */
    {"21max_pool_forward_nchwI", GATHER, 17, "b:ade/fg p:a q:a"},
    /* (in, batch, channels, height, width, height out, width out, ..., out, where) */
    {"21max_pool_forward_nhwcI", GATHER, 23, "a:bcde v:bcfg w:bcfg"},
    /* (grad out, where, batch, channels, height, width, height out, width out, ..., grad in) */
    {"22max_pool_backward_nchwI", GATHER, 17, "a:cdgh b:cdgh q:cdef"},
    {"22max_pool_backward_nhwcI", GATHER, 22, "a:cdgh b:cdgh v:cdef"},
    /* (elements out, in, channels, height, width, height out, width out, ..., out, ...) */
    {"25avg_pool2d_out_cuda_frameI", GATHER, 17, "b:ade/fg n:a"},
    {"30avg_pool2d_out_cuda_frame_nhwcI", GATHER, 17, "b:ade/fg n:a"},
    /* (elements in, grad out, channels, height, width, height out, width out, ..., grad in, ...) */
    {"34avg_pool2d_backward_out_cuda_frameI", GATHER, 17, "b:afg/de n:a"},
    {"39avg_pool2d_backward_out_cuda_frame_nhwcI", GATHER, 17, "b:afg/de n:a"},
    /* (in, out, height, width, height out, width out, ...); a column of blocks has a plane */
    {"21adaptive_average_poolI", GATHER, 9, "a:cdX b:efX"},
    {"26adaptive_average_gradinputI", GATHER, 6, "a:cdX b:efX"},
    {"33atomic_adaptive_average_gradinputI", SCATTER, 6, "a:2cdX b:efX"},
    /* (in, out, batch, channels, height, width, height out, width out, ...) */
    {"26adaptive_average_pool_nhwcI", GATHER, 14, "a:cdef b:cdgh"},
    {"31adaptive_average_gradinput_nhwcI", GATHER, 14, "a:cdef b:cdgh"},
    /* (in, out, where, height, width, height out, width out, ...) */
    {"15adaptivemaxpoolI", GATHER, 10, "a:deX b:fgX c:fgX"},
    /* bitsandbytes. Optimizers: (grad, weights, states, norm, ..., elements); AdEMAMix has three
     * states, two of them in the first tensor. Before version 0.44 they had fewer factors. */
    /* Managed states count as if they were on the card */
    {"21kOptimizer32bit2StateI*Li6EEv", QUANTIZED, 18, "a:r b:2r c:4r d:2r"},
    {"21kOptimizer32bit2StateI", QUANTIZED, 18, "a:r b:2r c:2r d:2r"},
    {"21kOptimizer32bit2StateI", QUANTIZED, 17, "a:q b:2q c:2q d:2q"},
    {"21kOptimizer32bit1StateI", QUANTIZED, 15, "a:o b:2o c:2o"},
    /* the norms of the steps: (grad, weights, states, norm, ..., elements) */
    {"33kPreconditionOptimizer32bit2StateI", QUANTIZED, 13, "a:m c:m d:m"},
    {"33kPreconditionOptimizer32bit1StateI", QUANTIZED, 12, "a:l c:l"},
    /* (weights, grad, states, ..., codes, scales of 256 elements, ..., elements) */
    {"35kOptimizerStatic8bit2StateBlockwiseI*Li6ELi256E", QUANTIZED, 19,
     "a:2s b:s c:4s d:2s n:4s/256 o:2s/256"},
    {"35kOptimizerStatic8bit2StateBlockwiseI*ELi256E", QUANTIZED, 19,
     "a:2s b:s c:2s d:2s n:2s/256 o:2s/256"},
    {"35kOptimizerStatic8bit2StateBlockwiseI*ELi256E", QUANTIZED, 17,
     "a:2q b:q c:2q d:2q l:2q/256 m:2q/256"},
    {"35kOptimizerStatic8bit2StateBlockwiseI*ELi2048E", QUANTIZED, 17,
     "a:2q b:q c:2q d:2q l:2q/2048 m:2q/2048"},
    {"35kOptimizerStatic8bit1StateBlockwiseI*ELi256E", QUANTIZED, 14, "a:2n b:n c:2n j:2n/256"},
    {"35kOptimizerStatic8bit1StateBlockwiseI*ELi2048E", QUANTIZED, 14, "a:2n b:n c:2n j:2n/2048"},
    /* (codes, in, scales, out, random, where, elements); a block has one scale, and 2 numbers of
     * 4 bits are a byte */
    {"18kQuantizeBlockwiseI*Li0EEv", QUANTIZED, 7, "b:g c:X d:g"},
    {"18kQuantizeBlockwiseI", QUANTIZED, 7, "b:g c:X d:g/2"},
    {"23kQuantizeBlockwiseSmallI", QUANTIZED, 7, "b:g c:g/32 d:g/2"},
    /* (codes, in, scales, out, elements of a scale or bytes of one, elements) */
    {"20kDequantizeBlockwiseI*Li0EEv", QUANTIZED, 6, "b:f c:f/e d:f"},
    {"20kDequantizeBlockwiseI", QUANTIZED, 6, "b:f/2 c:f/2e d:f"},
    /* (in, out, scales of rows, bound, rows, columns); (sums, scales, scales, out, shift, rows,
     * columns, elements) */
    {"16kInt8VectorQuantI", QUANTIZED, 6, "a:ef b:ef c:e"},
    {"22kdequant_mm_int32_fp16I", QUANTIZED, 8, "a:h b:f c:g d:h e:g"},
    /* (outputs, rows, k, in, weights, scales, codes, out, ..., elements of a scale) */
    {"26kgemm_4bit_inference_naiveI", QUANTIZED, 12, "d:bc e:ac/2 f:ac/l h:ab"},
    /* (in, weights, scales, scales of 8 bits, ..., out, shift, rows, outputs, k, elements of a
     * scale, ...); without scales of 8 bits, those of 32 bits are of elements */
    {"14gemm_4bit_simtI", QUANTIZED, 13, "~a:ik b:jk/2 c:jk/l d:jk/l g:ij h:j @:ijk"},
    {"22gemm_4bit_sm75_m16n8k8I", QUANTIZED, 13, "~a:ik b:jk/2 c:jk/l d:jk/l g:ij h:j @:ijk"},
    {"23gemm_4bit_sm80_m16n8k16I", QUANTIZED, 13, "~a:ik b:jk/2 c:jk/l d:jk/l g:ij h:j @:ijk"},
    /* PyTorch's: (in, weights, scales and zeros, out, rows, outputs, k, tiles, ...) */
    {"30tinygemm_m16n8k16_chunk_kernelI*BLayout_TC_int4ILi*ELi32E", QUANTIZED, 10,
     "a:!2eg b:!fg/2 c:!4fg/32 d:!2ef @:efg"},
    {"30tinygemm_m16n8k16_chunk_kernelI*BLayout_TC_int4ILi*ELi64E", QUANTIZED, 10,
     "a:!2eg b:!fg/2 c:!4fg/64 d:!2ef @:efg"},
    {"30tinygemm_m16n8k16_chunk_kernelI*BLayout_TC_int4ILi*ELi128E", QUANTIZED, 10,
     "a:!2eg b:!fg/2 c:!4fg/128 d:!2ef @:efg"},
    {"30tinygemm_m16n8k16_chunk_kernelI*BLayout_TC_int4ILi*ELi256E", QUANTIZED, 10,
     "a:!2eg b:!fg/2 c:!4fg/256 d:!2ef @:efg"},
    /* (in, weights, scales, out, rows, k, outputs) */
    {"25weight_int8pack_mm_kernelE", QUANTIZED, 7, "~a:ef b:fg c:g d:eg"},
};

const tide_vc_operand_family *tide_vc_operand_families(size_t *ret_n) {
    *ret_n = sizeof(FAMILIES) / sizeof(FAMILIES[0]);
    return FAMILIES;
}
