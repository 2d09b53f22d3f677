/* table (2, T, D / 2): cosine, then sine, of t theta^(-2i / D), in double until the last rounding.
 *
 * The device's pow, cos and sin err by up to 2 units in the last place of a double, as do the
 * host's: an angle of a few thousand by 1e-12, so a number differs from the twin's in about one of
 * 10^4 cases, by its last bit in fp32. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/vector.h"

static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_fill_rope_kernel(float *table, size_t T, size_t n_pairs, double D, double theta) {
    for (size_t at = tide_thread(); at < T * n_pairs; at += tide_n_threads()) {
        const size_t i = at % n_pairs;
        const size_t t = at / n_pairs;
        const double frequency = pow(theta, -(2 * static_cast<double>(i)) / D);
        const double angle = static_cast<double>(t) * frequency;
        table[at] = static_cast<float>(cos(angle));
        table[T * n_pairs + at] = static_cast<float>(sin(angle));
    }
}

extern "C" tide_status tide_cuda_fill_rope(tide_ops *ops, const tide_fill_rope *call,
                                           tide_error *error) {
    const size_t T = call->T;
    const size_t n_pairs = call->D / 2;
    if (T * n_pairs == 0) {
        return TIDE_OK;
    }
    const int result = TIDE_LAUNCH(
        tide_fill_rope_kernel, tide_cuda_grid(ops, T * n_pairs, TIDE_BLOCK), TIDE_BLOCK, 0,
        tide_cuda_stream(ops), call->table, T, n_pairs, static_cast<double>(call->D), call->theta);
    return tide_cuda_launched(ops, "fill_rope", result, error);
}
