#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise */
#include "fake_cudart/fake_memory.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda_emulator/device_memory.h"

enum { MAX_SEGMENTS = 4096 };
#define EXTENT_BYTES ((size_t)1 << 39)      /* of addresses; only segments use memory */
#define MAX_FILLED_BYTES ((size_t)64 << 20) /* of a fresh segment: filling takes time */

typedef struct segment {
    unsigned char *address; /* where it begins, in the extent */
    size_t n_bytes;         /* a multiple of the granule */
    int device;             /* whose capacity it takes */
} segment;

static struct {
    unsigned char *extent;          /* owned, until the process ends; NULL: not reserved yet */
    segment segments[MAX_SEGMENTS]; /* live, by address */
    size_t n_segments;              /* of them */
} memory;

static bool reserve(void) {
    if (memory.extent != NULL) {
        return true;
    }
    void *extent =
        mmap(NULL, EXTENT_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (extent == MAP_FAILED) {
        return false;
    }
    size_t beyond = (uintptr_t)extent % TIDE_FAKE_GRANULE;
    memory.extent = (unsigned char *)extent + (beyond == 0 ? 0 : TIDE_FAKE_GRANULE - beyond);
    return true;
}

/* The lowest place for n_bytes: the index in the table and the offset in the extent. */
static size_t find_place(size_t n_bytes, size_t hole_bytes, size_t *ret_offset) {
    size_t offset = 0;
    size_t i = 0;
    for (; i < memory.n_segments; i++) {
        size_t next = (size_t)(memory.segments[i].address - memory.extent);
        if (offset + n_bytes + hole_bytes <= next) {
            break;
        }
        offset = next + memory.segments[i].n_bytes + hole_bytes;
    }
    *ret_offset = offset;
    return i;
}

void *tide_fake_memory_take(size_t n_bytes, size_t hole_bytes, int device) {
    size_t offset = 0;
    if (!reserve() || memory.n_segments == MAX_SEGMENTS) {
        return NULL;
    }
    size_t i = find_place(n_bytes, hole_bytes, &offset);
    if (offset + n_bytes > EXTENT_BYTES - TIDE_FAKE_GRANULE) {
        return NULL;
    }
    unsigned char *address = memory.extent + offset;
    if (mprotect(address, n_bytes, PROT_READ | PROT_WRITE) != 0) {
        return NULL;
    }
    memset(address, 0xFF, n_bytes < MAX_FILLED_BYTES ? n_bytes : MAX_FILLED_BYTES);
    memmove(&memory.segments[i + 1], &memory.segments[i],
            (memory.n_segments - i) * sizeof(memory.segments[0]));
    memory.segments[i] = (segment){address, n_bytes, device};
    memory.n_segments++;
    tide_device_memory_register(address, n_bytes);
    return address;
}

static size_t index_of(const void *address) {
    for (size_t i = 0; i < memory.n_segments; i++) {
        if (memory.segments[i].address == address) {
            return i;
        }
    }
    return SIZE_MAX;
}

size_t tide_fake_memory_find(const void *address, int *ret_device) {
    size_t i = index_of(address);
    if (i == SIZE_MAX) {
        return 0;
    }
    *ret_device = memory.segments[i].device;
    return memory.segments[i].n_bytes;
}

void tide_fake_memory_give_back(void *address) {
    size_t i = index_of(address);
    if (i == SIZE_MAX) {
        return;
    }
    (void)tide_device_memory_unregister(address);
    (void)madvise(address, memory.segments[i].n_bytes, MADV_DONTNEED);
    (void)mprotect(address, memory.segments[i].n_bytes, PROT_NONE);
    memory.n_segments--;
    memmove(&memory.segments[i], &memory.segments[i + 1],
            (memory.n_segments - i) * sizeof(memory.segments[0]));
}

void tide_fake_memory_clear(void) {
    while (memory.n_segments > 0) {
        tide_fake_memory_give_back(memory.segments[memory.n_segments - 1].address);
    }
}
