/* table (2, T, D / 2): cosine, then sine, of t theta^(-2i / D), in double until the last rounding.
 */
#include <math.h>

#include "model/ops_cpu/ops_cpu_internal.h"

tide_status tide_cpu_fill_rope(tide_ops *ops, const tide_fill_rope *call, tide_error *error) {
    (void)ops, (void)error;
    const size_t T = call->T;
    const size_t n_pairs = call->D / 2;
    for (size_t i = 0; i < n_pairs; i++) { /* table[:][:][i] */
        double frequency = pow(call->theta, -(2 * (double)i) / (double)call->D);
        for (size_t t = 0; t < T; t++) {
            call->table[t * n_pairs + i] = (float)cos((double)t * frequency);
            call->table[(T + t) * n_pairs + i] = (float)sin((double)t * frequency);
        }
    }
    return TIDE_OK;
}
