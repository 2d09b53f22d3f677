#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include "virtual_cuda/pinned.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "virtual_cuda/export.h"
#include "virtual_cuda/fork.h"
#include "virtual_cuda/inexact.h"
#include "virtual_cuda/status.h"

typedef struct area {
    uint64_t address, n_bytes;
    bool is_ours; /* mapped here, not registered */
    bool is_managed;
} area;

static area *areas; /* by address; from malloc */
static size_t n_areas, n_room;
TIDE_VC_LOCK(lock, NULL);

static size_t above(uint64_t address) {
    size_t i = n_areas;
    while (i > 0 && areas[i - 1].address > address) {
        i--;
    }
    return i;
}

static int add(area made) {
    int status = TIDE_VC_OK;
    pthread_mutex_lock(&lock);
    if (n_areas == n_room) {
        size_t more = n_room > 0 ? 2 * n_room : 64;
        area *larger = realloc(areas, more * sizeof(*larger));
        status = larger != NULL ? TIDE_VC_OK : TIDE_VC_MEMORY;
        areas = larger != NULL ? larger : areas;
        n_room = larger != NULL ? more : n_room;
    }
    if (status == TIDE_VC_OK) {
        size_t i = above(made.address);
        memmove(&areas[i + 1], &areas[i], (n_areas - i) * sizeof(*areas));
        areas[i] = made;
        n_areas++;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* Takes the area that begins there out of the list. n_bytes 0: there is none. */
static area take_out(uint64_t address) {
    area gone = {.n_bytes = 0};
    pthread_mutex_lock(&lock);
    size_t i = above(address);
    if (i > 0 && areas[i - 1].address == address) {
        gone = areas[i - 1];
        memmove(&areas[i - 1], &areas[i], (n_areas - i) * sizeof(*areas));
        n_areas--;
    }
    pthread_mutex_unlock(&lock);
    return gone;
}

static bool find(const void *address, area *ret_area) {
    uint64_t at = (uint64_t)(uintptr_t)address;
    bool found = false;
    pthread_mutex_lock(&lock);
    size_t i = above(at);
    if (i > 0 && at - areas[i - 1].address < areas[i - 1].n_bytes) {
        *ret_area = areas[i - 1];
        found = true;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

bool tide_vc_is_pinned(const void *address) {
    area found;
    return find(address, &found) && !found.is_managed;
}

bool tide_vc_is_managed(const void *address) {
    area found;
    return find(address, &found) && found.is_managed;
}

static int allocate(void **ret_address, size_t n_bytes, bool is_managed) {
    if (ret_address == NULL) {
        return TIDE_VC_INVALID_VALUE;
    }
    *ret_address = NULL;
    if (n_bytes == 0) {
        return TIDE_VC_OK;
    }
    void *at = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        return TIDE_VC_MEMORY;
    }
    int status = add((area){(uint64_t)(uintptr_t)at, n_bytes, true, is_managed});
    if (status != TIDE_VC_OK) {
        (void)munmap(at, n_bytes);
        return status;
    }
    *ret_address = at;
    return TIDE_VC_OK;
}

static int release(void *address) {
    if (address == NULL) {
        return TIDE_VC_OK;
    }
    area gone = take_out((uint64_t)(uintptr_t)address);
    if (gone.n_bytes == 0) {
        return TIDE_VC_INVALID_VALUE;
    }
    if (gone.is_ours) {
        (void)munmap(address, gone.n_bytes);
    }
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaHostAlloc(void **ret_address, size_t n_bytes, unsigned flags) {
    (void)flags;
    return tide_vc_fail(allocate(ret_address, n_bytes, false));
}

TIDE_VC_EXPORT int cudaMallocHost(void **ret_address, size_t n_bytes) {
    return tide_vc_fail(allocate(ret_address, n_bytes, false));
}

TIDE_VC_EXPORT int cudaMallocManaged(void **ret_address, size_t n_bytes, unsigned flags) {
    (void)flags;
    tide_vc_inexact("cudaMallocManaged",
                    "managed memory is host memory here, and the card is not charged for it");
    return tide_vc_fail(allocate(ret_address, n_bytes, true));
}

TIDE_VC_EXPORT int cudaFreeHost(void *address) {
    return tide_vc_fail(release(address));
}

TIDE_VC_EXPORT int cudaHostRegister(void *address, size_t n_bytes, unsigned flags) {
    (void)flags;
    if (address == NULL || n_bytes == 0) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    area there;
    if (find(address, &there)) {
        return tide_vc_fail(TIDE_VC_HOST_ALREADY);
    }
    return tide_vc_fail(add((area){(uint64_t)(uintptr_t)address, n_bytes, false, false}));
}

TIDE_VC_EXPORT int cudaHostUnregister(void *address) {
    int status = address != NULL ? release(address) : TIDE_VC_INVALID_VALUE;
    return tide_vc_fail(status == TIDE_VC_INVALID_VALUE ? TIDE_VC_HOST_NOT : status);
}

TIDE_VC_EXPORT int cudaHostGetDevicePointer(void **ret_device, void *host, unsigned flags) {
    (void)flags;
    *ret_device = host;
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaHostGetFlags(unsigned *ret_flags, void *host) {
    (void)host;
    *ret_flags = 0;
    return TIDE_VC_OK;
}
