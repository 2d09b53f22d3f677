#include "programs/virtual_cuda/card/address.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "common/assert.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/values/known.h"
#include "programs/virtual_cuda/card/ranges.h"

#define MIB (UINT64_C(1) << 20)
#define SMALL_CHUNK (32 * MIB)
#define LARGE_CHUNK (128 * MIB)

_Static_assert(TIDE_VC_HIGHEST_ADDRESS % LARGE_CHUNK == 0, "chunks begin at multiples of it");

static struct addresses {
    atomic_ullong lowest; /* where the lowest chunk begins; written with the lock held */
    tide_vc_ranges holes; /* free parts of chunks; the lock guards it */
} addresses = {.lowest = TIDE_VC_HIGHEST_ADDRESS};
TIDE_VC_LOCK(lock, NULL);

/* Only addresses of opened chunks count, because a kernel's arguments hold numbers also. */
bool tide_vc_is_device(const void *address) {
    uint64_t at = (uint64_t)(uintptr_t)address;
    return at < TIDE_VC_HIGHEST_ADDRESS &&
           at >= atomic_load_explicit(&addresses.lowest, memory_order_relaxed);
}

/* Adds a free range, joined with its neighbours. Without host memory its addresses are not used
 * again. */
static void put_back(tide_vc_range hole) {
    tide_vc_range other;
    if (tide_vc_ranges_at_or_above(&addresses.holes, hole.address, &other) &&
        hole.address + hole.n_bytes == other.address) {
        hole.n_bytes += other.n_bytes;
        (void)tide_vc_ranges_remove(&addresses.holes, other.address, NULL);
    }
    if (tide_vc_ranges_at_or_below(&addresses.holes, hole.address, &other) &&
        other.address + other.n_bytes == hole.address) {
        hole.address = other.address;
        hole.n_bytes += other.n_bytes;
        (void)tide_vc_ranges_remove(&addresses.holes, other.address, NULL);
    }
    (void)tide_vc_ranges_add(&addresses.holes, hole);
}

/* Where the chunk for a request would begin; 0 if there is no room below the others. */
static uint64_t next_chunk(uint64_t n_bytes, uint64_t *ret_bytes) {
    uint64_t unit = n_bytes <= SMALL_CHUNK ? SMALL_CHUNK : LARGE_CHUNK;
    uint64_t room = atomic_load(&addresses.lowest) - TIDE_VC_LOWEST_ADDRESS;
    if (n_bytes > room) {
        return 0;
    }
    *ret_bytes = (n_bytes + unit - 1) / unit * unit;
    if (*ret_bytes > room) {
        return 0;
    }
    uint64_t address = (atomic_load(&addresses.lowest) - *ret_bytes) / unit * unit;
    return address >= TIDE_VC_LOWEST_ADDRESS ? address : 0;
}

static uint64_t open_chunk(uint64_t n_bytes) {
    uint64_t chunk = 0;
    uint64_t address = next_chunk(n_bytes, &chunk);
    if (address == 0) {
        return 0;
    }
    TIDE_ASSERT(chunk >= n_bytes && address + chunk <= atomic_load(&addresses.lowest));
    atomic_store(&addresses.lowest, address);
    if (chunk > n_bytes) {
        put_back((tide_vc_range){.address = address + n_bytes, .n_bytes = chunk - n_bytes});
    }
    return address;
}

static uint64_t take(uint64_t n_bytes) {
    TIDE_ASSERT(n_bytes > 0 && n_bytes % 512 == 0);
    tide_vc_range hole;
    if (!tide_vc_ranges_fit(&addresses.holes, n_bytes, &hole)) {
        return open_chunk(n_bytes);
    }
    (void)tide_vc_ranges_remove(&addresses.holes, hole.address, NULL);
    TIDE_ASSERT(hole.n_bytes >= n_bytes);
    if (hole.n_bytes > n_bytes) {
        (void)tide_vc_ranges_add(
            &addresses.holes,
            (tide_vc_range){.address = hole.address + n_bytes, .n_bytes = hole.n_bytes - n_bytes});
    }
    return hole.address;
}

uint64_t tide_vc_address_take(uint64_t n_bytes) {
    pthread_mutex_lock(&lock);
    uint64_t address = tide_vc_ranges_prepare(&addresses.holes) ? take(n_bytes) : 0;
    pthread_mutex_unlock(&lock);
    return address;
}

bool tide_vc_address_fits(uint64_t n_bytes) {
    tide_vc_range hole;
    uint64_t chunk = 0;
    pthread_mutex_lock(&lock);
    bool fits =
        tide_vc_ranges_fit(&addresses.holes, n_bytes, &hole) || next_chunk(n_bytes, &chunk) != 0;
    pthread_mutex_unlock(&lock);
    return fits;
}

void tide_vc_address_give_back(uint64_t address, uint64_t n_bytes) {
    tide_vc_known_forget(address, n_bytes);
    pthread_mutex_lock(&lock);
    put_back((tide_vc_range){.address = address, .n_bytes = n_bytes});
    pthread_mutex_unlock(&lock);
}
