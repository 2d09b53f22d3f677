/* places.c - the step and the path of scopes. The place of a scope is kept until that of another
 * scope replaces it, so events in one scope cost one look-up. */
#include <stdio.h>
#include <string.h>

#include "common/arena.h"
#include "common/text/utf8.h"
#include "snapshot/export/parquet/tables_internal.h"
#include "snapshot/document/scope_paths.h"

enum {
    N_KEPT = 4096,      /* places, a power of two */
    MAX_DEPTH = 1000,   /* further enclosing scopes are ignored */
    SEPARATOR_BYTES = 3 /* " > " */
};

/* A distinct path: its innermost component, and the path that encloses it. */
typedef struct path_node {
    uint32_t parent; /* TIDE_NONE: outermost */
    uint32_t name;   /* string */
    int32_t index;   /* -1: none */
    const char *text;
} path_node;

struct tide_pq_places {
    const tide_hostmem *mem;         /* borrowed */
    const tide_event_source *source; /* borrowed */
    tide_arena arena;                /* texts of the paths */
    tide_map by_hash;                /* hash of a path -> its number */
    path_node *paths;                /* owned */
    size_t n_paths;
    size_t paths_capacity;
    struct {
        uint32_t number;
        tide_scope_row row;
    } chain[MAX_DEPTH]; /* from a scope outwards */
    tide_pq_place kept[N_KEPT];
};

tide_status tide_pq_places_create(const tide_event_source *source, const tide_hostmem *mem,
                                  tide_pq_places **ret_places) {
    tide_pq_places *places = tide_hostmem_zeroed(mem, 1, sizeof(*places));
    if (places == NULL) {
        return TIDE_NO_MEMORY;
    }
    places->mem = mem;
    places->source = source;
    tide_arena_init(&places->arena, mem);
    tide_map_init(&places->by_hash, mem);
    for (size_t i = 0; i < N_KEPT; i++) {
        places->kept[i].scope = TIDE_NONE;
    }
    *ret_places = places;
    return TIDE_OK;
}

void tide_pq_places_destroy(tide_pq_places *places) {
    if (places != NULL) {
        tide_arena_fini(&places->arena);
        tide_map_fini(&places->by_hash);
        places->mem->release(places->mem->ctx, places->paths);
        places->mem->release(places->mem->ctx, places);
    }
}

const char *tide_pq_places_path(const tide_pq_places *places, uint32_t path) {
    return path == TIDE_NONE ? NULL : places->paths[path].text;
}

/* ---- paths ---- */

/* The number of bytes, at most n_most, that are whole characters of the text. */
static size_t cut(const char *text, size_t n_most) {
    const unsigned char *bytes = (const unsigned char *)text;
    size_t n_bytes = strlen(text);
    size_t n = 0;
    while (n < n_bytes) {
        size_t n_next = tide_utf8_length(bytes + n, n_bytes - n);
        n_next = n_next > 0 ? n_next : 1; /* the column replaces the byte */
        if (n + n_next > n_most) {
            break;
        }
        n += n_next;
    }
    return n;
}

/* The text of a path, with the limits of scope_paths.h. */
static const char *text_of(tide_pq_places *places, uint32_t path) {
    const tide_snapshot *document = places->source->document;
    uint32_t chain[TIDE_SCOPE_PATH_DEPTH];
    char text[TIDE_SCOPE_PATH_BYTES] = "";
    size_t n_chain = 0;
    size_t n = 0;
    for (uint32_t i = path; i != TIDE_NONE && n_chain < TIDE_SCOPE_PATH_DEPTH;
         i = places->paths[i].parent) {
        chain[n_chain++] = i;
    }
    while (n_chain > 0) {
        const path_node *one = &places->paths[chain[--n_chain]];
        const char *name = tide_snapshot_text(document, one->name);
        char index[16] = "";
        if (one->index >= 0) {
            (void)snprintf(index, sizeof(index), " %d", (int)one->index);
        }
        size_t n_name = cut(name, TIDE_SCOPE_NAME_BYTES);
        if (n + n_name + strlen(index) + SEPARATOR_BYTES >= sizeof(text)) {
            break;
        }
        memcpy(text + n, name, n_name);
        n += n_name;
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", index, n_chain > 0 ? " > " : "");
    }
    return tide_arena_text_n(&places->arena, text, n);
}

typedef struct wanted_path {
    const tide_pq_places *places;
    path_node node;
} wanted_path;

static bool is_wanted(const void *ctx, uint64_t number) {
    const wanted_path *of = ctx;
    const path_node *there = &of->places->paths[number];
    return there->parent == of->node.parent && there->name == of->node.name &&
           there->index == of->node.index;
}

static tide_status find_path(tide_pq_places *places, const path_node *node, uint32_t *ret_path) {
    const uint64_t parts[] = {(uint64_t)node->parent << 32 | node->name, (uint64_t)node->index};
    const wanted_path of = {places, *node};
    uint64_t key = 0;
    uint64_t number = 0;
    if (tide_map_find_equal(&places->by_hash, tide_hash_bytes(parts, sizeof(parts)), is_wanted, &of,
                            &key, &number)) {
        *ret_path = (uint32_t)number;
        return TIDE_OK;
    }
    path_node *paths = tide_hostmem_grow(places->mem, places->paths, &places->paths_capacity,
                                         places->n_paths + 1, sizeof(*paths));
    if (paths == NULL) {
        return TIDE_NO_MEMORY;
    }
    places->paths = paths;
    number = places->n_paths;
    paths[number] = *node;
    paths[number].text = text_of(places, (uint32_t)number);
    if (paths[number].text == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_TRY(tide_map_put(&places->by_hash, key, number));
    places->n_paths++;
    *ret_path = (uint32_t)number;
    return TIDE_OK;
}

/* ---- places ---- */

static tide_pq_place *slot_of(tide_pq_places *places, uint32_t scope) {
    return &places->kept[scope % N_KEPT];
}

/* Makes the place of a scope from that of its parent, in `place`. */
static tide_status enter(tide_pq_places *places, uint32_t scope, const tide_scope_row *row,
                         tide_pq_place *place) {
    place->scope = scope;
    if (row->kind == TIDE_SCOPE_STEP) {
        if (place->step == TIDE_NONE) {
            place->step = scope;
            place->step_index = row->index;
            place->thread = row->thread;
        }
        return TIDE_OK;
    }
    const path_node node = {.parent = place->path, .name = row->name, .index = row->index};
    return find_path(places, &node, &place->path);
}

tide_status tide_pq_places_find(tide_pq_places *places, uint32_t scope, tide_pq_place *ret_place,
                                tide_error *error) {
    tide_pq_place place = {
        .scope = TIDE_NONE, .step = TIDE_NONE, .step_index = -1, .path = TIDE_NONE};
    size_t n = 0;
    uint32_t at = scope;
    for (; at != TIDE_NONE && n < MAX_DEPTH; at = places->chain[n++].row.parent) {
        if (slot_of(places, at)->scope == at) {
            place = *slot_of(places, at);
            break;
        }
        places->chain[n].number = at;
        TIDE_TRY(places->source->scope(places->source->ctx, at, &places->chain[n].row, error));
    }
    while (n > 0) {
        n--;
        TIDE_TRY(enter(places, places->chain[n].number, &places->chain[n].row, &place));
        *slot_of(places, place.scope) = place;
    }
    *ret_place = place;
    return TIDE_OK;
}
