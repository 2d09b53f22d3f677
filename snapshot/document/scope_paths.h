/* scope_paths.h - the path of each scope, without its step: "backward > layer 5 > attention". The
 * same path in different steps has one number.
 */
#ifndef TIDE_SNAPSHOT_SCOPE_PATHS_H
#define TIDE_SNAPSHOT_SCOPE_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/map.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_SCOPE_PATH_DEPTH = 32,  /* components in a text; the innermost are kept */
    TIDE_SCOPE_NAME_BYTES = 128, /* of each name in a text */
    TIDE_SCOPE_PATH_BYTES = 1024 /* of a text with its NUL; longer ones are cut */
};

/* A distinct path: its innermost component, and the path that encloses it. */
typedef struct tide_scope_path {
    uint32_t parent; /* number of the enclosing path, smaller; TIDE_NONE: outermost */
    uint32_t phase;  /* number of the innermost phase that encloses or is it; TIDE_NONE: none */
    uint32_t name;   /* string */
    int32_t index;   /* layer number; -1: none */
    uint8_t kind;    /* tide_scope_kind, never a step */
} tide_scope_path;

typedef struct tide_scope_paths {
    const tide_hostmem *mem; /* borrowed */
    uint32_t *of_scope;      /* owned; number of the scope's path, TIDE_NONE for a bare step; NULL:
                                paths are added one by one */
    tide_scope_path *paths;  /* owned */
    size_t n_paths;
    size_t capacity;  /* of paths */
    tide_map by_hash; /* hash of a path -> its number */
} tide_scope_paths;

TIDE_NODISCARD tide_status tide_scope_paths_init(tide_scope_paths *paths,
                                                 const tide_snapshot *snapshot,
                                                 const tide_hostmem *mem);

/* Starts without scopes: add paths with tide_scope_paths_add. */
void tide_scope_paths_init_empty(tide_scope_paths *paths, const tide_hostmem *mem);
void tide_scope_paths_fini(tide_scope_paths *paths);

/* The path of a scope whose enclosing path is `parent`; added if new. */
TIDE_NODISCARD tide_status tide_scope_paths_add(tide_scope_paths *paths, uint32_t parent,
                                                const tide_scope_row *row, uint32_t *ret_path);

/* The innermost phase that encloses or is the path; TIDE_NONE: none. */
uint32_t tide_scope_paths_phase(const tide_scope_paths *paths, uint32_t path);

/* "backward > layer 5 > attention"; "" for TIDE_NONE. The text is in `arena`; NULL without
 * memory. */
const char *tide_scope_paths_text(const tide_scope_paths *paths, const tide_snapshot *snapshot,
                                  uint32_t path, tide_arena *arena);

/* "forward > layer 3": the scope after those that enclose it, at most the 16 innermost, up to a
 * scope of the kind `outer` (TIDE_N_SCOPE_KINDS: up to the outermost). Returns the scope that ended
 * the path, or TIDE_NONE. `numbered`: write the index of a scope after its name. */
uint32_t tide_scope_describe(const tide_snapshot *snapshot, uint32_t scope, int outer,
                             bool numbered, char *ret_text, size_t n_room);

#ifdef __cplusplus
}
#endif

#endif
