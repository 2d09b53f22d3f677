/* out (n) = uniform integers in [0, bound): the high word of bound * word of Philox, which favours
 * no number by more than bound / 2^32. */
#include "model/ops_cpu/ops_cpu_internal.h"
#include "model/philox.h"

tide_status tide_cpu_fill_tokens(tide_ops *ops, const tide_fill_tokens *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    const size_t bound = call->bound;
    const size_t n = call->n;
    if (bound == 0 || bound > INT32_MAX) {
        return tide_fail(error, TIDE_LIMIT, "fill_tokens: bound %zu is not in 1 .. 2^31 - 1",
                         bound);
    }
    size_t n_blocks = (n + 3) / 4;
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (size_t block = 0; block < n_blocks; block++) { /* out[4 block .. 4 block + 4) */
        tide_philox_block numbers =
            tide_philox_elements(call->random.seed, call->random.stream, block);
        for (size_t i = 0; i < 4 && 4 * block + i < n; i++) {
            call->out[4 * block + i] = (int32_t)(((uint64_t)numbers.words[i] * bound) >> 32);
        }
    }
    return TIDE_OK;
}
