/* statistics.c - figures of samples, without sorting or memory of its own. */
#include "common/statistics.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/assert.h"

/* The bits of a double that is not negative. As integers they have the same order. */
static uint64_t order_of(double sample) {
    uint64_t bits = 0;
    sample += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &sample, sizeof(bits));
    return bits;
}

/* The k-th smallest measured sample, counted from 0; there are more than k. Halves the range of all
 * doubles until one value remains. That needs at most 64 passes over the samples and no memory, so
 * it works on a caller's constant array. */
static double kth(const double *samples, size_t n, size_t k) {
    TIDE_ASSERT(k < n);
    uint64_t low = 0;
    uint64_t high = order_of(HUGE_VAL);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        size_t n_up_to = 0;
        for (size_t i = 0; i < n; i++) {
            n_up_to += samples[i] >= 0.0 && order_of(samples[i]) <= middle;
        }
        if (n_up_to > k) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    double sample = 0.0;
    memcpy(&sample, &low, sizeof(sample));
    return sample;
}

static size_t count_measured(const double *samples, size_t n) {
    size_t n_measured = 0;
    for (size_t i = 0; i < n; i++) {
        n_measured += samples[i] >= 0.0;
    }
    return n_measured;
}

/* The sum of squared distances of the measured samples from their mean. */
static double sum_of_squares(const double *samples, size_t n, double mean) {
    double squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        squares += samples[i] >= 0.0 ? (samples[i] - mean) * (samples[i] - mean) : 0.0;
    }
    return squares;
}

tide_statistics tide_statistics_of(const double *samples, size_t n) {
    tide_statistics of = {-1.0, -1.0, -1.0, -1.0, -1.0};
    double sum = 0.0;
    size_t n_measured = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(samples[i] >= 0.0)) {
            continue;
        }
        sum += samples[i];
        of.min = n_measured == 0 || samples[i] < of.min ? samples[i] : of.min;
        of.max = samples[i] > of.max ? samples[i] : of.max;
        n_measured++;
    }
    if (n_measured == 0) {
        return of;
    }
    of.mean = sum / (double)n_measured;
    if (n_measured > 1) {
        of.std = sqrt(sum_of_squares(samples, n, of.mean) / (double)(n_measured - 1));
    }
    of.median = (kth(samples, n, (n_measured - 1) / 2) + kth(samples, n, n_measured / 2)) / 2.0;
    return of;
}

double tide_statistics_population_std(const double *samples, size_t n) {
    size_t n_measured = count_measured(samples, n);
    if (n_measured == 0) {
        return -1.0;
    }
    double mean = tide_statistics_of(samples, n).mean;
    return sqrt(sum_of_squares(samples, n, mean) / (double)n_measured);
}

double tide_statistics_best_ten(const double *samples, size_t n) {
    double best = -1.0;
    for (size_t first = 0; first + TIDE_STATISTICS_TEN <= n; first += TIDE_STATISTICS_TEN) {
        double sum = 0.0;
        bool is_whole = true;
        for (size_t i = first; i < first + TIDE_STATISTICS_TEN; i++) {
            is_whole = is_whole && samples[i] >= 0.0;
            sum += samples[i];
        }
        double mean = sum / TIDE_STATISTICS_TEN;
        best = is_whole && (best < 0.0 || mean < best) ? mean : best;
    }
    return best;
}

double tide_statistics_quantile(const double *samples, size_t n, double share) {
    size_t n_measured = count_measured(samples, n);
    if (n_measured == 0) {
        return -1.0;
    }
    double at = fmin(fmax(share, 0.0), 1.0) * (double)(n_measured - 1);
    size_t below = (size_t)at;
    TIDE_ASSERT(below < n_measured);
    double low = kth(samples, n, below);
    double high = below + 1 < n_measured ? kth(samples, n, below + 1) : low;
    return low + (at - (double)below) * (high - low);
}

double tide_statistics_exponent(const double *x, const double *y, size_t n) {
    double mean_x = 0.0;
    double mean_y = 0.0;
    double square = 0.0;
    double product = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] > 0.0) || !(y[i] > 0.0)) {
            return (double)NAN;
        }
        mean_x += log(x[i]) / (double)n;
        mean_y += log(y[i]) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        square += (log(x[i]) - mean_x) * (log(x[i]) - mean_x);
        product += (log(x[i]) - mean_x) * (log(y[i]) - mean_y);
    }
    return square > 1e-24 ? product / square : (double)NAN;
}

/* Student's 97.5 % quantile. A fraction of a degree of freedom is rounded down, which makes the
 * interval wider, never too narrow. */
static double student(double degrees) {
    static const double FIRST[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                                   2.306,  2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
                                   2.131,  2.120, 2.110, 2.101, 2.093, 2.086};
    enum { N_FIRST = sizeof(FIRST) / sizeof(FIRST[0]) };
    if (!(degrees > 1.0)) {
        return FIRST[0];
    }
    if (degrees < N_FIRST + 1) {
        return FIRST[(size_t)degrees - 1];
    }
    /* Cornish and Fisher's expansion around the normal quantile: off by less than 0.0005 here. */
    double z = 1.959964;
    double cube = z * z * z;
    return z + (cube + z) / (4.0 * degrees) +
           (5.0 * cube * z * z + 16.0 * cube + 3.0 * z) / (96.0 * degrees * degrees);
}

tide_ratio tide_ratio_of_means(const double *samples, size_t n, const double *base, size_t n_base) {
    tide_ratio ratio = {-1.0, -1.0};
    tide_statistics over = tide_statistics_of(samples, n);
    tide_statistics under = tide_statistics_of(base, n_base);
    size_t n_over = count_measured(samples, n);
    size_t n_under = count_measured(base, n_base);
    if (over.mean < 0.0 || !(under.mean > 0.0)) {
        return ratio;
    }
    ratio.ratio = over.mean / under.mean;
    if (n_over < 2 || n_under < 2) {
        return ratio;
    }
    double f_over = (double)(n_over - 1);
    double f_under = (double)(n_under - 1);
    double u_over = 0.0; /* samples whose mean is 0 are all 0 */
    if (over.mean > 0.0) {
        u_over = over.std * over.std / ((double)n_over * over.mean * over.mean);
    }
    double u_under = under.std * under.std / ((double)n_under * under.mean * under.mean);
    double u = u_over + u_under;
    if (u > 0.0 && u < HUGE_VAL) {
        double over_share = u_over / u;
        double under_share = u_under / u;
        double degrees =
            1.0 / (over_share * over_share / f_over + under_share * under_share / f_under);
        ratio.half_width = student(degrees) * ratio.ratio * sqrt(u);
    } else if (u == 0.0) {
        ratio.half_width = 0.0;
    }
    return ratio;
}
