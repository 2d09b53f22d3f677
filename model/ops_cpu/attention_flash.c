/* Causal attention without its probabilities in memory: they are made tile by tile, TILE queries by
 * TILE keys, on the stack (Dao et al., "FlashAttention", NeurIPS 2022). Per sequence b and head h,
 * with q, k, v, out (T, D) at a row distance of H D:
 *
 *   forward, per tile of queries, over tiles of keys s0 up to the diagonal, with running maximum m
 *   and sum l per query:
 *     S = q k^T / sqrt(D);  m' = max(m, max_s S);  P = exp(S - m'), 0 for s > t
 *     out = out exp(m - m') + P v;  l = l exp(m - m') + sum_s P
 *   then out = out / l and lse = m + log(l)
 *
 *   backward, with delta_t = sum_d dout_t * out_t, over tiles of keys and of queries:
 *     P = exp(S - lse);  dv += P^T dout;  dP = dout v^T;  dS = P * (dP - delta) / sqrt(D)
 *     dq += dS k;  dk += dS^T q
 *
 * out, dq, dk and dv are the accumulators. */
#include <math.h>

#include "model/ops_cpu/ops_cpu_internal.h"

enum {
    TILE = 64
}; /* a tile of scores is 16 KiB: three of them fit the first-level cache's double */

/* Where one head of one sequence lies. */
typedef struct head_arrays {
    const float *q, *k, *v; /* (T, D), C elements from row to row */
    size_t T, D, C;         /* tokens, channels of the head, of all heads */
    float scale;            /* 1 / sqrt(D) */
} head_arrays;

/* Queries t0 .. t0 + n_t and keys s0 .. s0 + n_s. */
typedef struct tile_range {
    size_t t0, n_t; /* n_t at most TILE */
    size_t s0, n_s; /* n_s at most TILE */
} tile_range;

static size_t tile_length(size_t begin, size_t T) {
    return T - begin < TILE ? T - begin : TILE;
}

/* Keys that query t0 + i of the tile may look at. */
static size_t n_visible(const tile_range *tile, size_t i) {
    size_t t = tile->t0 + i;
    size_t n = t < tile->s0 ? 0 : t - tile->s0 + 1;
    return n < tile->n_s ? n : tile->n_s;
}

/* scores (n_t, n_s), TILE elements from row to row. */
static void tile_scores(const tide_ops_cpu *cpu, const head_arrays *head, const tile_range *tile,
                        float *scores) {
    tide_blas_gemm(&cpu->blas,
                   &(const tide_gemm){TIDE_MATMUL_NT, tile->n_t, tile->n_s, head->D, head->scale,
                                      head->q + tile->t0 * head->C, head->C,
                                      head->k + tile->s0 * head->C, head->C, 0, scores, TILE});
}

/* Row i of a tile in place: scores in, exp(score - max) out, 0 beyond n. Returns their sum. */
static double exponentials(float *row, size_t n, size_t n_s, float max) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t s = 0; s < n; s++) {
        row[s] = tide_exp(row[s] - max);
        sum += (double)row[s];
    }
    for (size_t s = n; s < n_s; s++) {
        row[s] = 0;
    }
    return sum;
}

/* Running maximum and sum of a tile's queries. */
typedef struct running {
    float max[TILE];  /* of scores */
    double sum[TILE]; /* of exp(score - max) */
} running;

/* Scores to P, and what is there already rescaled to the new maximum. */
static void online_softmax(const head_arrays *head, const tile_range *tile, float *scores,
                           float *out, running *state) {
    for (size_t i = 0; i < tile->n_t; i++) { /* query t0 + i */
        float *row = scores + i * TILE;
        size_t n = n_visible(tile, i);
        float max = state->max[i];
        for (size_t s = 0; s < n; s++) {
            max = row[s] > max ? row[s] : max;
        }
        double sum = exponentials(row, n, tile->n_s, max);
        if (tile->s0 == 0) {
            state->sum[i] = sum;
        } else {
            float rescale = tide_exp(state->max[i] - max);
            float *out_row = out + (tile->t0 + i) * head->C;
            for (size_t d = 0; d < head->D; d++) {
                out_row[d] *= rescale;
            }
            state->sum[i] = state->sum[i] * (double)rescale + sum;
        }
        state->max[i] = max;
    }
}

/* out[t0 .. t0 + n_t) and lse of them; out and lse start at the head. */
static void forward_queries(const tide_ops_cpu *cpu, const head_arrays *head, size_t t0, float *out,
                            float *lse) {
    float scores[TILE * TILE];
    running state;
    tile_range tile = {.t0 = t0, .n_t = tile_length(t0, head->T)};
    for (size_t i = 0; i < tile.n_t; i++) {
        state.max[i] = -INFINITY;
        state.sum[i] = 0;
    }
    for (tile.s0 = 0; tile.s0 < t0 + tile.n_t; tile.s0 += TILE) {
        tile.n_s = tile_length(tile.s0, head->T);
        tile_scores(cpu, head, &tile, scores);
        online_softmax(head, &tile, scores, out, &state);
        tide_blas_gemm(&cpu->blas,
                       &(const tide_gemm){TIDE_MATMUL_NN, tile.n_t, head->D, tile.n_s, 1, scores,
                                          TILE, head->v + tile.s0 * head->C, head->C,
                                          tile.s0 == 0 ? 0.0F : 1.0F, out + t0 * head->C, head->C});
    }
    for (size_t i = 0; i < tile.n_t; i++) { /* query t0 + i */
        float *out_row = out + (t0 + i) * head->C;
        float scale = (float)(1 / state.sum[i]);
        for (size_t d = 0; d < head->D; d++) {
            out_row[d] *= scale;
        }
        if (lse != NULL) {
            lse[t0 + i] = (float)((double)state.max[i] + log(state.sum[i]));
        }
    }
}

void tide_cpu_flash_forward(const tide_ops_cpu *cpu, const tide_attention_forward *call) {
    size_t T = call->T;
    size_t C = call->H * call->D;
    size_t n_tiles = (T + TILE - 1) / TILE;
    float scale = (float)(1 / sqrt((double)call->D));
#pragma omp parallel num_threads(cpu->n_threads)
    {
        tide_blas_enter();
#pragma omp for schedule(dynamic)
        for (size_t piece = 0; piece < call->B * call->H * n_tiles; piece++) { /* out[b][t..][h] */
            size_t bh = piece / n_tiles;
            size_t at = bh / call->H * T * C + bh % call->H * call->D;
            const head_arrays head = {(const float *)call->q.data + at,
                                      (const float *)call->k.data + at,
                                      (const float *)call->v.data + at,
                                      T,
                                      call->D,
                                      C,
                                      scale};
            forward_queries(cpu, &head, piece % n_tiles * TILE, (float *)call->out.data + at,
                            call->lse == NULL ? NULL : call->lse + bh * T);
        }
    }
}

/* What backward adds to a head. */
typedef struct head_gradients {
    const float *dout;   /* (T, D), C elements from row to row */
    const float *lse;    /* (T) */
    const float *delta;  /* (T) */
    float *dq, *dk, *dv; /* (T, D), C elements from row to row */
} head_gradients;

/* probs: scores in, P out; dscores: dP in, dS out. */
static void tile_dscores(const head_arrays *head, const head_gradients *gradients,
                         const tile_range *tile, float *dscores, const float *probs) {
    for (size_t i = 0; i < tile->n_t; i++) { /* query t0 + i; P is 0 beyond the visible keys */
        float delta = gradients->delta[tile->t0 + i];
        const float *row = probs + i * TILE;
        float *drow = dscores + i * TILE;
        for (size_t s = 0; s < tile->n_s; s++) {
            drow[s] = row[s] * (drow[s] - delta) * head->scale;
        }
    }
}

static void backward_tile(const tide_ops_cpu *cpu, const head_arrays *head,
                          const head_gradients *gradients, const tile_range *tile) {
    float probs[TILE * TILE];
    float dscores[TILE * TILE];
    size_t n_t = tile->n_t;
    size_t n_s = tile->n_s;
    size_t C = head->C;
    size_t D = head->D;
    const float *dout = gradients->dout + tile->t0 * C;
    float *dv = gradients->dv + tile->s0 * C;
    float *dk = gradients->dk + tile->s0 * C;
    float *dq = gradients->dq + tile->t0 * C;
    float first_query = tile->t0 == tile->s0 ? 0.0F : 1.0F; /* of these keys */
    float first_key = tile->s0 == 0 ? 0.0F : 1.0F;
    tile_scores(cpu, head, tile, probs);
    for (size_t i = 0; i < n_t; i++) { /* query t0 + i */
        exponentials(probs + i * TILE, n_visible(tile, i), n_s, gradients->lse[tile->t0 + i]);
    }
    tide_blas_gemm(&cpu->blas, &(const tide_gemm){TIDE_MATMUL_TN, n_s, D, n_t, 1, probs, TILE, dout,
                                                  C, first_query, dv, C});
    tide_blas_gemm(&cpu->blas, &(const tide_gemm){TIDE_MATMUL_NT, n_t, n_s, D, 1, dout, C,
                                                  head->v + tile->s0 * C, C, 0, dscores, TILE});
    tile_dscores(head, gradients, tile, dscores, probs);
    tide_blas_gemm(&cpu->blas, &(const tide_gemm){TIDE_MATMUL_NN, n_t, D, n_s, 1, dscores, TILE,
                                                  head->k + tile->s0 * C, C, first_key, dq, C});
    tide_blas_gemm(&cpu->blas, &(const tide_gemm){TIDE_MATMUL_TN, n_s, D, n_t, 1, dscores, TILE,
                                                  head->q + tile->t0 * C, C, first_query, dk, C});
}

/* delta (B, H, T) = sum_d dout * out */
static void make_deltas(const tide_ops_cpu *cpu, const tide_attention_backward *call) {
    size_t D = call->D;
    size_t C = call->H * D;
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (size_t row = 0; row < call->B * call->T; row++) { /* delta[b][:][t] */
        for (size_t h = 0; h < call->H; h++) {
            const float *dout = (const float *)call->dout.data + row * C + h * D;
            const float *out = (const float *)call->out.data + row * C + h * D;
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (size_t d = 0; d < D; d++) {
                sum += (double)dout[d] * (double)out[d];
            }
            call->scratch[(row / call->T * call->H + h) * call->T + row % call->T] = (float)sum;
        }
    }
}

static void backward_head(const tide_ops_cpu *cpu, const tide_attention_backward *call, size_t bh) {
    size_t T = call->T;
    size_t C = call->H * call->D;
    size_t at = bh / call->H * T * C + bh % call->H * call->D;
    const head_arrays head = {(const float *)call->q.data + at,
                              (const float *)call->k.data + at,
                              (const float *)call->v.data + at,
                              T,
                              call->D,
                              C,
                              (float)(1 / sqrt((double)call->D))};
    const head_gradients gradients = {(const float *)call->dout.data + at,
                                      call->lse + bh * T,
                                      call->scratch + bh * T,
                                      (float *)call->dq.data + at,
                                      (float *)call->dk.data + at,
                                      (float *)call->dv.data + at};
    tile_range tile;
    for (tile.s0 = 0; tile.s0 < T; tile.s0 += TILE) { /* dk, dv[s0 ..], dq += */
        tile.n_s = tile_length(tile.s0, T);
        for (tile.t0 = tile.s0; tile.t0 < T; tile.t0 += TILE) {
            tile.n_t = tile_length(tile.t0, T);
            backward_tile(cpu, &head, &gradients, &tile);
        }
    }
}

void tide_cpu_flash_backward(const tide_ops_cpu *cpu, const tide_attention_backward *call) {
    make_deltas(cpu, call);
#pragma omp parallel num_threads(cpu->n_threads)
    {
        tide_blas_enter();
#pragma omp for schedule(dynamic)
        for (size_t bh = 0; bh < call->B * call->H; bh++) { /* dq, dk, dv[b][:][h] */
            backward_head(cpu, call, bh);
        }
    }
}
