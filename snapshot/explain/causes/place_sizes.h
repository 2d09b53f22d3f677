/* place_sizes.h - how many different sizes one place of a program asks for. A place is a call
 * stack, a module and a node of autograd.
 */
#ifndef TIDE_SNAPSHOT_PLACE_SIZES_H
#define TIDE_SNAPSHOT_PLACE_SIZES_H

#include <stddef.h>
#include <stdint.h>

#include "common/map.h"
#include "common/status.h"
#include "snapshot/explain/facts.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_MOST_PLACE_SIZES = 64 }; /* of one place, that are counted */

typedef struct tide_sized_place {
    uint64_t sizes[TIDE_MOST_PLACE_SIZES]; /* distinct requests, in bytes */
    size_t n_sizes;
    int64_t bytes;                  /* whole blocks */
    uint64_t last_bytes, last_rise; /* the request of the last block, and how much it was larger */
    size_t n_changes;               /* requests of another size than the one before */
    size_t n_even; /* of them, larger by as much as the change before, and by less than an eighth */
    uint32_t stack; /* of the first block */
    uint64_t round; /* of the last block */
} tide_sized_place;

typedef struct tide_place_sizes {
    const tide_facts *facts;  /* borrowed */
    tide_sized_place *places; /* owned */
    size_t n_places, room;
    tide_map index_of; /* place -> its index */
} tide_place_sizes;

void tide_place_sizes_init(tide_place_sizes *sizes, const tide_facts *facts);
void tide_place_sizes_fini(tide_place_sizes *sizes);

/* Counts a block. In each round, from 1 on, only the first block of a place adds a size; round 0:
 * each block does. */
TIDE_NODISCARD tide_status tide_place_sizes_add(tide_place_sizes *sizes, const tide_lifetime *block,
                                                uint64_t round);

#ifdef __cplusplus
}
#endif

#endif
