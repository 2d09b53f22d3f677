#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise */
#include "virtual_cuda/address.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "virtual_cuda/fork.h"
#include "virtual_cuda/known.h"

#define MIB (UINT64_C(1) << 20)
#define SMALL_CHUNK (32 * MIB)
#define LARGE_CHUNK (128 * MIB)
#define LARGEST_RANGE (UINT64_C(8) << 40)  /* enough for 64 cards of 128 GiB */
#define SMALLEST_RANGE (UINT64_C(1) << 38) /* where the host has little address space */

typedef struct range {
    uint64_t address, n_bytes;
} range;

/* All device addresses of the process. */
typedef struct space {
    uint64_t low, high; /* reserved; equal: there was no room */
    uint64_t next;      /* the lowest chunk */
    range *holes;       /* free parts of chunks, by address; from malloc */
    size_t n_holes, n_room;
} space;

static space all;
TIDE_VC_LOCK(lock, NULL);
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void reserve(void) {
    for (uint64_t n_bytes = LARGEST_RANGE; n_bytes >= SMALLEST_RANGE; n_bytes /= 2) {
        void *at =
            mmap(NULL, n_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at != MAP_FAILED) {
            (void)madvise(at, n_bytes, MADV_DONTDUMP);
            uint64_t low = (uint64_t)(uintptr_t)at;
            all.low = (low + LARGE_CHUNK - 1) / LARGE_CHUNK * LARGE_CHUNK;
            all.high = (low + n_bytes) / LARGE_CHUNK * LARGE_CHUNK;
            all.next = all.high;
            return;
        }
    }
}

bool tide_vc_is_device(const void *address) {
    pthread_once(&once, reserve);
    uint64_t at = (uint64_t)(uintptr_t)address;
    return at >= all.low && at < all.high;
}

static bool insert(size_t i, range hole) {
    if (all.n_holes == all.n_room) {
        size_t n_room = all.n_room > 0 ? 2 * all.n_room : 256;
        range *larger = realloc(all.holes, n_room * sizeof(*larger));
        if (larger == NULL) {
            return false; /* these addresses are not given out again */
        }
        all.holes = larger;
        all.n_room = n_room;
    }
    memmove(&all.holes[i + 1], &all.holes[i], (all.n_holes - i) * sizeof(*all.holes));
    all.holes[i] = hole;
    all.n_holes++;
    return true;
}

static void remove_hole(size_t i) {
    all.n_holes--;
    memmove(&all.holes[i], &all.holes[i + 1], (all.n_holes - i) * sizeof(*all.holes));
}

/* Puts a free range in its place, joined with its neighbours. */
static void put_back(range hole) {
    size_t i = 0;
    while (i < all.n_holes && all.holes[i].address < hole.address) {
        i++;
    }
    if (i < all.n_holes && hole.address + hole.n_bytes == all.holes[i].address) {
        hole.n_bytes += all.holes[i].n_bytes;
        remove_hole(i);
    }
    if (i > 0 && all.holes[i - 1].address + all.holes[i - 1].n_bytes == hole.address) {
        all.holes[i - 1].n_bytes += hole.n_bytes;
    } else {
        (void)insert(i, hole);
    }
}

static uint64_t open_chunk(uint64_t n_bytes) {
    uint64_t unit = n_bytes <= SMALL_CHUNK ? SMALL_CHUNK : LARGE_CHUNK;
    uint64_t chunk = (n_bytes + unit - 1) / unit * unit;
    if (chunk > all.next - all.low) {
        return 0;
    }
    uint64_t address = (all.next - chunk) / unit * unit;
    if (address < all.low) {
        return 0;
    }
    all.next = address;
    if (chunk > n_bytes) {
        put_back((range){address + n_bytes, chunk - n_bytes});
    }
    return address;
}

static uint64_t take(uint64_t n_bytes) {
    for (size_t i = 0; i < all.n_holes; i++) {
        range *hole = &all.holes[i];
        if (hole->n_bytes >= n_bytes) {
            uint64_t address = hole->address;
            hole->address += n_bytes;
            hole->n_bytes -= n_bytes;
            if (hole->n_bytes == 0) {
                remove_hole(i);
            }
            return address;
        }
    }
    return open_chunk(n_bytes);
}

uint64_t tide_vc_address_take(uint64_t n_bytes) {
    pthread_once(&once, reserve);
    if (n_bytes > all.high - all.low) {
        return 0;
    }
    pthread_mutex_lock(&lock);
    uint64_t address = take(n_bytes);
    pthread_mutex_unlock(&lock);
    return address;
}

void tide_vc_address_give_back(uint64_t address, uint64_t n_bytes) {
    tide_vc_known_forget(address, n_bytes);
    pthread_mutex_lock(&lock);
    put_back((range){address, n_bytes});
    pthread_mutex_unlock(&lock);
}
