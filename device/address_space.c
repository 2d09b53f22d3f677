/* address_space.c - ranges in one array by address. Devices hold few ranges, so moving the entries
 * after a change is cheaper than a tree. */
#include "device/address_space.h"

#include <inttypes.h>
#include <string.h>

#include "common/text/bytes.h"
#include "device/device.h"

/* Addresses stay below 2^53, to survive a reader that stores numbers as doubles. */
#define LAST_ADDRESS (UINT64_C(1) << 53)
#define LARGEST_EXTENT (LAST_ADDRESS - TIDE_DEVICE_BASE_ADDRESS)
#define SMALLEST_EXTENT (UINT64_C(64) << 30)

static uint64_t extent_of(uint64_t capacity_bytes) {
    if (capacity_bytes > LARGEST_EXTENT / 8) {
        return LARGEST_EXTENT;
    }
    uint64_t extent_bytes = capacity_bytes * 8;
    extent_bytes +=
        (TIDE_DEVICE_GRANULE - extent_bytes % TIDE_DEVICE_GRANULE) % TIDE_DEVICE_GRANULE;
    return extent_bytes < SMALLEST_EXTENT ? SMALLEST_EXTENT : extent_bytes;
}

void tide_address_space_init(tide_address_space *space, const tide_hostmem *mem,
                             uint64_t capacity_bytes) {
    *space = (tide_address_space){
        .mem = mem, .extent_bytes = extent_of(capacity_bytes), .capacity_bytes = capacity_bytes};
}

void tide_address_space_fini(tide_address_space *space) {
    if (space->mem != NULL) {
        space->mem->release(space->mem->ctx, space->ranges);
    }
    *space = (tide_address_space){.mem = space->mem};
}

uint64_t tide_address_space_free_bytes(const tide_address_space *space) {
    return space->capacity_bytes == UINT64_MAX ? UINT64_MAX
                                               : space->capacity_bytes - space->used_bytes;
}

static tide_status no_addresses(uint64_t n_bytes, tide_error *error) {
    char asked[TIDE_BYTES_TEXT];
    return tide_fail(error, TIDE_DEVICE_OOM, "no free range of addresses for %s",
                     tide_bytes_format(n_bytes > INT64_MAX ? -1 : (int64_t)n_bytes, asked));
}

static tide_status no_room(const tide_address_space *space, uint64_t n_bytes, tide_error *error) {
    char asked[TIDE_BYTES_TEXT];
    char unused[TIDE_BYTES_TEXT];
    char capacity[TIDE_BYTES_TEXT];
    uint64_t free_bytes = tide_address_space_free_bytes(space);
    if (free_bytes == UINT64_MAX || n_bytes <= free_bytes) {
        return no_addresses(n_bytes, error);
    }
    return tide_fail(error, TIDE_DEVICE_OOM, "no room for %s: %s of %s are free",
                     tide_bytes_format(n_bytes > INT64_MAX ? -1 : (int64_t)n_bytes, asked),
                     tide_bytes_format((int64_t)free_bytes, unused),
                     tide_bytes_format((int64_t)space->capacity_bytes, capacity));
}

static uint64_t rounded(uint64_t n_bytes) {
    return (n_bytes + TIDE_DEVICE_GRANULE - 1) / TIDE_DEVICE_GRANULE * TIDE_DEVICE_GRANULE;
}

/* Enters a range at the lowest free place for its n_bytes, a multiple of the granule. */
static tide_status place(tide_address_space *space, tide_address_range range, uint64_t *ret_address,
                         tide_error *error) {
    uint64_t address = TIDE_DEVICE_BASE_ADDRESS;
    size_t at = 0;
    /* First fit: the gap before each range in turn, then the space after the last one. */
    while (at < space->n_ranges && space->ranges[at].address - address < range.n_bytes) {
        address = space->ranges[at].address + space->ranges[at].n_bytes;
        at++;
    }
    if (address + range.n_bytes > TIDE_DEVICE_BASE_ADDRESS + space->extent_bytes) {
        return no_addresses(range.n_bytes, error);
    }
    tide_address_range *ranges = tide_hostmem_grow(space->mem, space->ranges, &space->capacity,
                                                   space->n_ranges + 1, sizeof(*ranges));
    if (ranges == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the table of %zu segments",
                         space->n_ranges + 1);
    }
    space->ranges = ranges;
    memmove(&ranges[at + 1], &ranges[at], (space->n_ranges - at) * sizeof(*ranges));
    range.address = address;
    ranges[at] = range;
    space->n_ranges++;
    space->used_bytes += range.mapped_bytes;
    *ret_address = address;
    return TIDE_OK;
}

tide_status tide_address_space_take(tide_address_space *space, uint64_t n_bytes,
                                    uint64_t *ret_address, tide_error *error) {
    if (n_bytes > LARGEST_EXTENT) {
        return no_room(space, n_bytes, error);
    }
    uint64_t n_rounded = rounded(n_bytes);
    if (n_rounded > tide_address_space_free_bytes(space)) {
        return no_room(space, n_rounded, error);
    }
    return place(space, (tide_address_range){.n_bytes = n_rounded, .mapped_bytes = n_rounded},
                 ret_address, error);
}

tide_status tide_address_space_reserve(tide_address_space *space, uint64_t n_bytes,
                                       uint64_t *ret_address, tide_error *error) {
    if (n_bytes > LARGEST_EXTENT) {
        return no_addresses(n_bytes, error);
    }
    return place(space, (tide_address_range){.n_bytes = rounded(n_bytes), .is_reserved = true},
                 ret_address, error);
}

/* The index of the first range at or above `address`. */
static size_t index_of(const tide_address_space *space, uint64_t address) {
    size_t low = 0;
    size_t high = space->n_ranges;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (space->ranges[middle].address < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint64_t tide_address_space_find(const tide_address_space *space, uint64_t address) {
    size_t at = index_of(space, address);
    return at < space->n_ranges && space->ranges[at].address == address &&
                   !space->ranges[at].is_reserved
               ? space->ranges[at].n_bytes
               : 0;
}

static void forget(tide_address_space *space, size_t at) {
    space->used_bytes -= space->ranges[at].mapped_bytes;
    space->n_ranges--;
    memmove(&space->ranges[at], &space->ranges[at + 1],
            (space->n_ranges - at) * sizeof(*space->ranges));
}

tide_status tide_address_space_give_back(tide_address_space *space, uint64_t address,
                                         tide_error *error) {
    size_t at = index_of(space, address);
    if (tide_address_space_find(space, address) == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "0x%" PRIx64 " is not the address of a live segment of this device",
                         address);
    }
    forget(space, at);
    return TIDE_OK;
}

tide_status tide_address_space_unreserve(tide_address_space *space, uint64_t address,
                                         tide_error *error) {
    size_t at = index_of(space, address);
    if (at == space->n_ranges || space->ranges[at].address != address ||
        !space->ranges[at].is_reserved) {
        return tide_fail(error, TIDE_INVALID,
                         "0x%" PRIx64 " is not where reserved addresses of this device begin",
                         address);
    }
    if (space->ranges[at].mapped_bytes > 0) {
        return tide_fail(error, TIDE_INVALID,
                         "the addresses from 0x%" PRIx64 " on still have %" PRIu64
                         " bytes of memory mapped",
                         address, space->ranges[at].mapped_bytes);
    }
    forget(space, at);
    return TIDE_OK;
}

/* The reserved range that contains all these bytes; NULL if none does. */
static tide_address_range *reserved_around(const tide_address_space *space, uint64_t address,
                                           uint64_t n_bytes) {
    size_t at = index_of(space, address);
    if (at == space->n_ranges || space->ranges[at].address != address) {
        if (at == 0) {
            return NULL;
        }
        at--;
    }
    tide_address_range *range = &space->ranges[at];
    uint64_t offset = address - range->address;
    return range->is_reserved && offset < range->n_bytes && n_bytes <= range->n_bytes - offset
               ? range
               : NULL;
}

static tide_status not_reserved(uint64_t address, uint64_t n_bytes, tide_error *error) {
    return tide_fail(error, TIDE_INVALID,
                     "the %" PRIu64 " bytes at 0x%" PRIx64
                     " are not whole granules of one reserved range",
                     n_bytes, address);
}

tide_status tide_address_space_map(tide_address_space *space, uint64_t address, uint64_t n_bytes,
                                   tide_error *error) {
    tide_address_range *range = reserved_around(space, address, n_bytes);
    if (range == NULL || (address | n_bytes) % TIDE_DEVICE_GRANULE != 0 ||
        n_bytes > range->n_bytes - range->mapped_bytes) {
        return not_reserved(address, n_bytes, error);
    }
    if (n_bytes > tide_address_space_free_bytes(space)) {
        return no_room(space, n_bytes, error);
    }
    range->mapped_bytes += n_bytes;
    space->used_bytes += n_bytes;
    return TIDE_OK;
}

tide_status tide_address_space_unmap(tide_address_space *space, uint64_t address, uint64_t n_bytes,
                                     tide_error *error) {
    tide_address_range *range = reserved_around(space, address, n_bytes);
    if (range == NULL || (address | n_bytes) % TIDE_DEVICE_GRANULE != 0 ||
        n_bytes > range->mapped_bytes) {
        return not_reserved(address, n_bytes, error);
    }
    range->mapped_bytes -= n_bytes;
    space->used_bytes -= n_bytes;
    return TIDE_OK;
}
