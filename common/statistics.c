#include "common/statistics.h"

#include <math.h>
#include <stdlib.h>

/* The k-th smallest measured sample, by counting: samples are few, and nothing is allocated. */
static double kth(const double *samples, size_t n, size_t k) {
    for (size_t i = 0; i < n; i++) {
        size_t n_below = 0;
        size_t n_equal = 0;
        for (size_t j = 0; j < n; j++) {
            n_below += samples[j] >= 0.0 && samples[j] < samples[i];
            n_equal += samples[j] == samples[i];
        }
        if (samples[i] >= 0.0 && n_below <= k && k < n_below + n_equal) {
            return samples[i];
        }
    }
    return -1.0;
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
    double squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        squares += samples[i] >= 0.0 ? (samples[i] - of.mean) * (samples[i] - of.mean) : 0.0;
    }
    of.std = sqrt(squares / (double)n_measured);
    of.median = (kth(samples, n, (n_measured - 1) / 2) + kth(samples, n, n_measured / 2)) / 2.0;
    return of;
}
