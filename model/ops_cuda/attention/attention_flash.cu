/* Causal attention that never stores its probabilities, in fp32 arithmetic, for heads of up to 128
 * channels (Dao et al., "FlashAttention", NeurIPS 2022). q, k, v, out: (B, T, H, D); lse, delta:
 * (B, H, T). Per head, with q, k, v, out (T, D):
 *
 *   forward, a block per tile of queries, over tiles of keys up to the diagonal,
 *   with the running maximum m and sum l of each query:
 *     S = q k^T / sqrt(D);  m' = max(m, max_s S);  P = exp(S - m'), 0 for s > t
 *     out = out exp(m - m') + P v;  l = l exp(m - m') + sum_s P
 *     in the end out = out / l and lse = m + log(l)
 *
 *   backward, with delta_t = sum_d dout_t * out_t:
 *     P = exp(S - lse);  dP = dout v^T;  dS = P * (dP - delta) / sqrt(D)
 *     dq = dS k, a block per tile of queries, over tiles of keys up to the diagonal
 *     dv = P^T dout, dk = dS^T q, a block per tile of keys, over tiles of queries from there on
 *
 * P and dS are computed once for dq and again for dk and dv. So each block sums its own results: no
 * atomics are needed, and the order of every sum depends only on T (decision 0004).
 */
#include "model/ops_cuda/attention/attention_internal.h"
#include "model/ops_cuda/attention/attention_tiles.h"
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/vector.h"

/* Own tokens of a block. The backward pass has two sums for keys in registers: at 128 channels 64
 * rows would not fit. */
static constexpr unsigned FORWARD_ROWS = 64;
template <unsigned DIM> static constexpr unsigned BACKWARD_ROWS = DIM > 80 ? 32 : 64;

/* Bytes of shared memory: N_OWN tiles of own tokens, two of others, and scores. */
static constexpr size_t shared_bytes(unsigned dim, unsigned rows, unsigned n_own) {
    return (size_t{n_own * rows + 2 * ATTENTION_OTHER} * (dim + 4) +
            size_t{rows} * ATTENTION_SCORES_STRIDE) *
           sizeof(float);
}

template <typename T> struct flash_forward_arrays {
    T *out;             /* written */
    const T *q, *k, *v; /* read */
    float *lse;         /* written; NULL: not wanted */
};

/* Running maximum and sum of the thread's rows, the same in all threads of a row. */
template <unsigned M> struct flash_running {
    float max[M]; /* of scores, scaled */
    float sum[M]; /* of exp(score - max) */
};

/* Turns scores into P = exp(score - m') with the new maximum m' of each row, and updates the
 * running statistics. Sums with the old maximum m are off by exp(m - m'), so `sums` and the row's
 * sum are multiplied by it. Subtracting the maximum keeps exp within range. */
template <unsigned M, unsigned N, unsigned N_CHANNELS>
static __device__ __forceinline__ void
online_softmax(const tide_attention_shape &shape, size_t own, size_t other, float (&scores)[M][N],
               flash_running<M> &rows, float (&sums)[M][N_CHANNELS]) {
#pragma unroll
    for (unsigned i = 0; i < M; i++) {
        const size_t t = own + tide_attention_group() + i * ATTENTION_GROUPS;
        float max = -INFINITY;
#pragma unroll
        for (unsigned j = 0; j < N; j++) {
            const size_t s = other + tide_attention_lane() + j * ATTENTION_LANES;
            scores[i][j] = s <= t ? scores[i][j] * shape.scale : -INFINITY;
            max = fmaxf(max, scores[i][j]);
        }
        /* Every query sees key 0, which is in the first tile, so the maximum is finite from then on
         * and the differences below are not NaN. */
        max = fmaxf(tide_attention_row_max(max), rows.max[i]);
        float sum = 0;
#pragma unroll
        for (unsigned j = 0; j < N; j++) {
            scores[i][j] = expf(scores[i][j] - max);
            sum += scores[i][j];
        }
        const float rescale = expf(rows.max[i] - max);
        rows.sum[i] = rows.sum[i] * rescale + tide_attention_row_sum(sum);
        rows.max[i] = max;
#pragma unroll
        for (unsigned j = 0; j < N_CHANNELS; j++) {
            sums[i][j] *= rescale;
        }
    }
}

/* Writes out and lse of the block's queries. out is divided by the row's sum once here instead of
 * in every tile. */
template <unsigned DIM, unsigned M, typename T>
static __device__ __forceinline__ void
finish_forward(const flash_forward_arrays<T> &arrays, const tide_attention_shape &shape,
               const tide_attention_place &place, const flash_running<M> &rows,
               const float (&sums)[M][DIM / ATTENTION_LANES]) {
    float factors[M];
#pragma unroll
    for (unsigned i = 0; i < M; i++) {
        factors[i] = 1.0F / rows.sum[i];
        const size_t t = place.own + tide_attention_group() + i * ATTENTION_GROUPS;
        if (arrays.lse != nullptr && tide_attention_lane() == 0 && t < shape.T) {
            arrays.lse[place.row_at + t] = rows.max[i] + logf(rows.sum[i]);
        }
    }
    tide_attention_store<DIM>(arrays.out, shape, place, sums, factors);
}

template <typename T, unsigned DIM>
static __global__ void __launch_bounds__(ATTENTION_THREADS, 2)
    tide_flash_forward_kernel(const flash_forward_arrays<T> arrays,
                              const tide_attention_shape shape) {
    constexpr unsigned M = FORWARD_ROWS / ATTENTION_GROUPS;
    TIDE_DYNAMIC_SHARED(float, shared);
    float *q = shared;
    float *k = q + FORWARD_ROWS * ATTENTION_STRIDE<DIM>;
    float *v = k + ATTENTION_OTHER * ATTENTION_STRIDE<DIM>;
    float *probs = v + ATTENTION_OTHER * ATTENTION_STRIDE<DIM>;
    const tide_attention_place place = tide_attention_place_of<FORWARD_ROWS>(shape, true);
    tide_attention_load<FORWARD_ROWS, DIM>(q, arrays.q, shape, place, place.own);
    flash_running<M> rows;
    float sums[M][DIM / ATTENTION_LANES];
#pragma unroll
    for (unsigned i = 0; i < M; i++) {
        rows.max[i] = -INFINITY;
        rows.sum[i] = 0;
#pragma unroll
        for (unsigned j = 0; j < DIM / ATTENTION_LANES; j++) {
            sums[i][j] = 0;
        }
    }
    const size_t end = shape.T - place.own < FORWARD_ROWS ? shape.T : place.own + FORWARD_ROWS;
    for (size_t s0 = 0; s0 < end; s0 += ATTENTION_OTHER) {
        __syncthreads(); /* all threads have read the tiles before */
        tide_attention_load<ATTENTION_OTHER, DIM>(k, arrays.k, shape, place, s0);
        tide_attention_load<ATTENTION_OTHER, DIM>(v, arrays.v, shape, place, s0);
        __syncthreads();
        float scores[M][ATTENTION_OTHER / ATTENTION_LANES];
        tide_attention_dots<DIM>(q, k, scores);
        online_softmax(shape, place.own, s0, scores, rows, sums);
        tide_attention_share(probs, scores);
        tide_attention_add<DIM>(probs, v, sums);
    }
    finish_forward<DIM>(arrays, shape, place, rows, sums);
}

/* One half of the backward pass. Own tokens are queries, for dq, or keys, for dk and dv; others are
 * the reverse. */
template <typename T> struct flash_backward_arrays {
    const T *own[2];   /* queries: q, dout; keys: k, v */
    const T *other[2]; /* the reverse */
    T *from_dscores;   /* written: dq or dk */
    T *from_probs;     /* written: dv; queries: NULL */
    const float *lse;  /* of queries */
    const float *delta;
};

/* lse and delta of N queries that are `step` apart. Beyond the last query they are 0: q and dout
 * are 0 there, so P adds nothing, whatever its value. */
template <unsigned N> struct flash_query_rows {
    float lse[N];
    float delta[N];
};

template <typename T, unsigned N>
static __device__ __forceinline__ void load_queries(const flash_backward_arrays<T> &arrays,
                                                    const tide_attention_shape &shape,
                                                    const tide_attention_place &place, size_t first,
                                                    unsigned step, flash_query_rows<N> &rows) {
#pragma unroll
    for (unsigned i = 0; i < N; i++) {
        const size_t t = first + i * step;
        rows.lse[i] = t < shape.T ? arrays.lse[place.row_at + t] : 0;
        rows.delta[i] = t < shape.T ? arrays.delta[place.row_at + t] : 0;
    }
}

/* The tokens of a thread's part of scores. */
template <bool KEYS> struct flash_tokens {
    size_t own, other; /* of element [0][0] */

    /* Whether the query of an element sees its key. */
    __device__ __forceinline__ bool sees(unsigned i, unsigned j) const {
        const size_t r = own + i * ATTENTION_GROUPS;
        const size_t s = other + j * ATTENTION_LANES;
        return KEYS ? r <= s : s <= r;
    }
};

/* The sums of a block of the backward pass. */
template <unsigned DIM, bool KEYS> struct flash_backward_sums {
    static constexpr unsigned M = BACKWARD_ROWS<DIM> / ATTENTION_GROUPS;
    float from_dscores[M][DIM / ATTENTION_LANES];
    float from_probs[KEYS ? M : 1][DIM / ATTENTION_LANES];
};

/* Shared memory of a block of the backward pass. */
struct flash_backward_tiles {
    float *own[2], *other[2], *scores;
};

/* Adds the contribution of a tile of other tokens. P is computed again from lse = m + log(l): exp(S
 * - lse) is the finished probability, so forward need not store it. */
template <unsigned DIM, bool KEYS, unsigned N_QUERIES>
static __device__ __forceinline__ void
add_gradients(const tide_attention_shape &shape, const flash_tokens<KEYS> &at,
              const flash_query_rows<N_QUERIES> &queries, const flash_backward_tiles &tiles,
              flash_backward_sums<DIM, KEYS> &sums) {
    constexpr unsigned M = BACKWARD_ROWS<DIM> / ATTENTION_GROUPS;
    constexpr unsigned N = ATTENTION_OTHER / ATTENTION_LANES;
    float probs[M][N];
    tide_attention_dots<DIM>(tiles.own[0], tiles.other[0], probs);
#pragma unroll
    for (unsigned i = 0; i < M; i++) {
#pragma unroll
        for (unsigned j = 0; j < N; j++) {
            const float lse = queries.lse[KEYS ? j : i];
            probs[i][j] = at.sees(i, j) ? expf(probs[i][j] * shape.scale - lse) : 0.0F;
        }
    }
    if constexpr (KEYS) {
        tide_attention_share(tiles.scores, probs);
        tide_attention_add<DIM>(tiles.scores, tiles.other[1], sums.from_probs);
    }
    float dscores[M][N];
    tide_attention_dots<DIM>(tiles.own[1], tiles.other[1], dscores);
#pragma unroll
    for (unsigned i = 0; i < M; i++) {
#pragma unroll
        for (unsigned j = 0; j < N; j++) {
            const float delta = queries.delta[KEYS ? j : i];
            dscores[i][j] = probs[i][j] * (dscores[i][j] - delta) * shape.scale;
        }
    }
    tide_attention_share(tiles.scores, dscores);
    tide_attention_add<DIM>(tiles.scores, tiles.other[0], sums.from_dscores);
}

template <unsigned DIM>
static __device__ __forceinline__ flash_backward_tiles lay_out_backward(float *shared) {
    constexpr unsigned OWN = BACKWARD_ROWS<DIM> * ATTENTION_STRIDE<DIM>;
    constexpr unsigned OTHER = ATTENTION_OTHER * ATTENTION_STRIDE<DIM>;
    return {{shared, shared + OWN},
            {shared + 2 * OWN, shared + 2 * OWN + OTHER},
            shared + 2 * OWN + 2 * OTHER};
}

template <typename T, unsigned DIM, bool KEYS>
static __global__ void __launch_bounds__(ATTENTION_THREADS, 2)
    tide_flash_backward_kernel(const flash_backward_arrays<T> arrays,
                               const tide_attention_shape shape) {
    constexpr unsigned ROWS = BACKWARD_ROWS<DIM>;
    constexpr unsigned M = ROWS / ATTENTION_GROUPS;
    constexpr unsigned N = ATTENTION_OTHER / ATTENTION_LANES;
    TIDE_DYNAMIC_SHARED(float, shared);
    const flash_backward_tiles tiles = lay_out_backward<DIM>(shared);
    const tide_attention_place place = tide_attention_place_of<ROWS>(shape, !KEYS);
    tide_attention_load<ROWS, DIM>(tiles.own[0], arrays.own[0], shape, place, place.own);
    tide_attention_load<ROWS, DIM>(tiles.own[1], arrays.own[1], shape, place, place.own);
    const size_t own = place.own + tide_attention_group();
    flash_query_rows<KEYS ? N : M> queries;
    if (!KEYS) {
        load_queries(arrays, shape, place, own, ATTENTION_GROUPS, queries);
    }
    flash_backward_sums<DIM, KEYS> sums = {};
    const size_t own_end = shape.T - place.own < ROWS ? shape.T : place.own + ROWS;
    /* Keys are seen by queries from their own token on, queries see keys up to their own token. */
    const size_t end = KEYS ? shape.T : own_end;
    for (size_t o0 = KEYS ? place.own : 0; o0 < end; o0 += ATTENTION_OTHER) {
        __syncthreads(); /* all threads have read the tiles before */
        tide_attention_load<ATTENTION_OTHER, DIM>(tiles.other[0], arrays.other[0], shape, place,
                                                  o0);
        tide_attention_load<ATTENTION_OTHER, DIM>(tiles.other[1], arrays.other[1], shape, place,
                                                  o0);
        const size_t other = o0 + tide_attention_lane();
        if (KEYS) {
            load_queries(arrays, shape, place, other, ATTENTION_LANES, queries);
        }
        __syncthreads();
        add_gradients<DIM, KEYS>(shape, flash_tokens<KEYS>{own, other}, queries, tiles, sums);
    }
    float ones[M];
#pragma unroll
    for (unsigned i = 0; i < M; i++) {
        ones[i] = 1;
    }
    tide_attention_store<DIM>(arrays.from_dscores, shape, place, sums.from_dscores, ones);
    if constexpr (KEYS) {
        tide_attention_store<DIM>(arrays.from_probs, shape, place, sums.from_probs, ones);
    }
}

template <typename T, unsigned DIM>
static int launch_forward(const tide_ops *ops, const tide_attention_forward *call,
                          const tide_attention_shape &shape) {
    constexpr size_t n_bytes = shared_bytes(DIM, FORWARD_ROWS, 1);
    const flash_forward_arrays<T> arrays = {
        static_cast<T *>(call->out.data), static_cast<const T *>(call->q.data),
        static_cast<const T *>(call->k.data), static_cast<const T *>(call->v.data), call->lse};
    const int result = tide_attention_allow_shared<n_bytes>(tide_flash_forward_kernel<T, DIM>);
    return result != 0
               ? result
               : TIDE_LAUNCH((tide_flash_forward_kernel<T, DIM>),
                             tide_attention_n_blocks(shape, FORWARD_ROWS), ATTENTION_THREADS,
                             n_bytes, tide_cuda_stream(ops), arrays, shape);
}

template <typename T, unsigned DIM, bool KEYS>
static int launch_half(const tide_ops *ops, const flash_backward_arrays<T> &arrays,
                       const tide_attention_shape &shape) {
    constexpr size_t n_bytes = shared_bytes(DIM, BACKWARD_ROWS<DIM>, 2);
    const int result =
        tide_attention_allow_shared<n_bytes>(tide_flash_backward_kernel<T, DIM, KEYS>);
    return result != 0
               ? result
               : TIDE_LAUNCH((tide_flash_backward_kernel<T, DIM, KEYS>),
                             tide_attention_n_blocks(shape, BACKWARD_ROWS<DIM>), ATTENTION_THREADS,
                             n_bytes, tide_cuda_stream(ops), arrays, shape);
}

template <typename T, unsigned DIM>
static int launch_backward(const tide_ops *ops, const tide_attention_backward *call,
                           const tide_attention_shape &shape) {
    const T *q = static_cast<const T *>(call->q.data);
    const T *k = static_cast<const T *>(call->k.data);
    const T *v = static_cast<const T *>(call->v.data);
    const T *dout = static_cast<const T *>(call->dout.data);
    const int result = launch_half<T, DIM, false>(
        ops,
        {{q, dout}, {k, v}, static_cast<T *>(call->dq.data), nullptr, call->lse, call->scratch},
        shape);
    return result != 0 ? result
                       : launch_half<T, DIM, true>(ops,
                                                   {{k, v},
                                                    {q, dout},
                                                    static_cast<T *>(call->dk.data),
                                                    static_cast<T *>(call->dv.data),
                                                    call->lse,
                                                    call->scratch},
                                                   shape);
}

template <typename T>
static int forward_by_size(const tide_ops *ops, const tide_attention_forward *call) {
    const tide_array arrays[] = {call->out, call->q, call->k, call->v};
    const tide_attention_shape shape =
        tide_attention_shape_of(arrays, call->B, call->T, call->H, call->D);
    return call->D <= 64   ? launch_forward<T, 64>(ops, call, shape)
           : call->D <= 80 ? launch_forward<T, 80>(ops, call, shape)
                           : launch_forward<T, 128>(ops, call, shape);
}

template <typename T>
static int backward_by_size(const tide_ops *ops, const tide_attention_backward *call) {
    const tide_array arrays[] = {call->dq, call->dk, call->dv, call->dout,
                                 call->q,  call->k,  call->v};
    const tide_attention_shape shape =
        tide_attention_shape_of(arrays, call->B, call->T, call->H, call->D);
    return call->D <= 64   ? launch_backward<T, 64>(ops, call, shape)
           : call->D <= 80 ? launch_backward<T, 80>(ops, call, shape)
                           : launch_backward<T, 128>(ops, call, shape);
}

extern "C" tide_status tide_cuda_flash_forward(tide_ops *ops, const tide_attention_forward *call,
                                               tide_error *error) {
    const int result = tide_by_type(
        call->q.dtype, [=](auto number) { return forward_by_size<decltype(number)>(ops, call); });
    return tide_cuda_launched(ops, "flash_forward", result, error);
}

extern "C" tide_status tide_cuda_flash_backward(tide_ops *ops, const tide_attention_backward *call,
                                                tide_error *error) {
    const int result = tide_by_type(
        call->q.dtype, [=](auto number) { return backward_by_size<decltype(number)>(ops, call); });
    return tide_cuda_launched(ops, "flash_backward", result, error);
}
