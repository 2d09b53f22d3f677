/* x (B, T, H, D) in place: the pair (x[2i], x[2i + 1]) is rotated by the angle t theta^(-2i / D)
 * whose cosine and sine stand in table (2, T, D / 2); inverse: by the negative angle. */
#include "model/ops_cpu/ops_cpu_internal.h"

tide_status tide_cpu_rope(tide_ops *ops, tide_array x, const float *table, size_t B, size_t T,
                          size_t H, size_t D, bool inverse, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_fp32("rope", &x, 1, error));
    size_t n_pairs = D / 2;
    float sign = inverse ? -1.0F : 1.0F;
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (size_t row = 0; row < B * T; row++) { /* x[b][t][:][:] */
        size_t t = row % T;
        const float *cosines = table + t * n_pairs;
        const float *sines = table + (T + t) * n_pairs;
        for (size_t h = 0; h < H; h++) {
            float *pairs = (float *)x.data + (row * H + h) * D;
            for (size_t i = 0; i < n_pairs; i++) {
                float even = pairs[2 * i];
                float odd = pairs[2 * i + 1];
                float sine = sign * sines[i];
                pairs[2 * i] = cosines[i] * even - sine * odd;
                pairs[2 * i + 1] = sine * even + cosines[i] * odd;
            }
        }
    }
    return TIDE_OK;
}
