/* out (n) += x (n). */
#include "model/ops_cuda/elements.h"

struct residual_add {
    template <size_t N, typename Out, typename X>
    static __device__ __forceinline__ void run(tide_view<Out> out, tide_view<X> x, size_t at) {
        float sum[N];
        float term[N];
        tide_load(sum, out, at);
        tide_load(term, x, at);
#pragma unroll
        for (size_t k = 0; k < N; k++) {
            sum[k] += term[k];
        }
        tide_store(out, at, sum);
    }
};

extern "C" tide_status tide_cuda_residual_add(tide_ops *ops, const tide_residual_add *call,
                                              tide_error *error) {
    return tide_cuda_elements<residual_add>(ops, "residual_add", call->out, call->x, call->n,
                                            error);
}
