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
 * Everything between reading the inputs and rounding the results once is fp32, also where the
 * arrays are bf16. */
#include <math.h>

#include "model/ops_cpu/attention_internal.h"

enum {
    TILE = TIDE_ATTENTION_TILE,
    CHANNELS = TIDE_ATTENTION_CHANNELS,
    GROUP = 32 /* queries of a tile on the diagonal that share their keys: half of the square above
                * the diagonal is left out */
};

/* Running maximum and sum of a tile's queries. */
typedef struct running {
    float max[TILE];  /* of scores */
    double sum[TILE]; /* of exp(score - max) */
} running;

/* The tile of scores of queries t .. end, or the first of them, and keys from s0 on: on the
 * diagonal a GROUP, and no further to the right than one of them looks. */
static tide_attention_tile tile_at(size_t t, size_t end, size_t s0) {
    size_t n_t = s0 + TILE > t ? GROUP : TILE;
    n_t = end - t < n_t ? end - t : n_t;
    size_t n_s = t + n_t - s0;
    return (tide_attention_tile){t, n_t, s0, n_s < TILE ? n_s : TILE};
}

/* A row of n_s scores to probabilities in place: 0 beyond the n visible. Returns their sum. */
static double row_exponentials(const tide_cpu_kernels *kernels, float *row, size_t n, size_t n_s,
                               float max) {
    double sum = kernels->exponentials(row, n, max);
    memset(row + n, 0, (n_s - n) * sizeof(*row));
    return sum;
}

/* What a thread of the forward pass holds. */
typedef struct forward_work {
    float scores[TILE * TILE];  /* then P */
    float out[TILE * CHANNELS]; /* of this piece, n_c elements from row to row */
    running rows;               /* of its queries */
} forward_work;

/* Scores to P, and `out` rescaled to the new maximum; first: row of the piece. */
static void online_softmax(const tide_cpu_kernels *kernels, const tide_attention_tile *tile,
                           size_t first, size_t n_c, forward_work *work) {
    for (size_t i = 0; i < tile->n_t; i++) { /* query t0 + i */
        float *row = work->scores + i * TILE;
        size_t n = tide_attention_n_visible(tile->t0 + i, tile->s0, tile->n_s);
        float *max = &work->rows.max[first + i];
        double *sum = &work->rows.sum[first + i];
        float before = *max;
        float here = kernels->row_max(row, n);
        *max = here > before ? here : before;
        double added = row_exponentials(kernels, row, n, tile->n_s, *max);
        if (tile->s0 > 0) {
            float rescale = tide_exp(before - *max);
            kernels->scale(work->out + (first + i) * n_c, rescale, n_c);
            added += *sum * (double)rescale;
        }
        *sum = added;
    }
}

/* out[t0 .. end)[c0 .. c0 + n_c) in the work's fp32, before the division by the sums. */
static void forward_rows(const tide_attention_head *head, const tide_attention_forward *call,
                         size_t t0, size_t c0, size_t n_c, forward_work *work) {
    size_t end = t0 + tide_attention_tile_length(t0, head->T);
    for (size_t s0 = 0; s0 <= t0; s0 += TILE) {
        tide_attention_tile tile;
        for (size_t t = t0; t < end; t += tile.n_t) {
            tile = tile_at(t, end, s0);
            tide_attention_dots(head, &tile, head->scale, call->q, call->k, work->scores);
            online_softmax(head->cpu->kernels, &tile, t - t0, n_c, work);
            tide_gemm_block(head->cpu->gemm,
                            &(const tide_gemm){.kind = TIDE_MATMUL_NN,
                                               .m = tile.n_t,
                                               .n = n_c,
                                               .k = tile.n_s,
                                               .alpha = 1,
                                               .a = {work->scores, TIDE_FP32},
                                               .lda = TILE,
                                               .b = tide_attention_at(head, call->v, s0, c0),
                                               .ldb = head->C,
                                               .beta = 1,
                                               .c = work->out + (t - t0) * n_c,
                                               .ldc = n_c});
        }
    }
}

/* Channels c0 and on of out[t0 .. t0 + TILE), and lse of these queries unless NULL. */
static void forward_piece(const tide_attention_head *head, const tide_attention_forward *call,
                          size_t t0, size_t c0, float *lse) {
    size_t n_t = tide_attention_tile_length(t0, head->T);
    size_t n_c = tide_attention_block_length(c0, head->D);
    forward_work work;
    memset(work.out, 0, n_t * n_c * sizeof(work.out[0]));
    for (size_t i = 0; i < n_t; i++) {
        work.rows.max[i] = -INFINITY;
        work.rows.sum[i] = 0;
    }
    forward_rows(head, call, t0, c0, n_c, &work);
    for (size_t i = 0; i < n_t; i++) { /* query t0 + i */
        head->cpu->kernels->scale(work.out + i * n_c, (float)(1 / work.rows.sum[i]), n_c);
        if (lse != NULL) {
            lse[t0 + i] = (float)((double)work.rows.max[i] + log(work.rows.sum[i]));
        }
    }
    tide_attention_store_rows(head->cpu,
                              &(tide_attention_store){tide_attention_at(head, call->out, t0, c0),
                                                      head->C, work.out, n_c, n_t, n_c});
}

void tide_cpu_flash_forward(const tide_ops_cpu *cpu, const tide_attention_forward *call) {
    size_t n_tiles = tide_attention_n_tiles(call->T);
    size_t n_blocks = tide_attention_n_blocks(call->D);
    size_t n_pieces = call->B * call->H * n_tiles * n_blocks;
#pragma omp parallel for num_threads(cpu->n_threads) schedule(dynamic)
    for (size_t piece = 0; piece < n_pieces; piece++) { /* out[b][t0 ..][h][c0 ..] */
        size_t c0 = piece % n_blocks * CHANNELS;
        size_t t0 = piece / n_blocks % n_tiles * TILE;
        tide_attention_head head =
            tide_attention_head_of(cpu, piece / n_blocks / n_tiles, call->T, call->H, call->D);
        float *lse = call->lse == NULL || c0 != 0 ? NULL : call->lse + head.row_at;
        forward_piece(&head, call, t0, c0, lse);
    }
}

/* sum_d dout * out of query t. */
static float make_delta(const tide_attention_head *head, const tide_attention_backward *call,
                        size_t t) {
    float dout_buffer[CHANNELS];
    float out_buffer[CHANNELS];
    double sum = 0;
    for (size_t c0 = 0; c0 < head->D; c0 += CHANNELS) {
        size_t at = head->at + t * head->C + c0;
        size_t n = tide_attention_block_length(c0, head->D);
        const float *dout = tide_piece_read(head->cpu, call->dout, at, n, dout_buffer);
        const float *out = tide_piece_read(head->cpu, call->out, at, n, out_buffer);
        sum += head->cpu->kernels->dot(dout, out, n);
    }
    return (float)sum;
}

/* What a thread of the backward pass holds; gradients are n_c elements from row to row. */
typedef struct backward_work {
    float probs[TILE * TILE];   /* scores, then P */
    float dscores[TILE * TILE]; /* dP, then dS */
    float dq[TILE * CHANNELS];  /* of this piece, as dk and dv */
    float dk[TILE * CHANNELS];
    float dv[TILE * CHANNELS];
} backward_work;

/* P and dS of a tile. */
static void make_dscores(const tide_attention_head *head, const tide_attention_backward *call,
                         const tide_attention_tile *tile, backward_work *work) {
    const tide_cpu_kernels *kernels = head->cpu->kernels;
    const float *lse = call->lse + head->row_at + tile->t0;
    const float *delta = call->scratch + head->row_at + tile->t0;
    tide_attention_dots(head, tile, head->scale, call->q, call->k, work->probs);
    tide_attention_dots(head, tile, 1, call->dout, call->v, work->dscores);
    for (size_t i = 0; i < tile->n_t; i++) { /* query t0 + i; P is 0 beyond the visible keys */
        float *row = work->probs + i * TILE;
        size_t n = tide_attention_n_visible(tile->t0 + i, tile->s0, tile->n_s);
        (void)row_exponentials(kernels, row, n, tile->n_s, lse[i]);
        kernels->dscores(work->dscores + i * TILE, row, delta[i], head->scale, tile->n_s);
    }
}

/* sum (n_t, n_c) += scores x, or sum (n_s, n_c) += scores^T x where that is the kind. */
static void add_product(const tide_attention_head *head, const tide_attention_tile *tile,
                        tide_matmul_kind kind, float *scores, tide_array x, size_t n_c,
                        float *sum) {
    bool transposed = kind == TIDE_MATMUL_TN;
    tide_gemm_block(head->cpu->gemm, &(const tide_gemm){.kind = kind,
                                                        .m = transposed ? tile->n_s : tile->n_t,
                                                        .n = n_c,
                                                        .k = transposed ? tile->n_t : tile->n_s,
                                                        .alpha = 1,
                                                        .a = {scores, TIDE_FP32},
                                                        .lda = TILE,
                                                        .b = x,
                                                        .ldb = head->C,
                                                        .beta = 1,
                                                        .c = sum,
                                                        .ldc = n_c});
}

/* What a tile of queries and one of keys, the piece's or another, adds to the piece's gradients:
 * to dq where the queries are the piece's, to dk and dv where the keys are. */
static void add_tile(const tide_attention_head *head, const tide_attention_backward *call,
                     size_t t0, size_t s0, size_t i0, size_t c0, backward_work *work) {
    size_t n_c = tide_attention_block_length(c0, head->D);
    size_t end = t0 + tide_attention_tile_length(t0, head->T);
    tide_attention_tile tile;
    for (size_t t = t0; t < end; t += tile.n_t) {
        tile = tile_at(t, end, s0);
        make_dscores(head, call, &tile, work);
        if (s0 == i0) {
            add_product(head, &tile, TIDE_MATMUL_TN, work->probs,
                        tide_attention_at(head, call->dout, t, c0), n_c, work->dv);
            add_product(head, &tile, TIDE_MATMUL_TN, work->dscores,
                        tide_attention_at(head, call->q, t, c0), n_c, work->dk);
        }
        if (t0 == i0) {
            add_product(head, &tile, TIDE_MATMUL_NN, work->dscores,
                        tide_attention_at(head, call->k, s0, c0), n_c, work->dq + (t - t0) * n_c);
        }
    }
}

/* Channels c0 and on of dq, dk and dv[i0 .. i0 + TILE). dq needs the tiles of scores in the row of
 * the square on the diagonal, dk and dv those in its column; that one itself serves all three. Each
 * piece has as many tiles as the others, whatever i0. */
static void backward_piece(const tide_attention_head *head, const tide_attention_backward *call,
                           size_t i0, size_t c0) {
    size_t n_rows = tide_attention_tile_length(i0, head->T);
    size_t n_c = tide_attention_block_length(c0, head->D);
    backward_work work;
    const tide_array gradients[] = {call->dq, call->dk, call->dv};
    float *const sums[] = {work.dq, work.dk, work.dv};
    for (size_t g = 0; g < 3; g++) {
        memset(sums[g], 0, n_rows * n_c * sizeof(*sums[g]));
    }
    for (size_t j0 = 0; j0 < head->T; j0 += TILE) { /* left of the diagonal, on it, below it */
        add_tile(head, call, j0 < i0 ? i0 : j0, j0 < i0 ? j0 : i0, i0, c0, &work);
    }
    for (size_t g = 0; g < 3; g++) {
        tide_attention_store_rows(
            head->cpu, &(tide_attention_store){tide_attention_at(head, gradients[g], i0, c0),
                                               head->C, sums[g], n_c, n_rows, n_c});
    }
}

void tide_cpu_flash_backward(const tide_ops_cpu *cpu, const tide_attention_backward *call) {
    size_t n_tiles = tide_attention_n_tiles(call->T);
    size_t n_blocks = tide_attention_n_blocks(call->D);
    size_t n_pieces = call->B * call->H * n_tiles * n_blocks;
#pragma omp parallel num_threads(cpu->n_threads)
    {
#pragma omp for schedule(static)
        for (size_t row = 0; row < call->B * call->H * call->T; row++) { /* scratch[b][h][t] */
            tide_attention_head head =
                tide_attention_head_of(cpu, row / call->T, call->T, call->H, call->D);
            call->scratch[row] = make_delta(&head, call, row % call->T);
        }
#pragma omp for schedule(dynamic)
        for (size_t piece = 0; piece < n_pieces; piece++) { /* dq, dk, dv[b][i0 ..][h][c0 ..] */
            size_t c0 = piece % n_blocks * CHANNELS;
            size_t i0 = piece / n_blocks % n_tiles * TILE;
            tide_attention_head head =
                tide_attention_head_of(cpu, piece / n_blocks / n_tiles, call->T, call->H, call->D);
            backward_piece(&head, call, i0, c0);
        }
    }
}
