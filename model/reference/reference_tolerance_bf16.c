/* reference_tolerance_bf16.c - the allowed distance of results in bf16 and fp16 from exact ones,
 * and of those in bf16 from PyTorch's autocast.
 *
 * bf16 has 8 significant bits: a rounding errs by at most u = 2^-8 of the number, evenly spread.
 * Over many numbers of all mantissas that is 0.39 u in the L2 norm; r = u / 2 = 2^-9 approximates
 * it. The roundings in between, of sums in fp32, are negligible. Roundings of different tensors are
 * independent, so they add up as squares: the relative error at the end of a chain is
 *
 *   r sqrt(K), K = the roundings along the chain, weighted as follows.
 *
 * A product passes on the errors of both factors. SwiGLU reads the same norm twice: its rounding
 * counts (1 + 1)^2. A branch joins the residual stream with at most the stream's own size, so at
 * most half of the sum's squares are the branch's: half of its roundings count.
 *
 * Forward, a layer, bf16-mixed (stored as bf16: all but the residual stream; weights are copies):
 *   attention: norm, W_v, v, P's q and k (2), out, W_o = 7
 *   FFN: norm (4), W_1, gate, W_3, up, product, W_2 = 10
 * (naive attention stores its scores and P besides, for which nothing is added: it has the same
 * tolerance as flash attention), so (7 + 10) / 2; then ln_final, lm_head and the logits: 3.
 * bf16-true stores norm weights too (attention 1, FFN 4), (8 + 14) / 2, and the stream twice a
 * layer, which counts in full: 13; then 4, and 1 for the embedding. The outputs of the branches are
 * not rounded on their own: the last product of each adds the stream to its fp32 sum.
 *
 * fp16-mixed rounds where bf16-mixed does, to 11 significant bits: u = 2^-11, r = 2^-12. The scale
 * of the loss keeps gradients away from the subnormal numbers, which have fewer bits.
 *
 * Autocast uses the same bf16 weights, which therefore cancel: ours 5 and 7. It rounds the norm, v,
 * P, out, W_o's output, and for P both q and k twice, scores and scaled scores, whose error enters
 * P weighted like that of q and k above (3): 8; and norm (4), gate, its sigmoid, their product, up,
 * the product, W_2's output: 10. Together (5 + 7 + 8 + 10) / 2 = 15 a layer, then 4.
 *
 * Backward starts at the logits' gradient, which has the roundings of forward, its own, lm_head's
 * and its product's: 3. A layer, bf16-mixed:
 *   FFN: the residual gradient's copy, W_2, d product, d gate and up, W_1, d norm (2) = 7
 *   attention: copy, W_o, d out, dP - delta, d q, its rotation, W_q, d norm (3, once per sum) = 10
 *   so 8.5, and one for the weight gradient's other operand. bf16-true: the norm's weights and the
 *   stream's gradient, in full: 8.5 + 1 + 2 a layer; at the ends ln_final's weight and the weight
 *   gradient's own rounding besides: 6. Autocast without the weights, both:
 * ours 5 and 8; its own the copy, d product, three of SwiGLU's, d norm (2), the weight gradient
 * itself: 8; and copy, d out, dP, dS, the scaled dS, d q, rotation, d norm (3), the gradient: 11.
 * Together 16 a layer, then 2 + 2 + 2.
 *
 * Differences lose digits as in fp32: dP - delta, and the part along x that RMSNorm's backward
 * subtracts, which is most of a gradient where channels are few: CANCELLATION sqrt(1 + 16 / C).
 *
 * The loss is one number: errors of the logits, of random sign, move it by their size times the
 * norm of the loss's gradient at the logits; with two standard deviations.
 *
 * After the steps it is also moved by the errors of the parameters, sum g (p - p'), which is known;
 * reference.c states how much of it is allowed.
 *
 * An element's gradient errs by d = tolerance * root mean square, a standard deviation here.
 * AdamW's first step takes the sign of the gradient: it turns with a probability of at most exp(-(g
 * / d)^2 / 2) / 2, and is then off by 2 lr in every step. In the steps after the first, m / sqrt(v)
 * compares gradients with each other, each with an error of its own: lr min(1, d / |g|) a step.
 * bf16-true rounds the parameter when it is loaded, by h / sqrt(3) with h = half the distance
 * between bf16 numbers there, and in every step, by h at most, or loses the whole step where that
 * is below h; steps are alike, so these add up: steps min(lr, h). At most it is off by h for
 * loading and for every step. The squares of these errors are summed over a tensor, with two
 * standard deviations of the sum: few elements decide it where few gradients are close to 0. */
#include <math.h>

#include "model/reference/reference_internal.h"

static const double ROUNDING = 1.0 / 512;       /* r of bf16 */
static const double HALF_ROUNDING = 1.0 / 4096; /* r of fp16 */
static const double CANCELLATION = 1.25;
static const double FEW_CHANNELS = 16;
static const double LOSS_DEVIATIONS = 2;

/* K of the comment above. */
typedef struct roundings {
    double forward_layer, forward_end;   /* of a layer, and of the part after the last */
    double backward_layer, backward_end; /* of a layer, and of the part before the first layer */
} roundings;

static const roundings ROUNDINGS[] = {
    [TIDE_REFERENCE_FP32] = {0, 0, 0, 0},         [TIDE_REFERENCE_MIXED] = {8.5, 3, 8.5, 4},
    [TIDE_REFERENCE_MIXED_PAIR] = {15, 4, 16, 6}, [TIDE_REFERENCE_TRUE] = {13, 5, 11.5, 6},
    [TIDE_REFERENCE_HALF] = {8.5, 3, 8.5, 4},
};

/* Of the V logits x of one row, with e = exp(x - x_0): the difference keeps exp in range. */
typedef struct row_sums {
    double total;    /* sum of e */
    double squares;  /* sum of e^2 */
    double weighted; /* sum of e x */
} row_sums;

static row_sums sum_row(const float *row, size_t V) {
    row_sums sums = {0, 0, 0};
    for (size_t v = 0; v < V; v++) {
        double e = exp((double)row[v] - (double)row[0]);
        sums.total += e;
        sums.squares += e * e;
        sums.weighted += e * (double)row[v];
    }
    return sums;
}

/* |d loss / d logits|, from the expected logits: (softmax - onehot) / R. */
static double loss_slope(const tide_reference *reference) {
    size_t R = reference->info.model.batch_size * reference->info.model.context_length;
    size_t V = reference->info.model.vocab_size;
    double sum = 0;
    for (size_t r = 0; r < R; r++) { /* logits[r][:] */
        const float *row = reference->logits + r * V;
        const row_sums of = sum_row(row, V);
        double target = exp((double)row[reference->targets[r]] - (double)row[0]) / of.total;
        sum += of.squares / (of.total * of.total) - 2 * target + 1;
    }
    return sqrt(sum) / (double)R;
}

/* For each row, the sum of softmax * logits minus the target's logit. */
double tide_reference_loss_growth(const tide_reference *reference) {
    size_t R = reference->info.model.batch_size * reference->info.model.context_length;
    size_t V = reference->info.model.vocab_size;
    double sum = 0;
    for (size_t r = 0; r < R; r++) { /* logits[r][:] */
        const float *row = reference->logits + r * V;
        const row_sums of = sum_row(row, V);
        sum += of.weighted / of.total - (double)row[reference->targets[r]];
    }
    double loss = fabs(reference->loss) > 0 ? fabs(reference->loss) : 1;
    return fabs(sum) / (double)R / loss;
}

double tide_reference_loss_tolerance(const tide_reference *reference, double forward) {
    const tide_model_config *model = &reference->info.model;
    size_t n_logits = model->batch_size * model->context_length * model->vocab_size;
    double logit_error =
        forward * tide_reference_norm(reference->logits, n_logits) / sqrt((double)n_logits);
    double loss = fabs(reference->loss) > 0 ? fabs(reference->loss) : 1;
    return LOSS_DEVIATIONS * logit_error * loss_slope(reference) / loss;
}

tide_reference_tolerances tide_reference_bf16_tolerances(const tide_reference *reference,
                                                         tide_reference_arithmetic arithmetic) {
    const tide_model_config *model = &reference->info.model;
    const roundings *count = &ROUNDINGS[arithmetic];
    double L = (double)model->n_layers;
    double K_forward = L * count->forward_layer + count->forward_end;
    double K_backward = L * count->backward_layer + count->backward_end;
    double rounding = arithmetic == TIDE_REFERENCE_HALF ? HALF_ROUNDING : ROUNDING;
    double forward = rounding * sqrt(K_forward);
    return (tide_reference_tolerances){
        .arithmetic = arithmetic,
        .forward = forward,
        .loss = tide_reference_loss_tolerance(reference, forward),
        .gradient = CANCELLATION * sqrt(1 + FEW_CHANNELS / (double)model->d_model) * rounding *
                    sqrt(K_forward + K_backward),
    };
}

/* Half the distance between the bf16 numbers about x; 0 is one of them. */
static double half_distance(double x) {
    int exponent = 0;
    if (!(x > 0)) {
        return 0;
    }
    (void)frexp(x, &exponent);
    return ldexp(1, exponent - 9);
}

double tide_reference_bf16_most(tide_reference_arithmetic arithmetic,
                                const tide_reference_element *element) {
    if (arithmetic != TIDE_REFERENCE_TRUE) {
        return 0;
    }
    return (element->steps + 1) * half_distance(fabs(element->value) + element->length);
}

tide_reference_spread tide_reference_bf16_spread(tide_reference_arithmetic arithmetic,
                                                 const tide_reference_element *element) {
    double size = fabs(element->gradient);
    double x = element->clear > 0 ? size / element->clear : 0;
    double turned = 4 * element->length * element->length;
    double sign = turned * exp(-x * x / 2) / 2;
    double later = element->steps > 0 ? element->length * (1 - 1 / element->steps) : 0;
    later *= x > 1 ? 1 / x : 1;
    double rounded = 0;
    if (arithmetic == TIDE_REFERENCE_TRUE) {
        double h = half_distance(fabs(element->value) + element->length);
        double steps = fmin(element->length, element->steps * h);
        rounded = h * h / 3 + steps * steps;
    }
    double normal = later * later + rounded; /* a normal number's square has the variance 2 s^4 */
    return (tide_reference_spread){sign + normal, sign * turned + 2 * normal * normal};
}
