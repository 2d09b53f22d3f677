/* Causal attention: what both kinds share; the rest is in attention_flash.c and attention_naive.c.
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

tide_attention_block tide_attention_channels(const tide_attention_head *head, tide_array array,
                                             size_t t0, size_t c0) {
    return (tide_attention_block){array, head->at + t0 * head->C + c0, head->C,
                                  tide_attention_tile_length(t0, head->T),
                                  tide_attention_block_length(c0, head->D)};
}

tide_attention_block tide_attention_scores(const tide_attention_head *head, tide_array array,
                                           size_t t0, size_t s0) {
    return (tide_attention_block){array, head->scores_at + t0 * head->T + s0, head->T,
                                  tide_attention_tile_length(t0, head->T),
                                  tide_attention_tile_length(s0, head->T)};
}

tide_attention_rows tide_attention_read(const tide_ops_cpu *cpu, const tide_attention_block *block,
                                        tide_attention_buffer *buffer) {
    if (block->array.dtype == TIDE_FP32) {
        return (tide_attention_rows){(const float *)block->array.data + block->at, block->stride};
    }
    const uint16_t *source = (const uint16_t *)block->array.data + block->at;
    if (buffer->source != source) {
        for (size_t i = 0; i < block->n_rows; i++) {
            cpu->kernels->widen(buffer->data + i * block->n, source + i * block->stride, block->n);
        }
        buffer->source = source;
    }
    return (tide_attention_rows){buffer->data, block->n};
}

void tide_attention_write(const tide_ops_cpu *cpu, const tide_attention_block *block,
                          tide_attention_rows rows) {
    for (size_t i = 0; i < block->n_rows; i++) {
        size_t at = block->at + i * block->stride;
        const float *row = rows.data + i * rows.stride;
        if (block->array.dtype == TIDE_FP32) {
            memcpy((float *)block->array.data + at, row, block->n * sizeof(*row));
        } else {
            cpu->kernels->narrow((uint16_t *)block->array.data + at, row, block->n);
        }
    }
}

void tide_attention_multiply_heads(const tide_attention_head *head,
                                   const tide_attention_dots *dots) {
    for (size_t c0 = 0; c0 < head->D; c0 += TIDE_ATTENTION_CHANNELS) {
        tide_attention_block a = tide_attention_channels(head, dots->a, dots->t0, c0);
        tide_attention_block b = tide_attention_channels(head, dots->b, dots->s0, c0);
        tide_attention_rows a_rows = tide_attention_read(head->cpu, &a, dots->a_buffer);
        tide_attention_rows b_rows = tide_attention_read(head->cpu, &b, dots->b_buffer);
        tide_attention_gemm(
            head->cpu, &(const tide_gemm){TIDE_MATMUL_NT, a.n_rows, b.n_rows, a.n, dots->alpha,
                                          a_rows.data, a_rows.stride, b_rows.data, b_rows.stride,
                                          c0 == 0 ? 0.0F : 1.0F, dots->out, TIDE_ATTENTION_TILE});
    }
}

/* The arrays have one type, fp32 or bf16, and the dimensions fit a product's. */
static tide_status check(const tide_array *arrays, size_t n_arrays, size_t T, size_t C,
                         tide_error *error) {
    for (size_t i = 0; i < n_arrays; i++) {
        if (arrays[i].dtype != arrays[0].dtype || arrays[i].dtype == TIDE_INT32) {
            return tide_fail(error, TIDE_UNSUPPORTED,
                             "attention: device cpu takes arrays that are all fp32 or all bf16");
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
        tide_cpu_naive_forward(tide_ops_cpu_of(ops), call);
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
        tide_cpu_naive_backward(tide_ops_cpu_of(ops), call);
    } else {
        tide_cpu_flash_backward(tide_ops_cpu_of(ops), call);
    }
    return TIDE_OK;
}
