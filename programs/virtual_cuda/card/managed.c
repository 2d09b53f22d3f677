/* Prefetches of managed memory, and advice on where it should be. Managed memory is host memory
 * here (pinned.c), so nothing moves and nothing is allocated. The last request is remembered for
 * the whole allocation and returned to queries. */
#include "programs/virtual_cuda/card/managed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/card/machine.h"
#include "programs/virtual_cuda/card/pinned.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/order/streams.h"

/* cudaMemLocation. It has 8 bytes, so it travels in one register. */
typedef struct place {
    int type, id;
} place;

_Static_assert(sizeof(place) == sizeof(uint64_t), "as CUDA passes it");

/* cudaMemLocationType; a device number or cudaCpuDeviceId of older functions. */
enum { ON_DEVICE = 1, ON_HOST = 2, ON_HOST_NODE = 3, ON_CURRENT_NODE = 4, HOST_ID = -1 };

/* The number of a place in older functions; false if there is no such place. */
static bool read_place(place at, int *ret_id) {
    bool is_host = at.type >= ON_HOST && at.type <= ON_CURRENT_NODE;
    *ret_id = is_host ? HOST_ID : at.id;
    return is_host || (at.type == ON_DEVICE && at.id >= 0 && at.id < tide_vc_n_devices());
}

static bool is_place(int id) {
    return id >= HOST_ID && id < tide_vc_n_devices();
}

static int prefetch(uint64_t address, size_t n_bytes, int id, void *stream) {
    const tide_vc_advice_change change = {.kind = TIDE_VC_PREFETCH, .id = id};
    if (!is_place(id) || !tide_vc_managed_change(address, n_bytes, &change)) {
        return TIDE_VC_INVALID_VALUE;
    }
    tide_vc_stream_work(stream);
    return TIDE_VC_OK;
}

/* cudaMemoryAdvise: each "set" is followed by its "unset". */
static int advise(uint64_t address, size_t n_bytes, int advice, int id) {
    const tide_vc_advice_change change = {
        .kind = (tide_vc_advice_kind)((advice - 1) / 2), .is_unset = advice % 2 == 0, .id = id};
    if (advice < 1 || advice > 6 || (change.kind == TIDE_VC_ACCESSED_BY && !is_place(id)) ||
        (change.kind == TIDE_VC_PREFERRED && !change.is_unset && !is_place(id)) ||
        !tide_vc_managed_change(address, n_bytes, &change)) {
        return TIDE_VC_INVALID_VALUE;
    }
    return TIDE_VC_OK;
}

/* CUmem_range_attribute. */
enum {
    READ_MOSTLY = 1,
    PREFERRED = 2,
    ACCESSED_BY = 3,
    LAST_PREFETCH = 4,
    PREFERRED_TYPE = 5,
    PREFERRED_ID = 6,
    PREFETCH_TYPE = 7,
    PREFETCH_ID = 8,
    NOWHERE = -2 /* cudaInvalidDeviceId */
};

static int type_of(int id) {
    return id >= 0 ? ON_DEVICE : id == HOST_ID ? ON_HOST : 0;
}

/* The devices that access it, then "nowhere" in the remaining room. */
static void give_accessors(uint64_t devices, int *ret, size_t n_room) {
    size_t n = 0;
    for (int device = HOST_ID; device < TIDE_VC_MAX_DEVICES - 1 && n < n_room; device++) {
        if ((devices >> (device + 1) & 1) != 0) {
            ret[n++] = device;
        }
    }
    while (n < n_room) {
        ret[n++] = NOWHERE;
    }
}

static int range_attribute(void *ret, size_t n_ret, int attribute, uint64_t address,
                           size_t n_bytes) {
    tide_vc_advice advice;
    if (ret == NULL || n_ret < sizeof(int) || n_ret % sizeof(int) != 0 ||
        !tide_vc_managed_find(address, n_bytes, &advice)) {
        return TIDE_VC_INVALID_VALUE;
    }
    switch (attribute) {
    case READ_MOSTLY:
        *(int *)ret = advice.is_read_mostly;
        return TIDE_VC_OK;
    case ACCESSED_BY:
        give_accessors(advice.accessed_by, ret, n_ret / sizeof(int));
        return TIDE_VC_OK;
    case PREFERRED:
    case PREFERRED_ID:
        *(int *)ret = advice.preferred;
        return TIDE_VC_OK;
    case LAST_PREFETCH:
    case PREFETCH_ID:
        *(int *)ret = advice.prefetched;
        return TIDE_VC_OK;
    case PREFERRED_TYPE:
        *(int *)ret = type_of(advice.preferred);
        return TIDE_VC_OK;
    case PREFETCH_TYPE:
        *(int *)ret = type_of(advice.prefetched);
        return TIDE_VC_OK;
    default:
        return TIDE_VC_INVALID_VALUE;
    }
}

static int range_attributes(void **ret, const size_t *n_ret, const int *attributes, size_t n,
                            uint64_t address, size_t n_bytes) {
    int status =
        ret != NULL && n_ret != NULL && attributes != NULL ? TIDE_VC_OK : TIDE_VC_INVALID_VALUE;
    for (size_t i = 0; i < n && status == TIDE_VC_OK; i++) {
        status = range_attribute(ret[i], n_ret[i], attributes[i], address, n_bytes);
    }
    return status;
}

/* ---- the runtime ---- */

static uint64_t number_of(const void *address) {
    return (uint64_t)(uintptr_t)address;
}

TIDE_VC_EXPORT int cudaMemPrefetchAsync_v2(const void *address, size_t n_bytes, place at,
                                           unsigned flags, void *stream) {
    int id = 0;
    return tide_vc_fail(flags == 0 && read_place(at, &id)
                            ? prefetch(number_of(address), n_bytes, id, stream)
                            : TIDE_VC_INVALID_VALUE);
}

/* CUDA 13 passes a place and flags; CUDA 11 and 12 pass a device, in place of the type, then the
 * stream.
 */
TIDE_VC_EXPORT int cudaMemPrefetchAsync(const void *address, size_t n_bytes, place at,
                                        uint64_t flags_or_stream, void *stream) {
    return tide_vc_runtime_major() >= 13
               ? cudaMemPrefetchAsync_v2(address, n_bytes, at, (unsigned)flags_or_stream, stream)
               : tide_vc_fail(prefetch(number_of(address), n_bytes, at.type,
                                       (void *)(uintptr_t)flags_or_stream));
}

TIDE_VC_EXPORT int cudaMemAdvise_v2(const void *address, size_t n_bytes, int advice, place at) {
    int id = HOST_ID;
    bool is_known = read_place(at, &id);
    return tide_vc_fail(advise(number_of(address), n_bytes, advice, is_known ? id : NOWHERE));
}

/* CUDA 13 passes a place, CUDA 11 and 12 a device. */
TIDE_VC_EXPORT int cudaMemAdvise(const void *address, size_t n_bytes, int advice, place at) {
    return tide_vc_runtime_major() >= 13
               ? cudaMemAdvise_v2(address, n_bytes, advice, at)
               : tide_vc_fail(advise(number_of(address), n_bytes, advice, at.type));
}

TIDE_VC_EXPORT int cudaMemRangeGetAttribute(void *ret, size_t n_ret, int attribute,
                                            const void *address, size_t n_bytes) {
    return tide_vc_fail(range_attribute(ret, n_ret, attribute, number_of(address), n_bytes));
}

TIDE_VC_EXPORT int cudaMemRangeGetAttributes(void **ret, size_t *n_ret, int *attributes, size_t n,
                                             const void *address, size_t n_bytes) {
    return tide_vc_fail(range_attributes(ret, n_ret, attributes, n, number_of(address), n_bytes));
}

/* No effect: kernels do not run. */
TIDE_VC_EXPORT int cudaStreamAttachMemAsync(void *stream, void *address, size_t n_bytes,
                                            unsigned flags) {
    (void)stream;
    (void)n_bytes;
    (void)flags;
    return tide_vc_fail(tide_vc_is_managed(address) ? TIDE_VC_OK : TIDE_VC_INVALID_VALUE);
}

/* ---- the driver ---- */

TIDE_VC_EXPORT int cuMemPrefetchAsync(uint64_t address, size_t n_bytes, int device, void *stream) {
    return prefetch(address, n_bytes, device, stream);
}

TIDE_VC_EXPORT int cuMemPrefetchAsync_v2(uint64_t address, size_t n_bytes, place at, unsigned flags,
                                         void *stream) {
    int id = 0;
    return flags == 0 && read_place(at, &id) ? prefetch(address, n_bytes, id, stream)
                                             : TIDE_VC_INVALID_VALUE;
}

TIDE_VC_EXPORT int cuMemAdvise(uint64_t address, size_t n_bytes, int advice, int device) {
    return advise(address, n_bytes, advice, device);
}

TIDE_VC_EXPORT int cuMemAdvise_v2(uint64_t address, size_t n_bytes, int advice, place at) {
    int id = HOST_ID;
    bool is_known = read_place(at, &id);
    return advise(address, n_bytes, advice, is_known ? id : NOWHERE);
}

TIDE_VC_EXPORT int cuMemRangeGetAttribute(void *ret, size_t n_ret, int attribute, uint64_t address,
                                          size_t n_bytes) {
    return range_attribute(ret, n_ret, attribute, address, n_bytes);
}

TIDE_VC_EXPORT int cuMemRangeGetAttributes(void **ret, size_t *n_ret, int *attributes, size_t n,
                                           uint64_t address, size_t n_bytes) {
    return range_attributes(ret, n_ret, attributes, n, address, n_bytes);
}

TIDE_VC_EXPORT int cuStreamAttachMemAsync(void *stream, uint64_t address, size_t n_bytes,
                                          unsigned flags) {
    (void)stream;
    (void)n_bytes;
    (void)flags;
    return tide_vc_is_managed((const void *)(uintptr_t)address) ? TIDE_VC_OK
                                                                : TIDE_VC_INVALID_VALUE;
}
