/* compared.h - how well forecasts of kernels agree with published times, by family.
 *
 * A fifth of the configurations is left out of the fit in turn, and compared (tests/step_time/).
 * Each fit begins with constants that were fitted to all times, and the terms were chosen with all
 * of them in view, so true errors are a little larger. Figures of casts, reductions, copies and
 * kernels that were never compared are of an earlier comparison; those of products count 155 steps
 * to which their constants were fitted. An interval holds the measured time divided by
 * the forecast in 80 of 100 comparisons. docs/internals/time-model.md has the data.
 */
#ifndef TIDE_STEP_TIME_COMPARED_H
#define TIDE_STEP_TIME_COMPARED_H

#include "programs/wire/run_launches.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_time_comparison {
    const char *family;     /* "softmax", "matrix products" */
    unsigned n_comparisons; /* published times in which such kernels take most of the time */
    unsigned n_cards;       /* of these times */
    double median_percent;  /* of the absolute errors */
    double least, most;     /* the interval: 10th and 90th percentile of measured / forecast */
} tide_time_comparison;

/* The comparison of the row's kernels on a card where it takes `us` microseconds: small and large
 * kernels of a family may differ. NULL: such kernels were never compared, or the row takes no time
 * on the card; use TIDE_TIME_NEVER_COMPARED for its time. Static. */
const tide_time_comparison *tide_time_comparison_of(const tide_run_launch *row, double us);

/* Kernels of families that were never compared: the error that compared families had before any
 * constant was fitted to them. */
extern const tide_time_comparison TIDE_TIME_NEVER_COMPARED;

#ifdef __cplusplus
}
#endif

#endif
