/* attention_internal.h - what both kinds of attention share: heads, and blocks of arrays that are
 * fp32 or bf16, read and written as fp32.
 *
 * All work is cut into tiles of TIDE_ATTENTION_TILE tokens, and heads into blocks of
 * TIDE_ATTENTION_CHANNELS channels, so that a thread's buffers, which lie on its stack, are bounded
 * whatever the shape.
 */
#ifndef TIDE_MODEL_OPS_CPU_ATTENTION_INTERNAL_H
#define TIDE_MODEL_OPS_CPU_ATTENTION_INTERNAL_H

#include "model/ops_cpu/ops_cpu_internal.h"
#include "model/ops_cpu/pieces.h"

enum {
    TIDE_ATTENTION_TILE = 64,     /* a tile of scores is 16 KiB: two fit a first-level cache */
    TIDE_ATTENTION_CHANNELS = 128 /* most models' heads are one block */
};

/* One head of one sequence: (T, D) of arrays (B, T, H, D), or (T, T) of arrays (B, H, T, T). */
typedef struct tide_attention_head {
    const tide_ops_cpu *cpu; /* borrowed */
    size_t at;               /* element (b, 0, h, 0) of arrays (B, T, H, D) */
    size_t scores_at;        /* element (b, h, 0, 0) of arrays (B, H, T, T) */
    size_t row_at;           /* element (b, h, 0) of arrays (B, H, T) */
    size_t T, D, C;          /* tokens, channels of the head, of all heads */
    float scale;             /* of scores: 1 / sqrt(D) */
} tide_attention_head;

/* Head bh = b H + h. */
tide_attention_head tide_attention_head_of(const tide_ops_cpu *cpu, size_t bh, size_t T, size_t H,
                                           size_t D);

/* Blocks of `tile` in n; the elements of the one that begins at `begin`. */
static inline size_t tide_attention_n_blocks(size_t n, size_t tile) {
    return (n + tile - 1) / tile;
}

static inline size_t tide_attention_tile_length(size_t begin, size_t T) {
    return T - begin < TIDE_ATTENTION_TILE ? T - begin : TIDE_ATTENTION_TILE;
}

static inline size_t tide_attention_block_length(size_t begin, size_t D) {
    return D - begin < TIDE_ATTENTION_CHANNELS ? D - begin : TIDE_ATTENTION_CHANNELS;
}

/* Keys of the tile at s0 that query t may look at, at most n_s. */
static inline size_t tide_attention_n_visible(size_t t, size_t s0, size_t n_s) {
    size_t n = t < s0 ? 0 : t - s0 + 1;
    return n < n_s ? n : n_s;
}

/* Rows of an array. */
typedef struct tide_attention_block {
    tide_array array; /* fp32 or bf16 */
    size_t at;        /* first element */
    size_t stride;    /* elements from row to row */
    size_t n_rows;    /* at most TIDE_ATTENTION_TILE */
    size_t n;         /* elements of a row, at most TIDE_ATTENTION_CHANNELS */
} tide_attention_block;

/* Tokens t0 and on, channels c0 and on, of an array (B, T, H, D). */
tide_attention_block tide_attention_channels(const tide_attention_head *head, tide_array array,
                                             size_t t0, size_t c0);
/* Queries t0 and on, keys s0 and on, of an array (B, H, T, T). */
tide_attention_block tide_attention_scores(const tide_attention_head *head, tide_array array,
                                           size_t t0, size_t s0);

/* Where bf16 is widened to. A block that is still in it is not widened again, so within a piece of
 * work nobody may write what is read through it. */
typedef struct tide_attention_buffer {
    const void *source; /* the block's first element; NULL: holds nothing */
    float data[TIDE_ATTENTION_TILE * TIDE_ATTENTION_CHANNELS]; /* rows without gaps */
} tide_attention_buffer;

/* fp32 rows: of an fp32 array in place, or of a buffer. */
typedef struct tide_attention_rows {
    const float *data; /* borrowed; valid until the buffer is used again */
    size_t stride;     /* elements from row to row */
} tide_attention_rows;

tide_attention_rows tide_attention_read(const tide_ops_cpu *cpu, const tide_attention_block *block,
                                        tide_attention_buffer *buffer);
/* block = rows, rounded to nearest where the type narrows. */
void tide_attention_write(const tide_ops_cpu *cpu, const tide_attention_block *block,
                          tide_attention_rows rows);

/* out (n_t, n_s) = alpha sum_d a[t0 ..][d] b[s0 ..][d], a tile of scores or of their gradients. */
typedef struct tide_attention_dots {
    tide_array a, b;                            /* (B, T, H, D) */
    size_t t0, s0;                              /* where the tiles of a and b begin */
    float alpha;                                /* factor */
    tide_attention_buffer *a_buffer, *b_buffer; /* borrowed */
    float *out; /* (n_t, n_s), TIDE_ATTENTION_TILE elements from row to row */
} tide_attention_dots;

void tide_attention_multiply_heads(const tide_attention_head *head,
                                   const tide_attention_dots *dots);

/* Every product of attention, on the calling thread. */
static inline void tide_attention_gemm(const tide_ops_cpu *cpu, const tide_gemm *gemm) {
    tide_gemm_block(cpu->gemm, gemm);
}

#endif
