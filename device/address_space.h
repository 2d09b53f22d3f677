/* address_space.h - allocates ranges of addresses: the lowest that fits, in granules of 2 MiB.
 *
 * The cpu and virtual devices share it, so both return the same addresses for the same calls. It
 * counts bytes in use against a capacity, in whole granules: all of a taken range, and the mapped
 * part of a reserved range. Not thread-safe: the device locks.
 */
#ifndef TIDE_DEVICE_ADDRESS_SPACE_H
#define TIDE_DEVICE_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_address_range {
    uint64_t address;      /* a multiple of the granule */
    uint64_t n_bytes;      /* a multiple of the granule */
    uint64_t mapped_bytes; /* reserved: bytes backed by memory; taken: all n_bytes */
    bool is_reserved;      /* by tide_address_space_reserve; false: taken */
} tide_address_range;

typedef struct tide_address_space {
    const tide_hostmem *mem;    /* borrowed; outlives the space */
    tide_address_range *ranges; /* owned; taken or reserved, sorted by address, without overlap */
    size_t n_ranges;
    size_t capacity;         /* of ranges */
    uint64_t extent_bytes;   /* addresses end this far above TIDE_DEVICE_BASE_ADDRESS */
    uint64_t capacity_bytes; /* limit of bytes in use; UINT64_MAX: unlimited */
    uint64_t used_bytes;     /* sum of mapped_bytes of all ranges */
} tide_address_space;

/* capacity_bytes UINT64_MAX: unlimited. Addresses reach eight times the capacity, at least 64 GiB,
 * so that holes between segments do not run out before the capacity does. */
void tide_address_space_init(tide_address_space *space, const tide_hostmem *mem,
                             uint64_t capacity_bytes);
void tide_address_space_fini(tide_address_space *space);

/* n_bytes > 0. TIDE_DEVICE_OOM when the capacity or the addresses are exhausted. */
TIDE_NODISCARD tide_status tide_address_space_take(tide_address_space *space, uint64_t n_bytes,
                                                   uint64_t *ret_address, tide_error *error);

/* The length of the taken range that starts at `address`; 0 if no range does. */
uint64_t tide_address_space_find(const tide_address_space *space, uint64_t address);

/* TIDE_INVALID for an address at which no taken range starts. */
TIDE_NODISCARD tide_status tide_address_space_give_back(tide_address_space *space, uint64_t address,
                                                        tide_error *error);

/* Reserves only addresses, by the same rule; they do not count against the capacity. */
TIDE_NODISCARD tide_status tide_address_space_reserve(tide_address_space *space, uint64_t n_bytes,
                                                      uint64_t *ret_address, tide_error *error);
/* TIDE_INVALID for an address at which no reserved range starts, or for a range that still has
 * memory mapped. */
TIDE_NODISCARD tide_status tide_address_space_unreserve(tide_address_space *space, uint64_t address,
                                                        tide_error *error);
/* Counts n_bytes of a reserved range, a multiple of the granule, against the capacity from now on;
 * TIDE_DEVICE_OOM beyond it. TIDE_INVALID for bytes outside a single reserved range. The caller
 * keeps track of which bytes are mapped; this only counts them. */
TIDE_NODISCARD tide_status tide_address_space_map(tide_address_space *space, uint64_t address,
                                                  uint64_t n_bytes, tide_error *error);
/* The opposite; TIDE_INVALID as above, or if fewer bytes are mapped. */
TIDE_NODISCARD tide_status tide_address_space_unmap(tide_address_space *space, uint64_t address,
                                                    uint64_t n_bytes, tide_error *error);

/* UINT64_MAX when unlimited. */
uint64_t tide_address_space_free_bytes(const tide_address_space *space);

#ifdef __cplusplus
}
#endif

#endif
