/* assumed.h - whether a run fits its card with all rows that assumed values could have given.
 */
#ifndef TIDE_SNAPSHOT_ASSUMED_FACTS_H
#define TIDE_SNAPSHOT_ASSUMED_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The answer for a run that fits with the rows that it was given. */
typedef struct tide_assumed_limit {
    bool fits_with_all; /* the run fits with all possible rows */
    /* Otherwise: the read that alone makes it not fit, and the most rows of it that fit if the
     * others have theirs. NULL: only several reads together do. */
    const tide_snapshot_assumed *row;
    int64_t most_rows;
    size_t n_reads;    /* lines of the program that could have given more rows */
    int64_t all_bytes; /* that all rows of all of them take more */
    int64_t left_bytes;
} tide_assumed_limit;

/* Adds a read to n_reads and all_bytes. */
void tide_assumed_limit_add(tide_assumed_limit *limit, const tide_snapshot_assumed *row);

/* `rows`: in the order of tide_snapshot.assumed. left_bytes: of the card, never used by the run; -1
 * if unknown: then fits_with_all is true. */
tide_assumed_limit tide_assumed_limit_of(const tide_snapshot_assumed *rows, size_t n_rows,
                                         int64_t left_bytes);

/* The bytes of a virtual card that a completed run never used; -1 if unknown. */
int64_t tide_assumed_left_bytes(const tide_snapshot *snapshot, size_t device);

#ifdef __cplusplus
}
#endif

#endif
