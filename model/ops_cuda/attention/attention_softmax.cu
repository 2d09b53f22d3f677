/* The rows of naive attention, (R, T) with R = B H T, in place; row r belongs to query t = r % T.
 *
 *   forward: scores become probs = softmax over s <= t, 0 for s > t
 *   backward: dprobs become dscores = probs * (dprobs - sum_s dprobs * probs) * scale, 0 for s > t
 *
 * A warp per row, which it reads twice, the second time from the cache. Uses packs of 16 bytes if
 * rows are whole packs. Scores and dprobs are read as stored, and results are rounded once. */
#include "model/ops_cuda/attention/attention_internal.h"
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/reduce.h"
#include "model/ops_cuda/vector.h"

enum { BLOCK = 256, ROWS_OF_BLOCK = BLOCK / TIDE_WARP };

template <typename T> static constexpr unsigned PACK = static_cast<unsigned>(TIDE_PACK<T>);

/* N elements from `from` on, N being 1 or a pack. */
template <typename T, unsigned N>
static __device__ __forceinline__ void read_some(const T *from, float (&x)[N]) {
    if constexpr (N == 1) {
        x[0] = tide_read(from);
    } else {
        tide_read_pack(from, x);
    }
}

template <typename T, unsigned N>
static __device__ __forceinline__ void write_some(T *to, const float (&x)[N]) {
    if constexpr (N == 1) {
        tide_write(to, x[0]);
    } else {
        tide_write_pack(to, x);
    }
}

/* Maximum of a part of a row, and the sum of exp(x - max); -infinity and 0 if empty. */
struct softmax_statistics {
    float max, sum;
};

/* `sum` relative to another maximum, which is not below its own. */
static __device__ __forceinline__ float rescaled(softmax_statistics part, float max) {
    return max > -INFINITY ? part.sum * expf(part.max - max) : 0.0F;
}

/* Of elements 0 .. t of a row; the same in all lanes. */
template <typename T, unsigned N>
static __device__ __forceinline__ softmax_statistics row_statistics(const T *row, size_t t) {
    softmax_statistics all = {-INFINITY, 0};
    for (size_t s = tide_lane() * N; s <= t; s += TIDE_WARP * N) {
        float x[N];
        read_some(row + s, x);
        float max = all.max;
#pragma unroll
        for (unsigned i = 0; i < N; i++) {
            x[i] = s + i <= t ? x[i] : -INFINITY;
            max = fmaxf(max, x[i]);
        }
        float sum = rescaled(all, max);
#pragma unroll
        for (unsigned i = 0; i < N; i++) {
            sum += expf(x[i] - max);
        }
        all = {max, sum};
    }
#pragma unroll
    for (int distance = TIDE_WARP / 2; distance > 0; distance /= 2) {
        const softmax_statistics other = {__shfl_xor_sync(TIDE_ALL_LANES, all.max, distance),
                                          __shfl_xor_sync(TIDE_ALL_LANES, all.sum, distance)};
        const float max = fmaxf(all.max, other.max);
        all = {max, rescaled(all, max) + rescaled(other, max)};
    }
    return all;
}

template <typename T, unsigned N>
static __global__ void __launch_bounds__(BLOCK)
    tide_softmax_forward_kernel(T *scores, size_t n_rows, size_t n_tokens) {
    const size_t step = static_cast<size_t>(gridDim.x) * ROWS_OF_BLOCK;
    const size_t first = static_cast<size_t>(blockIdx.x) * ROWS_OF_BLOCK + threadIdx.x / TIDE_WARP;
    for (size_t r = first; r < n_rows; r += step) { /* scores[r] */
        T *row = scores + r * n_tokens;
        const size_t t = r % n_tokens;
        const softmax_statistics all = row_statistics<T, N>(row, t);
        const float factor = 1.0F / all.sum;
        for (size_t s = tide_lane() * N; s < n_tokens; s += TIDE_WARP * N) {
            float x[N] = {};
            if (s <= t) {
                read_some(row + s, x);
            }
#pragma unroll
            for (unsigned i = 0; i < N; i++) {
                const bool seen = s + i <= t;
                x[i] = seen ? expf(x[i] - all.max) * factor : 0.0F;
            }
            write_some(row + s, x);
        }
    }
}

template <typename T, unsigned N>
static __global__ void __launch_bounds__(BLOCK)
    tide_softmax_backward_kernel(T *dprobs, const T *probs, float scale, size_t n_rows,
                                 size_t n_tokens) {
    const size_t step = static_cast<size_t>(gridDim.x) * ROWS_OF_BLOCK;
    const size_t first = static_cast<size_t>(blockIdx.x) * ROWS_OF_BLOCK + threadIdx.x / TIDE_WARP;
    for (size_t r = first; r < n_rows; r += step) { /* dprobs[r], probs[r] */
        T *drow = dprobs + r * n_tokens;
        const T *row = probs + r * n_tokens;
        const size_t t = r % n_tokens;
        float mean = 0;
        for (size_t s = tide_lane() * N; s <= t; s += TIDE_WARP * N) {
            float x[N], d[N];
            read_some(row + s, x);
            read_some(drow + s, d);
#pragma unroll
            for (unsigned i = 0; i < N; i++) { /* probs is 0 beyond t */
                mean += x[i] * d[i];
            }
        }
        mean = tide_warp_sum(mean);
        for (size_t s = tide_lane() * N; s < n_tokens; s += TIDE_WARP * N) {
            float x[N] = {}, d[N] = {};
            if (s <= t) {
                read_some(row + s, x);
                read_some(drow + s, d);
            }
#pragma unroll
            for (unsigned i = 0; i < N; i++) {
                d[i] = x[i] * (d[i] - mean) * scale;
            }
            write_some(drow + s, d);
        }
    }
}

/* Whether rows of n_tokens elements are whole packs at addresses that are multiples of 16. */
template <typename T> static bool in_packs(size_t n_tokens, const T *x, const T *y) {
    return n_tokens % PACK<T> == 0 &&
           (reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y)) % 16 == 0;
}

template <typename T>
static int launch_forward(const tide_ops *ops, void *scores, size_t n_rows, size_t n_tokens) {
    T *x = static_cast<T *>(scores);
    const unsigned n_blocks = tide_cuda_grid(ops, n_rows, ROWS_OF_BLOCK);
    return in_packs(n_tokens, x, x)
               ? TIDE_LAUNCH((tide_softmax_forward_kernel<T, PACK<T>>), n_blocks, BLOCK, 0,
                             tide_cuda_stream(ops), x, n_rows, n_tokens)
               : TIDE_LAUNCH((tide_softmax_forward_kernel<T, 1>), n_blocks, BLOCK, 0,
                             tide_cuda_stream(ops), x, n_rows, n_tokens);
}

template <typename T>
static int launch_backward(const tide_ops *ops, const tide_attention_backward *call) {
    T *dprobs = static_cast<T *>(call->dprobs.data);
    const T *probs = static_cast<const T *>(call->probs.data);
    const size_t n_rows = call->B * call->H * call->T;
    const float scale = 1.0F / sqrtf(static_cast<float>(call->D));
    const unsigned n_blocks = tide_cuda_grid(ops, n_rows, ROWS_OF_BLOCK);
    return in_packs<T>(call->T, dprobs, probs)
               ? TIDE_LAUNCH((tide_softmax_backward_kernel<T, PACK<T>>), n_blocks, BLOCK, 0,
                             tide_cuda_stream(ops), dprobs, probs, scale, n_rows, call->T)
               : TIDE_LAUNCH((tide_softmax_backward_kernel<T, 1>), n_blocks, BLOCK, 0,
                             tide_cuda_stream(ops), dprobs, probs, scale, n_rows, call->T);
}

extern "C" tide_status
tide_cuda_attention_softmax(tide_ops *ops, const tide_attention_forward *call, tide_error *error) {
    const size_t n_rows = call->B * call->H * call->T;
    const int result = tide_by_type(call->probs.dtype, [=](auto number) {
        return launch_forward<decltype(number)>(ops, call->probs.data, n_rows, call->T);
    });
    return tide_cuda_launched(ops, "attention_softmax", result, error);
}

extern "C" tide_status tide_cuda_attention_softmax_backward(tide_ops *ops,
                                                            const tide_attention_backward *call,
                                                            tide_error *error) {
    const int result = tide_by_type(call->probs.dtype, [=](auto number) {
        return launch_backward<decltype(number)>(ops, call);
    });
    return tide_cuda_launched(ops, "attention_softmax_backward", result, error);
}
