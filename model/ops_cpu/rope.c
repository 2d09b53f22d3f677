/* x (B, T, H, D) in place: the pair (x[2i], x[2i + 1]) is rotated by the angle t theta^(-2i / D)
 * whose cosine and sine are in table (2, T, D / 2); inverse: by the negative angle. */
#include "model/ops_cpu/pieces.h"

/* The angles of one token. */
typedef struct token_angles {
    const float *cosines, *sines; /* (D / 2) */
    float sign;                   /* -1 rotates backwards */
} token_angles;

/* x[at .. at + n_heads D): as many whole heads as a piece holds. */
static void rotate_heads(const tide_ops_cpu *cpu, tide_array x, size_t at, size_t n_heads, size_t D,
                         const token_angles *angles) {
    float buffer[TIDE_PIECE];
    size_t most = TIDE_PIECE / D;
    for (size_t h = 0; h < n_heads; h += most) {
        size_t n = n_heads - h < most ? n_heads - h : most;
        float *pairs = tide_piece_update(cpu, x, at + h * D, n * D, buffer);
        cpu->kernels->rope(pairs, angles->cosines, angles->sines, angles->sign, D / 2, n);
        tide_piece_store(cpu, x, at + h * D, n * D, pairs);
    }
}

/* x[at .. at + D): a head that may be longer than a piece. */
static void rotate_long_head(const tide_ops_cpu *cpu, tide_array x, size_t at, size_t D,
                             const token_angles *angles) {
    float buffer[TIDE_PIECE];
    size_t n;
    for (size_t d = 0; d < D; d += n) {
        n = tide_piece_length(d, D);
        float *pairs = tide_piece_update(cpu, x, at + d, n, buffer);
        cpu->kernels->rope(pairs, angles->cosines + d / 2, angles->sines + d / 2, angles->sign,
                           n / 2, 1);
        tide_piece_store(cpu, x, at + d, n, pairs);
    }
}

tide_status tide_cpu_rope(tide_ops *ops, const tide_rope *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_floats("rope", &call->x, 1, error));
    const size_t n_rows = call->B * call->T;
    const size_t T = call->T;
    const size_t H = call->H;
    const size_t D = call->D;
#pragma omp parallel for num_threads(cpu->n_threads) if (n_rows * H * D > TIDE_OPS_CPU_SERIAL)     \
    schedule(static)
    for (size_t row = 0; row < n_rows; row++) { /* x[b][t][:][:] */
        size_t t = row % T;
        const token_angles angles = {call->table + t * (D / 2), call->table + (T + t) * (D / 2),
                                     call->inverse ? -1.0F : 1.0F};
        if (D <= TIDE_PIECE) {
            rotate_heads(cpu, call->x, row * H * D, H, D, &angles);
            continue;
        }
        for (size_t h = 0; h < H; h++) {
            rotate_long_head(cpu, call->x, (row * H + h) * D, D, &angles);
        }
    }
    return TIDE_OK;
}
