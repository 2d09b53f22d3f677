/* ranks_internal.h - the parts of the report of ranks.
 */
#ifndef TIDE_SNAPSHOT_RANKS_INTERNAL_H
#define TIDE_SNAPSHOT_RANKS_INTERNAL_H

#include "snapshot/ranks/ranks.h"

/* The name of the group that a rank belongs to, in the arena; NULL: no memory. */
const char *tide_ranks_group_name(const tide_digest *digest, const char *group_by,
                                  tide_arena *arena);
/* "tp first, dp last": where the rank stands in its process groups. NULL: no memory. */
const char *tide_ranks_place(const tide_digest *digest, tide_arena *arena);

/* A total order of the figures of two devices; 0: they are equal. */
int tide_ranks_compare(const tide_digest_device *a, const tide_digest_device *b);

/* Fills the differences. */
TIDE_NODISCARD tide_status tide_ranks_find_differences(tide_ranks *ranks);

#endif
