/* elements.h - the kernel and launch of operators that compute each element of out (n) from the
 * same element of x (n); arrays are fp32, bf16 or fp16. For .cu files.
 *
 *   struct negate {
 *       template <size_t N, typename Out, typename X>
 *       static __device__ __forceinline__ void run(tide_view<Out> out, tide_view<X> x, size_t at);
 *   };
 *   tide_cuda_elements<negate>(ops, "negate", out, x, n, error)
 *
 * run computes elements at .. at + N. */
#ifndef TIDE_MODEL_OPS_CUDA_ELEMENTS_H
#define TIDE_MODEL_OPS_CUDA_ELEMENTS_H

#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/vector.h"

/* Handles the first n_packs packs by 16-byte accesses and the rest one by one. */
template <typename Operator, typename Out, typename X>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_elements_kernel(tide_view<Out> out, tide_view<X> x, size_t n_packs, size_t n) {
    constexpr size_t N = TIDE_COMMON_PACK<Out, X>;
    for (size_t i = tide_thread(); i < n_packs; i += tide_n_threads()) {
        Operator::template run<N>(out, x, i * N);
    }
    for (size_t at = n_packs * N + tide_thread(); at < n; at += tide_n_threads()) {
        Operator::template run<1>(out, x, at);
    }
}

template <typename Operator, typename Out, typename X>
static int elements_launch(const tide_ops *ops, tide_array out, tide_array x, size_t n) {
    const size_t n_packs = tide_n_common_packs(n, TIDE_COMMON_PACK<Out, X>, out, x);
    return TIDE_LAUNCH((tide_elements_kernel<Operator, Out, X>),
                       tide_cuda_grid(ops, n_packs > 0 ? n_packs : n, TIDE_BLOCK), TIDE_BLOCK, 0,
                       tide_cuda_stream(ops), tide_view_of<Out>(out), tide_view_of<X>(x), n_packs,
                       n);
}

template <typename Operator, typename Out>
static int elements_launch_for_x(const tide_ops *ops, tide_array out, tide_array x, size_t n) {
    return tide_by_type(x.dtype, [=](auto of_x) {
        return elements_launch<Operator, Out, decltype(of_x)>(ops, out, x, n);
    });
}

template <typename Operator>
static tide_status tide_cuda_elements(tide_ops *ops, const char *name, tide_array out, tide_array x,
                                      size_t n, tide_error *error) {
    const tide_array arrays[] = {out, x};
    TIDE_TRY(tide_cuda_need_floats(name, arrays, 2, error));
    if (n == 0) {
        return TIDE_OK;
    }
    const int result = tide_by_type(out.dtype, [=](auto of_out) {
        return elements_launch_for_x<Operator, decltype(of_out)>(ops, out, x, n);
    });
    return tide_cuda_launched(ops, name, result, error);
}

#endif
