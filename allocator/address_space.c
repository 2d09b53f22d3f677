#include "allocator/address_space.h"

#include <inttypes.h>
#include <string.h>

#include "allocator/device.h"
#include "common/bytes.h"

/* Addresses stay below 2^53, so that they survive a reader whose numbers are doubles. */
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

static tide_status no_room(const tide_address_space *space, uint64_t n_bytes, tide_error *error) {
    char asked[TIDE_BYTES_TEXT];
    char unused[TIDE_BYTES_TEXT];
    char capacity[TIDE_BYTES_TEXT];
    uint64_t free_bytes = tide_address_space_free_bytes(space);
    if (free_bytes == UINT64_MAX || n_bytes <= free_bytes) {
        return tide_fail(error, TIDE_DEVICE_OOM, "no free range of addresses for %s",
                         tide_bytes_format((int64_t)n_bytes, asked));
    }
    return tide_fail(error, TIDE_DEVICE_OOM, "no room for %s: %s of %s are free",
                     tide_bytes_format(n_bytes > INT64_MAX ? -1 : (int64_t)n_bytes, asked),
                     tide_bytes_format((int64_t)free_bytes, unused),
                     tide_bytes_format((int64_t)space->capacity_bytes, capacity));
}

tide_status tide_address_space_take(tide_address_space *space, uint64_t n_bytes,
                                    uint64_t *ret_address, tide_error *error) {
    if (n_bytes > LARGEST_EXTENT) {
        return no_room(space, n_bytes, error);
    }
    uint64_t n_rounded =
        (n_bytes + TIDE_DEVICE_GRANULE - 1) / TIDE_DEVICE_GRANULE * TIDE_DEVICE_GRANULE;
    if (n_rounded > tide_address_space_free_bytes(space)) {
        return no_room(space, n_rounded, error);
    }
    uint64_t address = TIDE_DEVICE_BASE_ADDRESS;
    size_t at = 0;
    while (at < space->n_ranges && space->ranges[at].address - address < n_rounded) {
        address = space->ranges[at].address + space->ranges[at].n_bytes;
        at++;
    }
    if (address + n_rounded > TIDE_DEVICE_BASE_ADDRESS + space->extent_bytes) {
        return no_room(space, n_rounded, error);
    }
    tide_address_range *ranges = tide_hostmem_grow(space->mem, space->ranges, &space->capacity,
                                                   space->n_ranges + 1, sizeof(*ranges));
    if (ranges == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the table of %zu segments",
                         space->n_ranges + 1);
    }
    space->ranges = ranges;
    memmove(&ranges[at + 1], &ranges[at], (space->n_ranges - at) * sizeof(*ranges));
    ranges[at] = (tide_address_range){address, n_rounded};
    space->n_ranges++;
    space->used_bytes += n_rounded;
    *ret_address = address;
    return TIDE_OK;
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
    return at < space->n_ranges && space->ranges[at].address == address ? space->ranges[at].n_bytes
                                                                        : 0;
}

tide_status tide_address_space_give_back(tide_address_space *space, uint64_t address,
                                         tide_error *error) {
    size_t at = index_of(space, address);
    if (at == space->n_ranges || space->ranges[at].address != address) {
        return tide_fail(error, TIDE_INVALID,
                         "0x%" PRIx64 " is not the address of a live segment of this device",
                         address);
    }
    space->used_bytes -= space->ranges[at].n_bytes;
    space->n_ranges--;
    memmove(&space->ranges[at], &space->ranges[at + 1],
            (space->n_ranges - at) * sizeof(*space->ranges));
    return TIDE_OK;
}
