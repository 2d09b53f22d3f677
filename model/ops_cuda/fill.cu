/* out (n) = value, rounded once to its type. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/vector.h"

/* Writes the first n_packs packs by 16-byte accesses and the rest one by one. */
template <typename Out>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_fill_kernel(tide_view<Out> out, float value, size_t n_packs, size_t n) {
    constexpr size_t N = TIDE_COMMON_PACK<Out>;
    float values[N];
#pragma unroll
    for (size_t k = 0; k < N; k++) {
        values[k] = value;
    }
    for (size_t i = tide_thread(); i < n_packs; i += tide_n_threads()) {
        tide_store(out, i * N, values);
    }
    const float one[1] = {value};
    for (size_t at = n_packs * N + tide_thread(); at < n; at += tide_n_threads()) {
        tide_store(out, at, one);
    }
}

template <typename Out> static int launch(const tide_ops *ops, const tide_fill *call) {
    const size_t n = call->n;
    const size_t n_packs = tide_n_common_packs(n, TIDE_COMMON_PACK<Out>, call->out);
    return TIDE_LAUNCH((tide_fill_kernel<Out>),
                       tide_cuda_grid(ops, n_packs > 0 ? n_packs : n, TIDE_BLOCK), TIDE_BLOCK, 0,
                       tide_cuda_stream(ops), tide_view_of<Out>(call->out),
                       static_cast<float>(call->value), n_packs, n);
}

extern "C" tide_status tide_cuda_fill(tide_ops *ops, const tide_fill *call, tide_error *error) {
    TIDE_TRY(tide_cuda_need_floats("fill", &call->out, 1, error));
    if (call->n == 0) {
        return TIDE_OK;
    }
    const int result = tide_by_type(
        call->out.dtype, [=](auto number) { return launch<decltype(number)>(ops, call); });
    return tide_cuda_launched(ops, "fill", result, error);
}
