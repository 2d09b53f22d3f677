/* statistics.h - samples of how long something took, and their statistics. */
#ifndef TIDE_COMMON_STATISTICS_H
#define TIDE_COMMON_STATISTICS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of n samples; all -1 when n is 0. std is the standard deviation of what the samples were drawn
 * from, as the samples tell it: sqrt(sum((x - mean)^2) / (n - 1)); one sample tells none: -1.
 * Median of an even number: the mean of the middle two. */
typedef struct tide_statistics {
    double mean, std, median, min, max; /* in the samples' unit */
} tide_statistics;

/* Samples below 0 (not measured) are left out. */
tide_statistics tide_statistics_of(const double *samples, size_t n);

/* The standard deviation of these samples alone, which snapshots store:
 * sqrt(mean((x - mean)^2)); 0 of one, -1 of none. Samples below 0 are left out. */
double tide_statistics_population_std(const double *samples, size_t n);

/* The sample below which `share` (0 .. 1) of them lie, the line drawn between neighbours: of n in
 * order, number share (n - 1), counted from 0. -1 for none. Samples below 0 are left out. */
double tide_statistics_quantile(const double *samples, size_t n, double share);

/* The exponent p of the law y = a x^p through n points, by least squares in the logarithms; NAN for
 * fewer than two different x, and for numbers that are not above 0. */
double tide_statistics_exponent(const double *x, const double *y, size_t n);

/* The ratio of two means, and how far it may lie from that of what the samples were drawn from. */
typedef struct tide_ratio {
    double ratio; /* -1: one of them has no samples, or the base's mean is 0 */
    double
        half_width; /* of its 95 % confidence interval; -1: one of them has fewer than 2 samples */
} tide_ratio;

/* mean(samples) / mean(base) = r, its uncertainty by error propagation (the delta method): with
 * u = s^2 / (n mean^2) of each of the two, s the standard deviation of the sample (n - 1),
 *     half_width = t r sqrt(u + u_base)
 * t is Student's 97.5 % quantile for (u + u_base)^2 / (u^2 / (n - 1) + u_base^2 / (n_base - 1))
 * degrees of freedom (Welch and Satterthwaite). The samples count as independent: where slow steps
 * come in rows, the true uncertainty is larger. Samples below 0 are left out. */
tide_ratio tide_ratio_of_means(const double *samples, size_t n, const double *base, size_t n_base);

#ifdef __cplusplus
}
#endif

#endif
