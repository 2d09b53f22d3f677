#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise */
#include "programs/virtual_cuda/card/pinned.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/assert.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/process/host_failure.h"
#include "programs/virtual_cuda/process/inexact.h"
#include "programs/virtual_cuda/card/managed.h"
#include "programs/virtual_cuda/card/ranges.h"
#include "programs/virtual_cuda/api/status.h"

enum {
    NOWHERE = -2,              /* no place of managed memory */
    LEAST_GIVEN_BACK = 1 << 20 /* bytes; fewer are set to zero faster by the processor */
};

/* The kind of a range: mapped here, or registered. The owner of a managed range is its advice. */
typedef enum area_kind { REGISTERED, OURS, MANAGED } area_kind;

/* The lock guards it. */
static struct areas {
    tide_vc_ranges all;
    uint64_t managed_bytes; /* of the managed ones */
} areas;
TIDE_VC_LOCK(lock, NULL);

static int add(const void *address, size_t n_bytes, area_kind kind) {
    bool is_managed = kind == MANAGED;
    tide_vc_advice *advice = is_managed ? malloc(sizeof(*advice)) : NULL;
    if (advice != NULL) {
        *advice = (tide_vc_advice){.preferred = NOWHERE, .prefetched = NOWHERE};
    }
    pthread_mutex_lock(&lock);
    bool is_added =
        (advice != NULL || !is_managed) &&
        tide_vc_ranges_add(&areas.all, (tide_vc_range){.address = (uint64_t)(uintptr_t)address,
                                                       .n_bytes = n_bytes,
                                                       .owner = advice,
                                                       .kind = (int)kind});
    areas.managed_bytes += is_added && is_managed ? n_bytes : 0;
    pthread_mutex_unlock(&lock);
    if (!is_added) {
        free(advice);
        return tide_vc_host_failed("the list of page-locked memory");
    }
    return TIDE_VC_OK;
}

static bool find(const void *address, tide_vc_range *ret_area) {
    pthread_mutex_lock(&lock);
    bool found = tide_vc_ranges_find(&areas.all, (uint64_t)(uintptr_t)address, ret_area);
    pthread_mutex_unlock(&lock);
    return found;
}

bool tide_vc_is_pinned(const void *address) {
    tide_vc_range found;
    return find(address, &found) && found.kind != (int)MANAGED;
}

bool tide_vc_is_managed(const void *address) {
    tide_vc_range found;
    return find(address, &found) && found.kind == (int)MANAGED;
}

/* The whole pages among the bytes, if they are in memory that is mapped here and worth a call of
 * the system. */
static size_t pages_of(const void *address, size_t n_bytes, uintptr_t *ret_first) {
    tide_vc_range found;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)address + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)address + n_bytes) / page * page;
    *ret_first = begin;
    bool is_ours = n_bytes >= LEAST_GIVEN_BACK && find(address, &found) &&
                   found.kind == (int)OURS &&
                   n_bytes <= found.n_bytes - ((uintptr_t)address - found.address);
    return is_ours ? end - begin : 0;
}

void tide_vc_zero_host(void *address, size_t n_bytes) {
    uintptr_t first = 0;
    size_t n_inner = pages_of(address, n_bytes, &first);
    if (n_inner == 0 || madvise((void *)first, n_inner, MADV_DONTNEED) != 0) { /* such as locked */
        memset(address, 0, n_bytes);
        return;
    }
    size_t n_before = first - (uintptr_t)address;
    memset(address, 0, n_before);
    memset((void *)(first + n_inner), 0, n_bytes - n_before - n_inner);
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
    if (at == MAP_FAILED) { /* host memory: CUDA returns the same error as for the card's */
        (void)tide_vc_host_failed(is_managed ? "managed memory" : "page-locked memory");
        return TIDE_VC_MEMORY;
    }
    int status = add(at, n_bytes, is_managed ? MANAGED : OURS);
    if (status != TIDE_VC_OK) {
        (void)munmap(at, n_bytes);
        return status;
    }
    *ret_address = at;
    return TIDE_VC_OK;
}

static void end(const tide_vc_range *gone) {
    if (gone->kind != (int)REGISTERED) {
        (void)munmap((void *)(uintptr_t)gone->address, gone->n_bytes);
    }
    free(gone->owner);
}

/* The lock is held. */
static void count_out(const tide_vc_range *gone) {
    uint64_t n_bytes = gone->kind == (int)MANAGED ? gone->n_bytes : 0;
    TIDE_ASSERT(n_bytes <= areas.managed_bytes);
    areas.managed_bytes -= n_bytes;
}

static int release(void *address) {
    if (address == NULL) {
        return TIDE_VC_OK;
    }
    tide_vc_range gone;
    pthread_mutex_lock(&lock);
    bool is_gone = tide_vc_ranges_remove(&areas.all, (uint64_t)(uintptr_t)address, &gone);
    if (is_gone) {
        count_out(&gone);
    }
    pthread_mutex_unlock(&lock);
    if (!is_gone) {
        return TIDE_VC_INVALID_VALUE;
    }
    end(&gone);
    return TIDE_VC_OK;
}

/* ---- managed memory ---- */

bool tide_vc_managed_free(uint64_t address) {
    tide_vc_range gone;
    pthread_mutex_lock(&lock);
    bool is_gone = tide_vc_ranges_find(&areas.all, address, &gone) && gone.address == address &&
                   gone.kind == (int)MANAGED;
    if (is_gone) {
        (void)tide_vc_ranges_remove(&areas.all, address, NULL);
        count_out(&gone);
    }
    pthread_mutex_unlock(&lock);
    if (is_gone) {
        end(&gone);
    }
    return is_gone;
}

/* The advice of the allocation that holds the bytes; NULL if none does. The lock is held. */
static tide_vc_advice *advice_of(uint64_t address, size_t n_bytes) {
    tide_vc_range found;
    bool holds = n_bytes > 0 && tide_vc_ranges_find(&areas.all, address, &found) &&
                 found.kind == (int)MANAGED && n_bytes <= found.n_bytes - (address - found.address);
    TIDE_ASSERT(!holds || found.owner != NULL);
    return holds ? found.owner : NULL;
}

bool tide_vc_managed_find(uint64_t address, size_t n_bytes, tide_vc_advice *ret_advice) {
    pthread_mutex_lock(&lock);
    const tide_vc_advice *found = advice_of(address, n_bytes);
    if (found != NULL) {
        *ret_advice = *found;
    }
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

static void change_advice(tide_vc_advice *of, const tide_vc_advice_change *change) {
    enum { BITS = 64 };
    uint64_t bit = change->id >= -1 && change->id < BITS - 1 ? UINT64_C(1) << (change->id + 1) : 0;
    switch (change->kind) {
    case TIDE_VC_READ_MOSTLY:
        of->is_read_mostly = !change->is_unset;
        break;
    case TIDE_VC_PREFERRED:
        of->preferred = change->is_unset ? NOWHERE : change->id;
        break;
    case TIDE_VC_ACCESSED_BY:
        of->accessed_by = change->is_unset ? of->accessed_by & ~bit : of->accessed_by | bit;
        break;
    case TIDE_VC_PREFETCH:
        of->prefetched = change->id;
        break;
    }
}

bool tide_vc_managed_change(uint64_t address, size_t n_bytes, const tide_vc_advice_change *change) {
    pthread_mutex_lock(&lock);
    tide_vc_advice *found = advice_of(address, n_bytes);
    if (found != NULL) {
        change_advice(found, change);
    }
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

TIDE_VC_EXPORT int cudaHostAlloc(void **ret_address, size_t n_bytes, unsigned flags) {
    (void)flags;
    return tide_vc_fail(allocate(ret_address, n_bytes, false));
}

TIDE_VC_EXPORT int cudaMallocHost(void **ret_address, size_t n_bytes) {
    return tide_vc_fail(allocate(ret_address, n_bytes, false));
}

/* Rounded up to an eighth of a power of two, because each larger bound is a line of a file. */
static uint64_t rounded_up(uint64_t n_bytes) {
    uint64_t unit = 1;
    while (n_bytes / unit >= 16) {
        unit *= 2;
    }
    return (n_bytes + unit - 1) / unit * unit;
}

/* Pages of managed memory are where they were touched last. Which of them a kernel would touch is
 * unknown: at most all of them. */
static void report_managed(void) {
    pthread_mutex_lock(&lock);
    uint64_t n_bytes = areas.managed_bytes;
    pthread_mutex_unlock(&lock);
    tide_vc_inexact_bytes("cudaMallocManaged",
                          "managed memory counts as allocated, but is host memory here, and the "
                          "card is not charged for it",
                          rounded_up(n_bytes));
}

TIDE_VC_EXPORT int cudaMallocManaged(void **ret_address, size_t n_bytes, unsigned flags) {
    (void)flags;
    int status = allocate(ret_address, n_bytes, true);
    report_managed();
    return tide_vc_fail(status);
}

TIDE_VC_EXPORT int cudaFreeHost(void *address) {
    return tide_vc_fail(release(address));
}

TIDE_VC_EXPORT int cudaHostRegister(void *address, size_t n_bytes, unsigned flags) {
    (void)flags;
    if (address == NULL || n_bytes == 0) {
        return tide_vc_fail(TIDE_VC_INVALID_VALUE);
    }
    tide_vc_range there;
    if (find(address, &there)) {
        return tide_vc_fail(TIDE_VC_HOST_ALREADY);
    }
    return tide_vc_fail(add(address, n_bytes, REGISTERED));
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
