#include "ops_support.h"

#include <math.h>
#include <stdlib.h>

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
