/* compared.h - how well forecasts of kernels agree with published times, by family.
 *
 * A fifth of the configurations is left out of the fit in turn, and compared (tests/step_time/). An
 * interval is made to hold the measured time divided by the forecast in 80 of 100 comparisons.
 * docs/internals/time-model.md has the data, and how many of the times that were left out the
 * intervals hold.
 */
#ifndef TIDE_STEP_TIME_COMPARED_H
#define TIDE_STEP_TIME_COMPARED_H

#include <stddef.h>

#include "programs/wire/run_launches.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_time_comparison {
    const char *family;     /* "softmax", "matrix products"; NULL: never compared */
    unsigned n_comparisons; /* published times in which such kernels take most of the time, or if
                             * these are few a fourth, or if there are none a tenth */
    unsigned n_cards;       /* of these times */
    double median_percent;  /* of the absolute errors */
    double least, most;     /* the interval of measured / forecast */
} tide_time_comparison;

/* Families: those of kernels (tide_run_family), and after them those of other rows. */
enum {
    TIDE_TIME_PRODUCTS = TIDE_RUN_N_FAMILIES,
    TIDE_TIME_CONVOLUTIONS,
    TIDE_TIME_COPIES,
    TIDE_TIME_ATTENTION,
    TIDE_TIME_N_FAMILIES
};
/* Small and large kernels of a family may differ. Products have one comparison, at TIDE_TIME_LARGE:
 * their tiles and waves are modelled. */
typedef enum tide_time_size {
    TIDE_TIME_SMALL = 0, /* below 100 us */
    TIDE_TIME_LARGE,
    TIDE_TIME_N_SIZES
} tide_time_size;
#define TIDE_TIME_LARGE_US 100.0

/* The place of a comparison in the table. */
#define TIDE_TIME_SLOT(family, size) ((size_t)(family)*TIDE_TIME_N_SIZES + (size_t)(size))
enum { TIDE_TIME_N_SLOTS = TIDE_TIME_N_FAMILIES * TIDE_TIME_N_SIZES };

/* compared_table.c: by place. */
extern const tide_time_comparison TIDE_TIME_COMPARISONS[TIDE_TIME_N_SLOTS];

/* Of the published times that were left out of the fit, those that were inside the sum of their
 * kernels' intervals. */
enum { TIDE_TIME_HELD_PERCENT = 76 };

/* The place of a row's comparison on a card where it takes `us` microseconds, although the table
 * may have none there. TIDE_TIME_N_SLOTS: rows of its kind cannot be compared, or it takes no time
 * on the card. */
size_t tide_time_slot_of(const tide_run_launch *row, double us);

/* The comparison at that place. NULL: such kernels were never compared; use
 * TIDE_TIME_NEVER_COMPARED for their time. Static. */
const tide_time_comparison *tide_time_comparison_of(const tide_run_launch *row, double us);

/* Kernels of families that were never compared: the error that compared families had before any
 * constant was fitted to them. */
extern const tide_time_comparison TIDE_TIME_NEVER_COMPARED;

#ifdef __cplusplus
}
#endif

#endif
