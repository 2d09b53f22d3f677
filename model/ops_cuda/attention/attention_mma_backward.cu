/* The backward pass of attention_mma_forward.cu: the same as that of attention_flash.cu, with the
 * differences that attention_mma_tiles.h names. */
#include "model/ops_cuda/attention/attention_internal.h"
#include "model/ops_cuda/attention/attention_mma_tiles.h"
#include "model/ops_cuda/attention/attention_mma_types.h"
#include "model/ops_cuda/gpu.h"

/* One half of the backward pass. Own tokens are queries, for dq, or keys, for dk and dv; others are
 * the reverse. */
template <typename T> struct mma_backward_arrays {
    const T *own[2];    /* queries: q, dout; keys: k, v */
    const T *other[2];  /* the reverse */
    T *from_dscores;    /* written: dq or dk */
    T *from_probs;      /* written: dv; queries: NULL */
    const float *lse;   /* of queries */
    const float *delta; /* of queries */
};

/* Of query t: lse, with log2 e, or delta. Beyond the last query it is 0. There P is 1, because q is
 * 0, and adds nothing, because dout and dP - delta are 0. */
template <typename T>
static __device__ __forceinline__ float
statistic(const mma_backward_arrays<T> &arrays, const tide_attention_shape &shape,
          const tide_attention_place &place, size_t t, bool is_lse) {
    if (t >= shape.T) {
        return 0.0F;
    }
    return is_lse ? arrays.lse[place.row_at + t] * MMA_LOG2_E : arrays.delta[place.row_at + t];
}

/* Both of rows g and g + 8 of the warp's own queries. */
template <typename T>
static __device__ __forceinline__ void
own_statistics(const mma_backward_arrays<T> &arrays, const tide_attention_shape &shape,
               const tide_attention_place &place, float (&own)[4]) {
    const size_t t = mma_tokens_of(place.own, 0).own;
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        own[i] = statistic(arrays, shape, place, t + i % 2 * 8, i < 2);
    }
}

/* After the channels of row `row` of a tile, an even row: lse of the queries of this row and the
 * next, then delta of both. */
template <unsigned DIM, typename T>
static __device__ __forceinline__ float *statistics_of(T *tile, unsigned row) {
    return reinterpret_cast<float *>(tile + row * MMA_STRIDE<T, DIM> + DIM);
}

/* lse and delta of the queries of a tile: in shared memory if they are others, two of each in
 * registers if they are own. */
template <typename T, unsigned DIM, bool KEYS> struct mma_query_rows {
    T *tile;      /* KEYS: of q */
    float own[4]; /* lse of rows g and g + 8, then delta; else */

    /* Of element i of column group j. */
    __device__ __forceinline__ float lse(unsigned j, unsigned i) const {
        return KEYS ? statistics_of<DIM>(tile, j * 8 + mma_lane() % 4 * 2)[i % 2] : own[i / 2];
    }
    __device__ __forceinline__ float delta(unsigned j, unsigned i) const {
        return KEYS ? statistics_of<DIM>(tile, j * 8 + mma_lane() % 4 * 2)[2 + i % 2]
                    : own[2 + i / 2];
    }
};

/* The sums of a warp of the backward pass. from_dscores lacks the scale until it is stored, which
 * saves a multiplication per score. */
template <unsigned DIM, bool KEYS> struct mma_backward_sums {
    float from_dscores[DIM / 8][4];
    float from_probs[KEYS ? DIM / 8 : 1][4];
};

/* Tiles in shared memory. */
template <typename T> struct mma_backward_tiles { const T *own[2], *other[2]; };

/* Adds the contribution of a tile of other tokens to the warp's sums. */
template <typename T, unsigned DIM, bool KEYS>
static __device__ __forceinline__ void
add_gradients(float scale, const mma_tokens &at, bool is_diagonal,
              const mma_backward_tiles<T> &tiles, const mma_query_rows<T, DIM, KEYS> &queries,
              mma_backward_sums<DIM, KEYS> &sums) {
    constexpr unsigned N = MMA_OTHER<T, DIM> / 8;
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
template <unsigned DIM, typename T>
static __device__ __forceinline__ void
begin_others(const mma_backward_arrays<T> &arrays, const tide_attention_shape &shape,
             const tide_attention_place &place, size_t o0, T *tiles) {
    constexpr unsigned OTHER = MMA_OTHER<T, DIM>;
    mma_begin_tile<OTHER, DIM>(tiles, arrays.other[0], shape, place, o0);
    mma_begin_tile<OTHER, DIM>(tiles + OTHER * MMA_STRIDE<T, DIM>, arrays.other[1], shape, place,
                               o0);
    tide_copy_commit();
}

template <unsigned DIM, bool KEYS, typename T>
static __device__ __forceinline__ void
finish_backward(const mma_backward_arrays<T> &arrays, const tide_attention_shape &shape,
                const tide_attention_place &place, const mma_backward_sums<DIM, KEYS> &sums,
                T *tile) {
    const float scales[2] = {shape.scale, shape.scale};
    mma_store<DIM>(arrays.from_dscores, shape, place, sums.from_dscores, scales, tile);
    if constexpr (KEYS) {
        const float ones[2] = {1, 1};
        mma_store<DIM>(arrays.from_probs, shape, place, sums.from_probs, ones, tile);
    }
}

/* Blocks per multiprocessor for which its registers must suffice: three if the shared memory of 9.0
 * has room for them and no register is spilled. */
template <typename T, unsigned DIM>
static constexpr unsigned BACKWARD_BLOCKS = sizeof(T) == 4 && DIM <= 64 ? 3 : 2;

template <typename T, unsigned DIM, bool KEYS>
static __global__ void __launch_bounds__(MMA_THREADS, BACKWARD_BLOCKS<T, DIM>)
    tide_flash_mma_backward_kernel(const mma_backward_arrays<T> arrays,
                                   const tide_attention_shape shape) {
    constexpr unsigned OTHER = MMA_OTHER<T, DIM>;
    constexpr unsigned OWN_TILE = MMA_ROWS * MMA_STRIDE<T, DIM>;
    constexpr unsigned TILE = OTHER * MMA_STRIDE<T, DIM>;
    TIDE_DYNAMIC_SHARED(T, own);
    T *others = own + 2 * OWN_TILE;
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
    float *fetched = statistics_of<DIM>(others, column / 2 * 2) + (is_lse ? 0 : 2) + column % 2;
    mma_query_rows<T, DIM, KEYS> queries;
    if (fetches) {
        *fetched = statistic(arrays, shape, place, begin + column, is_lse);
    } else if (!KEYS) {
        own_statistics(arrays, shape, place, queries.own);
    }
    mma_backward_sums<DIM, KEYS> sums;
    mma_clear(sums.from_dscores);
    mma_clear(sums.from_probs);
    const size_t first = place.own + mma_warp_row();
    tide_copy_wait<0>();
    mma_round_tile<2 * MMA_ROWS, DIM>(own);
    unsigned stage = 0;
    for (size_t o0 = begin; o0 < end; o0 += OTHER) {
        T *other = others + stage * 2 * TILE;
        tide_copy_wait<0>();
        mma_round_tile<2 * OTHER, DIM>(other);
        __syncthreads(); /* the tiles have arrived, and all threads have read those before */
        queries.tile = other;
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
            add_gradients<T, DIM, KEYS>(shape.scale * MMA_LOG2_E, mma_tokens_of(place.own, o0),
                                        is_diagonal, {{own, own + OWN_TILE}, {other, other + TILE}},
                                        queries, sums);
        }
        if (fetches) {
            fetched[stage * 2 * TILE * sizeof(T) / sizeof(float)] = next;
        }
    }
    finish_backward<DIM, KEYS>(arrays, shape, place, sums, own);
}

template <typename T, unsigned DIM, bool KEYS>
static int launch_half(const tide_ops *ops, const mma_backward_arrays<T> &arrays,
                       const tide_attention_shape &shape) {
    constexpr size_t n_bytes = mma_shared_bytes<T, DIM>(2);
    const int result =
        tide_attention_allow_shared<n_bytes>(tide_flash_mma_backward_kernel<T, DIM, KEYS>);
    return result != 0 ? result
                       : TIDE_LAUNCH((tide_flash_mma_backward_kernel<T, DIM, KEYS>),
                                     tide_attention_n_blocks(shape, MMA_ROWS), MMA_THREADS, n_bytes,
                                     tide_cuda_stream(ops), arrays, shape);
}

template <typename T, unsigned DIM>
static int launch(const tide_ops *ops, const tide_attention_backward *call,
                  const tide_attention_shape &shape) {
    const T *q = mma_data<T>(call->q);
    const T *k = mma_data<T>(call->k);
    const T *v = mma_data<T>(call->v);
    const T *dout = mma_data<T>(call->dout);
    const mma_backward_arrays<T> queries = {{q, dout}, {k, v},    mma_data<T>(call->dq),
                                            nullptr,   call->lse, call->scratch};
    const mma_backward_arrays<T> keys = {
        {k, v}, {q, dout}, mma_data<T>(call->dk), mma_data<T>(call->dv), call->lse, call->scratch};
    const int result = launch_half<T, DIM, false>(ops, queries, shape);
    return result != 0 ? result : launch_half<T, DIM, true>(ops, keys, shape);
}

extern "C" tide_status tide_cuda_mma_backward(tide_ops *ops, const tide_attention_backward *call,
                                              tide_error *error) {
    const tide_array arrays[] = {call->dq};
    const tide_attention_shape shape =
        tide_attention_shape_of(arrays, call->B, call->T, call->H, call->D);
    const int result = mma_by_instance(call->dq.dtype, call->D, [=](auto number, auto dim) {
        return launch<decltype(number), decltype(dim)::value>(ops, call, shape);
    });
    return tide_cuda_launched(ops, "flash_backward", result, error);
}
