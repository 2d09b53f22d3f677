/* Memory pools: cudaMallocAsync and its relatives.
 *
 * A pool holds memory of the card and allocates blocks from it. NVIDIA documents when a pool frees
 * the memory above its release threshold (0 at first): when the host next waits for a stream, an
 * event or the device, or when the program trims the pool. It also documents that unused memory is
 * remapped if a request finds no room in one piece, so gaps cost nothing. Growth in pieces of 32
 * MiB is a guess. */
#include "programs/virtual_cuda/card/pools.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "programs/virtual_cuda/card/account.h"
#include "programs/virtual_cuda/card/blocks.h"
#include "programs/virtual_cuda/process/calls.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/process/host_failure.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/order/streams.h"

#define PIECE_BYTES (UINT64_C(32) << 20)
#define PAGE_BYTES (UINT64_C(2) << 20)
#define UNIT_BYTES UINT64_C(512) /* of addresses */

typedef struct pool {
    int device;
    uint64_t release_threshold;
    uint64_t max_bytes; /* UINT64_MAX: no limit */
    uint64_t used_bytes, used_high_bytes;
    uint64_t reserved_bytes, reserved_high_bytes;
    int reuse[3];      /* the attributes about reuse, as set by the program; they change no sizes */
    uint64_t peers;    /* bit d: the program let device d use the memory, by SetAccess */
    bool is_destroyed; /* it ends with its last block */
    struct pool *next; /* in the list of pools that the program made */
} pool;

/* The lock guards all but the atomic member. */
static struct pools {
    pool defaults[TIDE_VC_MAX_DEVICES];
    pool *current[TIDE_VC_MAX_DEVICES]; /* chosen by the program; NULL: the default */
    pool *made;                         /* a list, from malloc */
    atomic_bool may_shrink;             /* some pool holds unused memory above its threshold */
} pools;
TIDE_VC_LOCK(lock, tide_vc_calls_forget);

static pool *default_of(int device) {
    pool *of = &pools.defaults[device];
    if (of->max_bytes == 0) {
        *of = (pool){.device = device, .max_bytes = UINT64_MAX, .reuse = {1, 1, 1}};
    }
    return of;
}

static uint64_t whole(uint64_t n_bytes, uint64_t unit) {
    return (n_bytes + unit - 1) / unit * unit;
}

/* ---- the memory of a pool; the caller holds the lock ---- */

/* The device's default pool comes first, then those that the program made. */
static pool *next_of(const pool *of, int device) {
    return of == &pools.defaults[device] ? pools.made : of->next;
}

static uint64_t reserved_on(int device) {
    uint64_t n_bytes = 0;
    for (const pool *of = default_of(device); of != NULL; of = next_of(of, device)) {
        n_bytes += of->device == device ? of->reserved_bytes : 0;
    }
    return n_bytes;
}

static void record(const pool *of, tide_run_action action, uint64_t address, uint64_t n_bytes,
                   const void *stream) {
    tide_vc_call_add((tide_run_call){.address = address,
                                     .n_bytes = n_bytes,
                                     .stream = (uint64_t)(uintptr_t)stream,
                                     .reserved_bytes = reserved_on(of->device),
                                     .device = (uint32_t)of->device,
                                     .action = action});
}

/* Frees the memory beyond both the used bytes and keep_bytes. */
static void shrink(pool *of, uint64_t keep_bytes) {
    TIDE_ASSERT(of->used_bytes <= of->reserved_bytes);
    uint64_t least = keep_bytes > of->used_bytes ? keep_bytes : of->used_bytes;
    if (least >= of->reserved_bytes) {
        return;
    }
    least = whole(least, PIECE_BYTES);
    if (least < of->reserved_bytes) {
        uint64_t n_bytes = of->reserved_bytes - least;
        of->reserved_bytes = least;
        tide_vc_refund(of->device, n_bytes);
        record(of, TIDE_RUN_SHRINK, 0, n_bytes, NULL);
    }
}

static void shrink_all(int device, bool is_short) {
    for (pool *of = default_of(device); of != NULL; of = next_of(of, device)) {
        if (of->device == device) {
            shrink(of, is_short ? 0 : of->release_threshold);
        }
    }
}

static int charge(pool *of, uint64_t n_bytes) {
    if (n_bytes > of->max_bytes || of->reserved_bytes > of->max_bytes - n_bytes) {
        return TIDE_VC_MEMORY;
    }
    return tide_vc_charge(of->device, n_bytes);
}

/* Makes room for n_bytes more from the card, if necessary by freeing unused memory of other
 * pools. */
static int grow(pool *of, uint64_t n_bytes) {
    TIDE_ASSERT(of->used_bytes <= of->reserved_bytes);
    uint64_t unused = of->reserved_bytes - of->used_bytes;
    if (n_bytes <= unused) {
        return tide_vc_context(of->device);
    }
    uint64_t more = whole(n_bytes - unused, PIECE_BYTES);
    int status = charge(of, more);
    if (status == TIDE_VC_MEMORY) {
        uint64_t held = of->reserved_bytes;
        shrink_all(of->device, true);
        TIDE_ASSERT(held >= of->reserved_bytes && unused >= held - of->reserved_bytes);
        unused -= held - of->reserved_bytes;
        more = whole(n_bytes - unused, PAGE_BYTES);
        status = charge(of, more);
    }
    if (status != TIDE_VC_OK) {
        return status;
    }
    of->reserved_bytes += more;
    of->reserved_high_bytes =
        of->reserved_bytes > of->reserved_high_bytes ? of->reserved_bytes : of->reserved_high_bytes;
    record(of, TIDE_RUN_GROW, 0, more, NULL);
    return TIDE_VC_OK;
}

static void give_up(pool *of) {
    TIDE_ASSERT(of->is_destroyed && of->used_bytes == 0);
    pool **link = &pools.made;
    while (*link != NULL && *link != of) {
        link = &(*link)->next;
    }
    if (*link == of) {
        *link = of->next;
        tide_vc_refund(of->device, of->reserved_bytes);
        free(of);
    }
}

static void put_back(pool *of, uint64_t n_bytes) {
    TIDE_ASSERT(of->used_bytes >= n_bytes);
    of->used_bytes -= n_bytes;
    if (of->is_destroyed && of->used_bytes == 0) {
        give_up(of);
    } else if (of->reserved_bytes > of->release_threshold) {
        atomic_store(&pools.may_shrink, true);
    }
}

/* ---- blocks ---- */

static int reserve(pool *of, uint64_t n_bytes, const void *stream) {
    pthread_mutex_lock(&lock);
    int status = grow(of, n_bytes);
    if (status == TIDE_VC_OK) {
        of->used_bytes += n_bytes;
        TIDE_ASSERT(of->used_bytes <= of->reserved_bytes);
        of->used_high_bytes =
            of->used_bytes > of->used_high_bytes ? of->used_bytes : of->used_high_bytes;
    } else {
        record(of, TIDE_RUN_OOM, 0, n_bytes, stream);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static int allocate(uint64_t *ret_address, size_t asked, pool *of, const void *stream) {
    tide_vc_inexact(
        "cudaMallocAsync",
        "what a pool holds is a model: it grows by 32 MiB, which is a guess, and has no "
        "gaps, as NVIDIA documents; a driver may hold more");
    if (tide_vc_is_capturing()) {
        tide_vc_inexact("cudaMallocAsync in a capture",
                        "memory of a graph is taken when it is captured, not when it is launched");
    }
    *ret_address = 0;
    if (asked == 0) {
        return TIDE_VC_OK;
    }
    if (asked > UINT64_MAX / 2) {
        return TIDE_VC_MEMORY;
    }
    uint64_t n_bytes = whole(asked, UNIT_BYTES);
    int status = reserve(of, n_bytes, stream);
    if (status != TIDE_VC_OK) {
        return status;
    }
    status = tide_vc_block_place(of->device, n_bytes, of, ret_address);
    pthread_mutex_lock(&lock);
    if (status == TIDE_VC_OK) {
        record(of, TIDE_RUN_ALLOC, *ret_address, n_bytes, stream);
    } else {
        put_back(of, n_bytes);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int tide_vc_pool_free(uint64_t address, const void *stream) {
    tide_vc_block block;
    if (!tide_vc_block_take_out(address, TIDE_VC_POOLED, &block)) {
        return TIDE_VC_INVALID_VALUE;
    }
    TIDE_ASSERT(block.pool != NULL);
    pthread_mutex_lock(&lock);
    record(block.pool, TIDE_RUN_FREE, address, block.n_bytes, stream);
    put_back(block.pool, block.n_bytes);
    pthread_mutex_unlock(&lock);
    tide_vc_block_end(&block);
    return TIDE_VC_OK;
}

void tide_vc_pools_waited(void) {
    if (!atomic_load_explicit(&pools.may_shrink, memory_order_relaxed)) {
        return;
    }
    pthread_mutex_lock(&lock);
    atomic_store(&pools.may_shrink, false);
    for (int device = 0; device < tide_vc_n_devices(); device++) {
        shrink_all(device, false);
    }
    pthread_mutex_unlock(&lock);
}

bool tide_vc_pools_trim(int device) {
    pthread_mutex_lock(&lock);
    uint64_t before = reserved_on(device);
    shrink_all(device, true);
    uint64_t after = reserved_on(device);
    pthread_mutex_unlock(&lock);
    return after < before;
}

/* The pool of a stream's device. */
static pool *pool_of(const void *stream) {
    int device = tide_vc_stream_device(stream);
    pthread_mutex_lock(&lock);
    pool *of = pools.current[device] != NULL ? pools.current[device] : default_of(device);
    pthread_mutex_unlock(&lock);
    return of;
}

static int free_async(uint64_t address, const void *stream) {
    int status = tide_vc_pool_free(address, stream);
    return status == TIDE_VC_INVALID_VALUE ? tide_vc_block_release(address) : status;
}

TIDE_VC_EXPORT int cudaMallocAsync(void **ret_address, size_t n_bytes, void *stream) {
    uint64_t address = 0;
    int status = allocate(&address, n_bytes, pool_of(stream), stream);
    *ret_address = (void *)(uintptr_t)address;
    return tide_vc_fail(status);
}

TIDE_VC_EXPORT int cudaMallocFromPoolAsync(void **ret_address, size_t n_bytes, void *from,
                                           void *stream) {
    uint64_t address = 0;
    int status = from != NULL ? allocate(&address, n_bytes, from, stream) : TIDE_VC_INVALID_VALUE;
    *ret_address = (void *)(uintptr_t)address;
    return tide_vc_fail(status);
}

TIDE_VC_EXPORT int cudaFreeAsync(void *address, void *stream) {
    return tide_vc_fail(free_async((uint64_t)(uintptr_t)address, stream));
}

TIDE_VC_EXPORT int cuMemAllocAsync(uint64_t *ret_address, size_t n_bytes, void *stream) {
    return allocate(ret_address, n_bytes, pool_of(stream), stream);
}

TIDE_VC_EXPORT int cuMemFreeAsync(uint64_t address, void *stream) {
    return free_async(address, stream);
}

/* ---- pools ---- */

static bool is_device_number(int device) {
    return device >= 0 && device < tide_vc_n_devices();
}

TIDE_VC_EXPORT int cudaDeviceGetDefaultMemPool(void **ret_pool, int device) {
    if (!is_device_number(device)) {
        return tide_vc_fail(TIDE_VC_INVALID_DEVICE);
    }
    pthread_mutex_lock(&lock);
    *ret_pool = default_of(device);
    pthread_mutex_unlock(&lock);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaDeviceGetMemPool(void **ret_pool, int device) {
    if (!is_device_number(device)) {
        return tide_vc_fail(TIDE_VC_INVALID_DEVICE);
    }
    pthread_mutex_lock(&lock);
    *ret_pool = pools.current[device] != NULL ? pools.current[device] : default_of(device);
    pthread_mutex_unlock(&lock);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaDeviceSetMemPool(int device, void *of) {
    if (!is_device_number(device) || of == NULL || ((const pool *)of)->device != device) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    pthread_mutex_lock(&lock);
    pools.current[device] = of;
    pthread_mutex_unlock(&lock);
    return TIDE_VC_OK;
}

/* cudaMemPoolProps, only the fields that are read. */
typedef struct pool_properties {
    int allocation_type, handle_types, location_type, location;
    void *security;
    size_t max_bytes; /* 0: no limit */
} pool_properties;

enum { ON_DEVICE = 1 }; /* cudaMemLocationTypeDevice */

TIDE_VC_EXPORT int cudaMemPoolCreate(void **ret_pool, const pool_properties *properties) {
    if (properties->location_type != ON_DEVICE) {
        tide_vc_refused("cudaMemPoolCreate", "pools of host or managed memory are not simulated");
        return tide_vc_fail(TIDE_VC_NOT_SUPPORTED);
    }
    if (!is_device_number(properties->location)) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    pool *of = malloc(sizeof(*of));
    if (of == NULL) {
        return tide_vc_fail(tide_vc_host_failed("a pool"));
    }
    pthread_mutex_lock(&lock);
    *of = (pool){.device = properties->location,
                 .max_bytes = properties->max_bytes != 0 ? properties->max_bytes : UINT64_MAX,
                 .reuse = {1, 1, 1},
                 .next = pools.made};
    pools.made = of;
    pthread_mutex_unlock(&lock);
    *ret_pool = of;
    return TIDE_VC_OK;
}

/* Its blocks stay valid; the pool ends with the last of them. A device that used it returns to its
 * default pool. */
TIDE_VC_EXPORT int cudaMemPoolDestroy(void *which) {
    pool *of = which;
    if (of == NULL || of == &pools.defaults[of->device]) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    pthread_mutex_lock(&lock);
    pools.current[of->device] = pools.current[of->device] == of ? NULL : pools.current[of->device];
    of->is_destroyed = true;
    if (of->used_bytes == 0) {
        give_up(of);
    }
    pthread_mutex_unlock(&lock);
    return TIDE_VC_OK;
}

TIDE_VC_EXPORT int cudaMemPoolTrimTo(void *of, size_t n_bytes) {
    if (of == NULL) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    pthread_mutex_lock(&lock);
    shrink(of, n_bytes);
    pthread_mutex_unlock(&lock);
    return TIDE_VC_OK;
}

/* cudaMemAccessDesc. */
typedef struct pool_access {
    int location_type, location;
    int flags; /* 0: none, 3: reading and writing */
} pool_access;
enum { READ_WRITE = 3 };

TIDE_VC_EXPORT int cudaMemPoolSetAccess(void *which, const pool_access *access, size_t n) {
    pool *of = which;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n; i++) {
        if (access[i].location_type == ON_DEVICE && is_device_number(access[i].location)) {
            uint64_t bit = UINT64_C(1) << access[i].location;
            of->peers = access[i].flags != 0 ? of->peers | bit : of->peers & ~bit;
        }
    }
    pthread_mutex_unlock(&lock);
    return TIDE_VC_OK;
}

/* `where`: cudaMemLocation, its type and its number. The pool's own device always has access. */
TIDE_VC_EXPORT int cudaMemPoolGetAccess(int *ret_flags, void *which, const int *where) {
    const pool *of = which;
    if (where[0] != ON_DEVICE || !is_device_number(where[1])) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    pthread_mutex_lock(&lock);
    bool has = where[1] == of->device || (of->peers >> where[1] & 1) != 0;
    pthread_mutex_unlock(&lock);
    *ret_flags = has ? READ_WRITE : 0;
    return TIDE_VC_OK;
}

/* cudaMemPoolAttr: the first three are int, the others uint64_t. */
enum {
    LAST_INT = 3,
    RELEASE_THRESHOLD = 4,
    RESERVED_CURRENT = 5,
    RESERVED_HIGH = 6,
    USED_CURRENT = 7,
    USED_HIGH = 8
};

static uint64_t *counter_of(pool *of, int attribute) {
    return attribute == RELEASE_THRESHOLD  ? &of->release_threshold
           : attribute == RESERVED_CURRENT ? &of->reserved_bytes
           : attribute == RESERVED_HIGH    ? &of->reserved_high_bytes
           : attribute == USED_CURRENT     ? &of->used_bytes
           : attribute == USED_HIGH        ? &of->used_high_bytes
                                           : NULL;
}

/* Reads or writes an attribute. The high-water marks can only be set to 0, which restarts them. */
static int attribute_of(pool *of, int attribute, void *value, bool is_set) {
    uint64_t wanted = 0;
    if (of == NULL || value == NULL || attribute < 1) {
        return TIDE_VC_INVALID_VALUE;
    }
    if (attribute <= LAST_INT) {
        int *own = &of->reuse[attribute - 1];
        memcpy(is_set ? (void *)own : value, is_set ? value : (void *)own, sizeof(*own));
        return TIDE_VC_OK;
    }
    uint64_t *own = counter_of(of, attribute);
    if (own == NULL) {
        return TIDE_VC_INVALID_VALUE;
    }
    if (!is_set) {
        memcpy(value, own, sizeof(*own));
        return TIDE_VC_OK;
    }
    memcpy(&wanted, value, sizeof(wanted));
    if (attribute == RELEASE_THRESHOLD) {
        *own = wanted;
    } else if ((attribute == RESERVED_HIGH || attribute == USED_HIGH) && wanted == 0) {
        *own = attribute == USED_HIGH ? of->used_bytes : of->reserved_bytes;
    } else {
        return TIDE_VC_INVALID_VALUE;
    }
    return TIDE_VC_OK;
}

static int locked_attribute(void *of, int attribute, void *value, bool is_set) {
    pthread_mutex_lock(&lock);
    int status = attribute_of(of, attribute, value, is_set);
    pthread_mutex_unlock(&lock);
    return tide_vc_fail(status);
}

TIDE_VC_EXPORT int cudaMemPoolSetAttribute(void *of, int attribute, void *value) {
    return locked_attribute(of, attribute, value, true);
}

TIDE_VC_EXPORT int cudaMemPoolGetAttribute(void *of, int attribute, void *ret_value) {
    return locked_attribute(of, attribute, ret_value, false);
}
