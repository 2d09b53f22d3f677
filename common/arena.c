/* arena.c - allocates from chunks, front to back. */
#include "common/arena.h"

#include <stdint.h>
#include <string.h>

#include "common/assert.h"

enum { ALIGNMENT = 16, CHUNK_BYTES = 64 * 1024 };

struct tide_arena_chunk {
    _Alignas(ALIGNMENT)
        tide_arena_chunk *older; /* owned; the memory of the chunk follows this header */
};

void tide_arena_init(tide_arena *arena, const tide_hostmem *mem) {
    *arena = (tide_arena){.mem = mem};
}

void tide_arena_fini(tide_arena *arena) {
    tide_arena_chunk *chunk = arena->newest;
    while (chunk != NULL) {
        tide_arena_chunk *older = chunk->older;
        arena->mem->release(arena->mem->ctx, chunk);
        chunk = older;
    }
    *arena = (tide_arena){.mem = arena->mem};
}

void *tide_arena_alloc_raw(tide_arena *arena, size_t n_items, size_t item_bytes) {
    /* Half of the range, so that rounding up and the header below cannot overflow either. */
    if (item_bytes != 0 && n_items > (SIZE_MAX / 2) / item_bytes) {
        return NULL;
    }
    size_t n_wanted = (n_items * item_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    TIDE_ASSERT(arena->n_used <= arena->n_bytes);
    if (arena->newest == NULL || arena->n_bytes - arena->n_used < n_wanted) {
        /* The remainder of the old chunk is abandoned: items are small compared with a chunk, and
         * large ones get a chunk of their own size. */
        size_t n_bytes = n_wanted > CHUNK_BYTES ? n_wanted : CHUNK_BYTES;
        tide_arena_chunk *chunk = arena->mem->alloc(arena->mem->ctx, sizeof(*chunk) + n_bytes);
        if (chunk == NULL) {
            return NULL;
        }
        chunk->older = arena->newest;
        arena->newest = chunk;
        arena->n_used = 0;
        arena->n_bytes = n_bytes;
    }
    void *memory = (unsigned char *)(arena->newest + 1) + arena->n_used;
    arena->n_used += n_wanted;
    return memory;
}

void *tide_arena_alloc(tide_arena *arena, size_t n_items, size_t item_bytes) {
    void *memory = tide_arena_alloc_raw(arena, n_items, item_bytes);
    if (memory != NULL) {
        memset(memory, 0, n_items * item_bytes);
    }
    return memory;
}

void tide_arena_release(tide_arena *arena, void *memory, size_t n_bytes) {
    if (n_bytes <= CHUNK_BYTES) {
        return; /* it shares its chunk; larger memory has a chunk of its own */
    }
    for (tide_arena_chunk **link = &arena->newest; *link != NULL; link = &(*link)->older) {
        tide_arena_chunk *chunk = *link;
        if ((void *)(chunk + 1) == memory) {
            if (chunk == arena->newest) {
                TIDE_ASSERT(arena->n_used == arena->n_bytes && n_bytes <= arena->n_used);
                arena->n_used = arena->n_bytes = 0; /* the older one was full */
            }
            *link = chunk->older;
            arena->mem->release(arena->mem->ctx, chunk);
            return;
        }
    }
}

void *tide_arena_copy(tide_arena *arena, const void *items, size_t n_items, size_t item_bytes) {
    void *copy = tide_arena_alloc_raw(arena, n_items, item_bytes);
    if (copy != NULL && n_items > 0) {
        memcpy(copy, items, n_items * item_bytes);
    }
    return copy;
}

char *tide_arena_text_n(tide_arena *arena, const char *text, size_t n_bytes) {
    char *copy = tide_arena_alloc_raw(arena, n_bytes + 1, 1);
    if (copy != NULL) {
        memcpy(copy, text, n_bytes);
        copy[n_bytes] = '\0';
    }
    return copy;
}

char *tide_arena_text(tide_arena *arena, const char *text) {
    return tide_arena_text_n(arena, text, strlen(text));
}
