/* Causal attention: checks that both kinds share; the arithmetic is in attention_flash.c and
 * attention_naive.c. */
#include <limits.h>

#include "model/ops_cpu/ops_cpu_internal.h"

static tide_status check_shape(size_t B, size_t T, size_t H, size_t D, tide_error *error) {
    if (T > INT_MAX || D > INT_MAX || H * D > INT_MAX) {
        return tide_fail(error, TIDE_LIMIT,
                         "attention: batch %zu, context %zu, %zu heads of %zu exceed 2^31 - 1", B,
                         T, H, D);
    }
    return TIDE_OK;
}

tide_status tide_cpu_attention_forward(tide_ops *ops, const tide_attention_forward *call,
                                       tide_error *error) {
    const tide_array arrays[] = {call->out, call->q, call->k, call->v, call->probs};
    bool naive = call->kind == TIDE_ATTENTION_NAIVE;
    TIDE_TRY(tide_ops_cpu_need_fp32("attention", arrays, naive ? 5 : 4, error));
    TIDE_TRY(check_shape(call->B, call->T, call->H, call->D, error));
    if (naive) {
        tide_cpu_naive_forward(tide_ops_cpu_of(ops), call);
    } else {
        tide_cpu_flash_forward(tide_ops_cpu_of(ops), call);
    }
    return TIDE_OK;
}

tide_status tide_cpu_attention_backward(tide_ops *ops, const tide_attention_backward *call,
                                        tide_error *error) {
    const tide_array shared[] = {call->dq, call->dk, call->dv, call->dout,
                                 call->q,  call->k,  call->v};
    const tide_array naive_only[] = {call->probs, call->dprobs};
    bool naive = call->kind == TIDE_ATTENTION_NAIVE;
    TIDE_TRY(tide_ops_cpu_need_fp32("attention", shared, 7, error));
    TIDE_TRY(
        tide_ops_cpu_need_fp32("attention", naive ? naive_only : &call->out, naive ? 2 : 1, error));
    TIDE_TRY(check_shape(call->B, call->T, call->H, call->D, error));
    if (naive) {
        tide_cpu_naive_backward(tide_ops_cpu_of(ops), call);
    } else {
        tide_cpu_flash_backward(tide_ops_cpu_of(ops), call);
    }
    return TIDE_OK;
}
