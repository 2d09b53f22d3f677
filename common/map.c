/* map.c - open addressing with linear probing. */
#include "common/map.h"

#include <string.h>

#include "common/assert.h"

uint64_t tide_hash_u64(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    x ^= x >> 31;
    return x;
}

uint64_t tide_hash_bytes(const void *data, size_t n_bytes) {
    const unsigned char *bytes = data;
    uint64_t hash = 0x9e3779b97f4a7c15u ^ n_bytes;
    while (n_bytes >= 8) {
        uint64_t word = 0;
        memcpy(&word, bytes, 8);
        hash = (hash ^ tide_hash_u64(word)) * 0x9fb21c651e98df25u;
        bytes += 8;
        n_bytes -= 8;
    }
    uint64_t tail = 0;
    memcpy(&tail, bytes, n_bytes);
    return tide_hash_u64(hash ^ tail);
}

void tide_map_init(tide_map *map, const tide_hostmem *mem) {
    *map = (tide_map){.mem = mem};
}

static const tide_hostmem *heap_of(const tide_map *map) {
    return map->mem != NULL ? map->mem : tide_hostmem_default();
}

void tide_map_fini(tide_map *map) {
    const tide_hostmem *heap = heap_of(map);
    heap->release(heap->ctx, map->slots);
    *map = (tide_map){.mem = map->mem};
}

/* The slot of the key, or the free slot for it, which ends a search. */
static size_t slot_of(const tide_map *map, uint64_t key) {
    TIDE_ASSERT(map->n_slots > 0 && map->n_used <= map->n_slots / 2);
    size_t i = (size_t)tide_hash_u64(key) & (map->n_slots - 1);
    while (map->slots[i].used && map->slots[i].key != key) {
        i = (i + 1) & (map->n_slots - 1);
    }
    return i;
}

bool tide_map_find(const tide_map *map, uint64_t key, uint64_t *ret_value) {
    if (map->n_slots == 0) {
        return false;
    }
    const tide_map_slot *slot = &map->slots[slot_of(map, key)];
    if (slot->used && ret_value != NULL) {
        *ret_value = slot->value;
    }
    return slot->used;
}

static tide_status grow(tide_map *map) {
    size_t n_slots = map->n_slots == 0 ? 64 : map->n_slots * 2;
    const tide_hostmem *heap = heap_of(map);
    tide_map_slot *slots = tide_hostmem_zeroed(heap, n_slots, sizeof(*slots));
    if (slots == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_map old = *map;
    map->slots = slots;
    map->n_slots = n_slots;
    TIDE_ASSERT((n_slots & (n_slots - 1)) == 0);
    for (size_t i = 0; i < old.n_slots; i++) {
        if (old.slots[i].used) {
            map->slots[slot_of(map, old.slots[i].key)] = old.slots[i];
        }
    }
    heap->release(heap->ctx, old.slots);
    return TIDE_OK;
}

tide_status tide_map_put(tide_map *map, uint64_t key, uint64_t value) {
    if ((map->n_used + 1) * 2 > map->n_slots) {
        TIDE_TRY(grow(map));
    }
    tide_map_slot *slot = &map->slots[slot_of(map, key)];
    if (!slot->used) {
        map->n_used++;
    }
    *slot = (tide_map_slot){key, value, true};
    return TIDE_OK;
}

bool tide_map_remove(tide_map *map, uint64_t key) {
    if (map->n_slots == 0) {
        return false;
    }
    size_t mask = map->n_slots - 1;
    size_t hole = slot_of(map, key);
    if (!map->slots[hole].used) {
        return false;
    }
    /* A search stops at a free slot, so every follower whose search would cross the hole moves into
     * it. That replaces tombstones, which would slow down searches after many removals. */
    for (size_t i = (hole + 1) & mask; map->slots[i].used; i = (i + 1) & mask) {
        size_t home = (size_t)tide_hash_u64(map->slots[i].key) & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    TIDE_ASSERT(map->slots[hole].used && map->n_used > 0);
    map->slots[hole].used = false;
    map->n_used--;
    return true;
}
