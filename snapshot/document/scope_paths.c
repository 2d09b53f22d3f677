#include "snapshot/document/scope_paths.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/assert.h"
#include "common/text/text.h"

enum { INDEX_BYTES = 16 }; /* " 2147483647" */

static uint64_t hash_of(const tide_scope_path *path) {
    uint64_t hash = tide_hash_u64((uint64_t)path->parent << 32 | path->name);
    return tide_hash_u64(hash ^ ((uint64_t)(uint32_t)path->index << 8 | path->kind));
}

static bool equal(const tide_scope_path *a, const tide_scope_path *b) {
    return a->parent == b->parent && a->name == b->name && a->index == b->index &&
           a->kind == b->kind;
}

static tide_status intern(tide_scope_paths *paths, const tide_scope_path *path,
                          uint32_t *ret_number) {
    uint64_t hash = hash_of(path);
    uint64_t number = 0;
    TIDE_ASSERT(path->parent == TIDE_NONE || path->parent < paths->n_paths);
    while (tide_map_find(&paths->by_hash, hash, &number)) {
        TIDE_ASSERT(number < paths->n_paths);
        if (equal(&paths->paths[number], path)) {
            *ret_number = (uint32_t)number;
            return TIDE_OK;
        }
        hash++;
    }
    tide_scope_path *grown = tide_hostmem_grow(paths->mem, paths->paths, &paths->capacity,
                                               paths->n_paths + 1, sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    paths->paths = grown;
    TIDE_TRY(tide_map_put(&paths->by_hash, hash, paths->n_paths));
    paths->paths[paths->n_paths] = *path;
    if (path->kind == TIDE_SCOPE_PHASE) {
        paths->paths[paths->n_paths].phase = (uint32_t)paths->n_paths;
    }
    *ret_number = (uint32_t)paths->n_paths++;
    return TIDE_OK;
}

tide_status tide_scope_paths_add(tide_scope_paths *paths, uint32_t parent,
                                 const tide_scope_row *row, uint32_t *ret_path) {
    if (row->kind == TIDE_SCOPE_STEP) {
        *ret_path = parent;
        return TIDE_OK;
    }
    const tide_scope_path path = {.parent = parent,
                                  .phase = tide_scope_paths_phase(paths, parent),
                                  .name = row->name,
                                  .index = row->index,
                                  .kind = row->kind};
    return intern(paths, &path, ret_path);
}

void tide_scope_paths_init_empty(tide_scope_paths *paths, const tide_hostmem *mem) {
    *paths = (tide_scope_paths){.mem = mem};
    tide_map_init(&paths->by_hash, mem);
}

tide_status tide_scope_paths_init(tide_scope_paths *paths, const tide_snapshot *snapshot,
                                  const tide_hostmem *mem) {
    tide_status status = TIDE_OK;
    tide_scope_paths_init_empty(paths, mem);
    paths->of_scope = tide_hostmem_zeroed(mem, snapshot->n_scopes, sizeof(*paths->of_scope));
    if (paths->of_scope == NULL) {
        status = TIDE_NO_MEMORY;
    }
    for (size_t i = 0; status == TIDE_OK && i < snapshot->n_scopes; i++) {
        const tide_scope_row *row = &snapshot->scopes[i];
        TIDE_ASSERT(row->parent == TIDE_NONE || row->parent < i);
        uint32_t parent = row->parent == TIDE_NONE ? TIDE_NONE : paths->of_scope[row->parent];
        status = tide_scope_paths_add(paths, parent, row, &paths->of_scope[i]);
    }
    if (status != TIDE_OK) {
        tide_scope_paths_fini(paths);
    }
    return status;
}

void tide_scope_paths_fini(tide_scope_paths *paths) {
    if (paths->mem == NULL) {
        return;
    }
    paths->mem->release(paths->mem->ctx, paths->of_scope);
    paths->mem->release(paths->mem->ctx, paths->paths);
    tide_map_fini(&paths->by_hash);
    *paths = (tide_scope_paths){.mem = paths->mem};
}

uint32_t tide_scope_paths_phase(const tide_scope_paths *paths, uint32_t path) {
    TIDE_ASSERT(path == TIDE_NONE || path < paths->n_paths);
    return path == TIDE_NONE ? TIDE_NONE : paths->paths[path].phase;
}

const char *tide_scope_paths_text(const tide_scope_paths *paths, const tide_snapshot *snapshot,
                                  uint32_t path, tide_arena *arena) {
    uint32_t chain[TIDE_SCOPE_PATH_DEPTH];
    char text[TIDE_SCOPE_PATH_BYTES] = "";
    size_t n_chain = 0;
    tide_text to = tide_text_in(text, sizeof(text));
    for (uint32_t i = path; i != TIDE_NONE && n_chain < TIDE_SCOPE_PATH_DEPTH;
         i = paths->paths[i].parent) {
        chain[n_chain++] = i;
    }
    while (n_chain > 0) {
        const tide_scope_path *one = &paths->paths[chain[--n_chain]];
        char index[INDEX_BYTES] = "";
        if (one->index >= 0) {
            snprintf(index, sizeof(index), " %d", (int)one->index);
        }
        tide_text_add(&to, "%.*s%s%s", TIDE_SCOPE_NAME_BYTES,
                      tide_snapshot_text(snapshot, one->name), index, n_chain > 0 ? " > " : "");
    }
    return tide_arena_text(arena, text);
}

uint32_t tide_scope_describe(const tide_snapshot *snapshot, uint32_t scope, int outer,
                             bool numbered, char *ret_text, size_t n_room) {
    uint32_t inner[16];
    size_t n = 0;
    tide_text to = tide_text_in(ret_text, n_room);
    while (scope != TIDE_NONE && (int)snapshot->scopes[scope].kind != outer &&
           n < sizeof(inner) / sizeof(inner[0])) {
        inner[n++] = scope;
        scope = snapshot->scopes[scope].parent;
    }
    while (n > 0) {
        const tide_scope_row *row = &snapshot->scopes[inner[--n]];
        tide_text_add_item(&to, " > ", "%s", tide_snapshot_text(snapshot, row->name));
        if (numbered && row->index >= 0) {
            tide_text_add(&to, " %" PRId32, row->index);
        }
    }
    return scope;
}
