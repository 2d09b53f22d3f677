/* hostmem.c - the default heap, and helpers for any heap. */
#include "common/hostmem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *default_alloc(void *ctx, size_t n_bytes) {
    (void)ctx;
    return malloc(n_bytes);
}

static void *default_resize(void *ctx, void *memory, size_t n_bytes) {
    (void)ctx;
    return realloc(memory, n_bytes);
}

static void default_release(void *ctx, void *memory) {
    (void)ctx;
    free(memory);
}

const tide_hostmem *tide_hostmem_default(void) {
    static const tide_hostmem heap = {default_alloc, default_resize, default_release, NULL};
    return &heap;
}

void *tide_hostmem_array(const tide_hostmem *mem, size_t n_items, size_t item_bytes) {
    if (item_bytes != 0 && n_items > SIZE_MAX / item_bytes) {
        return NULL;
    }
    size_t n_bytes = n_items * item_bytes;
    /* malloc(0) may return NULL, which would look like a failure. */
    return mem->alloc(mem->ctx, n_bytes == 0 ? 1 : n_bytes);
}

void *tide_hostmem_zeroed(const tide_hostmem *mem, size_t n_items, size_t item_bytes) {
    void *memory = tide_hostmem_array(mem, n_items, item_bytes);
    if (memory != NULL) {
        memset(memory, 0, n_items * item_bytes);
    }
    return memory;
}

void *tide_hostmem_grow(const tide_hostmem *mem, void *items, size_t *capacity, size_t n_needed,
                        size_t item_bytes) {
    if (n_needed <= *capacity && items != NULL) {
        return items;
    }
    size_t wanted = *capacity < 16 ? 16 : *capacity;
    while (wanted < n_needed) {
        if (wanted > SIZE_MAX / 2) {
            return NULL;
        }
        wanted *= 2;
    }
    if (wanted > SIZE_MAX / item_bytes) {
        return NULL;
    }
    void *grown = mem->resize(mem->ctx, items, wanted * item_bytes);
    if (grown != NULL) {
        *capacity = wanted;
    }
    return grown;
}

char *tide_hostmem_text(const tide_hostmem *mem, const char *text) {
    size_t n_bytes = strlen(text) + 1;
    char *copy = mem->alloc(mem->ctx, n_bytes);
    if (copy != NULL) {
        memcpy(copy, text, n_bytes);
    }
    return copy;
}
