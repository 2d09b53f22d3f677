/* The backward pass of attention_mma_forward.cu: the same as that of attention_flash.cu, with the
 * differences that attention_mma_tiles.h names. */
#include "model/ops_cuda/attention_internal.h"
#include "model/ops_cuda/attention_mma_tiles.h"
#include "model/ops_cuda/gpu.h"

/* One half of the backward pass. Own tokens are queries, for dq, or keys, for dk and dv; others are
 * the reverse. */
struct mma_backward_arrays {
    const __nv_bfloat16 *own[2];   /* queries: q, dout; keys: k, v */
    const __nv_bfloat16 *other[2]; /* the reverse */
    __nv_bfloat16 *from_dscores;   /* written: dq or dk */
    __nv_bfloat16 *from_probs;     /* written: dv; queries: NULL */
    const float *lse;              /* of queries */
    const float *delta;            /* of queries */
};

/* lse, with log2 e, or delta of query t; Beyond the last query it is 0: q and dout are 0 there, so
 * whatever P is, it adds nothing. */
static __device__ __forceinline__ float statistic(const mma_backward_arrays &arrays,
                                                  const tide_attention_shape &shape,
                                                  const tide_attention_place &place, size_t t,
                                                  bool is_lse) {
    if (t >= shape.T) {
        return 0.0F;
    }
    return is_lse ? arrays.lse[place.row_at + t] * MMA_LOG2_E : arrays.delta[place.row_at + t];
}

/* lse and delta of the queries of a tile: OTHER of each in shared memory where they are the others,
 * two of each in registers where they are own. */
template <bool KEYS, unsigned OTHER> struct mma_query_rows {
    const float *shared; /* KEYS */
    float own[4];        /* lse of rows g and g + 8, then delta; else */

    /* Of element i of column group j. */
    __device__ __forceinline__ float lse(unsigned j, unsigned i) const {
        return KEYS ? shared[j * 8 + mma_lane() % 4 * 2 + i % 2] : own[i / 2];
    }
    __device__ __forceinline__ float delta(unsigned j, unsigned i) const {
        return KEYS ? shared[OTHER + j * 8 + mma_lane() % 4 * 2 + i % 2] : own[2 + i / 2];
    }
};

/* The sums of a warp of the backward pass. from_dscores lacks the scale until it is stored, which
 * saves a product per score. */
template <unsigned DIM, bool KEYS> struct mma_backward_sums {
    float from_dscores[DIM / 8][4];
    float from_probs[KEYS ? DIM / 8 : 1][4];
};

/* Tiles in shared memory. */
struct mma_backward_tiles {
    const __nv_bfloat16 *own[2], *other[2];
};

/* Adds the contribution of a tile of other tokens to the warp's sums. */
template <unsigned DIM, bool KEYS>
static __device__ __forceinline__ void
add_gradients(float scale, const mma_tokens &at, bool is_diagonal, const mma_backward_tiles &tiles,
              const mma_query_rows<KEYS, MMA_OTHER<DIM>> &queries,
              mma_backward_sums<DIM, KEYS> &sums) {
    constexpr unsigned N = MMA_OTHER<DIM> / 8;
    float probs[N][4];
    mma_dots<DIM>(tiles.own[0], tiles.other[0], probs);
#pragma unroll
    for (unsigned j = 0; j < N; j++) {
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            probs[j][i] = tide_exp2(fmaf(probs[j][i], scale, -queries.lse(j, i)));
        }
    }
    if (is_diagonal) {
        mma_hide<KEYS>(at, 0.0F, probs);
    }
    if constexpr (KEYS) {
        mma_add<DIM>(probs, tiles.other[1], sums.from_probs);
    }
    float dscores[N][4];
    mma_dots<DIM>(tiles.own[1], tiles.other[1], dscores);
#pragma unroll
    for (unsigned j = 0; j < N; j++) {
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            dscores[j][i] = probs[j][i] * (dscores[j][i] - queries.delta(j, i));
        }
    }
    mma_add<DIM>(dscores, tiles.other[0], sums.from_dscores);
}

/* Begins to copy both tiles of other tokens. */
template <unsigned DIM>
static __device__ __forceinline__ void
begin_others(const mma_backward_arrays &arrays, const tide_attention_shape &shape,
             const tide_attention_place &place, size_t o0, __nv_bfloat16 *tiles) {
    constexpr unsigned OTHER = MMA_OTHER<DIM>;
    mma_begin_tile<OTHER, DIM>(tiles, arrays.other[0], shape, place, o0);
    mma_begin_tile<OTHER, DIM>(tiles + OTHER * MMA_STRIDE<DIM>, arrays.other[1], shape, place, o0);
    tide_copy_commit();
}

template <unsigned DIM, bool KEYS>
static __device__ __forceinline__ void
finish_backward(const mma_backward_arrays &arrays, const tide_attention_shape &shape,
                const tide_attention_place &place, const mma_backward_sums<DIM, KEYS> &sums,
                __nv_bfloat16 *tile) {
    const float scales[2] = {shape.scale, shape.scale};
    mma_store<DIM>(arrays.from_dscores, shape, place, sums.from_dscores, scales, tile);
    if constexpr (KEYS) {
        const float ones[2] = {1, 1};
        mma_store<DIM>(arrays.from_probs, shape, place, sums.from_probs, ones, tile);
    }
}

template <unsigned DIM, bool KEYS>
static __global__ void __launch_bounds__(MMA_THREADS, 2)
    tide_flash_mma_backward_kernel(const mma_backward_arrays arrays,
                                   const tide_attention_shape shape) {
    constexpr unsigned OTHER = MMA_OTHER<DIM>;
    constexpr unsigned OWN_TILE = MMA_ROWS * MMA_STRIDE<DIM>;
    constexpr unsigned TILE = OTHER * MMA_STRIDE<DIM>;
    TIDE_DYNAMIC_SHARED(__nv_bfloat16, own);
    __nv_bfloat16 *others = own + 2 * OWN_TILE;
    float *statistics = reinterpret_cast<float *>(others + 4 * TILE); /* KEYS: as others, twice */
    const tide_attention_place place = tide_attention_place_of<MMA_ROWS>(shape, !KEYS);
    const size_t own_end = shape.T - place.own < MMA_ROWS ? shape.T : place.own + MMA_ROWS;
    const size_t begin = KEYS ? place.own : 0;
    const size_t end = KEYS ? shape.T : own_end;
    mma_begin_tile<MMA_ROWS, DIM>(own, arrays.own[0], shape, place, place.own);
    mma_begin_tile<MMA_ROWS, DIM>(own + OWN_TILE, arrays.own[1], shape, place, place.own);
    begin_others<DIM>(arrays, shape, place, begin, others);
    const unsigned column = threadIdx.x % OTHER; /* of statistics */
    const bool is_lse = threadIdx.x < OTHER;
    const bool fetches = KEYS && threadIdx.x < 2 * OTHER;
    mma_query_rows<KEYS, OTHER> queries;
    if (fetches) {
        statistics[threadIdx.x] = statistic(arrays, shape, place, begin + column, is_lse);
    } else if (!KEYS) {
        const size_t t = mma_tokens_of(place.own, 0).own;
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            queries.own[i] = statistic(arrays, shape, place, t + i % 2 * 8, i < 2);
        }
    }
    mma_backward_sums<DIM, KEYS> sums;
    mma_clear(sums.from_dscores);
    mma_clear(sums.from_probs);
    const size_t first = place.own + mma_warp_row();
    unsigned stage = 0;
    for (size_t o0 = begin; o0 < end; o0 += OTHER) {
        tide_copy_wait<0>();
        __syncthreads(); /* the tiles have arrived, and all threads have read those before */
        const __nv_bfloat16 *other = others + stage * 2 * TILE;
        queries.shared = statistics + stage * 2 * OTHER;
        stage = 1 - stage;
        float next = 0;
        if (o0 + OTHER < end) {
            begin_others<DIM>(arrays, shape, place, o0 + OTHER, others + stage * 2 * TILE);
            if (fetches) { /* arrives while this tile is computed */
                next = statistic(arrays, shape, place, o0 + OTHER + column, is_lse);
            }
        }
        const bool sees = KEYS ? o0 + OTHER > first : o0 < first + MMA_WARP_ROWS;
        const bool is_diagonal = KEYS ? o0 < first + MMA_WARP_ROWS : o0 + OTHER > first + 1;
        if (sees) {
            add_gradients<DIM, KEYS>(shape.scale * MMA_LOG2_E, mma_tokens_of(place.own, o0),
                                     is_diagonal, {{own, own + OWN_TILE}, {other, other + TILE}},
                                     queries, sums);
        }
        if (fetches) {
            statistics[stage * 2 * OTHER + threadIdx.x] = next;
        }
    }
    finish_backward<DIM, KEYS>(arrays, shape, place, sums, own);
}

template <unsigned DIM, bool KEYS>
static int launch_half(const tide_ops *ops, const mma_backward_arrays &arrays,
                       const tide_attention_shape &shape) {
    constexpr size_t n_bytes = mma_shared_bytes<DIM>(2, true);
    const int result =
        tide_attention_allow_shared<n_bytes>(tide_flash_mma_backward_kernel<DIM, KEYS>);
    return result != 0 ? result
                       : TIDE_LAUNCH((tide_flash_mma_backward_kernel<DIM, KEYS>),
                                     tide_attention_n_blocks(shape, MMA_ROWS), MMA_THREADS, n_bytes,
                                     tide_cuda_stream(ops), arrays, shape);
}

template <unsigned DIM>
static int launch_backward(const tide_ops *ops, const tide_attention_backward *call,
                           const tide_attention_shape &shape) {
    const __nv_bfloat16 *q = mma_data(call->q);
    const __nv_bfloat16 *k = mma_data(call->k);
    const __nv_bfloat16 *v = mma_data(call->v);
    const __nv_bfloat16 *dout = mma_data(call->dout);
    const mma_backward_arrays queries = {{q, dout}, {k, v},    mma_data(call->dq),
                                         nullptr,   call->lse, call->scratch};
    const mma_backward_arrays keys = {
        {k, v}, {q, dout}, mma_data(call->dk), mma_data(call->dv), call->lse, call->scratch};
    const int result = launch_half<DIM, false>(ops, queries, shape);
    return result != 0 ? result : launch_half<DIM, true>(ops, keys, shape);
}

extern "C" tide_status tide_cuda_mma_backward(tide_ops *ops, const tide_attention_backward *call,
                                              tide_error *error) {
    const tide_array arrays[] = {call->dq};
    const tide_attention_shape shape =
        tide_attention_shape_of(arrays, call->B, call->T, call->H, call->D);
    const int result = call->D <= 64   ? launch_backward<64>(ops, call, shape)
                       : call->D <= 80 ? launch_backward<80>(ops, call, shape)
                                       : launch_backward<128>(ops, call, shape);
    return tide_cuda_launched(ops, "flash_backward", result, error);
}
