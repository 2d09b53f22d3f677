/* ops_support.h - shared by the tests of the cpu operators: opened operators, numbers, and
 * comparisons of a result with one computed in double.
 */
#ifndef TIDE_TESTS_UNIT_MODEL_OPS_OPS_SUPPORT_H
#define TIDE_TESTS_UNIT_MODEL_OPS_OPS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/ops.h"

/* Half the distance between 1 and the next fp32 number: the largest relative error of one rounding.
 */
#define UNIT_ROUNDOFF 5.9604644775390625e-8

/* Bound of the relative L2 error of numbers that are sums of k products, rounded n more times. The
 * roundings of a sum of k random terms add up like a random walk: each is at most u of a partial
 * sum, which itself grows with the square root, so the L2 norm over many numbers stays below u
 * sqrt(k); every other rounding adds at most u. */
double sum_tolerance(size_t k, size_t n);

typedef struct ops_fixture {
    tide_device *device;
    tide_ops *ops;
} ops_fixture;

/* cmocka's group fixture: device cpu and its operators. */
int ops_fixture_setup(void **state);
int ops_fixture_teardown(void **state);
tide_ops *fixture_ops(void **state);

/* n numbers, uniform in [-scale, scale), chosen by the seed. The caller frees them. */
float *random_floats(size_t n, uint64_t seed, double scale);
double *widen(const float *x, size_t n);
float *zeros(size_t n);

tide_array fp32(float *x);

/* n numbers in storage of either type, each rounded to it. The caller frees .data. */
tide_array stored(tide_dtype dtype, const float *x, size_t n);
tide_array random_stored(tide_dtype dtype, size_t n, uint64_t seed, double scale);
/* The n numbers as they are stored. The caller frees them. */
double *widen_stored(tide_array x, size_t n);

/* The arrays of one call, with their numbers before it. Bit i of `combination` is set if array i is
 * bf16. */
enum { MOST_OPERANDS = 8 };
typedef struct operands {
    tide_array array[MOST_OPERANDS]; /* data owned */
    double *wide[MOST_OPERANDS];     /* owned */
    double *want[MOST_OPERANDS];     /* owned; the test fills it */
    size_t n;                        /* arrays in use */
} operands;
void add_operand(operands *all, unsigned combination, size_t n, double scale);
void free_operands(operands *all);

/* The bits of the bf16 number nearest to x, ties to even, found by division and rint; not of NaN.
 */
uint16_t nearest_bf16(double x);

/* Fails the test unless each number is within `tolerance` of the expected one, relative to it and
 * to the largest expected one. bf16 storage is allowed half a unit in the last place more: the
 * result was rounded once, and nothing before it was. */
void assert_stored(const char *what, tide_array got, const double *want, size_t n,
                   double tolerance);

/* |got - want| / |want| in the L2 norm; NaN if `got` contains one. */
double relative_error(const float *got, const double *want, size_t n);

/* Fails the test unless the relative error is within the tolerance; the message names the array and
 * the error. */
void assert_close(const char *what, const float *got, const double *want, size_t n,
                  double tolerance);
/* The reverse, for planted faults: the same comparison must reject it. */
void assert_rejected(const char *what, const float *got, const double *want, size_t n,
                     double tolerance);

/* Compares gradients with differences: `loss` at x + h e and x - h e, for a random direction e,
 * gives a slope that sum(gradient * e) must equal. Everything is in double, so 1e-6 of the product
 * of the norms covers the error of the difference; `tolerance` is the operator's. */
typedef double (*loss_function)(const void *ctx, const double *x);
void assert_slope(const char *what, loss_function loss, const void *ctx, const double *x,
                  const float *gradient, size_t n, double tolerance);

#endif
