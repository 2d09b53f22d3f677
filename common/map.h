/* map.h - a hash table from 64-bit keys to 64-bit values.
 *
 * Not thread-safe. tide_map_init makes an empty map, which needs no memory. So is a zeroed one,
 * which uses the heap of tide_hostmem_default: a map of static storage needs no call before its
 * use.
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
    bool used; /* false: the slot is free, and key and value are not valid */
} tide_map_slot;

typedef struct tide_map {
    const tide_hostmem *mem; /* borrowed; outlives the map; NULL: tide_hostmem_default() */
    tide_map_slot *slots;    /* owned; NULL while empty */
    size_t n_slots;          /* power of two or 0 */
    size_t n_used;           /* kept at or below half of n_slots */
} tide_map;

void tide_map_init(tide_map *map, const tide_hostmem *mem);
void tide_map_fini(tide_map *map);

/* Whether the key is in the map, and if so its value. `ret_value` may be NULL. */
bool tide_map_find(const tide_map *map, uint64_t key, uint64_t *ret_value);

/* Inserts or replaces. TIDE_NO_MEMORY leaves the map as it was. */
TIDE_NODISCARD tide_status tide_map_put(tide_map *map, uint64_t key, uint64_t value);

/* False: the key was not in the map. */
bool tide_map_remove(tide_map *map, uint64_t key);

/* For maps from the hash of a text to its number. Finds the number for which is_equal is true. If
 * it returns false, *ret_key is the key for a new text. Texts with the same hash have consecutive
 * keys, so a text must never be removed from such a map. */
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

/* Mixes the bits of a key or hash (the finaliser of splitmix64). */
uint64_t tide_hash_u64(uint64_t x);

/* A 64-bit hash of bytes. It has no secret, so an attacker who chooses the keys can make them
 * collide.
 */
uint64_t tide_hash_bytes(const void *data, size_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
