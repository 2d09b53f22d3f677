/* arena.h - memory that is released all together, for documents whose parts live as long as the
 * document.
 *
 * Not thread-safe.
 */
#ifndef TIDE_COMMON_ARENA_H
#define TIDE_COMMON_ARENA_H

#include <stddef.h>

#include "common/hostmem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_arena_chunk tide_arena_chunk;

typedef struct tide_arena {
    const tide_hostmem *mem;  /* borrowed; outlives the arena */
    tide_arena_chunk *newest; /* owned list; NULL while empty */
    size_t n_used;            /* bytes allocated from the newest chunk */
    size_t n_bytes;           /* room in the newest chunk */
} tide_arena;

void tide_arena_init(tide_arena *arena, const tide_hostmem *mem);
void tide_arena_fini(tide_arena *arena);

/* Zeroed memory, aligned to 16 bytes. NULL when there is no memory or the product overflows. 0
 * items return a valid pointer. */
void *tide_arena_alloc(tide_arena *arena, size_t n_items, size_t item_bytes);
/* The same without zeros, for memory that is written before it is read. */
void *tide_arena_alloc_raw(tide_arena *arena, size_t n_items, size_t item_bytes);

/* Frees memory of n_bytes that is no longer needed, if it is large. Small memory stays until the
 * arena ends. */
void tide_arena_release(tide_arena *arena, void *memory, size_t n_bytes);

/* A copy of the items; NULL when there is no memory. `items` may be NULL if n_items is 0. */
void *tide_arena_copy(tide_arena *arena, const void *items, size_t n_items, size_t item_bytes);

/* A copy of `text`, or of its first n_bytes. NULL when there is no memory. */
char *tide_arena_text(tide_arena *arena, const char *text);
char *tide_arena_text_n(tide_arena *arena, const char *text, size_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
