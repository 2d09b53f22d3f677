#include "recorder/block_ends.h"

#include <stdbool.h>
#include <string.h>

#include "common/assert.h"

/* The first block at or above the address. A branch at each comparison would be predicted wrongly
 * every second time. */
static size_t find(const tide_block_ends *of, uint64_t address) {
    size_t low = 0;
    for (size_t n = of->n; n > 0; n -= n / 2 + n % 2) {
        size_t half = n / 2 + n % 2;
        low += half * (size_t)(of->addresses[low + half - 1] < address);
    }
    return low;
}

void tide_block_ends_fini(tide_block_ends *of, const tide_hostmem *mem) {
    mem->release(mem->ctx, of->addresses);
    *of = (tide_block_ends){.n = 0};
}

tide_status tide_block_ends_add(tide_block_ends *of, const tide_hostmem *mem, uint64_t address,
                                uint64_t *ret_bytes) {
    size_t i = find(of, address);
    if (i == of->n || of->addresses[i] != address) {
        uint64_t *addresses =
            tide_hostmem_grow(mem, of->addresses, &of->capacity, of->n + 1, sizeof(*addresses));
        if (addresses == NULL) {
            return TIDE_NO_MEMORY;
        }
        of->addresses = addresses;
        memmove(addresses + i + 1, addresses + i, (of->n - i) * sizeof(*addresses));
        addresses[i] = address;
        of->n++;
    }
    TIDE_ASSERT(i == 0 || of->addresses[i - 1] < address);
    TIDE_ASSERT(i + 1 == of->n || address < of->addresses[i + 1]);
    *ret_bytes = i + 1 < of->n ? of->addresses[i + 1] - address : UINT64_MAX;
    return TIDE_OK;
}

void tide_block_ends_remove(tide_block_ends *of, uint64_t address) {
    size_t i = find(of, address);
    if (i < of->n && of->addresses[i] == address) {
        of->n--;
        memmove(of->addresses + i, of->addresses + i + 1, (of->n - i) * sizeof(*of->addresses));
    }
}
