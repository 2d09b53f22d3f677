/* delta (B, H, T) = sum over d of dout * out, both (B, T, H, D). A warp per row of D channels; rows
 * are read in memory order. If products read TF32, dout is rounded here in the same way: the parts
 * that cancel in dP - delta then have the same error. */
#include "model/ops_cuda/attention/attention_internal.h"
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/mma.h"
#include "model/ops_cuda/reduce.h"
#include "model/ops_cuda/vector.h"

enum { BLOCK = 128, ROWS_OF_BLOCK = BLOCK / TIDE_WARP };

template <typename T, bool TF32>
static __global__ void __launch_bounds__(BLOCK)
    tide_attention_delta_kernel(float *delta, const T *dout, const T *out,
                                tide_attention_backward call) {
    const size_t n_rows = call.B * call.T * call.H;
    const size_t step = static_cast<size_t>(gridDim.x) * ROWS_OF_BLOCK;
    const size_t first = static_cast<size_t>(blockIdx.x) * ROWS_OF_BLOCK + threadIdx.x / TIDE_WARP;
    for (size_t row = first; row < n_rows; row += step) { /* dout, out[b][t][h] */
        float sum = 0;
        for (size_t d = tide_lane(); d < call.D; d += TIDE_WARP) {
            const float x = tide_read(dout + row * call.D + d);
            sum +=
                (TF32 ? __uint_as_float(tide_to_tf32(x)) : x) * tide_read(out + row * call.D + d);
        }
        sum = tide_warp_sum(sum);
        if (tide_lane() == 0) { /* [b][h][t] */
            const size_t b = row / (call.T * call.H);
            const size_t t = row / call.H % call.T;
            delta[(b * call.H + row % call.H) * call.T + t] = sum;
        }
    }
}

template <typename T, bool TF32 = false>
static int launch(const tide_ops *ops, const tide_attention_backward *call) {
    const unsigned n_blocks = tide_cuda_grid(ops, call->B * call->T * call->H, ROWS_OF_BLOCK);
    return TIDE_LAUNCH((tide_attention_delta_kernel<T, TF32>), n_blocks, BLOCK, 0,
                       tide_cuda_stream(ops), call->scratch,
                       static_cast<const T *>(call->dout.data),
                       static_cast<const T *>(call->out.data), *call);
}

extern "C" tide_status tide_cuda_attention_delta(tide_ops *ops, const tide_attention_backward *call,
                                                 bool in_tf32, tide_error *error) {
    const int result =
        in_tf32 ? launch<float, true>(ops, call) : tide_by_type(call->q.dtype, [=](auto number) {
            return launch<decltype(number)>(ops, call);
        });
    return tide_cuda_launched(ops, "attention_delta", result, error);
}
