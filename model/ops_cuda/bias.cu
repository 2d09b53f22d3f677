/* out (R, C) = bias (C) in every row.
 *
 * Backward: dbias (C) = the sum over the rows of dout (R, C). A block has 32 neighbouring channels,
 * one a lane, so a warp reads a whole cache line of a row; its warps take the rows in turn. Sums
 * are computed in double, by warp and then over the warps, in an order that depends only on R.
 */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/reduce.h"
#include "model/ops_cuda/vector.h"

enum { WARPS = 8, SUM_BLOCK = WARPS * TIDE_WARP };

/* out elements at .. at + N; all in one row. */
template <size_t N, typename Out, typename Bias>
static __device__ __forceinline__ void copy(tide_view<Out> out, tide_view<Bias> bias, size_t at,
                                            size_t C) {
    float number[N];
    tide_load(number, bias, at % C);
    tide_store(out, at, number);
}

/* Elements of out: n_packs packs of N, the rest of all n one by one. */
template <typename Out, typename Bias>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_bias_forward_kernel(tide_view<Out> out, tide_view<Bias> bias, size_t n_packs, size_t n,
                             size_t C) {
    constexpr size_t N = TIDE_COMMON_PACK<Out, Bias>;
    for (size_t i = tide_thread(); i < n_packs; i += tide_n_threads()) {
        copy<N>(out, bias, i * N, C);
    }
    for (size_t at = n_packs * N + tide_thread(); at < n; at += tide_n_threads()) {
        copy<1>(out, bias, at, C);
    }
}

template <typename Out, typename Bias>
static int launch_forward(const tide_ops *ops, const tide_bias_forward *call) {
    constexpr size_t N = TIDE_COMMON_PACK<Out, Bias>;
    const size_t n = call->R * call->C;
    const size_t n_packs = call->C % N == 0 ? tide_n_common_packs(n, N, call->out, call->bias) : 0;
    return TIDE_LAUNCH((tide_bias_forward_kernel<Out, Bias>),
                       tide_cuda_grid(ops, n_packs > 0 ? n_packs : n, TIDE_BLOCK), TIDE_BLOCK, 0,
                       tide_cuda_stream(ops), tide_view_of<Out>(call->out),
                       tide_view_of<Bias>(call->bias), n_packs, n, call->C);
}

template <typename Out>
static int launch_forward_for_bias(const tide_ops *ops, const tide_bias_forward *call) {
    return tide_by_type(call->bias.dtype, [=](auto number) {
        return launch_forward<Out, decltype(number)>(ops, call);
    });
}

extern "C" tide_status tide_cuda_bias_forward(tide_ops *ops, const tide_bias_forward *call,
                                              tide_error *error) {
    const tide_array arrays[] = {call->out, call->bias};
    TIDE_TRY(tide_cuda_need_floats("bias", arrays, 2, error));
    if (call->R * call->C == 0) {
        return TIDE_OK;
    }
    const int result = tide_by_type(call->out.dtype, [=](auto number) {
        return launch_forward_for_bias<decltype(number)>(ops, call);
    });
    return tide_cuda_launched(ops, "bias_forward", result, error);
}

/* A block takes channels 32 b, 32 (b + blocks of the grid), ... */
template <typename Dout>
static __global__ void __launch_bounds__(SUM_BLOCK)
    tide_bias_backward_kernel(tide_view<tide_any> dbias, tide_view<Dout> dout, size_t R, size_t C) {
    TIDE_SHARED(double, sums, [WARPS][TIDE_WARP]);
    const unsigned warp = threadIdx.x / TIDE_WARP;
    const size_t step = static_cast<size_t>(gridDim.x) * TIDE_WARP;
    for (size_t first = static_cast<size_t>(blockIdx.x) * TIDE_WARP; first < C; first += step) {
        const size_t c = first + tide_lane();
        double sum = 0;
        for (size_t r = warp; r < R && c < C; r += WARPS) {
            float number[1];
            tide_load(number, dout, r * C + c);
            sum += static_cast<double>(number[0]);
        }
        __syncthreads(); /* the first warp may still read the sums of the channels before */
        sums[warp][tide_lane()] = sum;
        __syncthreads();
        if (warp == 0 && c < C) {
            double total = 0;
#pragma unroll
            for (unsigned w = 0; w < WARPS; w++) {
                total += sums[w][tide_lane()];
            }
            const float rounded[1] = {static_cast<float>(total)};
            tide_store(dbias, c, rounded);
        }
    }
}

template <typename Dout>
static int launch_backward(const tide_ops *ops, const tide_bias_backward *call) {
    return TIDE_LAUNCH((tide_bias_backward_kernel<Dout>), tide_cuda_grid(ops, call->C, TIDE_WARP),
                       SUM_BLOCK, 0, tide_cuda_stream(ops), tide_view_of<tide_any>(call->dbias),
                       tide_view_of<Dout>(call->dout), call->R, call->C);
}

extern "C" tide_status tide_cuda_bias_backward(tide_ops *ops, const tide_bias_backward *call,
                                               tide_error *error) {
    const tide_array arrays[] = {call->dbias, call->dout};
    TIDE_TRY(tide_cuda_need_floats("bias", arrays, 2, error));
    if (call->C == 0) {
        return TIDE_OK;
    }
    const int result = tide_by_type(call->dout.dtype, [=](auto number) {
        return launch_backward<decltype(number)>(ops, call);
    });
    return tide_cuda_launched(ops, "bias_backward", result, error);
}
