/* row_losses (R) = log(sum_v exp(logits (R, V))) - logits at targets (R); loss (1) = their mean;
 * logits = scale (softmax - onehot) / R in place.
 *
 * Three passes over a row: its maximum, the sum of exponentials, the gradient. In between, fp32
 * rows keep the exponentials in place of the logits; narrower rows would round them, so the third
 * pass computes them again. */
#include <math.h>

#include "model/ops_cpu/pieces.h"

/* One row of logits. */
typedef struct logits_row {
    tide_array logits; /* all rows */
    size_t begin, end; /* of this row in it */
    size_t target;     /* element of the row's target in it */
} logits_row;

static float row_max(const tide_ops_cpu *cpu, const logits_row *row) {
    float buffer[TIDE_PIECE];
    float max = -INFINITY;
    size_t n;
    for (size_t at = row->begin; at < row->end; at += n) {
        n = tide_piece_length(at, row->end);
        float piece_max =
            cpu->kernels->row_max(tide_piece_read(cpu, row->logits, at, n, buffer), n);
        max = piece_max > max ? piece_max : max;
    }
    return max;
}

/* The sum of exp(logits - max). In an fp32 row the exponentials overwrite the logits, for the third
 * pass. */
static double sum_of_exponentials(const tide_ops_cpu *cpu, const logits_row *row, float max) {
    float buffer[TIDE_PIECE];
    double sum = 0;
    size_t n;
    for (size_t at = row->begin; at < row->end; at += n) {
        n = tide_piece_length(at, row->end);
        sum +=
            cpu->kernels->exponentials(tide_piece_update(cpu, row->logits, at, n, buffer), n, max);
    }
    return sum;
}

static void write_gradient(const tide_ops_cpu *cpu, const logits_row *row, float max, float scale,
                           float inverse_R) {
    float buffer[TIDE_PIECE];
    size_t n;
    for (size_t at = row->begin; at < row->end; at += n) {
        n = tide_piece_length(at, row->end);
        float *piece = tide_piece_update(cpu, row->logits, at, n, buffer);
        if (row->logits.dtype != TIDE_FP32) {
            (void)cpu->kernels->exponentials(piece, n, max);
        }
        cpu->kernels->scale(piece, scale, n);
        if (row->target >= at && row->target - at < n) {
            piece[row->target - at] -= inverse_R;
        }
        tide_piece_store(cpu, row->logits, at, n, piece);
    }
}

/* Returns the row's loss and overwrites the row with its gradient. The target's logit is read
 * first, because the second pass overwrites it. */
static float backward_row(const tide_ops_cpu *cpu, const logits_row *row, float inverse_R) {
    float buffer[1];
    float max = row_max(cpu, row);
    double target_logit =
        (double)*tide_piece_read(cpu, row->logits, row->target, 1, buffer) - (double)max;
    double sum = sum_of_exponentials(cpu, row, max);
    write_gradient(cpu, row, max, (float)(1 / sum) * inverse_R, inverse_R);
    return (float)(log(sum) - target_logit);
}

tide_status tide_cpu_cross_entropy(tide_ops *ops, const tide_cross_entropy *call,
                                   tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_floats("cross_entropy", &call->logits, 1, error));
    float inverse_R = (float)(call->scale / (double)call->R); /* with the scale of the loss */
    size_t n = call->R * call->V;
#pragma omp parallel for num_threads(cpu->n_threads) if (n > TIDE_OPS_CPU_SERIAL) schedule(static)
    for (size_t r = 0; r < call->R; r++) { /* logits[r][:], row_losses[r] */
        size_t begin = r * call->V;
        const logits_row row = {call->logits, begin, begin + call->V,
                                begin + (size_t)call->targets[r]};
        call->row_losses[r] = backward_row(cpu, &row, inverse_R);
    }
    double sum = 0;
    for (size_t r = 0; r < call->R; r++) {
        sum += (double)call->row_losses[r];
    }
    *call->loss = (float)(sum / (double)call->R);
    return TIDE_OK;
}
