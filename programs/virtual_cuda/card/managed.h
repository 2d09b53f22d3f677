/* managed.h - the program's advice about managed memory, and the last place it prefetched it to.
 * Both are kept with the allocation (pinned.c) and hold for all of it. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_MANAGED_H
#define TIDE_VIRTUAL_CUDA_MANAGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Places are device numbers, -1 for the host, -2 for none. */
typedef struct tide_vc_advice {
    bool is_read_mostly;
    int preferred, prefetched;
    uint64_t accessed_by; /* bit 0: the host, bit n + 1: device n */
} tide_vc_advice;

/* The first three are in the order of cudaMemoryAdvise. */
typedef enum tide_vc_advice_kind {
    TIDE_VC_READ_MOSTLY = 0,
    TIDE_VC_PREFERRED,
    TIDE_VC_ACCESSED_BY,
    TIDE_VC_PREFETCH
} tide_vc_advice_kind;

typedef struct tide_vc_advice_change {
    tide_vc_advice_kind kind;
    bool is_unset;
    int id; /* the place: a device or the host */
} tide_vc_advice_change;

/* False unless the n_bytes, above 0, are within one allocation of managed memory. */
bool tide_vc_managed_change(uint64_t address, size_t n_bytes, const tide_vc_advice_change *change);
/* Frees the allocation of managed memory that begins at the address; false if none does. */
bool tide_vc_managed_free(uint64_t address);

bool tide_vc_managed_find(uint64_t address, size_t n_bytes, tide_vc_advice *ret_advice);

#endif
