/* statistics.h - samples of durations, and their statistics. */
#ifndef TIDE_COMMON_STATISTICS_H
#define TIDE_COMMON_STATISTICS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Figures of n samples; all are -1 when n is 0. std estimates the standard deviation of the
 * population: sqrt(sum((x - mean)^2) / (n - 1)), -1 for a single sample. The median of an even
 * number of samples is the mean of the middle two. */
typedef struct tide_statistics {
    double mean, std, median, min, max; /* in the samples' unit */
} tide_statistics;

/* Ignores samples below 0, which were not measured. */
tide_statistics tide_statistics_of(const double *samples, size_t n);

/* The standard deviation of the samples themselves, which snapshots store:
 * sqrt(mean((x - mean)^2)). 0 for one sample, -1 for none. Ignores samples below 0. */
double tide_statistics_population_std(const double *samples, size_t n);

/* The least mean of ten samples in a row, of samples 0 to 9, 10 to 19, and so on: Python's
 * min(timeit.repeat(f, repeat=n / 10, number=10)) / 10. A ten with an unmeasured sample does not
 * count; -1 without a complete ten. */
enum { TIDE_STATISTICS_TEN = 10 };
double tide_statistics_best_ten(const double *samples, size_t n);

/* The quantile `share` (0 .. 1): of n samples in order, number share (n - 1), counted from 0, with
 * linear interpolation between neighbours. -1 without samples. Ignores samples below 0. */
double tide_statistics_quantile(const double *samples, size_t n, double share);

/* The exponent p of y = a x^p, fitted to n points by least squares of the logarithms. NAN for fewer
 * than two different x, or if a number is not above 0. */
double tide_statistics_exponent(const double *x, const double *y, size_t n);

/* The ratio of two means with its confidence interval. */
typedef struct tide_ratio {
    double ratio;      /* -1: either has no samples, or the base's mean is 0 */
    double half_width; /* of its 95 % confidence interval; -1: either has fewer than 2 samples */
} tide_ratio;

/* mean(samples) / mean(base) = r, its uncertainty by error propagation (the delta method): with
 * u = s^2 / (n mean^2) of each of the two, s the standard deviation of the sample (n - 1),
 *     half_width = t r sqrt(u + u_base)
 * t is Student's 97.5 % quantile for (u + u_base)^2 / (u^2 / (n - 1) + u_base^2 / (n_base - 1))
 * degrees of freedom (Welch and Satterthwaite). The samples are taken as independent; if slow
 * steps follow one another, the true uncertainty is larger. Ignores samples below 0. */
tide_ratio tide_ratio_of_means(const double *samples, size_t n, const double *base, size_t n_base);

#ifdef __cplusplus
}
#endif

#endif
