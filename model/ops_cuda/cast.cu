/* out (n) = x (n), each fp32, bf16 or fp16; to nearest, ties to even, if the type narrows. */
#include "model/ops_cuda/elements.h"

struct cast {
    template <size_t N, typename Out, typename X>
    static __device__ __forceinline__ void run(tide_view<Out> out, tide_view<X> x, size_t at) {
        float number[N];
        tide_load(number, x, at);
        tide_store(out, at, number);
    }
};

extern "C" tide_status tide_cuda_cast(tide_ops *ops, const tide_cast *call, tide_error *error) {
    return tide_cuda_elements<cast>(ops, "cast", call->out, call->x, call->n, error);
}
