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

enum { TILE = TIDE_ATTENTION_TILE, CHANNELS = TIDE_ATTENTION_CHANNELS };

/* What a thread adds up in: rows of `stride` elements. */
typedef float accumulator[TILE * CHANNELS];

/* Running maximum and sum of a tile's queries. */
typedef struct running {
    float max[TILE];  /* of scores */
    double sum[TILE]; /* of exp(score - max) */
} running;

/* Row i of scores (n_s) to probabilities in place: 0 beyond the n visible. Returns their sum. */
static double row_exponentials(const tide_ops_cpu *cpu, float *row, size_t n, size_t n_s,
                               float max) {
    double sum = cpu->kernels->exponentials(row, n, max);
    memset(row + n, 0, (n_s - n) * sizeof(*row));
    return sum;
}

/* Queries and keys of a tile of scores. */
typedef struct tile_range {
    size_t t0, n_t; /* queries t0 .. t0 + n_t, at most TILE */
    size_t s0, n_s; /* keys s0 .. s0 + n_s, at most TILE */
} tile_range;

static tile_range tile_at(const tide_attention_head *head, size_t t0, size_t s0) {
    return (tile_range){t0, tide_attention_tile_length(t0, head->T), s0,
                        tide_attention_tile_length(s0, head->T)};
}

/* Scores to P, and the n_c channels that are in `out` already rescaled to the new maximum. */
static void online_softmax(const tide_attention_head *head, const tile_range *tile, float *scores,
                           running *state, float *out, size_t n_c) {
    const tide_cpu_kernels *kernels = head->cpu->kernels;
    for (size_t i = 0; i < tile->n_t; i++) { /* query t0 + i */
        float *row = scores + i * TILE;
        size_t n = tide_attention_n_visible(tile->t0 + i, tile->s0, tile->n_s);
        float before = state->max[i];
        float here = kernels->row_max(row, n);
        float max = here > before ? here : before;
        double sum = row_exponentials(head->cpu, row, n, tile->n_s, max);
        if (tile->s0 == 0) {
            state->sum[i] = sum;
        } else {
            float rescale = tide_exp(before - max);
            kernels->scale(out + i * n_c, rescale, n_c);
            state->sum[i] = state->sum[i] * (double)rescale + sum;
        }
        state->max[i] = max;
    }
}

/* Channels c0 and on of out[t0 .. t0 + TILE), and lse of these queries unless NULL. */
static void forward_piece(const tide_attention_head *head, const tide_attention_forward *call,
                          size_t t0, size_t c0, float *lse) {
    tide_attention_buffer q = {.source = NULL};
    tide_attention_buffer k = {.source = NULL};
    tide_attention_buffer v = {.source = NULL};
    float scores[TILE * TILE];
    accumulator out;
    running state;
    tide_attention_block out_block = tide_attention_channels(head, call->out, t0, c0);
    size_t n_c = out_block.n;
    size_t n_t = out_block.n_rows;
    for (size_t i = 0; i < n_t; i++) {
        state.max[i] = -INFINITY;
        state.sum[i] = 0;
    }
    for (size_t s0 = 0; s0 <= t0; s0 += TILE) {
        tile_range tile = tile_at(head, t0, s0);
        tide_attention_multiply_heads(
            head, &(tide_attention_dots){call->q, call->k, t0, s0, head->scale, &q, &k, scores});
        online_softmax(head, &tile, scores, &state, out, n_c);
        tide_attention_block v_block = tide_attention_channels(head, call->v, s0, c0);
        tide_attention_rows rows = tide_attention_read(head->cpu, &v_block, &v);
        tide_attention_gemm(head->cpu, &(const tide_gemm){TIDE_MATMUL_NN, n_t, n_c, tile.n_s, 1,
                                                          scores, TILE, rows.data, rows.stride,
                                                          s0 == 0 ? 0.0F : 1.0F, out, n_c});
    }
    for (size_t i = 0; i < n_t; i++) { /* query t0 + i */
        head->cpu->kernels->scale(out + i * n_c, (float)(1 / state.sum[i]), n_c);
        if (lse != NULL) {
            lse[t0 + i] = (float)((double)state.max[i] + log(state.sum[i]));
        }
    }
    tide_attention_write(head->cpu, &out_block, (tide_attention_rows){out, n_c});
}

void tide_cpu_flash_forward(const tide_ops_cpu *cpu, const tide_attention_forward *call) {
    size_t n_tiles = tide_attention_n_blocks(call->T, TILE);
    size_t n_channels = tide_attention_n_blocks(call->D, CHANNELS);
    size_t n_pieces = call->B * call->H * n_tiles * n_channels;
#pragma omp parallel num_threads(cpu->n_threads)
    {
#pragma omp for schedule(dynamic)
        for (size_t piece = 0; piece < n_pieces; piece++) { /* out[b][t0 ..][h][c0 ..] */
            size_t c0 = piece % n_channels * CHANNELS;
            size_t t0 = piece / n_channels % n_tiles * TILE;
            tide_attention_head head = tide_attention_head_of(cpu, piece / n_channels / n_tiles,
                                                              call->T, call->H, call->D);
            float *lse = call->lse == NULL || c0 != 0 ? NULL : call->lse + head.row_at;
            forward_piece(&head, call, t0, c0, lse);
        }
    }
}

/* delta (B, H, T) = sum_d dout * out, of query t and head h. */
static float make_delta(const tide_attention_head *head, const tide_attention_backward *call,
                        size_t t) {
    float dout_buffer[CHANNELS];
    float out_buffer[CHANNELS];
    double sum = 0;
    for (size_t c0 = 0; c0 < head->D; c0 += CHANNELS) {
        size_t at = head->at + t * head->C + c0;
        size_t n = tide_attention_block_length(c0, head->D);
        sum += head->cpu->kernels->dot(tide_piece_read(head->cpu, call->dout, at, n, dout_buffer),
                                       tide_piece_read(head->cpu, call->out, at, n, out_buffer), n);
    }
    return (float)sum;
}

/* What a thread of the backward pass holds. */
typedef struct backward_work {
    tide_attention_buffer q, k, v, dout; /* tiles of the arrays, as they are needed */
    float probs[TILE * TILE];            /* scores, then P */
    float dscores[TILE * TILE];          /* dP, then dS */
    accumulator dq, dk, dv;              /* of this piece */
} backward_work;

/* P and dS of a tile. */
static void make_dscores(const tide_attention_head *head, const tide_attention_backward *call,
                         const tile_range *tile, backward_work *work) {
    const float *lse = call->lse + head->row_at + tile->t0;
    const float *delta = call->scratch + head->row_at + tile->t0;
    tide_attention_multiply_heads(head, &(tide_attention_dots){call->q, call->k, tile->t0, tile->s0,
                                                               head->scale, &work->q, &work->k,
                                                               work->probs});
    tide_attention_multiply_heads(head,
                                  &(tide_attention_dots){call->dout, call->v, tile->t0, tile->s0, 1,
                                                         &work->dout, &work->v, work->dscores});
    for (size_t i = 0; i < tile->n_t; i++) { /* query t0 + i; P is 0 beyond the visible keys */
        float *row = work->probs + i * TILE;
        size_t n = tide_attention_n_visible(tile->t0 + i, tile->s0, tile->n_s);
        (void)row_exponentials(head->cpu, row, n, tile->n_s, lse[i]);
        head->cpu->kernels->dscores(work->dscores + i * TILE, row, delta[i], head->scale,
                                    tile->n_s);
    }
}

/* One product that adds to a gradient: sum (n_rows, n_c) = or += op(scores) rows. */
typedef struct gradient_product {
    tide_matmul_kind kind;       /* TN: the scores are transposed; NN */
    const float *scores;         /* (n_t, n_s), TILE elements from row to row */
    tide_array array;            /* (B, T, H, D), whose rows are added up */
    tide_attention_buffer *rows; /* where they are widened to */
    float *sum;                  /* accumulator */
    bool first;                  /* = instead of += */
} gradient_product;

static void add_product(const tide_attention_head *head, const tile_range *tile, size_t c0,
                        const gradient_product *product) {
    bool transposed = product->kind == TIDE_MATMUL_TN;
    tide_attention_block block =
        tide_attention_channels(head, product->array, transposed ? tile->t0 : tile->s0, c0);
    tide_attention_rows rows = tide_attention_read(head->cpu, &block, product->rows);
    tide_attention_gemm(head->cpu,
                        &(const tide_gemm){product->kind, transposed ? tile->n_s : tile->n_t,
                                           block.n, block.n_rows, 1, product->scores, TILE,
                                           rows.data, rows.stride, product->first ? 0.0F : 1.0F,
                                           product->sum, block.n});
}

/* Channels c0 and on of dq, dk and dv[i0 .. i0 + TILE). dq needs the tiles of scores in the row of
 * the square on the diagonal, dk and dv those in its column; that one itself serves all three. Each
 * piece has as many tiles as the others, whatever i0. */
static void backward_piece(const tide_attention_head *head, const tide_attention_backward *call,
                           size_t i0, size_t c0) {
    backward_work work;
    work.q.source = work.k.source = work.v.source = work.dout.source = NULL;
    size_t n_tiles = tide_attention_n_blocks(head->T, TILE);
    for (size_t j = 0; j < n_tiles; j++) { /* left of the diagonal, on it, below it */
        size_t j0 = j * TILE;
        tile_range tile = tile_at(head, j0 < i0 ? i0 : j0, j0 < i0 ? j0 : i0);
        make_dscores(head, call, &tile, &work);
        if (j0 >= i0) {
            bool first = j0 == i0;
            add_product(head, &tile, c0,
                        &(gradient_product){TIDE_MATMUL_TN, work.probs, call->dout, &work.dout,
                                            work.dv, first});
            add_product(head, &tile, c0,
                        &(gradient_product){TIDE_MATMUL_TN, work.dscores, call->q, &work.q, work.dk,
                                            first});
        }
        if (j0 <= i0) {
            add_product(head, &tile, c0,
                        &(gradient_product){TIDE_MATMUL_NN, work.dscores, call->k, &work.k, work.dq,
                                            j == 0});
        }
    }
    const tide_array gradients[] = {call->dq, call->dk, call->dv};
    const float *const sums[] = {work.dq, work.dk, work.dv};
    for (size_t g = 0; g < 3; g++) {
        tide_attention_block block = tide_attention_channels(head, gradients[g], i0, c0);
        tide_attention_write(head->cpu, &block, (tide_attention_rows){sums[g], block.n});
    }
}

void tide_cpu_flash_backward(const tide_ops_cpu *cpu, const tide_attention_backward *call) {
    size_t n_tiles = tide_attention_n_blocks(call->T, TILE);
    size_t n_channels = tide_attention_n_blocks(call->D, CHANNELS);
    size_t n_pieces = call->B * call->H * n_tiles * n_channels;
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
            size_t c0 = piece % n_channels * CHANNELS;
            size_t i0 = piece / n_channels % n_tiles * TILE;
            tide_attention_head head = tide_attention_head_of(cpu, piece / n_channels / n_tiles,
                                                              call->T, call->H, call->D);
            backward_piece(&head, call, i0, c0);
        }
    }
}
