/* map.h - a hash table from 64-bit keys to 64-bit values: open addressing, linear probing, no
 * tombstones.
 *
 * Not thread-safe. Zero-initialised storage plus tide_map_init is a valid empty map.
 */
#ifndef TIDE_COMMON_MAP_H
#define TIDE_COMMON_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_map_slot {
    uint64_t key;
    uint64_t value;
    bool used; /* false: key and value mean nothing */
} tide_map_slot;

typedef struct tide_map {
    const tide_hostmem *mem; /* borrowed; outlives the map */
    tide_map_slot *slots;    /* owned; NULL while empty */
    size_t n_slots;          /* power of two or 0 */
    size_t n_used;           /* kept at or below half of n_slots */
} tide_map;

void tide_map_init(tide_map *map, const tide_hostmem *mem);
void tide_map_fini(tide_map *map);

/* True and the value when the key is there. `ret_value` may be NULL. */
bool tide_map_find(const tide_map *map, uint64_t key, uint64_t *ret_value);

/* Inserts or replaces. TIDE_NO_MEMORY leaves the map as it was. */
TIDE_NODISCARD tide_status tide_map_put(tide_map *map, uint64_t key, uint64_t value);

/* False when the key was not there. */
bool tide_map_remove(tide_map *map, uint64_t key);

/* For maps from the hash of a text to its number. The number of the text that is_equal says is the
 * wanted one; false, and the key to put a new one under, where there is none: texts with the same
 * hash stand under the keys that follow it. The caller must not remove texts from such a map. */
static inline bool tide_map_find_equal(const tide_map *map, uint64_t hash,
                                       bool (*is_equal)(const void *ctx, uint64_t number),
                                       const void *ctx, uint64_t *ret_key, uint64_t *ret_number) {
    uint64_t number = 0;
    for (*ret_key = hash; tide_map_find(map, *ret_key, &number); ++*ret_key) {
        if (is_equal(ctx, number)) {
            *ret_number = number;
            return true;
        }
    }
    return false;
}

/* A good 64-bit mixer for keys and hashes (splitmix64's finaliser). */
uint64_t tide_hash_u64(uint64_t x);

/* A 64-bit hash of bytes; not for untrusted keys that must resist flooding. */
uint64_t tide_hash_bytes(const void *data, size_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
