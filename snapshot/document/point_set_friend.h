/* point_set_friend.h - a set of numbers below a bound that finds the next and the previous member
 * in a few steps: levels of bits, where each bit says whether a word of the level below is nonzero.
 */
#ifndef TIDE_SNAPSHOT_POINT_SET_FRIEND_H
#define TIDE_SNAPSHOT_POINT_SET_FRIEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"

enum { TIDE_POINT_LEVELS = 6 }; /* of 64 each: 2^36 numbers */

typedef struct tide_point_set {
    uint64_t *words[TIDE_POINT_LEVELS]; /* in the arena; the lowest level first */
    size_t n_levels;
} tide_point_set;

/* Makes an empty set of numbers below `bound` in `arena`. TIDE_LIMIT: bound is above 2^36. */
TIDE_NODISCARD tide_status tide_point_set_init(tide_point_set *set, size_t bound,
                                               tide_arena *arena);
void tide_point_set_insert(tide_point_set *set, size_t point);
void tide_point_set_remove(tide_point_set *set, size_t point);

/* The smallest member above `point`, the largest at or below it; false if there is none. */
bool tide_point_set_above(const tide_point_set *set, size_t point, size_t *ret_point);
bool tide_point_set_at_or_below(const tide_point_set *set, size_t point, size_t *ret_point);

#endif
