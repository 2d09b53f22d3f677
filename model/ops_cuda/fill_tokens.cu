/* out (n) = uniform integers in [0, bound): the high word of bound * word of Philox, which favours
 * no number by more than bound / 2^32. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/philox.h"
#include "model/ops_cuda/vector.h"

/* A thread draws the numbers of four elements. */
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_fill_tokens_kernel(int32_t *out, uint64_t bound, tide_random random, size_t n) {
    for (size_t block = tide_thread(); 4 * block < n; block += tide_n_threads()) {
        const tide_philox_block numbers = tide_cuda_philox(random.seed, random.stream, block);
#pragma unroll
        for (size_t i = 0; i < 4; i++) {
            if (4 * block + i < n) {
                out[4 * block + i] = static_cast<int32_t>((numbers.words[i] * bound) >> 32);
            }
        }
    }
}

extern "C" tide_status tide_cuda_fill_tokens(tide_ops *ops, const tide_fill_tokens *call,
                                             tide_error *error) {
    const size_t bound = call->bound;
    if (bound == 0 || bound > INT32_MAX) {
        return tide_fail(error, TIDE_LIMIT, "fill_tokens: bound %zu is not in 1 .. 2^31 - 1",
                         bound);
    }
    if (call->n == 0) {
        return TIDE_OK;
    }
    const int result = TIDE_LAUNCH(
        tide_fill_tokens_kernel, tide_cuda_grid(ops, call->n / 4 + 1, TIDE_BLOCK), TIDE_BLOCK, 0,
        tide_cuda_stream(ops), call->out, static_cast<uint64_t>(bound), call->random, call->n);
    return tide_cuda_launched(ops, "fill_tokens", result, error);
}
