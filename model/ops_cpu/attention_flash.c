/* Causal attention without its probabilities in memory: they are computed tile by tile, TILE
 * queries by TILE keys, on the stack (Dao et al., "FlashAttention", NeurIPS 2022). Per sequence b
 * and head h, with q, k, v, out (T, D) at a row distance of H D:
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
 * All arithmetic between reading the inputs and rounding the results once is fp32, also for bf16
 * arrays. */
#include <math.h>

#include "model/ops_cpu/attention_internal.h"

enum {
    TILE = TIDE_ATTENTION_TILE,
    CHANNELS = TIDE_ATTENTION_CHANNELS,
    /* Queries of a tile on the diagonal that share one range of keys. Smaller groups skip more of
     * the masked half: with 32 the backward pass takes 10 % less time than with whole tiles (T 128,
     * D 64); 16 is no faster. */
    GROUP = 32
};

/* The share of one thread: a block of channels of a tile of tokens of one head. */
typedef struct piece {
    tide_attention_head head; /* of one sequence */
    size_t i0, n_rows;        /* tokens i0 .. i0 + n_rows */
    size_t c0, n_c;           /* channels c0 .. c0 + n_c */
} piece;

static size_t n_pieces(size_t B, size_t T, size_t H, size_t D) {
    return B * H * tide_attention_n_tiles(T) * tide_attention_n_blocks(D);
}

static piece piece_at(const tide_ops_cpu *cpu, size_t index, size_t T, size_t H, size_t D) {
    size_t n_blocks = tide_attention_n_blocks(D);
    size_t n_tiles = tide_attention_n_tiles(T);
    size_t c0 = index % n_blocks * CHANNELS;
    size_t i0 = index / n_blocks % n_tiles * TILE;
    return (piece){tide_attention_head_of(cpu, index / n_blocks / n_tiles, T, H, D), i0,
                   tide_attention_tile_length(i0, T), c0, tide_attention_block_length(c0, D)};
}

/* x[i0 ..)[c0 ..) = the piece's rows, n_c elements each. */
static void store_piece(const piece *at, tide_array x, const float *rows) {
    tide_attention_store_rows(
        at->head.cpu, &(tide_attention_store){tide_attention_at(&at->head, x, at->i0, at->c0),
                                              at->head.C, rows, at->n_c, at->n_rows, at->n_c});
}

/* Running maximum and sum of a tile's queries. */
typedef struct running {
    float max[TILE];  /* of scores */
    double sum[TILE]; /* of exp(score - max) */
} running;

/* The tile of scores of the first queries of t .. end and of the keys from s0 on. On the diagonal
 * it has GROUP queries and ends at the last key that one of them sees, which leaves out masked
 * scores. */
static tide_attention_tile tile_at(size_t t, size_t end, size_t s0) {
    size_t n_t = s0 + TILE > t ? GROUP : TILE;
    n_t = end - t < n_t ? end - t : n_t;
    size_t n_s = t + n_t - s0;
    return (tide_attention_tile){t, n_t, s0, n_s < TILE ? n_s : TILE};
}

/* Turns a row of n_s scores into exponentials in place, 0 beyond the n visible ones, and returns
 * their sum. The zeros let products read whole tiles. */
static double row_exponentials(const tide_cpu_kernels *kernels, float *row, size_t n, size_t n_s,
                               float max) {
    double sum = kernels->exponentials(row, n, max);
    memset(row + n, 0, (n_s - n) * sizeof(*row));
    return sum;
}

/* The stack memory of a thread in the forward pass. */
typedef struct forward_work {
    float scores[TILE * TILE];  /* then P */
    float out[TILE * CHANNELS]; /* of this piece, rows of n_c elements */
    running rows;               /* of its queries */
} forward_work;

/* Turns scores into P = exp(score - m') with the new maximum m' of each row. Sums with the old
 * maximum m are off by exp(m - m'), so the row of `out` and the row's sum are multiplied by it.
 * Subtracting the maximum keeps exp within range. */
static void online_softmax(const piece *at, const tide_attention_tile *tile, forward_work *work) {
    const tide_cpu_kernels *kernels = at->head.cpu->kernels;
    for (size_t i = 0; i < tile->n_t; i++) { /* query t0 + i */
        float *row = work->scores + i * TILE;
        size_t n = tide_attention_n_visible(tile->t0 + i, tile->s0, tile->n_s);
        size_t r = tile->t0 + i - at->i0;
        float before = work->rows.max[r];
        float here = kernels->row_max(row, n);
        float max = here > before ? here : before;
        double sum = row_exponentials(kernels, row, n, tile->n_s, max);
        /* The first tile has no sums to rescale, and exp(-inf - max) is not needed. */
        if (tile->s0 > 0) {
            float rescale = tide_exp(before - max);
            kernels->scale(work->out + r * at->n_c, rescale, at->n_c);
            sum += work->rows.sum[r] * (double)rescale;
        }
        work->rows.max[r] = max;
        work->rows.sum[r] = sum;
    }
}

/* Computes the piece of `out` in fp32, before the division by the row sums. Dividing once at the
 * end instead of in every tile gives the same result. */
static void add_values(const piece *at, const tide_attention_forward *call, forward_work *work) {
    const tide_attention_head *head = &at->head;
    size_t end = at->i0 + at->n_rows;
    for (size_t s0 = 0; s0 < end; s0 += TILE) {
        tide_attention_tile tile;
        for (size_t t = at->i0; t < end; t += tile.n_t) {
            tile = tile_at(t, end, s0);
            tide_attention_dots(head, &tile, head->scale, call->q, call->k, work->scores);
            online_softmax(at, &tile, work);
            tide_gemm_block(head->cpu->gemm,
                            &(const tide_gemm){.kind = TIDE_MATMUL_NN,
                                               .m = tile.n_t,
                                               .n = at->n_c,
                                               .k = tile.n_s,
                                               .alpha = 1,
                                               .a = {work->scores, TIDE_FP32},
                                               .lda = TILE,
                                               .b = tide_attention_at(head, call->v, s0, at->c0),
                                               .ldb = head->C,
                                               .beta = 1,
                                               .c = work->out + (t - at->i0) * at->n_c,
                                               .ldc = at->n_c});
        }
    }
}

static void forward_piece(const piece *at, const tide_attention_forward *call) {
    forward_work work;
    memset(work.out, 0, at->n_rows * at->n_c * sizeof(work.out[0]));
    for (size_t i = 0; i < at->n_rows; i++) {
        work.rows.max[i] = -INFINITY;
        work.rows.sum[i] = 0;
    }
    add_values(at, call, &work);
    for (size_t i = 0; i < at->n_rows; i++) { /* query i0 + i */
        at->head.cpu->kernels->scale(work.out + i * at->n_c, (float)(1 / work.rows.sum[i]),
                                     at->n_c);
        /* Every block of channels computes the same lse; the first one writes it. */
        if (call->lse != NULL && at->c0 == 0) {
            call->lse[at->head.row_at + at->i0 + i] =
                (float)((double)work.rows.max[i] + log(work.rows.sum[i]));
        }
    }
    store_piece(at, call->out, work.out);
}

void tide_cpu_flash_forward(const tide_ops_cpu *cpu, const tide_attention_forward *call) {
    size_t n = n_pieces(call->B, call->T, call->H, call->D);
#pragma omp parallel for num_threads(cpu->n_threads) schedule(dynamic)
    for (size_t i = 0; i < n; i++) { /* out[b][i0 ..][h][c0 ..], lse[b][h][i0 ..] */
        piece at = piece_at(cpu, i, call->T, call->H, call->D);
        forward_piece(&at, call);
    }
}

/* delta of query t: sum_d dout * out. It equals sum_s P * dP of the row, which would need a whole
 * row of P. */
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

/* The stack memory of a thread in the backward pass. Rows of gradients have n_c elements. */
typedef struct backward_work {
    float probs[TILE * TILE];   /* scores, then P */
    float dscores[TILE * TILE]; /* dP, then dS */
    float dq[TILE * CHANNELS];  /* of this piece, as dk and dv */
    float dk[TILE * CHANNELS];
    float dv[TILE * CHANNELS];
} backward_work;

/* Computes P and dS of a tile. P is computed again from lse = m + log(l), so exp(S - lse) is the
 * finished probability and forward need not store it. */
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

/* sum (n_t, n_c) += scores x (kind NN), or sum (n_s, n_c) += scores^T x (kind TN). */
static void add_product(const piece *at, const tide_attention_tile *tile, tide_matmul_kind kind,
                        float *scores, tide_array x, float *sum) {
    bool transposed = kind == TIDE_MATMUL_TN;
    tide_gemm_block(at->head.cpu->gemm,
                    &(const tide_gemm){.kind = kind,
                                       .m = transposed ? tile->n_s : tile->n_t,
                                       .n = at->n_c,
                                       .k = transposed ? tile->n_t : tile->n_s,
                                       .alpha = 1,
                                       .a = {scores, TIDE_FP32},
                                       .lda = TILE,
                                       .b = tide_attention_at(
                                           &at->head, x, transposed ? tile->t0 : tile->s0, at->c0),
                                       .ldb = at->head.C,
                                       .beta = 1,
                                       .c = sum,
                                       .ldc = at->n_c});
}

/* Adds the contribution of the tile of queries from t0 on and the tile of keys from s0 on to the
 * piece: to dq if the queries are the piece's tokens, to dk and dv if the keys are. */
static void add_gradients(const piece *at, const tide_attention_backward *call, size_t t0,
                          size_t s0, backward_work *work) {
    size_t end = t0 + tide_attention_tile_length(t0, at->head.T);
    tide_attention_tile tile;
    for (size_t t = t0; t < end; t += tile.n_t) {
        tile = tile_at(t, end, s0);
        make_dscores(&at->head, call, &tile, work);
        if (s0 == at->i0) {
            add_product(at, &tile, TIDE_MATMUL_TN, work->probs, call->dout, work->dv);
            add_product(at, &tile, TIDE_MATMUL_TN, work->dscores, call->q, work->dk);
        }
        if (t0 == at->i0) {
            add_product(at, &tile, TIDE_MATMUL_NN, work->dscores, call->k,
                        work->dq + (t - t0) * at->n_c);
        }
    }
}

/* dq needs the tiles of scores to the left of the tile on the diagonal, dk and dv those below it;
 * the tile on the diagonal serves all three. So every piece visits the same number of tiles, which
 * balances the threads, and no two threads add to the same gradient. */
static void backward_piece(const piece *at, const tide_attention_backward *call) {
    backward_work work;
    size_t n_bytes = at->n_rows * at->n_c * sizeof(float);
    memset(work.dq, 0, n_bytes);
    memset(work.dk, 0, n_bytes);
    memset(work.dv, 0, n_bytes);
    for (size_t j0 = 0; j0 < at->head.T; j0 += TILE) { /* left of, on, below the diagonal */
        bool left = j0 < at->i0;
        add_gradients(at, call, left ? at->i0 : j0, left ? j0 : at->i0, &work);
    }
    store_piece(at, call->dq, work.dq);
    store_piece(at, call->dk, work.dk);
    store_piece(at, call->dv, work.dv);
}

void tide_cpu_flash_backward(const tide_ops_cpu *cpu, const tide_attention_backward *call) {
    size_t n = n_pieces(call->B, call->T, call->H, call->D);
#pragma omp parallel num_threads(cpu->n_threads)
    {
#pragma omp for schedule(static)
        for (size_t row = 0; row < call->B * call->H * call->T; row++) { /* scratch[b][h][t] */
            tide_attention_head head =
                tide_attention_head_of(cpu, row / call->T, call->T, call->H, call->D);
            call->scratch[row] = make_delta(&head, call, row % call->T);
        }
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < n; i++) { /* dq, dk, dv[b][i0 ..][h][c0 ..] */
            piece at = piece_at(cpu, i, call->T, call->H, call->D);
            backward_piece(&at, call);
        }
    }
}
