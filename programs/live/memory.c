/* Powers of two from large chunks, with a list of released pieces for each power. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "programs/live/memory.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "common/lock_friend.h"

enum { HEAD_BYTES = 16, FIRST_BIT = 5, N_SIZES = 48, CHUNK_BYTES = 1 << 20 };

/* Before each piece. */
typedef struct head {
    uint64_t bit;      /* the piece has 1 << bit bytes, including its head */
    struct head *next; /* of a released piece */
} head;

_Static_assert(sizeof(head) == HEAD_BYTES, "pieces are aligned to 16 bytes");

static struct {
    tide_lock lock;
    head *released[N_SIZES];
    unsigned char *chunk; /* the rest of the newest chunk */
    size_t n_left;
} heap;

static void *map(size_t n_bytes) {
    void *pages = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static uint64_t bit_of(size_t n_bytes) {
    uint64_t bit = FIRST_BIT;
    while (bit < N_SIZES && (UINT64_C(1) << bit) - HEAD_BYTES < n_bytes) {
        bit++;
    }
    return bit;
}

/* Called under the lock. */
static head *cut(size_t n_bytes) {
    if (n_bytes > CHUNK_BYTES / 4) {
        return map(n_bytes);
    }
    if (heap.n_left < n_bytes) {
        unsigned char *chunk = map(CHUNK_BYTES);
        if (chunk == NULL) {
            return NULL;
        }
        heap.chunk = chunk;
        heap.n_left = CHUNK_BYTES;
    }
    head *piece = (head *)(void *)heap.chunk;
    heap.chunk += n_bytes;
    heap.n_left -= n_bytes;
    return piece;
}

static void *alloc(void *ctx, size_t n_bytes) {
    (void)ctx;
    uint64_t bit = bit_of(n_bytes);
    if (bit >= N_SIZES) {
        return NULL;
    }
    tide_lock_acquire(&heap.lock);
    head *piece = heap.released[bit];
    if (piece != NULL) {
        heap.released[bit] = piece->next;
    } else {
        piece = cut((size_t)1 << bit);
    }
    tide_lock_release(&heap.lock);
    if (piece == NULL) {
        return NULL;
    }
    piece->bit = bit;
    return piece + 1;
}

static void release(void *ctx, void *memory) {
    (void)ctx;
    if (memory == NULL) {
        return;
    }
    head *piece = (head *)memory - 1;
    tide_lock_acquire(&heap.lock);
    piece->next = heap.released[piece->bit];
    heap.released[piece->bit] = piece;
    tide_lock_release(&heap.lock);
}

static void *resize(void *ctx, void *memory, size_t n_bytes) {
    if (memory == NULL) {
        return alloc(ctx, n_bytes);
    }
    size_t n_old = ((size_t)1 << ((head *)memory - 1)->bit) - HEAD_BYTES;
    if (n_bytes <= n_old) {
        return memory;
    }
    void *larger = alloc(ctx, n_bytes);
    if (larger != NULL) {
        memcpy(larger, memory, n_old);
        release(ctx, memory);
    }
    return larger;
}

const tide_hostmem *tide_live_memory(void) {
    static const tide_hostmem MEMORY = {.alloc = alloc, .resize = resize, .release = release};
    return &MEMORY;
}

void tide_live_memory_forked(void) {
    heap.lock = (tide_lock){0};
}
