/* ranks.h - the digests of many ranks as one report: equal ranks folded into one row, outliers,
 * groups of ranks that should be equal, and the rows of the peak in which they are not.
 *
 * Everything follows from the digests alone and not from their order. Of a digest with several
 * devices the one with the highest peak counts; pinned memory of the host never does.
 */
#ifndef TIDE_SNAPSHOT_RANKS_H
#define TIDE_SNAPSHOT_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"
#include "snapshot/ranks/digest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A rank is an outlier where its allocated peak is further from its group's median than both. */
enum { TIDE_OUTLIER_PERCENT = 1, TIDE_OUTLIER_BYTES = 2 << 20 };

typedef struct tide_rank {
    const tide_digest *digest;        /* borrowed */
    const tide_digest_device *device; /* of the digest; NULL: it records none */
    size_t group;                     /* index */
} tide_rank;

/* Ranks of one group with equal figures: the same highest and last bytes, peaks by step, rows of
 * the peak, growth, out-of-memory and size of the device. */
typedef struct tide_rank_fold {
    const char *ranks; /* "0-62, 64"; a file's name where the rank is not known */
    const char *place; /* "tp first, dp last": what all of them have in common; "" */
    size_t first;      /* index of its first rank, which represents all */
    size_t n;          /* ranks in it */
    size_t group;      /* index */
    bool is_outlier;
} tide_rank_fold;

/* Ranks that should be equal. */
typedef struct tide_rank_group {
    const char *name;  /* "stage 0 of 4", "all" */
    const char *ranks; /* "0-7" */
    size_t n;
    int64_t low_bytes, median_bytes, high_bytes; /* of the ranks' allocated peaks */
} tide_rank_group;

/* A row of the peak in which ranks differ from their group's median. */
typedef struct tide_rank_difference {
    size_t fold; /* index */
    const char *line, *category, *scope;
    int64_t bytes, median_bytes;
} tide_rank_difference;

typedef struct tide_ranks {
    tide_arena *arena; /* borrowed: of all below */
    tide_rank *ranks;  /* by rank; those without one last */
    size_t n_ranks;
    tide_rank_fold *folds; /* by group, then by their first rank */
    size_t n_folds;
    tide_rank_group *groups; /* by name, numbers by their value */
    size_t n_groups;
    tide_rank_difference *differences; /* by fold, the largest first */
    size_t n_differences;
    int64_t world_size; /* the largest that a digest names; -1 */
    size_t n_missing;   /* ranks of the world that were not given; 0 where the world is not known */
    size_t first_out;   /* index of the rank that ran out of memory first; SIZE_MAX: none did */
    bool is_clock_known; /* first_out: by one clock; else several did and none is known to be first
                          */
    size_t least_headroom; /* index of the rank with the least; SIZE_MAX: not known of any */
} tide_ranks;

/* `group_by`: "role" (pipeline stage and experts), "stage", "host", "none", or the name of a
 * process group, whose positions are distinguished. The digests outlive the result. TIDE_INVALID: a
 * rank comes twice, or no digest has a process group of the name. */
TIDE_NODISCARD tide_status tide_ranks_make(const tide_digest *const *digests, size_t n,
                                           const char *group_by, tide_arena *arena,
                                           tide_ranks **ret_ranks, tide_error *error);

/* Whether they have equal figures, as those of one fold have. */
bool tide_ranks_are_equal(const tide_rank *a, const tide_rank *b);

/* ---- conditions: QUANTITY OPERATOR BOUND, such as "spread>5%" ---- */

typedef struct tide_ranks_verdict {
    bool is_known; /* else a digest does not have the figure */
    bool holds;    /* the condition holds: the gate is missed */
    char words[256];
} tide_ranks_verdict;

/* Quantities: spread (highest less lowest peak of a group, of its median), peak, reserved, headroom
 * (of the device), growth (a pass of the loop that grows most, growth.h). Bounds are sizes, or a
 * percentage for spread and headroom. TIDE_INVALID: the message says what was expected. */
TIDE_NODISCARD tide_status tide_ranks_judge(const tide_ranks *ranks, const char *condition,
                                            tide_ranks_verdict *ret, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
