/* reference_tolerance.c - the allowed distance of fp32 from the exact result.
 *
 * u = 2^-24 is the largest relative error of one rounding. A sum of k terms of random sign has
 * partial sums that grow like the square root of their length, each rounded once; its relative
 * error in the L2 norm over many such sums is then at most u sqrt(k) (the rounding errors add up as
 * squares). Errors of operators that follow each other are independent, so they also add up as
 * squares: the relative error at the end of a chain is
 *
 *   u sqrt(K), K = sum of the reduction lengths along the chain + one for every other rounding.
 *
 * The chain of the forward pass, per layer: q, k, v (C), scores (D), values (T), output (C), w1 and
 * w3 (C), w2 (F), and 40 roundings of norms, rotation, softmax, SwiGLU and sums; then lm_head (C).
 * The chain of a gradient is the forward pass, then lm_head (V), then per layer, on the way back,
 * w2 (C), w1 and w3 (2 F), output (C), dP (D), dq, dk, dv (2 T), q, k, v (3 C), with 60 other
 * roundings; the weight's gradient itself sums over R rows.
 *
 * Differences lose digits where their terms are close: dP - delta in attention, the mean that
 * RMSNorm's backward subtracts, softmax - onehot. Gradients are allowed a factor for them: 2, and
 * more where channels are few, because the part along x that RMSNorm's backward subtracts is then
 * often most of a gradient: sqrt(1 + 16 / C). */
#include <math.h>

#include "model/reference/reference_internal.h"

static const double UNIT_ROUNDOFF = 5.9604644775390625e-8;
static const double CANCELLATION = 2;
static const double FEW_CHANNELS = 16;

static tide_reference_tolerances fp32_tolerances(const tide_model_config *model) {
    double C = (double)model->d_model;
    double F = (double)model->d_ff;
    double T = (double)model->context_length;
    double D = C / (double)model->n_heads;
    double R = T * (double)model->batch_size;
    double L = (double)model->n_layers;
    double forward = L * (3 * C + D + T + F + 40) + C + 40;
    double backward = (double)model->vocab_size + R + L * (5 * C + 2 * F + D + 2 * T + 60);
    return (tide_reference_tolerances){
        .arithmetic = TIDE_REFERENCE_FP32,
        .forward = UNIT_ROUNDOFF * sqrt(forward),
        .loss = UNIT_ROUNDOFF * sqrt(forward),
        .gradient =
            CANCELLATION * sqrt(1 + FEW_CHANNELS / C) * UNIT_ROUNDOFF * sqrt(forward + backward),
    };
}

/* A file that rounds where this project stores bf16 differs only by fp32 sums: its generator
 * ensures that no number is so close to the middle between two bf16 numbers that those sums could
 * change the rounding. The other kind of attention rounds elsewhere, so with it the file counts as
 * one more bf16 result. */
static tide_reference_arithmetic arithmetic_of(const tide_reference_info *info,
                                               tide_precision precision, tide_attention attention) {
    if (precision == TIDE_PRECISION_TF32) {
        return TIDE_REFERENCE_TF32;
    }
    if (info->own_storage && info->attention == attention) {
        return TIDE_REFERENCE_FP32;
    }
    switch (precision) {
    case TIDE_PRECISION_BF16_MIXED:
        return info->precision == TIDE_PRECISION_FP32 || info->own_storage
                   ? TIDE_REFERENCE_MIXED
                   : TIDE_REFERENCE_MIXED_PAIR;
    case TIDE_PRECISION_BF16_TRUE:
        return TIDE_REFERENCE_TRUE;
    case TIDE_PRECISION_FP16_MIXED:
        return TIDE_REFERENCE_HALF;
    case TIDE_PRECISION_FP32:
    case TIDE_PRECISION_TF32:
    case TIDE_N_PRECISIONS:
        break;
    }
    return TIDE_REFERENCE_FP32;
}

tide_reference_tolerances tide_reference_get_tolerances(const tide_reference *reference,
                                                        tide_precision precision,
                                                        tide_attention attention) {
    tide_reference_arithmetic arithmetic = arithmetic_of(&reference->info, precision, attention);
    switch (arithmetic) {
    case TIDE_REFERENCE_FP32:
        return fp32_tolerances(&reference->info.model);
    case TIDE_REFERENCE_TF32:
        return tide_reference_tf32_tolerances(reference, attention);
    case TIDE_REFERENCE_MIXED:
    case TIDE_REFERENCE_MIXED_PAIR:
    case TIDE_REFERENCE_TRUE:
    case TIDE_REFERENCE_HALF:
        break;
    }
    return tide_reference_bf16_tolerances(reference, arithmetic);
}

double tide_reference_norm(const float *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i] * (double)x[i];
    }
    return sqrt(sum);
}

double tide_reference_error(const float *got, const float *want, size_t n, double scale) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double difference = (double)got[i] - (double)want[i];
        sum += difference * difference;
    }
    return scale > 0 ? sqrt(sum) / scale : sqrt(sum);
}

double tide_reference_shrunk_error(const float *got, const float *want, size_t n, double scale,
                                   double shrink) {
    double product = 0;
    double square = 0;
    for (size_t i = 0; i < n; i++) {
        product += (double)got[i] * (double)want[i];
        square += (double)want[i] * (double)want[i];
    }
    if (!(shrink > 0) || !(square > 0)) {
        return tide_reference_error(got, want, n, scale);
    }
    const double best = product / square;
    const double factor = best < 1 - shrink ? 1 - shrink : best < 1 ? best : 1;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double difference = (double)got[i] - factor * (double)want[i];
        sum += difference * difference;
    }
    return scale > 0 ? sqrt(sum) / scale : sqrt(sum);
}

/* With one key its probability is 1, whatever the scores: dP - delta is 0, and the gradients of q
 * and k are only the rounding errors of dP. That is as large as the gradient of v. */
double tide_reference_gradient_scale(const tide_reference *reference, size_t i) {
    const tide_reference_parameter *parameter = &reference->parameters[i];
    const tide_model_config *model = &reference->info.model;
    for (size_t l = 0; model->context_length == 1 && l < model->n_layers; l++) {
        if (i == tide_parameter_of_layer(l, TIDE_Q_PROJ) ||
            i == tide_parameter_of_layer(l, TIDE_K_PROJ)) {
            parameter = &reference->parameters[tide_parameter_of_layer(l, TIDE_V_PROJ)];
        }
    }
    return tide_reference_norm(parameter->gradient, parameter->n_elements);
}

/* AdamW moves an element by about lr m / sqrt(v): by the sign of its gradient more than by its
 * size. Where an element's gradient is as small as the error that the tensor's gradient may have, d
 * = tolerance * root mean square of the tensor or of its row, whichever is larger, the step may
 * point either way: the two results differ by up to 2 lr per step. Where it is larger, the relative
 * error d / |g| of m and of sqrt(v) passes on to the step. So element i may be off by
 *
 *   slack_i = steps lr min(2, ELEMENT steps d / |g_i|)
 *
 * with ELEMENT for elements whose gradients err by more than the tensor's mean: rows and columns
 * differ in size, and both m and v have the error. It counts once per step, because the gradients
 * of a step depend on the updates of earlier steps. An element without any gradient, such as an
 * embedding that the batch does not use, has no slack. To it are added the roundings of the
 * arithmetic: u |p| twice per step and in storing p, and the ten of the update.
 *
 * For bf16 and TF32, reference_tolerance_bf16.c has the mean of squares. There d is a standard
 * deviation, and a flipped sign costs the whole 2 lr, so the factor is at least 12: signs are open
 * up to 6 d. Sums of bf16 numbers sometimes cancel to 0, so only a row of zeros counts as without
 * any gradient.
 *
 * The step row counts the excess over the slack, element by element, so its tolerance is only the
 * roundings, and a wrong decay or a wrong beta shows among elements with a clear gradient. The
 * param row counts the whole difference, and its tolerance includes the slack. */
static const double ELEMENT = 4;
static const double BF16_ELEMENT = 12;
static const double UPDATE_ROUNDINGS = 10;
static const double DEVIATIONS = 2;

/* Sums over a parameter's elements. */
typedef struct step_sums {
    double excess;       /* squares of the excess over the slack */
    double allowed;      /* squares of an element's allowed error: the largest, or the mean */
    double variance;     /* of these if they are means, otherwise 0 */
    double difference;   /* squares of got - expected */
    double moved;        /* squares of expected - before */
    double slope;        /* gradient (got - expected) */
    double slope_square; /* squares of these */
} step_sums;

static void add_element(step_sums *sums, tide_reference_arithmetic arithmetic,
                        const tide_reference_element *element, double after, double got) {
    double size = fabs(element->gradient);
    double without_gradient = element->is_open ? 2 * element->length : 0;
    double factor = ELEMENT * element->steps;
    if (arithmetic != TIDE_REFERENCE_FP32) {
        factor = fmax(factor, BF16_ELEMENT);
    }
    double slack =
        size > 0 ? element->length * fmin(2, factor * element->clear / size) : without_gradient;
    tide_reference_spread allowed = {slack * slack, 0};
    if (arithmetic != TIDE_REFERENCE_FP32) {
        slack += tide_reference_bf16_most(arithmetic, element);
        allowed.square = slack * slack;
        if (size > 0 || element->is_open) {
            allowed = tide_reference_bf16_spread(arithmetic, element);
        }
    }
    double difference = got - after;
    double moved = after - element->value;
    /* fmax would drop a NaN. */
    double excess = fabs(difference) <= slack ? 0 : fabs(difference) - slack;
    double slope = element->gradient * difference;
    sums->excess += excess * excess;
    sums->allowed += allowed.square;
    sums->variance += allowed.variance;
    sums->difference += difference * difference;
    sums->moved += moved * moved;
    sums->slope += slope;
    sums->slope_square += slope * slope;
}

tide_reference_step tide_reference_compare_step(const tide_reference *reference, size_t index,
                                                const tide_reference_tolerances *tolerances,
                                                const float *got) {
    const tide_reference_parameter *parameter = &reference->parameters[index];
    const tide_reference_info *info = &reference->info;
    size_t n = parameter->n_elements;
    size_t n_columns = parameter->n_columns;
    double steps = (double)info->steps;
    double scale = tide_reference_gradient_scale(reference, index);
    double allowed_gradient = tolerances->gradient * scale;
    bool is_rounding = tide_reference_norm(parameter->gradient, n) < allowed_gradient;
    double clear = allowed_gradient / sqrt((double)n);
    tide_reference_element element = {
        .clear = clear, .length = steps * info->adamw.lr, .steps = steps};
    step_sums sums = {0};
    for (size_t i = 0; i < n; i++) {
        if (i % n_columns == 0) {
            double row_norm = tide_reference_norm(parameter->gradient + i, n_columns);
            element.is_open =
                is_rounding || (tolerances->arithmetic != TIDE_REFERENCE_FP32 && row_norm > 0);
            element.clear = fmax(clear, tolerances->gradient * row_norm / sqrt((double)n_columns));
        }
        element.value = (double)parameter->before[i];
        element.gradient = (double)parameter->gradient[i];
        add_element(&sums, tolerances->arithmetic, &element, (double)parameter->after[i],
                    (double)got[i]);
    }
    double after_norm = tide_reference_norm(parameter->after, n);
    double moved_norm = sqrt(sums.moved);
    double rounding =
        UNIT_ROUNDOFF * (after_norm * (2 * steps + 1) + UPDATE_ROUNDINGS * moved_norm);
    double allowed = sqrt(sums.allowed + DEVIATIONS * sqrt(sums.variance)) + rounding;
    /* A parameter that did not change is compared by its value. */
    double step_scale = moved_norm > 0 ? moved_norm : 1;
    double param_scale = after_norm > 0 ? after_norm : 1;
    return (tide_reference_step){
        .error = sqrt(sums.excess) / step_scale,
        .tolerance = rounding / step_scale,
        .param_error = sqrt(sums.difference) / param_scale,
        .param_tolerance = allowed / param_scale,
        .difference_norm = sqrt(sums.difference),
        .slope = sums.slope,
        .slope_square = sums.slope_square,
    };
}
