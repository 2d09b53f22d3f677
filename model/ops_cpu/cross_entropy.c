/* row_losses (R) = log(sum_v exp(logits (R, V))) - logits at targets (R); loss (1) = their mean;
 * logits = (softmax - onehot) / R in their own place. */
#include <math.h>

#include "model/ops_cpu/ops_cpu_internal.h"

/* Row r: returns its loss, and overwrites it by its gradient. */
static float backward_row(float *row, size_t V, size_t target, float inverse_R) {
    float max = row[0];
#pragma omp simd reduction(max : max)
    for (size_t v = 1; v < V; v++) {
        max = row[v] > max ? row[v] : max;
    }
    double target_logit = (double)row[target] - (double)max;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t v = 0; v < V; v++) {
        row[v] = tide_exp(row[v] - max);
        sum += (double)row[v];
    }
    float scale = (float)(1 / sum) * inverse_R;
#pragma omp simd
    for (size_t v = 0; v < V; v++) {
        row[v] *= scale;
    }
    row[target] -= inverse_R;
    return (float)(log(sum) - target_logit);
}

tide_status tide_cpu_cross_entropy(tide_ops *ops, const tide_cross_entropy *call,
                                   tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_fp32("cross_entropy", &call->logits, 1, error));
    float inverse_R = (float)(1 / (double)call->R);
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (size_t r = 0; r < call->R; r++) { /* logits[r][:], row_losses[r] */
        call->row_losses[r] = backward_row((float *)call->logits.data + r * call->V, call->V,
                                           (size_t)call->targets[r], inverse_R);
    }
    double sum = 0;
    for (size_t r = 0; r < call->R; r++) {
        sum += (double)call->row_losses[r];
    }
    *call->loss = (float)(sum / (double)call->R);
    return TIDE_OK;
}
