#include "common/statistics.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* A double that is not negative, as a number with the same order. */
static uint64_t order_of(double sample) {
    uint64_t bits = 0;
    sample += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &sample, sizeof(bits));
    return bits;
}

/* The k-th smallest measured sample: halves the range of doubles until one is left, so that nothing
 * is allocated and many samples take no longer than 64 passes. There are more than k. */
static double kth(const double *samples, size_t n, size_t k) {
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
