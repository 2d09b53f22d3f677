#include "snapshot/explain/causes/place_sizes.h"

void tide_place_sizes_init(tide_place_sizes *sizes, const tide_facts *facts) {
    *sizes = (tide_place_sizes){.facts = facts};
    tide_map_init(&sizes->index_of, facts->mem);
}

void tide_place_sizes_fini(tide_place_sizes *sizes) {
    sizes->facts->mem->release(sizes->facts->mem->ctx, sizes->places);
    tide_map_fini(&sizes->index_of);
}

static tide_status place_of(tide_place_sizes *sizes, const tide_lifetime *block,
                            tide_sized_place **ret_place) {
    uint64_t key = tide_place_key(&sizes->facts->scopes, block->stack, block->scope);
    uint64_t index = sizes->n_places;
    if (!tide_map_find(&sizes->index_of, key, &index)) {
        tide_sized_place *grown = tide_hostmem_grow(sizes->facts->mem, sizes->places, &sizes->room,
                                                    sizes->n_places + 1, sizeof(*grown));
        if (grown == NULL) {
            return TIDE_NO_MEMORY;
        }
        sizes->places = grown;
        TIDE_TRY(tide_map_put(&sizes->index_of, key, index));
        sizes->places[sizes->n_places++] = (tide_sized_place){.stack = block->stack};
    }
    *ret_place = &sizes->places[index];
    return TIDE_OK;
}

static void add_size(tide_sized_place *to, uint64_t n_bytes) {
    for (size_t i = 0; i < to->n_sizes; i++) {
        if (to->sizes[i] == n_bytes) {
            return;
        }
    }
    if (to->n_sizes < TIDE_MOST_PLACE_SIZES) {
        to->sizes[to->n_sizes++] = n_bytes;
    }
}

static void add_change(tide_sized_place *to, uint64_t n_bytes) {
    enum { SMALL = 8 }; /* a small rise is less than this part of the size */
    uint64_t rise = n_bytes > to->last_bytes ? n_bytes - to->last_bytes : 0;
    if (to->last_bytes > 0 && n_bytes != to->last_bytes) {
        to->n_changes++;
        to->n_even += rise > 0 && rise == to->last_rise && rise < n_bytes / SMALL ? 1 : 0;
        to->last_rise = rise;
    }
    to->last_bytes = n_bytes;
}

tide_status tide_place_sizes_add(tide_place_sizes *sizes, const tide_lifetime *block,
                                 uint64_t round) {
    tide_sized_place *place = NULL;
    TIDE_TRY(place_of(sizes, block, &place));
    add_change(place, block->requested_bytes);
    place->bytes += (int64_t)block->block_bytes;
    if (round == 0 || place->round != round) {
        add_size(place, block->requested_bytes);
    }
    place->round = round;
    return TIDE_OK;
}
