/* out (R, H, D) = softmax(q k^T / sqrt(D)) v over the cache of keys and values (B, S, K, D) up to
 * each row's own position (model/decode/operators.h).
 *
 * A block has one head of one row. Its threads form groups of D / PACK lanes, where PACK numbers
 * are the 16 bytes that a lane reads of a key or a value at a time. A group takes every n_groups-th
 * position, UNROLL of them at a time, to have their loads in flight together, and keeps the largest
 * score, the sum of exponentials and the weighted sum of values so far. At the end, the groups of a
 * warp are combined by shuffles and the warps in shared memory. All arithmetic is fp32; the order
 * of the sums depends only on the shape.
 *
 * No scratch memory is needed, so the passes of a long context have only H blocks for each
 * sequence. Query heads that share a key head find it in the L2 cache. */
#include "model/ops_cuda/gpu.h"
#include "model/decode/operators.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/reduce.h"
#include "model/ops_cuda/vector.h"

enum { WARPS = 8, BLOCK = WARPS * TIDE_WARP, UNROLL = 4 };

template <typename T> struct shape {
    T *out;                 /* (R, H, D) */
    const T *qkv;           /* (R, H + 2 K, D) */
    const T *keys, *values; /* (B, S, K, D) */
    size_t R, n, position;  /* rows; tokens of a sequence, and before them */
    size_t S, H, K, D;      /* positions of the cache, heads, channels */
    float scale;            /* 1 / sqrt(D) */
};

/* The partial result of the positions seen so far: a lane's channels of it. */
template <size_t PACK> struct seen {
    float top;        /* the largest score; -INFINITY: none seen */
    float total;      /* of exp(score - top) */
    float sums[PACK]; /* of exp(score - top) * value */
};

/* exp(x - top), 0 if nothing was seen. */
static __device__ __forceinline__ float share_of(float x, float top) {
    return x == -INFINITY ? 0.0F : expf(x - top);
}

template <size_t PACK>
static __device__ __forceinline__ void join(seen<PACK> &into, const seen<PACK> &other) {
    const float top = fmaxf(into.top, other.top);
    const float mine = share_of(into.top, top);
    const float its = share_of(other.top, top);
    into.top = top;
    into.total = into.total * mine + other.total * its;
#pragma unroll
    for (size_t i = 0; i < PACK; i++) {
        into.sums[i] = into.sums[i] * mine + other.sums[i] * its;
    }
}

/* Positions first, first + step, ... below n; every lane calls, also one whose `first` is n. */
template <typename T, size_t PACK = TIDE_PACK<T>>
static __device__ __forceinline__ seen<PACK>
see(const T *keys, const T *values, const float (&q)[PACK], size_t stride, size_t first,
    size_t step, size_t n, unsigned lanes) {
    seen<PACK> all = {-INFINITY, 0, {}};
    /* All groups take the same number of turns, because their lanes shuffle together. */
    for (size_t begin = 0; begin < n; begin += step * UNROLL) {
        float k[UNROLL][PACK], v[UNROLL][PACK], scores[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const size_t s = begin + static_cast<size_t>(u) * step + first;
            const size_t at = (s < n ? s : 0) * stride;
            tide_read_pack(keys + at, k[u]);
            tide_read_pack(values + at, v[u]);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            scores[u] = 0;
#pragma unroll
            for (size_t i = 0; i < PACK; i++) {
                scores[u] += q[i] * k[u][i];
            }
            for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
                scores[u] += __shfl_xor_sync(TIDE_ALL_LANES, scores[u], static_cast<int>(distance));
            }
            const bool is_there = begin + static_cast<size_t>(u) * step + first < n;
            scores[u] = is_there ? scores[u] : -INFINITY;
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            seen<PACK> one = {scores[u], 1, {}};
#pragma unroll
            for (size_t i = 0; i < PACK; i++) {
                one.sums[i] = v[u][i];
            }
            join(all, one);
        }
    }
    return all;
}

/* Combines the results of all groups of the warp, in each of them. */
template <size_t PACK>
static __device__ __forceinline__ void join_groups(seen<PACK> &mine, unsigned lanes) {
    for (unsigned distance = TIDE_WARP / 2; distance >= lanes; distance /= 2) {
        const int far = static_cast<int>(distance);
        seen<PACK> other;
        other.top = __shfl_xor_sync(TIDE_ALL_LANES, mine.top, far);
        other.total = __shfl_xor_sync(TIDE_ALL_LANES, mine.total, far);
#pragma unroll
        for (size_t i = 0; i < PACK; i++) {
            other.sums[i] = __shfl_xor_sync(TIDE_ALL_LANES, mine.sums[i], far);
        }
        join(mine, other);
    }
}

/* The first group of the block writes the combined result of all warps. */
template <typename T, size_t PACK>
static __device__ __forceinline__ void write(T *out, const seen<PACK> &mine, unsigned lanes) {
    TIDE_SHARED(float, tops, [WARPS]);
    TIDE_SHARED(float, totals, [WARPS]);
    TIDE_SHARED(float, sums, [WARPS][TIDE_DECODE_MAX_HEAD]);
    const unsigned warp = threadIdx.x / TIDE_WARP;
    __syncthreads(); /* the block's previous row has been written */
    if (tide_lane() < lanes) {
#pragma unroll
        for (size_t i = 0; i < PACK; i++) {
            sums[warp][tide_lane() * PACK + i] = mine.sums[i];
        }
    }
    if (tide_lane() == 0) {
        tops[warp] = mine.top;
        totals[warp] = mine.total;
    }
    __syncthreads(); /* all warps have stored their results */
    if (threadIdx.x >= lanes) {
        return;
    }
    seen<PACK> all = {-INFINITY, 0, {}};
    for (unsigned w = 0; w < WARPS; w++) {
        seen<PACK> one = {tops[w], totals[w], {}};
#pragma unroll
        for (size_t i = 0; i < PACK; i++) {
            one.sums[i] = sums[w][threadIdx.x * PACK + i];
        }
        join(all, one);
    }
#pragma unroll
    for (size_t i = 0; i < PACK; i++) {
        all.sums[i] /= all.total;
    }
    tide_write_pack(out + threadIdx.x * PACK, all.sums);
}

template <typename T>
static __global__ void __launch_bounds__(BLOCK)
    tide_decode_attention_kernel(shape<T> given, unsigned lanes) {
    constexpr size_t PACK = TIDE_PACK<T>;
    const size_t group = threadIdx.x / lanes;
    const size_t of_head = static_cast<size_t>(threadIdx.x % lanes) * PACK;
    for (size_t i = blockIdx.x; i < given.R * given.H; i += gridDim.x) {
        const size_t r = i / given.H;
        const size_t h = i % given.H;
        const size_t kv = h / (given.H / given.K);
        const size_t begin = (r / given.n * given.S * given.K + kv) * given.D + of_head;
        float q[PACK];
        tide_read_pack(given.qkv + (r * (given.H + 2 * given.K) + h) * given.D + of_head, q);
#pragma unroll
        for (size_t c = 0; c < PACK; c++) {
            q[c] *= given.scale;
        }
        seen<PACK> mine = see(given.keys + begin, given.values + begin, q, given.K * given.D, group,
                              BLOCK / lanes, given.position + r % given.n + 1, lanes);
        join_groups(mine, lanes);
        write(given.out + i * given.D, mine, lanes);
    }
}

template <typename T> static int launch(const tide_ops *ops, const tide_decode_attention *call) {
    const tide_decode_heads *heads = &call->heads;
    const shape<T> given = {static_cast<T *>(call->out.data),
                            static_cast<const T *>(heads->qkv.data),
                            static_cast<const T *>(heads->keys.data),
                            static_cast<const T *>(heads->values.data),
                            heads->B * heads->n,
                            heads->n,
                            heads->position,
                            heads->S,
                            heads->H,
                            heads->K,
                            heads->D,
                            1.0F / sqrtf(static_cast<float>(heads->D))};
    return TIDE_LAUNCH(
        tide_decode_attention_kernel<T>, tide_cuda_grid(ops, heads->B * heads->n * heads->H, 1),
        BLOCK, 0, tide_cuda_stream(ops), given, static_cast<unsigned>(heads->D / TIDE_PACK<T>));
}

/* Whether a group of lanes, each with a pack, has a head: 1, 2, 4, ... 32 of them. */
static bool has_groups(size_t D, size_t n_pack) {
    const size_t lanes = D / n_pack;
    return D % n_pack == 0 && lanes <= TIDE_WARP && (lanes & (lanes - 1)) == 0;
}

extern "C" tide_status tide_cuda_decode_attention(tide_ops *ops, const tide_decode_attention *call,
                                                  tide_error *error) {
    const tide_decode_heads *heads = &call->heads;
    const tide_array arrays[] = {call->out, heads->qkv, heads->keys, heads->values};
    TIDE_TRY(tide_cuda_need_one_type("attention over a cache", arrays, 4, error));
    const bool is_bf16 = call->out.dtype == TIDE_BF16;
    if (!has_groups(heads->D, is_bf16 ? 8 : 4)) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "attention over a cache: device cuda computes heads of %d channels times "
                         "a power of 2, %d at most, and these have %zu: use cpu or virtual",
                         is_bf16 ? 8 : 4, is_bf16 ? 256 : 128, heads->D);
    }
    if (heads->B * heads->n == 0) {
        return TIDE_OK;
    }
    const int result = is_bf16 ? launch<__nv_bfloat16>(ops, call) : launch<float>(ops, call);
    return tide_cuda_launched(ops, "decode_attention", result, error);
}
