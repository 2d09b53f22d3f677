/* Causal attention: the shared parts of both kinds. attention_flash.c and attention_naive.c have
 * the others.
 */
#include <limits.h>
#include <math.h>

#include "model/ops_cpu/attention_internal.h"

tide_attention_head tide_attention_head_of(const tide_ops_cpu *cpu, size_t bh, size_t T, size_t H,
                                           size_t D) {
    size_t C = H * D;
    return (tide_attention_head){cpu, bh / H * T * C + bh % H * D, bh * T * T, bh * T, T, D,
                                 C,   (float)(1 / sqrt((double)D))};
}

static tide_array from_element(tide_array x, size_t at) {
    return (tide_array){(char *)x.data + at * tide_dtype_bytes(x.dtype), x.dtype};
}

tide_array tide_attention_at(const tide_attention_head *head, tide_array x, size_t t, size_t c) {
    return from_element(x, head->at + t * head->C + c);
}

tide_array tide_attention_scores_at(const tide_attention_head *head, tide_array x, size_t t,
                                    size_t s) {
    return from_element(x, head->scores_at + t * head->T + s);
}

void tide_attention_dots(const tide_attention_head *head, const tide_attention_tile *tile,
                         float alpha, tide_array x, tide_array y, float *out) {
    tide_gemm_block(head->cpu->gemm,
                    &(const tide_gemm){.kind = TIDE_MATMUL_NT,
                                       .m = tile->n_t,
                                       .n = tile->n_s,
                                       .k = head->D,
                                       .alpha = alpha,
                                       .a = tide_attention_at(head, x, tile->t0, 0),
                                       .lda = head->C,
                                       .b = tide_attention_at(head, y, tile->s0, 0),
                                       .ldb = head->C,
                                       .beta = 0,
                                       .c = out,
                                       .ldc = TIDE_ATTENTION_TILE});
}

void tide_attention_store_rows(const tide_ops_cpu *cpu, const tide_attention_store *store) {
    for (size_t i = 0; i < store->n_rows; i++) {
        const float *row = store->rows + i * store->stride;
        if (store->x.dtype == TIDE_FP32) {
            memcpy((float *)store->x.data + i * store->x_stride, row, store->n * sizeof(*row));
        } else {
            tide_narrow(cpu, store->x, i * store->x_stride, row, store->n);
        }
    }
}

/* Checks that the arrays are of one type, fp32, bf16 or fp16, and that the dimensions fit a matrix
 * product. */
static tide_status check(const tide_array *arrays, size_t n_arrays, size_t T, size_t C,
                         tide_error *error) {
    for (size_t i = 0; i < n_arrays; i++) {
        if (arrays[i].dtype != arrays[0].dtype || arrays[i].dtype == TIDE_INT32) {
            return tide_fail(
                error, TIDE_UNSUPPORTED,
                "attention: device cpu takes arrays that are all fp32, all bf16 or all "
                "fp16");
        }
    }
    if (T > INT_MAX || C > INT_MAX) {
        return tide_fail(error, TIDE_LIMIT,
                         "attention: context %zu or %zu channels exceed 2^31 - 1", T, C);
    }
    return TIDE_OK;
}

tide_status tide_cpu_attention_forward(tide_ops *ops, const tide_attention_forward *call,
                                       tide_error *error) {
    const tide_array arrays[] = {call->out, call->q, call->k, call->v, call->probs};
    bool naive = call->kind == TIDE_ATTENTION_NAIVE;
    TIDE_TRY(check(arrays, naive ? 5 : 4, call->T, call->H * call->D, error));
    if (naive) {
        tide_cpu_naive_forward(ops, call);
    } else {
        tide_cpu_flash_forward(tide_ops_cpu_of(ops), call);
    }
    return TIDE_OK;
}

tide_status tide_cpu_attention_backward(tide_ops *ops, const tide_attention_backward *call,
                                        tide_error *error) {
    bool naive = call->kind == TIDE_ATTENTION_NAIVE;
    const tide_array arrays[] = {call->dq,
                                 call->dk,
                                 call->dv,
                                 call->dout,
                                 call->q,
                                 call->k,
                                 call->v,
                                 naive ? call->probs : call->out,
                                 naive ? call->dprobs : call->out};
    TIDE_TRY(check(arrays, sizeof(arrays) / sizeof(arrays[0]), call->T, call->H * call->D, error));
    if (naive) {
        tide_cpu_naive_backward(ops, call);
    } else {
        tide_cpu_flash_backward(tide_ops_cpu_of(ops), call);
    }
    return TIDE_OK;
}
