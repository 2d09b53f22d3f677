/* out (n) = sigma z, z normal with mean 0 and variance 1 before it is truncated at +-3: the
 * algorithm of ops_cpu/fill_normal.c, which has its sources, also in double on the device.
 *
 * The device fuses products and sums, and its logarithm may differ from the host's in the last bit
 * of a double. So two devices' numbers can differ by the last bit of an fp32 number where a double
 * is within about 1e-15 of the middle between two: about one number in 10^8. */
#include "model/ops_cuda/gpu.h"
#include "model/ops_cuda/ops_cuda_friend.h"
#include "model/ops_cuda/philox.h"
#include "model/ops_cuda/vector.h"

static constexpr double BELOW = 1.3498980316300946e-3; /* F(-3), F the normal distribution */

static __device__ __forceinline__ double polynomial(const double (&coefficients)[8], double x) {
    double sum = coefficients[7];
#pragma unroll
    for (int i = 6; i >= 0; i--) {
        sum = sum * x + coefficients[i];
    }
    return sum;
}

/* |q| <= 0.425, q = p - 1/2 */
static __device__ double central_quantile(double q) {
    constexpr double A[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                             1.9715909503065514427e+3, 1.3731693765509461125e+4,
                             4.5921953931549871457e+4, 6.7265770927008700853e+4,
                             3.3430575583588128105e+4, 2.5090809287301226727e+3};
    constexpr double B[8] = {1.0,
                             4.2313330701600911252e+1,
                             6.8718700749205790830e+2,
                             5.3941960214247511077e+3,
                             2.1213794301586595867e+4,
                             3.9307895800092710610e+4,
                             2.8729085735721942674e+4,
                             5.2264952788528545610e+3};
    const double r = 0.180625 - q * q;
    return q * polynomial(A, r) / polynomial(B, r);
}

/* tail = min(p, 1 - p) in [F(-3), 0.075) */
static __device__ double tail_quantile(double tail) {
    constexpr double C[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                             5.76949722146069140550e0,  3.64784832476320460504e0,
                             1.27045825245236838258e0,  2.41780725177450611770e-1,
                             2.27238449892691845833e-2, 7.74545014278341407640e-4};
    constexpr double D[8] = {1.0,
                             2.05319162663775882187e0,
                             1.67638483018380384940e0,
                             6.89767334985100004550e-1,
                             1.48103976427480074590e-1,
                             1.51986665636164571966e-2,
                             5.47593808499534494600e-4,
                             1.05075007164441684324e-9};
    const double r = sqrt(-log(tail)) - 1.6;
    return polynomial(C, r) / polynomial(D, r);
}

/* The truncated normal number of one random word. */
static __device__ double truncated_normal(uint32_t word) {
    const double u = (static_cast<double>(word) + 0.5) / 4294967296.0;
    const double p = BELOW + u * (1 - 2 * BELOW);
    const double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        return central_quantile(q);
    }
    const double z = tail_quantile(q < 0 ? p : 1 - p);
    return q < 0 ? -z : z;
}

/* A thread draws the numbers of four elements. */
template <typename Out>
static __global__ void __launch_bounds__(TIDE_BLOCK)
    tide_fill_normal_kernel(tide_view<Out> out, double sigma, tide_random random, size_t n) {
    for (size_t block = tide_thread(); 4 * block < n; block += tide_n_threads()) {
        const tide_philox_block numbers = tide_cuda_philox(random.seed, random.stream, block);
#pragma unroll
        for (size_t i = 0; i < 4; i++) {
            if (4 * block + i < n) {
                const float value[1] = {
                    static_cast<float>(sigma * truncated_normal(numbers.words[i]))};
                tide_store(out, 4 * block + i, value);
            }
        }
    }
}

template <typename Out> static int launch(const tide_ops *ops, const tide_fill_normal *call) {
    return TIDE_LAUNCH((tide_fill_normal_kernel<Out>),
                       tide_cuda_grid(ops, call->n / 4 + 1, TIDE_BLOCK), TIDE_BLOCK, 0,
                       tide_cuda_stream(ops), tide_view_of<Out>(call->out), call->sigma,
                       call->random, call->n);
}

extern "C" tide_status tide_cuda_fill_normal(tide_ops *ops, const tide_fill_normal *call,
                                             tide_error *error) {
    TIDE_TRY(tide_cuda_need_floats("fill_normal", &call->out, 1, error));
    if (call->n == 0) {
        return TIDE_OK;
    }
    const int result = tide_by_type(
        call->out.dtype, [=](auto number) { return launch<decltype(number)>(ops, call); });
    return tide_cuda_launched(ops, "fill_normal", result, error);
}
