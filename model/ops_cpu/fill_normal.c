/* out (n) = sigma z, z normal with mean 0 and variance 1 before it is truncated at +-3.
 *
 * z = F^-1(F(-3) + u (F(3) - F(-3))) with F the normal distribution and u = (word + 1/2) / 2^32 of
 * Philox: the inverse needs exactly one random number per element and never exceeds the truncation,
 * unlike rejection sampling. F^-1 by Wichura, "Algorithm AS 241: the percentage points of the
 * normal distribution", Applied Statistics 37 (1988), routine PPND16: relative error about 1e-16.
 *
 * A bf16 or fp16 number is the rounding of the fp32 number of the same element: the weights of a
 * run in bf16 are those of the run in fp32, rounded. */
#include <math.h>

#include "model/ops_cpu/ops_cpu_internal.h"
#include "model/philox.h"

/* Up to this many elements stay on the calling thread. It is smaller than elsewhere, because one
 * element takes long. */
enum { FEW = 1 << 10 };

static const double BELOW = 1.3498980316300946e-3; /* F(-3) */

static double polynomial(const double coefficients[8], double x) {
    double sum = coefficients[7];
    for (int i = 6; i >= 0; i--) {
        sum = sum * x + coefficients[i];
    }
    return sum;
}

/* |q| <= 0.425, q = p - 1/2 */
static double central_quantile(double q) {
    static const double A[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static const double B[8] = {1.0,
                                4.2313330701600911252e+1,
                                6.8718700749205790830e+2,
                                5.3941960214247511077e+3,
                                2.1213794301586595867e+4,
                                3.9307895800092710610e+4,
                                2.8729085735721942674e+4,
                                5.2264952788528545610e+3};
    double r = 0.180625 - q * q;
    return q * polynomial(A, r) / polynomial(B, r);
}

/* tail = min(p, 1 - p) in [F(-3), 0.075): sqrt(-log(tail)) is below 5 there. */
static double tail_quantile(double tail) {
    static const double C[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                5.76949722146069140550e0,  3.64784832476320460504e0,
                                1.27045825245236838258e0,  2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double D[8] = {1.0,
                                2.05319162663775882187e0,
                                1.67638483018380384940e0,
                                6.89767334985100004550e-1,
                                1.48103976427480074590e-1,
                                1.51986665636164571966e-2,
                                5.47593808499534494600e-4,
                                1.05075007164441684324e-9};
    double r = sqrt(-log(tail)) - 1.6;
    return polynomial(C, r) / polynomial(D, r);
}

/* The truncated normal number of one random word. */
static double truncated_normal(uint32_t word) {
    double u = ((double)word + 0.5) / 4294967296.0;
    double p = BELOW + u * (1 - 2 * BELOW);
    double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        return central_quantile(q);
    }
    double z = tail_quantile(q < 0 ? p : 1 - p);
    return q < 0 ? -z : z;
}

tide_status tide_cpu_fill_normal(tide_ops *ops, const tide_fill_normal *call, tide_error *error) {
    const tide_ops_cpu *cpu = tide_ops_cpu_of(ops);
    TIDE_TRY(tide_ops_cpu_need_floats("fill_normal", &call->out, 1, error));
    const tide_array out = call->out;
    const size_t n = call->n;
    size_t n_blocks = (n + 3) / 4;
#pragma omp parallel for num_threads(cpu->n_threads) if (n > FEW) schedule(static)
    for (size_t block = 0; block < n_blocks; block++) { /* out[4 block .. 4 block + 4) */
        tide_philox_block numbers =
            tide_philox_elements(call->random.seed, call->random.stream, block);
        for (size_t i = 4 * block; i < 4 * block + 4 && i < n; i++) {
            float value = (float)(call->sigma * truncated_normal(numbers.words[i % 4]));
            if (out.dtype == TIDE_FP32) {
                ((float *)out.data)[i] = value;
            } else {
                ((uint16_t *)out.data)[i] =
                    out.dtype == TIDE_FP16 ? tide_fp32_to_fp16(value) : tide_fp32_to_bf16(value);
            }
        }
    }
    return TIDE_OK;
}
