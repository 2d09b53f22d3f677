/* hostmem.h - the source of tidemark's own host memory: three functions and a context, so that
 * tests can make the n-th call fail and programs can supply their own heap.
 */
#ifndef TIDE_COMMON_HOSTMEM_H
#define TIDE_COMMON_HOSTMEM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A heap. Everything made with it borrows it, so it must outlive all of that. Its functions must be
 * callable from any thread. */
typedef struct tide_hostmem {
    void *(*alloc)(void *ctx, size_t n_bytes); /* NULL when no memory is left */
    void *(*resize)(void *ctx, void *memory,
                    size_t n_bytes);          /* as realloc: on NULL the old memory stays valid */
    void (*release)(void *ctx, void *memory); /* NULL is allowed */
    void *ctx; /* passed to each function; owned by the maker of the heap */
} tide_hostmem;

/* The heap of malloc, realloc and free. Never NULL; it always exists. */
const tide_hostmem *tide_hostmem_default(void);

/* Memory for n_items of item_bytes each, not zeroed; NULL when there is no memory or the product
 * overflows. */
void *tide_hostmem_array(const tide_hostmem *mem, size_t n_items, size_t item_bytes);

/* The same, zeroed. */
void *tide_hostmem_zeroed(const tide_hostmem *mem, size_t n_items, size_t item_bytes);

/* Makes room for `n_needed` items of `item_bytes` in a growable array by doubling its capacity.
 * Returns the array, which may have moved, and writes its new capacity. NULL when there is no
 * memory; array and capacity are then unchanged. */
void *tide_hostmem_grow(const tide_hostmem *mem, void *items, size_t *capacity, size_t n_needed,
                        size_t item_bytes);

/* A copy of `text`; NULL when there is no memory. The caller releases it. */
char *tide_hostmem_text(const tide_hostmem *mem, const char *text);

#ifdef __cplusplus
}
#endif

#endif
