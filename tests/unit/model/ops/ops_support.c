#include "ops_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"

double sum_tolerance(size_t k, size_t n) {
    return UNIT_ROUNDOFF * (sqrt((double)k) + (double)n);
}

int ops_fixture_setup(void **state) {
    ops_fixture *fixture = calloc(1, sizeof(*fixture));
    if (fixture == NULL) {
        return -1;
    }
    tide_error error = {""};
    if (tide_device_open("cpu", NULL, &fixture->device, &error) != TIDE_OK ||
        tide_ops_open(tide_hostmem_default(), fixture->device, TIDE_PRECISION_FP32, &fixture->ops,
                      &error) != TIDE_OK) {
        print_error("%s\n", error.message);
        return -1;
    }
    *state = fixture;
    return 0;
}

int ops_fixture_teardown(void **state) {
    ops_fixture *fixture = *state;
    tide_ops_close(fixture->ops);
    tide_device_close(fixture->device);
    free(fixture);
    return 0;
}

tide_ops *fixture_ops(void **state) {
    return ((ops_fixture *)*state)->ops;
}

float *random_floats(size_t n, uint64_t seed, double scale) {
    float *x = malloc((n == 0 ? 1 : n) * sizeof(*x));
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = tide_hash_u64(seed * UINT64_C(1000003) + i) >> 40; /* 24 bits */
        x[i] = (float)(scale * ((double)bits / 8388608.0 - 1));
    }
    return x;
}

double *widen(const float *x, size_t n) {
    double *wide = malloc((n == 0 ? 1 : n) * sizeof(*wide));
    assert_non_null(wide);
    for (size_t i = 0; i < n; i++) {
        wide[i] = (double)x[i];
    }
    return wide;
}

float *zeros(size_t n) {
    float *x = calloc(n == 0 ? 1 : n, sizeof(*x));
    assert_non_null(x);
    return x;
}

tide_array fp32(float *x) {
    return (tide_array){x, TIDE_FP32};
}

/* 2^-133 is the smallest bf16 number above 0; ulps of smaller powers do not exist. */
static double bf16_ulp(double x) {
    int exponent;
    (void)frexp(x, &exponent); /* |x| = m 2^exponent, m in [1/2, 1): 8 bits are kept */
    return x == 0 || exponent < -125 ? ldexp(1, -133) : ldexp(1, exponent - 8);
}

uint16_t nearest_bf16(double x) {
    double ulp = bf16_ulp(x);
    double rounded = rint(fabs(x) / ulp) * ulp;
    float wide = rounded > 3.3961775e38 ? INFINITY : (float)rounded; /* beyond (2 - 2^-8) 2^127 */
    uint32_t bits;
    memcpy(&bits, &wide, sizeof(bits));
    return (uint16_t)(bits >> 16 | (signbit(x) ? 0x8000U : 0U));
}

tide_array stored(tide_dtype dtype, const float *x, size_t n) {
    tide_array array = {calloc(n == 0 ? 1 : n, sizeof(float)), dtype};
    assert_non_null(array.data);
    for (size_t i = 0; i < n; i++) {
        if (dtype == TIDE_BF16) {
            ((uint16_t *)array.data)[i] = nearest_bf16((double)x[i]);
        } else {
            ((float *)array.data)[i] = x[i];
        }
    }
    return array;
}

tide_array random_stored(tide_dtype dtype, size_t n, uint64_t seed, double scale) {
    float *x = random_floats(n, seed, scale);
    tide_array array = stored(dtype, x, n);
    free(x);
    return array;
}

static double stored_number(tide_array x, size_t i) {
    if (x.dtype != TIDE_BF16) {
        return (double)((const float *)x.data)[i];
    }
    uint32_t bits = (uint32_t)((const uint16_t *)x.data)[i] << 16;
    float wide;
    memcpy(&wide, &bits, sizeof(wide));
    return (double)wide;
}

double *widen_stored(tide_array x, size_t n) {
    double *wide = malloc((n == 0 ? 1 : n) * sizeof(*wide));
    assert_non_null(wide);
    for (size_t i = 0; i < n; i++) {
        wide[i] = stored_number(x, i);
    }
    return wide;
}

void assert_stored(const char *what, tide_array got, const double *want, size_t n,
                   double tolerance) {
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(want[i]));
    }
    for (size_t i = 0; i < n; i++) {
        double number = stored_number(got, i);
        double room = tolerance * (fabs(want[i]) + largest);
        if (got.dtype == TIDE_BF16) {
            room += bf16_ulp(fmax(fabs(number), fabs(want[i]))) / 2;
        }
        if (!(fabs(number - want[i]) <= room)) {
            fail_msg("%s (%s): number %zu of %zu is %.9g instead of %.9g, off by %.3g of %.3g",
                     what, got.dtype == TIDE_BF16 ? "bf16" : "fp32", i, n, number, want[i],
                     fabs(number - want[i]), room);
        }
    }
}

double relative_error(const float *got, const double *want, size_t n) {
    double difference = 0;
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        norm += want[i] * want[i];
    }
    return norm == 0 ? sqrt(difference) : sqrt(difference / norm);
}

void assert_close(const char *what, const float *got, const double *want, size_t n,
                  double tolerance) {
    double error = relative_error(got, want, n);
    if (!(error <= tolerance)) {
        fail_msg("%s: relative error %.3g of %zu numbers exceeds %.3g", what, error, n, tolerance);
    }
}

void assert_rejected(const char *what, const float *got, const double *want, size_t n,
                     double tolerance) {
    double error = relative_error(got, want, n);
    if (error <= tolerance) {
        fail_msg("%s: the seeded fault passes with relative error %.3g, allowed %.3g", what, error,
                 tolerance);
    }
}

void assert_slope(const char *what, loss_function loss, const void *ctx, const double *x,
                  const float *gradient, size_t n, double tolerance) {
    const double H = 1e-5; /* the difference errs by h^2 and by 1e-16 / h: both about 1e-10 */
    float *direction = random_floats(n, 77, 1);
    double *moved = malloc(n * sizeof(*moved));
    assert_non_null(moved);
    double slope = 0;
    double size = 0;
    double ends[2];
    for (int end = 0; end < 2; end++) {
        for (size_t i = 0; i < n; i++) {
            moved[i] = x[i] + (end == 0 ? H : -H) * (double)direction[i];
        }
        ends[end] = loss(ctx, moved);
    }
    double gradient_norm = 0;
    for (size_t i = 0; i < n; i++) {
        slope += (double)gradient[i] * (double)direction[i];
        size += (double)direction[i] * (double)direction[i];
        gradient_norm += (double)gradient[i] * (double)gradient[i];
    }
    double measured = (ends[0] - ends[1]) / (2 * H);
    double room = (tolerance + 1e-6) * sqrt(size * gradient_norm);
    if (!(fabs(measured - slope) <= room)) {
        fail_msg("%s: slope %.9g by differences, %.9g by the gradient; room %.3g", what, measured,
                 slope, room);
    }
    free(moved);
    free(direction);
}

void add_operand(operands *all, unsigned combination, size_t n, double scale) {
    size_t i = all->n++;
    all->array[i] =
        random_stored((combination >> i & 1U) != 0 ? TIDE_BF16 : TIDE_FP32, n, i + 1, scale);
    all->wide[i] = widen_stored(all->array[i], n);
    all->want[i] = widen_stored(all->array[i], n);
}

void free_operands(operands *all) {
    for (size_t i = 0; i < all->n; i++) {
        free(all->want[i]);
        free(all->wide[i]);
        free(all->array[i].data);
    }
}
