/* assumed.h - values that a program read from a device that computes none, and for which the
 * recording assumed typical ones (python/tidemark/values).
 */
#ifndef TIDE_SNAPSHOT_ASSUMED_H
#define TIDE_SNAPSHOT_ASSUMED_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The reads of one line of the program. Rows: of a tensor whose length is the value that was
 * assumed. Numbers are -1 if unknown. */
typedef struct tide_snapshot_assumed {
    /* "loss.py:31", "train.py:7 (modeling.py:105)" with the line of a library, "the backward pass",
     * "a library"; "": unknown */
    const char *place;
    /* "mask", "nonzero", "unique values", "detections", "number", "truth value", "values copied to
     * the host" */
    const char *what;
    int64_t given_least, given_most; /* the fewest and the most rows of a read. Of a truth value: 0
                                        or 1; of a number: its values */
    int64_t possible;                /* the most rows that a read can give; 0: the value is no
                                        number of rows */
    int64_t n_times;                 /* reads */
    int64_t row_bytes;               /* that each row more takes; 0: unknown, or no rows */
    int64_t all_bytes;               /* that all possible rows take more than the given ones */
} tide_snapshot_assumed;

#ifdef __cplusplus
}
#endif

#endif
