/* Fused attention: two products of queries, keys and values that never leave the multiprocessor,
 * and five with gradients. A block of threads handles 128 queries of one head, and for gradients
 * 128 keys; the last wave of blocks takes as long as a full one. If there are too few blocks for
 * the card, the forward kernels cut the keys into parts. */
#include <math.h>

#include "programs/step_time/work_internal.h"

#define BLOCK 128.0
/* Tidemark's own kernels handle 64 queries or keys (attention_flash.cu uses 32 for the gradients of
 * more than 80 channels), and never cut the keys. Their speed was never measured: they are assumed
 * to reach the share of published kernels of the same kind; in fp32, of the fp32 lanes that they
 * use. */
#define OWN_BLOCK 64.0
#define SMALL_BLOCK 64.0 /* for few queries, as in token-by-token generation */
/* FlashAttention-2 cuts the keys if fewer than this share of the multiprocessors has a block. */
#define FULL_SHARE 0.8
/* Shares of the stated rate reached by the published kernels that PyTorch builds (FlashAttention-2:
 * 190 to 230 of 312 TFLOP/s on an A100, 335 to 350 of 989 on an H100, 128 channels, forward;
 * backward about four fifths of that). */
#define OLD_SHARE 0.65
#define NEW_SHARE 0.35
#define BACKWARD_SHARE 0.8
#define FORWARD_PRODUCTS 2.0
#define BACKWARD_PRODUCTS 5.0
/* A product of fp32 is computed as three of TF32 (CUTLASS, OpMultiplyAddFastF32). */
#define TF32_PRODUCTS 3.0

static bool is_own(const tide_run_launch *row) {
    return row->family == TIDE_RUN_OWN;
}

/* FLOP a second of the whole card; 0: it states no rate of the type. */
static double rate_of(const tide_time_card *card, const tide_run_launch *row) {
    double stated = tide_time_card_flops(card, row->type);
    double rounded = tide_time_card_flops(card, TIDE_RUN_TF32);
    if (row->type == TIDE_RUN_FP32 && !is_own(row)) {
        stated = fmax(stated, rounded / TF32_PRODUCTS);
    }
    return fmax(stated, 0.0);
}

/* The time of the blocks that one multiprocessor computes one after the other. */
static double blocks_us(const tide_time_card *card, const tide_run_launch *row, double head_flops,
                        double rate) {
    bool is_backward = (row->flags & TIDE_RUN_BACKWARD) != 0;
    double block = is_own(row)                             ? OWN_BLOCK
                   : !is_backward && row->m <= SMALL_BLOCK ? SMALL_BLOCK
                                                           : BLOCK;
    double length = is_backward ? row->n : row->m; /* the dimension that is cut into blocks */
    double n_blocks = ceil(length / block) * row->count;
    double block_us = head_flops * block / length / (rate / card->n_multiprocessors);
    double most_parts = ceil(row->n / BLOCK);
    double parts = 1.0;
    if (!is_backward && !is_own(row) && n_blocks < FULL_SHARE * card->n_multiprocessors) {
        parts = fmin(most_parts, floor(card->n_multiprocessors / n_blocks));
    }
    return ceil(n_blocks * parts / card->n_multiprocessors) * block_us / parts;
}

tide_work_time tide_time_attention(const tide_time_constants *constants, const tide_time_card *card,
                                   const tide_run_launch *row) {
    bool is_backward = (row->flags & TIDE_RUN_BACKWARD) != 0;
    double products = is_own(row)   ? (double)row->elements
                      : is_backward ? BACKWARD_PRODUCTS
                                    : FORWARD_PRODUCTS;
    double half = (row->flags & TIDE_RUN_CAUSAL) != 0 ? 0.5 : 1.0;
    double head_flops = products * 2.0 * row->m * row->n * row->k * half;
    double share = (card->chip == TIDE_TIME_HOPPER ? NEW_SHARE : OLD_SHARE) *
                   (is_backward ? BACKWARD_SHARE : 1.0);
    double stated = rate_of(card, row);
    double rate = fmax(stated, card->peak->fp32_flops) * 1e-6 * share; /* FLOP a microsecond */
    bool is_guessed = stated <= 0.0 || (row->flags & TIDE_RUN_GUESSED) != 0;
    tide_work_time time = {.flops = head_flops * row->count,
                           .basis = is_guessed ? TIDE_TIME_GUESSED : TIDE_TIME_UNCOMPARED};
    double compute = time.flops > 0.0 ? blocks_us(card, row, head_flops, rate) : 0.0;
    double memory =
        tide_time_memory_us(constants, card, (double)row->bytes, constants->reduction_share);
    double work = fmax(compute, memory);
    time.us = constants->product_us + work;
    time.bound = constants->product_us > work ? TIDE_TIME_BY_LAUNCH
                 : compute > memory           ? TIDE_TIME_BY_GEMM
                                              : TIDE_TIME_BY_MEMORY;
    return time;
}
