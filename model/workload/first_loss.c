/* The logits of a row are z_j = w_j . y, with y the row after the last RMSNorm and w_j the rows of
 * lm_head. At the first step y is independent of w, |y|^2 = C (weights 1, eps negligible against a
 * mean square of at least 1), and the C V elements of w are independent, sigma^2 = 2 / (C + V),
 * truncated at 3 sigma, which leaves the share s = 1 - 6 f(3) / (2 F(3) - 1) = 0.97334 of the
 * variance. So z_j has variance v = 2 s C / (C + V), and the sum of C such terms is all but normal.
 * The loss of a row is ln sum_j exp(z_j) - z_target. Of V logits, ln mean exp(z) is v / 2 on
 * average, but for
 * (e^v - 1) / (2 V), and z_target is 0, for the targets are drawn at random. With s for 1 that is
 *
 *     ln V + C / (C + V).
 *
 * The mean over R = B T rows may differ from this by the sum of three parts.
 *
 * The bias:
 *   - (1 - s) C / (C + V), for the truncation;
 *   - (e^v - 1) / (2 V), for the logarithm of a mean of V numbers;
 *   - |k| v^2 / (8 C), because the sums are not quite normal: k = -0.171 is the excess kurtosis of
 *     an element, and the sum of y^4 is about 3 C.
 *
 * The deviation; chance exceeds 5 of them (DEVIATIONS) once in two million runs:
 *   - v (1 / R + 1 / V) is the variance of the mean of the z_target: of R rows two have the same
 *     target with probability 1 / V, and then a covariance of v at most;
 *   - (e^v - 1) / V is the variance of ln mean exp(z), the same in all rows at worst.
 *
 * The rounding, u (v + sqrt(v)): a relative error u of y and w changes v by u v, and one of a logit
 * moves it by u sqrt(v) on average. */
#include "model/workload/first_loss.h"

#include <math.h>

static const double VARIANCE_LEFT = 0.97333692466254; /* s */
static const double KURTOSIS = 0.17111443639775;      /* |k| */
static const double DEVIATIONS = 5;

static double unit_of(tide_precision precision) {
    switch (precision) {
    case TIDE_PRECISION_FP32:
        return ldexp(1, -23);
    case TIDE_PRECISION_TF32:
        return ldexp(1, -10);
    case TIDE_PRECISION_FP16_MIXED:
        return ldexp(1, -11); /* 11 bits of significand */
    default:
        return ldexp(1, -8); /* bf16: 8 bits of significand */
    }
}

tide_first_loss tide_first_loss_of(const tide_model_config *config, tide_precision precision) {
    double V = (double)config->vocab_size;
    double C = (double)config->d_model;
    double R = (double)config->batch_size * (double)config->context_length;
    double share = C / (C + V);
    double v = 2 * VARIANCE_LEFT * share;
    double curvature = expm1(v) / V;
    double bias = (1 - VARIANCE_LEFT) * share + curvature / 2 + KURTOSIS * v * v / (8 * C);
    double variance = v * (1 / R + 1 / V) + curvature;
    return (tide_first_loss){.expected = log(V) + share,
                             .tolerance = bias + DEVIATIONS * sqrt(variance) +
                                          unit_of(precision) * (v + sqrt(v))};
}

bool tide_first_loss_is_near(const tide_first_loss *first, double loss) {
    return fabs(loss - first->expected) <= first->tolerance; /* false for NaN */
}
