/* Causal attention: checks a call and chooses the kernels for it. */
#include <limits.h>

#include "model/ops_cuda/attention/attention_internal.h"

static tide_status check(size_t B, size_t T, size_t H, size_t D, tide_error *error) {
    const size_t C = H * D;
    if (T > INT_MAX || C > INT_MAX) {
        return tide_fail(error, TIDE_LIMIT,
                         "attention: context %zu or %zu channels exceed 2^31 - 1", T, C);
    }
    if (T != 0 && B * H > INT_MAX / T) { /* each tile has its own block and at least one row */
        return tide_fail(
            error, TIDE_LIMIT,
            "attention: %zu sequences of %zu heads and %zu tokens are more than 2^31 - "
            "1 rows: lower the batch size or the context length",
            B, H, T);
    }
    return TIDE_OK;
}

static tide_status check_flash(size_t D, tide_error *error) {
    if (D > TIDE_CUDA_FLASH_CHANNELS) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "attention: flash attention on device cuda takes heads of up to %d "
                         "channels, these have %zu: use --attention naive, or more heads",
                         TIDE_CUDA_FLASH_CHANNELS, D);
    }
    return TIDE_OK;
}

/* Whether the kernels for tensor cores can compute a call: arrays are bf16 (fp16 has no instance
 * yet), or fp32 whose products may be TF32, and every row of a head consists of whole aligned
 * accesses of 16 bytes. */
static bool fits_matrices(const tide_ops *ops, const tide_array *arrays, size_t n_arrays,
                          size_t D) {
    const bool is_tf32 = arrays[0].dtype == TIDE_FP32 && tide_ops_cuda_of(ops)->fp32_compute_type ==
                                                             TIDE_CUBLAS_COMPUTE_32F_FAST_TF32;
    bool fits = (arrays[0].dtype == TIDE_BF16 || is_tf32) &&
                D * tide_dtype_bytes(arrays[0].dtype) % 16 == 0;
    for (size_t i = 0; i < n_arrays; i++) {
        fits = fits && (uintptr_t)arrays[i].data % 16 == 0;
    }
    return fits;
}

tide_status tide_cuda_attention_forward(tide_ops *ops, const tide_attention_forward *call,
                                        tide_error *error) {
    const tide_array arrays[] = {call->out, call->q, call->k, call->v, call->probs};
    const bool naive = call->kind == TIDE_ATTENTION_NAIVE;
    TIDE_TRY(tide_cuda_need_one_type("attention", arrays, naive ? 5 : 4, error));
    TIDE_TRY(check(call->B, call->T, call->H, call->D, error));
    if (call->B * call->T * call->H * call->D == 0) {
        return TIDE_OK;
    }
    if (naive) {
        return tide_cuda_naive_forward(ops, call, error);
    }
    TIDE_TRY(check_flash(call->D, error));
    tide_cuda_make_current(ops); /* the kernels' shared memory is granted per device */
    return fits_matrices(ops, arrays, 4, call->D) ? tide_cuda_mma_forward(ops, call, error)
                                                  : tide_cuda_flash_forward(ops, call, error);
}

tide_status tide_cuda_attention_backward(tide_ops *ops, const tide_attention_backward *call,
                                         tide_error *error) {
    const bool naive = call->kind == TIDE_ATTENTION_NAIVE;
    const tide_array arrays[] = {call->dq,
                                 call->dk,
                                 call->dv,
                                 call->dout,
                                 call->q,
                                 call->k,
                                 call->v,
                                 naive ? call->probs : call->out,
                                 naive ? call->dprobs : call->out};
    TIDE_TRY(
        tide_cuda_need_one_type("attention", arrays, sizeof(arrays) / sizeof(arrays[0]), error));
    TIDE_TRY(check(call->B, call->T, call->H, call->D, error));
    if (call->B * call->T * call->H * call->D == 0) {
        return TIDE_OK;
    }
    if (naive) {
        return tide_cuda_naive_backward(ops, call, error);
    }
    TIDE_TRY(check_flash(call->D, error));
    tide_cuda_make_current(ops); /* the kernels' shared memory is granted per device */
    const bool fits = fits_matrices(ops, arrays, 7, call->D);
    TIDE_TRY(tide_cuda_attention_delta(ops, call, fits && call->q.dtype == TIDE_FP32, error));
    return fits ? tide_cuda_mma_backward(ops, call, error)
                : tide_cuda_flash_backward(ops, call, error);
}
