/* statistics.h - samples of how long something took, and their statistics. */
#ifndef TIDE_COMMON_STATISTICS_H
#define TIDE_COMMON_STATISTICS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of n samples; all -1 when n is 0. std is the population's: sqrt(mean((x - mean)^2)). Median of an
 * even number: the mean of the middle two. */
typedef struct tide_statistics {
    double mean, std, median, min, max; /* in the samples' unit */
} tide_statistics;

/* Samples below 0 (not measured) are left out. */
tide_statistics tide_statistics_of(const double *samples, size_t n);

#ifdef __cplusplus
}
#endif

#endif
