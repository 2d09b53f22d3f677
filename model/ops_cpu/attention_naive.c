/* Causal attention with its probabilities in memory. Per sequence b and head h, with q, k, v, out
 * (T, D) at a row distance of H D, and probs (T, T):
 *
 *   probs = softmax over s <= t of q k^T / sqrt(D), 0 for s > t;  out = probs v
 *
 *   dv = probs^T dout;  dprobs = dout v^T
 *   dscores = probs * (dprobs - sum_s dprobs * probs) / sqrt(D), in place of dprobs
 *   dq = dscores k;  dk = dscores^T q
 *
 * The scaled scores are stored where probs will be. Every stored number is rounded to the arrays'
 * type, and the next part reads the rounded number, as in PyTorch: softmax reads rounded scores,
 * out rounded probabilities, dscores rounded dprobs. Each part is a pass over all heads, in a scope
 * of its own. */
#include <math.h>

#include "model/ops_cpu/attention_internal.h"

enum { TILE = TIDE_ATTENTION_TILE, CHANNELS = TIDE_ATTENTION_CHANNELS };

/* Computes tokens i0 .. i0 + TILE of a head. `call` is a tide_attention_forward or _backward. */
typedef void (*tile_work)(const tide_attention_head *head, const void *call, size_t i0);

/* Sizes of a call. */
typedef struct sizes {
    size_t B, T, H, D; /* as in ops.h */
} sizes;

/* All tiles of all heads of a call, as one of its parts. */
static void run_part(tide_ops *ops, tide_attention_part part, const sizes *s, tile_work work,
                     const void *call) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    size_t n_tiles = tide_attention_n_tiles(s->T);
    size_t n_pieces = s->B * s->H * n_tiles;
    tide_scope scope = tide_ops_part_begin(ops, part);
#pragma omp parallel for num_threads(cpu->n_threads) schedule(dynamic)
    for (size_t piece = 0; piece < n_pieces; piece++) { /* [b][h][i0 ..] or [b][i0 ..][h] */
        tide_attention_head head = tide_attention_head_of(cpu, piece / n_tiles, s->T, s->H, s->D);
        work(&head, call, piece % n_tiles * TILE);
    }
    tide_ops_part_end(ops, scope);
}

/* Row t of (T, T), keys begin .. end: zero. */
static void clear(const tide_attention_head *head, tide_array array, size_t t, size_t begin,
                  size_t end) {
    tide_array row = tide_attention_scores_at(head, array, t, begin);
    memset(row.data, 0, (end - begin) * tide_dtype_bytes(row.dtype));
}

/* A sum over tokens: out[t] = sum_s scores[t][s] x[s] for queries t, or, transposed, out[s] = sum_t
 * scores[t][s] x[t] for keys s. It skips the tiles above the diagonal, which are all 0. */
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
    size_t begin = transposed ? i0 : 0; /* the tokens that are summed over */
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

/* out[t0 .. t0 + TILE), up to the tile on the diagonal: alpha sum_d x_td y_sd, with x and y (B, T,
 * H, D), out (B, H, T, T). */
static void multiply_tokens(const tide_attention_head *head, float alpha, tide_array x,
                            tide_array y, tide_array out, size_t t0) {
    float products[TILE * TILE];
    for (size_t s0 = 0; s0 <= t0; s0 += TILE) {
        const tide_attention_tile tile = {t0, tide_attention_tile_length(t0, head->T), s0,
                                          tide_attention_tile_length(s0, head->T)};
        tide_attention_dots(head, &tile, alpha, x, y, products);
        tide_attention_store_rows(
            head->cpu, &(tide_attention_store){tide_attention_scores_at(head, out, t0, s0), head->T,
                                               products, TILE, tile.n_t, tile.n_s});
    }
}

/* ---- forward ---- */

/* probs[t0 .. t0 + TILE) = scores, up to the tile on the diagonal. */
static void make_scores(const tide_attention_head *head, const void *from, size_t t0) {
    const tide_attention_forward *call = from;
    multiply_tokens(head, head->scale, call->q, call->k, call->probs, t0);
}

/* Turns a row of n scores, from element `at` of x on, into probabilities in place. */
static void softmax(const tide_ops_cpu *cpu, tide_array x, size_t at, size_t n) {
    const tide_cpu_kernels *kernels = cpu->kernels;
    float buffer[TIDE_PIECE];
    size_t end = at + n;
    float max = -INFINITY;
    double sum = 0;
    for (size_t i = at; i < end; i += TIDE_PIECE) {
        n = tide_piece_length(i, end);
        max = fmaxf(max, kernels->row_max(tide_piece_read(cpu, x, i, n, buffer), n));
    }
    for (size_t i = at; i < end; i += TIDE_PIECE) { /* fp32: the exponentials stay in the row */
        n = tide_piece_length(i, end);
        sum += kernels->exponentials(tide_piece_update(cpu, x, i, n, buffer), n, max);
    }
    for (size_t i = at; i < end; i += TIDE_PIECE) {
        n = tide_piece_length(i, end);
        float *piece = tide_piece_update(cpu, x, i, n, buffer);
        if (x.dtype != TIDE_FP32) {
            (void)kernels->exponentials(piece, n, max);
        }
        kernels->scale(piece, (float)(1 / sum), n);
        tide_piece_store(cpu, x, i, n, piece);
    }
}

/* probs[t0 .. t0 + TILE) from scores to probabilities, 0 beyond the diagonal. */
static void make_probs(const tide_attention_head *head, const void *from, size_t t0) {
    const tide_attention_forward *call = from;
    size_t end = t0 + tide_attention_tile_length(t0, head->T);
    for (size_t t = t0; t < end; t++) { /* probs[b][h][t] */
        softmax(head->cpu, call->probs, head->scores_at + t * head->T, t + 1);
        clear(head, call->probs, t, t + 1, head->T);
    }
}

/* out[t0 .. t0 + TILE) */
static void make_out(const tide_attention_head *head, const void *from, size_t t0) {
    const tide_attention_forward *call = from;
    multiply_scores(head, &(scores_product){false, call->out, call->probs, call->v}, t0);
}

void tide_cpu_naive_forward(tide_ops *ops, const tide_attention_forward *call) {
    const sizes s = {call->B, call->T, call->H, call->D};
    run_part(ops, TIDE_PART_SCORES, &s, make_scores, call);
    run_part(ops, TIDE_PART_SOFTMAX, &s, make_probs, call);
    run_part(ops, TIDE_PART_VALUE, &s, make_out, call);
}

/* ---- backward ---- */

/* dv[i0 .. i0 + TILE), and dprobs[i0 .. i0 + TILE) up to the tile on the diagonal. */
static void backward_of_values(const tide_attention_head *head, const void *from, size_t i0) {
    const tide_attention_backward *call = from;
    multiply_scores(head, &(scores_product){true, call->dv, call->probs, call->dout}, i0);
    multiply_tokens(head, 1, call->dout, call->v, call->dprobs, i0);
}

/* Turns a row of n elements of dprobs, from element `at` on, into dscores. */
static void softmax_backward(const tide_attention_head *head, const tide_attention_backward *call,
                             size_t at, size_t n) {
    const tide_ops_cpu *cpu = head->cpu;
    float dprobs[TIDE_PIECE];
    float probs[TIDE_PIECE];
    size_t end = at + n;
    double mean = 0;
    for (size_t i = at; i < end; i += TIDE_PIECE) {
        n = tide_piece_length(i, end);
        mean += cpu->kernels->dot(tide_piece_read(cpu, call->dprobs, i, n, dprobs),
                                  tide_piece_read(cpu, call->probs, i, n, probs), n);
    }
    for (size_t i = at; i < end; i += TIDE_PIECE) {
        n = tide_piece_length(i, end);
        float *piece = tide_piece_update(cpu, call->dprobs, i, n, dprobs);
        cpu->kernels->dscores(piece, tide_piece_read(cpu, call->probs, i, n, probs), (float)mean,
                              head->scale, n);
        tide_piece_store(cpu, call->dprobs, i, n, piece);
    }
}

/* dprobs[t0 .. t0 + TILE) to dscores, 0 from the diagonal to the end of its tile. */
static void backward_of_softmax(const tide_attention_head *head, const void *from, size_t t0) {
    const tide_attention_backward *call = from;
    size_t end = t0 + tide_attention_tile_length(t0, head->T);
    for (size_t t = t0; t < end; t++) { /* dprobs[b][h][t] */
        softmax_backward(head, call, head->scores_at + t * head->T, t + 1);
        clear(head, call->dprobs, t, t + 1, end);
    }
}

/* dq and dk[i0 .. i0 + TILE) */
static void backward_of_scores(const tide_attention_head *head, const void *from, size_t i0) {
    const tide_attention_backward *call = from;
    multiply_scores(head, &(scores_product){false, call->dq, call->dprobs, call->k}, i0);
    multiply_scores(head, &(scores_product){true, call->dk, call->dprobs, call->q}, i0);
}

void tide_cpu_naive_backward(tide_ops *ops, const tide_attention_backward *call) {
    const sizes s = {call->B, call->T, call->H, call->D};
    run_part(ops, TIDE_PART_VALUE, &s, backward_of_values, call);
    run_part(ops, TIDE_PART_SOFTMAX, &s, backward_of_softmax, call);
    run_part(ops, TIDE_PART_SCORES, &s, backward_of_scores, call);
}
