/* attention_internal.h - shared by both kinds of attention: the addresses of a head, and products
 * of its tiles.
 *
 * All work is cut into tiles of TIDE_ATTENTION_TILE tokens, and results into blocks of
 * TIDE_ATTENTION_CHANNELS channels, so a thread's sums fit its stack for every shape. Arrays are
 * fp32, bf16 or fp16; products read each type and sum in fp32. */
#ifndef TIDE_MODEL_OPS_CPU_ATTENTION_INTERNAL_H
#define TIDE_MODEL_OPS_CPU_ATTENTION_INTERNAL_H

#include "model/ops_cpu/ops_cpu_internal.h"
#include "model/ops_cpu/pieces.h"

enum {
    TIDE_ATTENTION_TILE = 64,     /* a tile of scores is 16 KiB: two fit a first-level cache */
    TIDE_ATTENTION_CHANNELS = 128 /* most models' heads are one block */
};

/* One head of one sequence: (T, D) of arrays (B, T, H, D), (T, T) of arrays (B, H, T, T). */
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

static inline size_t tide_attention_n_tiles(size_t T) {
    return (T + TIDE_ATTENTION_TILE - 1) / TIDE_ATTENTION_TILE;
}

static inline size_t tide_attention_n_blocks(size_t D) {
    return (D + TIDE_ATTENTION_CHANNELS - 1) / TIDE_ATTENTION_CHANNELS;
}

/* Tokens of the tile that begins at t, channels of the block that begins at c. */
static inline size_t tide_attention_tile_length(size_t t, size_t T) {
    return T - t < TIDE_ATTENTION_TILE ? T - t : TIDE_ATTENTION_TILE;
}

static inline size_t tide_attention_block_length(size_t c, size_t D) {
    return D - c < TIDE_ATTENTION_CHANNELS ? D - c : TIDE_ATTENTION_CHANNELS;
}

/* The number of keys among s0 .. s0 + n_s that query t sees. */
static inline size_t tide_attention_n_visible(size_t t, size_t s0, size_t n_s) {
    size_t n = t < s0 ? 0 : t - s0 + 1;
    return n < n_s ? n : n_s;
}

/* An array (B, T, H, D) from token t, channel c of the head on; rows are C elements apart. */
tide_array tide_attention_at(const tide_attention_head *head, tide_array x, size_t t, size_t c);
/* An array (B, H, T, T) from query t, key s on; rows are T elements apart. */
tide_array tide_attention_scores_at(const tide_attention_head *head, tide_array x, size_t t,
                                    size_t s);

/* A tile of scores, or of an array of that shape: queries t0 .. t0 + n_t and keys s0 .. s0 + n_s,
 * at most TIDE_ATTENTION_TILE of each. In fp32 its rows are that many elements apart. */
typedef struct tide_attention_tile {
    size_t t0, n_t;
    size_t s0, n_s;
} tide_attention_tile;

/* out (n_t, n_s) = alpha sum_d x_td y_sd, with x and y (B, T, H, D). */
void tide_attention_dots(const tide_attention_head *head, const tide_attention_tile *tile,
                         float alpha, tide_array x, tide_array y, float *out);

/* x (n_rows, n) = rows, `stride` elements apart, rounded once if the type is narrower; x_stride
 * elements from row to row of x. */
typedef struct tide_attention_store {
    tide_array x;      /* written */
    size_t x_stride;   /* elements from row to row of x */
    const float *rows; /* borrowed */
    size_t stride;     /* elements from row to row of `rows` */
    size_t n_rows, n;  /* of both */
} tide_attention_store;

void tide_attention_store_rows(const tide_ops_cpu *cpu, const tide_attention_store *store);

#endif
