/* out (n) = x (n) Phi(x), Phi(x) = erfc(-x / sqrt(2)) / 2: GELU.
 *
 * Backward: dx = dout (Phi(x) + x phi(x)), phi(x) = exp(-x^2 / 2) / sqrt(2 pi). dx may be dout.
 *
 * Each thread takes packs of 16 bytes. Elements that fill no pack are handled one by one, as are
 * all elements if an array is not aligned. */
#include "model/ops_cuda/elements.h"

static __device__ __forceinline__ float normal_below(float x) {
    return 0.5F * erfcf(-0.70710678F * x);
}

struct gelu {
    template <size_t N, typename Out, typename X>
    static __device__ __forceinline__ void run(tide_view<Out> out, tide_view<X> x, size_t at) {
        float number[N];
        tide_load(number, x, at);
#pragma unroll
        for (size_t k = 0; k < N; k++) {
            number[k] *= normal_below(number[k]);
        }
        tide_store(out, at, number);
    }
};

extern "C" tide_status tide_cuda_gelu_forward(tide_ops *ops, const tide_gelu_forward *call,
                                              tide_error *error) {
    return tide_cuda_elements<gelu>(ops, "gelu_forward", call->out, call->x, call->n, error);
}

template <size_t N, typename T>
static __device__ __forceinline__ void differentiate(tide_view<T> dx, tide_view<T> dout,
                                                     tide_view<T> x, size_t at) {
    const float FACTOR = 0.39894228F; /* 1 / sqrt(2 pi) */
    float slope[N], number[N];
    tide_load(slope, dout, at);
    tide_load(number, x, at);
#pragma unroll
    for (size_t k = 0; k < N; k++) {
        const float density = FACTOR * expf(-0.5F * number[k] * number[k]);
        slope[k] *= normal_below(number[k]) + number[k] * density;
    }
    tide_store(dx, at, slope);
}

template <typename T>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_gelu_backward_kernel(tide_view<T> dx, tide_view<T> dout, tide_view<T> x, size_t n_packs,
                              size_t n) {
    constexpr size_t N = TIDE_COMMON_PACK<T>;
    for (size_t i = tide_thread(); i < n_packs; i += tide_n_threads()) {
        differentiate<N>(dx, dout, x, i * N);
    }
    for (size_t at = n_packs * N + tide_thread(); at < n; at += tide_n_threads()) {
        differentiate<1>(dx, dout, x, at);
    }
}

template <typename T>
static int launch_backward(const tide_ops *ops, const tide_gelu_backward *call) {
    const size_t n = call->n;
    const size_t n_packs =
        tide_n_common_packs(n, TIDE_COMMON_PACK<T>, call->dx, call->dout, call->x);
    return TIDE_LAUNCH((tide_gelu_backward_kernel<T>),
                       tide_cuda_grid(ops, n_packs > 0 ? n_packs : n, TIDE_BLOCK), TIDE_BLOCK, 0,
                       tide_cuda_stream(ops), tide_view_of<T>(call->dx),
                       tide_view_of<T>(call->dout), tide_view_of<T>(call->x), n_packs, n);
}

extern "C" tide_status tide_cuda_gelu_backward(tide_ops *ops, const tide_gelu_backward *call,
                                               tide_error *error) {
    const tide_array all[] = {call->dx, call->dout, call->x};
    TIDE_TRY(tide_cuda_need_one_type("gelu", all, 3, error));
    if (call->n == 0) {
        return TIDE_OK;
    }
    const int result = tide_by_type(
        call->dx.dtype, [=](auto number) { return launch_backward<decltype(number)>(ops, call); });
    return tide_cuda_launched(ops, "gelu_backward", result, error);
}
