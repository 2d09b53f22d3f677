/* Causal attention that never stores its probabilities, forward, on tensor cores, of bf16 or of
 * fp32 with products in TF32, for heads of up to 128 channels that are whole packs of 16 bytes. The
 * same as attention_flash.cu, which has the formulas and their order; attention_mma_tiles.h names
 * the differences. */
#include "model/ops_cuda/attention/attention_internal.h"
#include "model/ops_cuda/attention/attention_mma_tiles.h"
#include "model/ops_cuda/attention/attention_mma_types.h"
#include "model/ops_cuda/gpu.h"

static constexpr float LN_2 = 0.693147181F;

template <typename T> struct mma_forward_arrays {
    T *out;             /* written */
    const T *q, *k, *v; /* read */
    float *lse;         /* written; NULL: not wanted */
};

/* Running statistics of rows g and g + 8, the same in the four lanes of a row. */
struct mma_running {
    float max[2]; /* of scores, scaled with log2 e */
    float sum[2]; /* of 2^(score - max) */
};

/* Turns scores into P = 2^(score - m') with the new maximum m' of each row, and updates the running
 * statistics. Sums with the old maximum m are off by 2^(m - m'), so `sums` and the row's sum are
 * multiplied by it. */
template <unsigned N, unsigned N_CHANNELS>
static __device__ __forceinline__ void online_softmax(float scale, float (&scores)[N][4],
                                                      mma_running &rows,
                                                      float (&sums)[N_CHANNELS][4]) {
#pragma unroll
    for (unsigned r = 0; r < 2; r++) {
        float max = -INFINITY;
#pragma unroll
        for (unsigned j = 0; j < N; j++) {
            max = fmaxf(max, fmaxf(scores[j][2 * r], scores[j][2 * r + 1]));
        }
        /* Every query sees key 0, which is in the first tile, so the maximum is finite from then on
         * and the differences below are not NaN. */
        max = fmaxf(mma_row_max(max) * scale, rows.max[r]);
        float sum = 0;
#pragma unroll
        for (unsigned j = 0; j < N; j++) {
#pragma unroll
            for (unsigned i = 2 * r; i < 2 * r + 2; i++) {
                /* One fused product and sum, and one instruction for 2^x: log2 e is already in the
                 * scale. */
                scores[j][i] = tide_exp2(fmaf(scores[j][i], scale, -max));
                sum += scores[j][i];
            }
        }
        const float rescale = tide_exp2(rows.max[r] - max);
        rows.sum[r] = rows.sum[r] * rescale + mma_row_sum(sum);
        rows.max[r] = max;
#pragma unroll
        for (unsigned j = 0; j < N_CHANNELS; j++) {
            sums[j][2 * r] *= rescale;
            sums[j][2 * r + 1] *= rescale;
        }
    }
}

/* Adds a tile of keys and values to the sums of the warp's queries. */
template <unsigned DIM, typename T>
static __device__ __forceinline__ void add_values(float scale, size_t own, size_t s0, const T *q,
                                                  const T *k, const T *v, mma_running &rows,
                                                  float (&sums)[DIM / 8][4]) {
    constexpr unsigned OTHER = MMA_OTHER<T, DIM>;
    const size_t first = own + mma_warp_row();
    if (s0 >= first + MMA_WARP_ROWS) {
        return; /* no query of this warp sees the tile */
    }
    float scores[OTHER / 8][4];
    mma_dots<DIM>(q, k, scores);
    /* Only a tile on the diagonal has hidden scores: the first query of the warp sees keys up to
     * itself. */
    if (s0 + OTHER > first + 1) {
        mma_hide<false>(mma_tokens_of(own, s0), -INFINITY, scores);
    }
    online_softmax(scale, scores, rows, sums);
    mma_add<DIM>(scores, v, sums);
}

/* out and lse of the warp's queries. */
template <unsigned DIM, typename T>
static __device__ __forceinline__ void
finish_forward(const mma_forward_arrays<T> &arrays, const tide_attention_shape &shape,
               const tide_attention_place &place, const mma_running &rows,
               const float (&sums)[DIM / 8][4], T *tile) {
    const float factors[2] = {1.0F / rows.sum[0], 1.0F / rows.sum[1]};
    if (arrays.lse != nullptr && mma_lane() % 4 == 0) {
#pragma unroll
        for (unsigned r = 0; r < 2; r++) {
            const size_t t = place.own + mma_warp_row() + mma_lane() / 4 + r * 8;
            if (t < shape.T) {
                arrays.lse[place.row_at + t] = rows.max[r] * LN_2 + logf(rows.sum[r]);
            }
        }
    }
    mma_store<DIM>(arrays.out, shape, place, sums, factors, tile);
}

template <typename T, unsigned DIM>
static __global__ void __launch_bounds__(MMA_THREADS, 2)
    tide_flash_mma_forward_kernel(const mma_forward_arrays<T> arrays,
                                  const tide_attention_shape shape) {
    constexpr unsigned OTHER = MMA_OTHER<T, DIM>;
    constexpr unsigned TILE = OTHER * MMA_STRIDE<T, DIM>;
    TIDE_DYNAMIC_SHARED(T, q);
    T *others = q + MMA_ROWS * MMA_STRIDE<T, DIM>; /* k, v; k, v */
    const tide_attention_place place = tide_attention_place_of<MMA_ROWS>(shape, true);
    mma_begin_tile<MMA_ROWS, DIM>(q, arrays.q, shape, place, place.own);
    mma_begin_tile<OTHER, DIM>(others, arrays.k, shape, place, 0);
    mma_begin_tile<OTHER, DIM>(others + TILE, arrays.v, shape, place, 0);
    tide_copy_commit();
    const float scale = shape.scale * MMA_LOG2_E;
    mma_running rows = {{-INFINITY, -INFINITY}, {0, 0}};
    float sums[DIM / 8][4];
    mma_clear(sums);
    const size_t end = shape.T - place.own < MMA_ROWS ? shape.T : place.own + MMA_ROWS;
    tide_copy_wait<0>();
    mma_round_tile<MMA_ROWS, DIM>(q);
    unsigned stage = 0;
    for (size_t s0 = 0; s0 < end; s0 += OTHER) {
        /* Two stages of k and v alternate: the copy of the next tile runs while this one is
         * multiplied. */
        T *k = others + stage * 2 * TILE;
        tide_copy_wait<0>();
        mma_round_tile<2 * OTHER, DIM>(k); /* and v after it */
        __syncthreads(); /* the tile has arrived, and all threads have read the one before */
        stage = 1 - stage;
        if (s0 + OTHER < end) {
            T *next = others + stage * 2 * TILE;
            mma_begin_tile<OTHER, DIM>(next, arrays.k, shape, place, s0 + OTHER);
            mma_begin_tile<OTHER, DIM>(next + TILE, arrays.v, shape, place, s0 + OTHER);
            tide_copy_commit();
        }
        add_values<DIM>(scale, place.own, s0, q, k, k + TILE, rows, sums);
    }
    finish_forward<DIM>(arrays, shape, place, rows, sums, q);
}

template <typename T, unsigned DIM>
static int launch(const tide_ops *ops, const tide_attention_forward *call,
                  const tide_attention_shape &shape) {
    constexpr size_t n_bytes = mma_shared_bytes<T, DIM>(1);
    const mma_forward_arrays<T> arrays = {mma_data<T>(call->out), mma_data<T>(call->q),
                                          mma_data<T>(call->k), mma_data<T>(call->v), call->lse};
    const int result = tide_attention_allow_shared<n_bytes>(tide_flash_mma_forward_kernel<T, DIM>);
    return result != 0 ? result
                       : TIDE_LAUNCH((tide_flash_mma_forward_kernel<T, DIM>),
                                     tide_attention_n_blocks(shape, MMA_ROWS), MMA_THREADS, n_bytes,
                                     tide_cuda_stream(ops), arrays, shape);
}

extern "C" tide_status tide_cuda_mma_forward(tide_ops *ops, const tide_attention_forward *call,
                                             tide_error *error) {
    const tide_array arrays[] = {call->out};
    const tide_attention_shape shape =
        tide_attention_shape_of(arrays, call->B, call->T, call->H, call->D);
    const int result = mma_by_instance(call->out.dtype, call->D, [=](auto number, auto dim) {
        return launch<decltype(number), decltype(dim)::value>(ops, call, shape);
    });
    return tide_cuda_launched(ops, "flash_forward", result, error);
}
