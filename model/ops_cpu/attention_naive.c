/* Causal attention with its probabilities in memory. Per sequence b and head h, with q, k, v, out
 * (T, D) at a row distance of H D, and probs (T, T):
 *
 *   probs = softmax over s <= t of q k^T / sqrt(D), 0 for s > t;  out = probs v
 *
 *   dv = probs^T dout;  dprobs = dout v^T
 *   dscores = probs * (dprobs - sum_s dprobs * probs) / sqrt(D), in the place of dprobs
 *   dq = dscores k;  dk = dscores^T q
 *
 * What is stored is rounded to the arrays' type when it is stored, and what follows reads it as it
 * was stored: out the rounded probabilities, dscores the rounded dprobs. A row of scores is as long
 * as the context, so none is held in fp32: the scores are computed twice, once for their maximum
 * and the sum of their exponentials, once for the probabilities. */
#include <math.h>

#include "model/ops_cpu/attention_internal.h"

enum { TILE = TIDE_ATTENTION_TILE, CHANNELS = TIDE_ATTENTION_CHANNELS };

/* Rows t0 .. t0 + n_t of (T, T), from column `begin` on: zero. */
static void clear_right(const tide_attention_head *head, tide_array array, size_t t0, size_t n_t,
                        size_t begin) {
    size_t n_bytes = tide_dtype_bytes(array.dtype);
    for (size_t t = t0; t < t0 + n_t; t++) { /* [b][h][t][begin ..] */
        memset((char *)array.data + (head->scores_at + t * head->T + begin) * n_bytes, 0,
               (head->T - begin) * n_bytes);
    }
}

/* A sum over tokens: out[t] = sum_s scores[t][s] x[s] for queries t, or, transposed, out[s] = sum_t
 * scores[t][s] x[t] for keys s. The tiles above the diagonal, all 0, are left out. */
typedef struct scores_product {
    bool transposed;   /* the second */
    tide_array out;    /* (B, T, H, D), written */
    tide_array scores; /* (B, H, T, T) */
    tide_array x;      /* (B, T, H, D) */
} scores_product;

/* out[i0 .. i0 + TILE). */
static void multiply_scores(const tide_attention_head *head, const scores_product *product,
                            size_t i0) {
    float sum[TILE * CHANNELS];
    bool transposed = product->transposed;
    size_t n_rows = tide_attention_tile_length(i0, head->T);
    size_t begin = transposed ? i0 : 0; /* of the tokens that are summed over */
    size_t end = transposed ? head->T : i0 + n_rows;
    for (size_t c0 = 0; c0 < head->D; c0 += CHANNELS) {
        size_t n_c = tide_attention_block_length(c0, head->D);
        size_t t = transposed ? begin : i0;
        size_t s = transposed ? i0 : begin;
        tide_gemm_block(
            head->cpu->gemm,
            &(const tide_gemm){.kind = transposed ? TIDE_MATMUL_TN : TIDE_MATMUL_NN,
                               .m = n_rows,
                               .n = n_c,
                               .k = end - begin,
                               .alpha = 1,
                               .a = tide_attention_scores_at(head, product->scores, t, s),
                               .lda = head->T,
                               .b = tide_attention_at(head, product->x, begin, c0),
                               .ldb = head->C,
                               .beta = 0,
                               .c = sum,
                               .ldc = n_c});
        tide_attention_store_rows(
            head->cpu, &(tide_attention_store){tide_attention_at(head, product->out, i0, c0),
                                               head->C, sum, n_c, n_rows, n_c});
    }
}

/* A tile of queries and one of keys, up to the diagonal. */
static tide_attention_tile tile_at(const tide_attention_head *head, size_t t0, size_t s0) {
    return (tide_attention_tile){t0, tide_attention_tile_length(t0, head->T), s0,
                                 tide_attention_tile_length(s0, head->T)};
}

/* x[t0 ..)[s0 ..) = a tile, x (B, H, T, T). */
static void store_tile(const tide_attention_head *head, const tide_attention_tile *tile,
                       tide_array x, const float *rows) {
    tide_attention_store_rows(
        head->cpu, &(tide_attention_store){tide_attention_scores_at(head, x, tile->t0, tile->s0),
                                           head->T, rows, TILE, tile->n_t, tile->n_s});
}

/* Maximum and sum of the rows of a tile of queries. */
typedef struct row_statistics {
    float max[TILE];  /* of scores */
    double sum[TILE]; /* of exp(score - max) */
} row_statistics;

/* The statistics of queries t0 .. t0 + n_t; scores: room for a tile. */
static void make_statistics(const tide_attention_head *head, const tide_attention_forward *call,
                            size_t t0, float *scores, row_statistics *rows) {
    const tide_cpu_kernels *kernels = head->cpu->kernels;
    for (size_t s0 = 0; s0 <= t0; s0 += TILE) {
        tide_attention_tile tile = tile_at(head, t0, s0);
        tide_attention_dots(head, &tile, head->scale, call->q, call->k, scores);
        for (size_t i = 0; i < tile.n_t; i++) { /* query t0 + i */
            float *row = scores + i * TILE;
            size_t n = tide_attention_n_visible(t0 + i, s0, tile.n_s);
            float max = kernels->row_max(row, n);
            if (s0 > 0 && !(max > rows->max[i])) {
                max = rows->max[i];
            }
            double sum = kernels->exponentials(row, n, max);
            if (s0 > 0) {
                sum += rows->sum[i] * (double)tide_exp(rows->max[i] - max);
            }
            rows->max[i] = max;
            rows->sum[i] = sum;
        }
    }
}

/* probs[t0 .. t0 + TILE). */
static void make_probs(const tide_attention_head *head, const tide_attention_forward *call,
                       size_t t0) {
    const tide_cpu_kernels *kernels = head->cpu->kernels;
    float scores[TILE * TILE];
    row_statistics rows;
    make_statistics(head, call, t0, scores, &rows);
    for (size_t s0 = 0; s0 <= t0; s0 += TILE) {
        tide_attention_tile tile = tile_at(head, t0, s0);
        tide_attention_dots(head, &tile, head->scale, call->q, call->k, scores);
        for (size_t i = 0; i < tile.n_t; i++) { /* query t0 + i */
            float *row = scores + i * TILE;
            size_t n = tide_attention_n_visible(t0 + i, s0, tile.n_s);
            (void)kernels->exponentials(row, n, rows.max[i]);
            kernels->scale(row, (float)(1 / rows.sum[i]), n);
            memset(row + n, 0, (tile.n_s - n) * sizeof(*row));
        }
        store_tile(head, &tile, call->probs, scores);
    }
    size_t n_t = tide_attention_tile_length(t0, head->T);
    clear_right(head, call->probs, t0, n_t, t0 + n_t);
}

void tide_cpu_naive_forward(const tide_ops_cpu *cpu, const tide_attention_forward *call) {
    size_t n_tiles = tide_attention_n_tiles(call->T);
#pragma omp parallel num_threads(cpu->n_threads)
    {
#pragma omp for schedule(dynamic)
        for (size_t piece = 0; piece < call->B * call->H * n_tiles; piece++) {
            /* probs[b][h][t0 ..], out[b][t0 ..][h] */
            size_t t0 = piece % n_tiles * TILE;
            tide_attention_head head =
                tide_attention_head_of(cpu, piece / n_tiles, call->T, call->H, call->D);
            make_probs(&head, call, t0);
            multiply_scores(&head, &(scores_product){false, call->out, call->probs, call->v}, t0);
        }
    }
}

/* dprobs[t0 .. t0 + TILE), up to the tile on the diagonal, and ret_means (TILE) = sum_s dprobs *
 * probs of these rows. */
static void make_dprobs(const tide_attention_head *head, const tide_attention_backward *call,
                        size_t t0, double *ret_means) {
    float products[TILE * TILE];
    float dprobs_buffer[TILE];
    float probs_buffer[TILE];
    for (size_t s0 = 0; s0 <= t0; s0 += TILE) {
        tide_attention_tile tile = tile_at(head, t0, s0);
        tide_attention_dots(head, &tile, 1, call->dout, call->v, products);
        store_tile(head, &tile, call->dprobs, products);
        for (size_t i = 0; i < tile.n_t; i++) { /* query t0 + i; probs is 0 beyond it */
            size_t at = head->scores_at + (t0 + i) * head->T + s0;
            double sum = head->cpu->kernels->dot(
                tide_piece_read(head->cpu, call->dprobs, at, tile.n_s, dprobs_buffer),
                tide_piece_read(head->cpu, call->probs, at, tile.n_s, probs_buffer), tile.n_s);
            ret_means[i] = s0 == 0 ? sum : ret_means[i] + sum;
        }
    }
}

/* dprobs[t0 .. t0 + TILE) to dscores, up to the tile on the diagonal. */
static void make_dscores(const tide_attention_head *head, const tide_attention_backward *call,
                         size_t t0) {
    const tide_ops_cpu *cpu = head->cpu;
    float dprobs_buffer[TILE];
    float probs_buffer[TILE];
    double means[TILE];
    make_dprobs(head, call, t0, means);
    size_t n_t = tide_attention_tile_length(t0, head->T);
    for (size_t i = 0; i < n_t; i++) { /* query t0 + i; probs is 0 beyond it */
        size_t at = head->scores_at + (t0 + i) * head->T;
        for (size_t s0 = 0; s0 < t0 + n_t; s0 += TILE) {
            size_t n_s = tide_attention_tile_length(s0, head->T);
            float *drow = tide_piece_update(cpu, call->dprobs, at + s0, n_s, dprobs_buffer);
            cpu->kernels->dscores(drow,
                                  tide_piece_read(cpu, call->probs, at + s0, n_s, probs_buffer),
                                  (float)means[i], head->scale, n_s);
            tide_piece_store(cpu, call->dprobs, at + s0, n_s, drow);
        }
    }
}

void tide_cpu_naive_backward(const tide_ops_cpu *cpu, const tide_attention_backward *call) {
    size_t n_tiles = tide_attention_n_tiles(call->T);
    size_t n_pieces = call->B * call->H * n_tiles;
#pragma omp parallel num_threads(cpu->n_threads)
    {
#pragma omp for schedule(dynamic)
        for (size_t piece = 0; piece < n_pieces; piece++) {
            /* dscores[b][h][t0 ..], dq[b][t0 ..][h] */
            size_t t0 = piece % n_tiles * TILE;
            tide_attention_head head =
                tide_attention_head_of(cpu, piece / n_tiles, call->T, call->H, call->D);
            make_dscores(&head, call, t0);
            multiply_scores(&head, &(scores_product){false, call->dq, call->dprobs, call->k}, t0);
        }
#pragma omp for schedule(dynamic)
        for (size_t piece = 0; piece < n_pieces; piece++) { /* dk, dv[b][s0 ..][h] */
            size_t s0 = piece % n_tiles * TILE;
            tide_attention_head head =
                tide_attention_head_of(cpu, piece / n_tiles, call->T, call->H, call->D);
            multiply_scores(&head, &(scores_product){true, call->dk, call->dprobs, call->q}, s0);
            multiply_scores(&head, &(scores_product){true, call->dv, call->probs, call->dout}, s0);
        }
    }
}
