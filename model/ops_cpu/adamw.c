/* The course's AdamW on each parameter p (n) with gradient g, and moments m and v:
 *
 *   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
 *   p = p - lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps)
 *   p = p - lr weight_decay p */
#include <math.h>

#include "model/ops_cpu/ops_cpu_internal.h"

/* The factors of one step, computed in double. */
typedef struct factors {
    float beta1, one_minus_beta1; /* of m */
    float beta2, one_minus_beta2; /* of v */
    float step;                   /* lr with both bias corrections */
    float eps;                    /* beside the uncorrected sqrt(v) */
    float decay;                  /* lr weight_decay */
} factors;

static factors make_factors(const tide_adamw *adamw) {
    double t = (double)adamw->t;
    double step = adamw->lr * sqrt(1 - pow(adamw->beta2, t)) / (1 - pow(adamw->beta1, t));
    return (factors){(float)adamw->beta1,
                     (float)(1 - adamw->beta1),
                     (float)adamw->beta2,
                     (float)(1 - adamw->beta2),
                     (float)step,
                     (float)adamw->eps,
                     (float)(adamw->lr * adamw->weight_decay)};
}

static void update(const tide_ops_cpu *cpu, const tide_parameter_arrays *arrays, factors f) {
    float *p = arrays->parameter.data;
    float *m = arrays->exp_avg.data;
    float *v = arrays->exp_avg_sq.data;
    const float *g = arrays->gradient.data;
    size_t n = arrays->n_elements;
#pragma omp parallel for simd num_threads(cpu->n_threads) schedule(static)
    for (size_t i = 0; i < n; i++) {
        m[i] = f.beta1 * m[i] + f.one_minus_beta1 * g[i];
        v[i] = f.beta2 * v[i] + f.one_minus_beta2 * (g[i] * g[i]);
        float moved = p[i] - f.step * m[i] / (sqrtf(v[i]) + f.eps);
        p[i] = moved - f.decay * moved;
    }
}

tide_status tide_cpu_adamw(tide_ops *ops, const tide_adamw *adamw,
                           const tide_parameter_arrays *parameters, size_t n_parameters,
                           tide_error *error) {
    const factors f = make_factors(adamw);
    for (size_t p = 0; p < n_parameters; p++) {
        const tide_array arrays[] = {parameters[p].parameter, parameters[p].gradient,
                                     parameters[p].exp_avg, parameters[p].exp_avg_sq};
        TIDE_TRY(tide_ops_cpu_need_fp32("adamw", arrays, 4, error));
        update(tide_ops_cpu_of(ops), &parameters[p], f);
    }
    return TIDE_OK;
}
