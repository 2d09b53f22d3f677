/* Fused attention: two products of queries, keys and values that never leave the multiprocessor,
 * and five where the gradients are computed. A block of threads takes 128 queries of one head, and
 * the last wave of blocks takes as long as a full one. */
#include <math.h>

#include "step_time/work_internal.h"

#define BLOCK_QUERIES 128.0
/* Shares of the stated rate that the published kernels reach which PyTorch builds
 * (FlashAttention-2: 190 to 230 of 312 TFLOP/s on an A100, 335 to 350 of 989 on an H100, 128
 * channels, forward; backward some four fifths of that). */
#define OLD_SHARE 0.65
#define NEW_SHARE 0.35
#define BACKWARD_SHARE 0.8
#define FORWARD_PRODUCTS 2.0
#define BACKWARD_PRODUCTS 5.0

tide_work_time tide_time_attention(const tide_time_constants *constants, const tide_time_card *card,
                                   const tide_run_launch *row) {
    bool is_backward = (row->flags & TIDE_RUN_BACKWARD) != 0;
    double products = is_backward ? BACKWARD_PRODUCTS : FORWARD_PRODUCTS;
    double half = (row->flags & TIDE_RUN_CAUSAL) != 0 ? 0.5 : 1.0;
    double block_flops = products * 2.0 * BLOCK_QUERIES * row->n * row->k * half;
    double n_blocks = ceil(row->m / BLOCK_QUERIES) * row->count;
    double share = (card->is_old ? OLD_SHARE : NEW_SHARE) * (is_backward ? BACKWARD_SHARE : 1.0);
    double stated = tide_time_card_flops(card, row->type);
    tide_work_time time = {.flops = products * 2.0 * row->m * row->n * row->k * row->count * half,
                           .basis = stated > 0.0 ? TIDE_TIME_UNCOMPARED : TIDE_TIME_GUESSED};
    double rate = fmax(stated, card->peak->fp32_flops) * 1e-6 * share; /* FLOP a microsecond */
    double compute =
        ceil(n_blocks / card->n_multiprocessors) * block_flops / (rate / card->n_multiprocessors);
    double memory =
        tide_time_memory_us(constants, card, (double)row->bytes, constants->reduction_share);
    time.us = constants->product_us + fmax(compute, memory);
    time.bound = constants->product_us > fmax(compute, memory) ? TIDE_TIME_BY_LAUNCH
                 : compute > memory                            ? TIDE_TIME_BY_GEMM
                                                               : TIDE_TIME_BY_MEMORY;
    return time;
}

/* The library's kernels for convolutions reach less of the rate than products do, and how much
 * depends on the algorithm that it chooses, which nobody here knows. */
#define CONVOLUTION_SHARE 0.7

tide_work_time tide_time_convolution(const tide_time_constants *constants,
                                     const tide_time_card *card, const tide_run_launch *row) {
    double compute = tide_product_us(constants, card, row) / CONVOLUTION_SHARE;
    double memory =
        tide_time_memory_us(constants, card, (double)row->bytes, constants->vectorised_share);
    double work = fmax(compute, memory);
    tide_work_time time = {.us = constants->product_us + work,
                           .flops = 2.0 * row->m * row->n * row->k * row->count,
                           .basis = compute > 0.0 ? TIDE_TIME_UNCOMPARED : TIDE_TIME_GUESSED};
    time.bound = constants->product_us > work ? TIDE_TIME_BY_LAUNCH
                 : memory > compute           ? TIDE_TIME_BY_MEMORY
                                              : TIDE_TIME_BY_GEMM;
    return time;
}
