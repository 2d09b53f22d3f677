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
    tide_attention_buffer scores_buffer = {.source = NULL};
    tide_attention_buffer x_buffer = {.source = NULL};
    float sum[TILE * CHANNELS];
    bool transposed = product->transposed;
    size_t begin = transposed ? i0 : 0;
    size_t end = transposed ? head->T : i0 + 1;
    for (size_t c0 = 0; c0 < head->D; c0 += CHANNELS) {
        tide_attention_block out = tide_attention_channels(head, product->out, i0, c0);
        for (size_t j0 = begin; j0 < end; j0 += TILE) {
            tide_attention_block scores = tide_attention_scores(
                head, product->scores, transposed ? j0 : i0, transposed ? i0 : j0);
            tide_attention_block x = tide_attention_channels(head, product->x, j0, c0);
            tide_attention_rows a = tide_attention_read(head->cpu, &scores, &scores_buffer);
            tide_attention_rows b = tide_attention_read(head->cpu, &x, &x_buffer);
            tide_attention_gemm(head->cpu,
                                &(const tide_gemm){transposed ? TIDE_MATMUL_TN : TIDE_MATMUL_NN,
                                                   out.n_rows, out.n, x.n_rows, 1, a.data, a.stride,
                                                   b.data, b.stride, j0 == begin ? 0.0F : 1.0F, sum,
                                                   out.n});
        }
        tide_attention_write(head->cpu, &out, (tide_attention_rows){sum, out.n});
    }
}

/* Maximum and sum of the rows of a tile of queries. */
typedef struct row_statistics {
    float max[TILE];  /* of scores */
    double sum[TILE]; /* of exp(score - max) */
} row_statistics;

/* Takes n more scores of row i into the statistics; they are lost. */
static void add_statistics(const tide_cpu_kernels *kernels, float *scores, size_t n, size_t i,
                           row_statistics *rows) {
    float before = rows->max[i];
    float here = kernels->row_max(scores, n);
    float max = here > before ? here : before;
    double sum = kernels->exponentials(scores, n, max);
    if (rows->sum[i] > 0) {
        sum += rows->sum[i] * (double)tide_exp(before - max);
    }
    rows->max[i] = max;
    rows->sum[i] = sum;
}

/* n scores of row i of a tile n_s wide to probabilities in place. */
static void make_probs_row(const tide_cpu_kernels *kernels, float *scores, size_t n, size_t n_s,
                           float max, double sum) {
    (void)kernels->exponentials(scores, n, max);
    kernels->scale(scores, (float)(1 / sum), n);
    memset(scores + n, 0, (n_s - n) * sizeof(*scores));
}

/* probs[t0 .. t0 + TILE). */
static void make_probs(const tide_attention_head *head, const tide_attention_forward *call,
                       size_t t0) {
    tide_attention_buffer q = {.source = NULL};
    tide_attention_buffer k = {.source = NULL};
    float scores[TILE * TILE];
    row_statistics rows;
    size_t n_t = tide_attention_tile_length(t0, head->T);
    for (size_t i = 0; i < n_t; i++) {
        rows.max[i] = -INFINITY;
        rows.sum[i] = 0;
    }
    size_t n_tiles = t0 / TILE + 1;
    for (size_t j = 0; j < 2 * n_tiles; j++) { /* all tiles for the statistics, then all again */
        size_t s0 = j % n_tiles * TILE;
        tide_attention_block block = tide_attention_scores(head, call->probs, t0, s0);
        tide_attention_multiply_heads(
            head, &(tide_attention_dots){call->q, call->k, t0, s0, head->scale, &q, &k, scores});
        for (size_t i = 0; i < n_t; i++) { /* query t0 + i */
            float *row = scores + i * TILE;
            size_t n = tide_attention_n_visible(t0 + i, s0, block.n);
            if (j < n_tiles) {
                add_statistics(head->cpu->kernels, row, n, i, &rows);
            } else {
                make_probs_row(head->cpu->kernels, row, n, block.n, rows.max[i], rows.sum[i]);
            }
        }
        if (j >= n_tiles) {
            tide_attention_write(head->cpu, &block, (tide_attention_rows){scores, TILE});
        }
    }
    clear_right(head, call->probs, t0, n_t, t0 + n_t);
}

void tide_cpu_naive_forward(const tide_ops_cpu *cpu, const tide_attention_forward *call) {
    size_t n_tiles = tide_attention_n_blocks(call->T, TILE);
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
    tide_attention_buffer dout = {.source = NULL};
    tide_attention_buffer v = {.source = NULL};
    float products[TILE * TILE];
    for (size_t s0 = 0; s0 <= t0; s0 += TILE) {
        tide_attention_buffer dprobs_buffer = {.source = NULL}; /* read after the tile is written */
        tide_attention_buffer probs_buffer = {.source = NULL};
        tide_attention_block dprobs = tide_attention_scores(head, call->dprobs, t0, s0);
        tide_attention_block probs = tide_attention_scores(head, call->probs, t0, s0);
        tide_attention_multiply_heads(
            head, &(tide_attention_dots){call->dout, call->v, t0, s0, 1, &dout, &v, products});
        tide_attention_write(head->cpu, &dprobs, (tide_attention_rows){products, TILE});
        tide_attention_rows drows = tide_attention_read(head->cpu, &dprobs, &dprobs_buffer);
        tide_attention_rows rows = tide_attention_read(head->cpu, &probs, &probs_buffer);
        for (size_t i = 0; i < dprobs.n_rows; i++) { /* query t0 + i; probs is 0 beyond it */
            double sum = head->cpu->kernels->dot(drows.data + i * drows.stride,
                                                 rows.data + i * rows.stride, dprobs.n);
            ret_means[i] = s0 == 0 ? sum : ret_means[i] + sum;
        }
    }
}

/* dprobs[t0 .. t0 + TILE) to dscores, up to the tile on the diagonal. */
static void make_dscores(const tide_attention_head *head, const tide_attention_backward *call,
                         size_t t0) {
    double means[TILE];
    make_dprobs(head, call, t0, means);
    tide_attention_buffer probs_buffer = {.source = NULL};
    tide_attention_buffer dprobs_buffer = {.source = NULL};
    float dscores[TILE * TILE];
    for (size_t s0 = 0; s0 <= t0; s0 += TILE) {
        tide_attention_block dprobs = tide_attention_scores(head, call->dprobs, t0, s0);
        tide_attention_block probs = tide_attention_scores(head, call->probs, t0, s0);
        tide_attention_rows drows = tide_attention_read(head->cpu, &dprobs, &dprobs_buffer);
        tide_attention_rows rows = tide_attention_read(head->cpu, &probs, &probs_buffer);
        for (size_t i = 0; i < dprobs.n_rows; i++) { /* query t0 + i; probs is 0 beyond it */
            float *drow = dscores + i * TILE;
            memcpy(drow, drows.data + i * drows.stride, dprobs.n * sizeof(*drow));
            head->cpu->kernels->dscores(drow, rows.data + i * rows.stride, (float)means[i],
                                        head->scale, dprobs.n);
        }
        tide_attention_write(head->cpu, &dprobs, (tide_attention_rows){dscores, TILE});
    }
}

void tide_cpu_naive_backward(const tide_ops_cpu *cpu, const tide_attention_backward *call) {
    size_t n_tiles = tide_attention_n_blocks(call->T, TILE);
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
