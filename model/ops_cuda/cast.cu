/* out (n) = x (n), each fp32 or bf16; to nearest, ties to even, where the type narrows. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_internal.h"
#include "model/ops_cuda/vector.h"

template <size_t N, typename Out, typename X>
static __device__ __forceinline__ void cast(tide_view<Out> out, tide_view<X> x, size_t at) {
    float number[N];
    tide_load(number, x, at);
    tide_store(out, at, number);
}

/* The first n_packs packs by 16-byte accesses, the rest one by one. */
template <typename Out, typename X>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    cast_kernel(tide_view<Out> out, tide_view<X> x, size_t n_packs, size_t n) {
    constexpr size_t N = TIDE_COMMON_PACK<Out, X>;
    for (size_t i = tide_thread(); i < n_packs; i += tide_n_threads()) {
        cast<N>(out, x, i * N);
    }
    for (size_t at = n_packs * N + tide_thread(); at < n; at += tide_n_threads()) {
        cast<1>(out, x, at);
    }
}

template <typename Out, typename X>
static int launch(const tide_ops *ops, tide_array out, tide_array x, size_t n) {
    constexpr size_t N = TIDE_COMMON_PACK<Out, X>;
    const size_t n_packs = tide_n_common_packs(n, N, out, x);
    return TIDE_LAUNCH((cast_kernel<Out, X>),
                       tide_cuda_grid(ops, n_packs > 0 ? n_packs : n, TIDE_BLOCK), TIDE_BLOCK, 0,
                       tide_cuda_stream(ops), tide_view_of<Out>(out), tide_view_of<X>(x), n_packs,
                       n);
}

template <typename Out>
static int launch_for_x(const tide_ops *ops, tide_array out, tide_array x, size_t n) {
    return x.dtype == TIDE_BF16 ? launch<Out, __nv_bfloat16>(ops, out, x, n)
                                : launch<Out, float>(ops, out, x, n);
}

extern "C" tide_status tide_cuda_cast(tide_ops *ops, tide_array out, tide_array x, size_t n,
                                      tide_error *error) {
    const tide_array arrays[] = {out, x};
    TIDE_TRY(tide_cuda_need_floats("cast", arrays, 2, error));
    if (n == 0) {
        return TIDE_OK;
    }
    int result = out.dtype == TIDE_BF16 ? launch_for_x<__nv_bfloat16>(ops, out, x, n)
                                        : launch_for_x<float>(ops, out, x, n);
    return tide_cuda_launched(ops, "cast", result, error);
}
