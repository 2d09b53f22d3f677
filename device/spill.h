/* spill.h - the pieces of a virtual card's memory that are in the host, because the card was full.
 *
 * Under Windows, the driver lets a program allocate more than the card has, from the host's memory,
 * up to a limit. The driver chooses which pages stay on the card and may move them. This model
 * moves nothing: a piece is allocated whole, on the card if all of it fits there and else in the
 * host, and stays there until it is released. Not thread-safe: the device locks.
 */
#ifndef TIDE_DEVICE_SPILL_H
#define TIDE_DEVICE_SPILL_H

#include <stdint.h>

#include "common/hostmem.h"
#include "common/map.h"
#include "common/status.h"
#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_spill {
    tide_map pieces;          /* address -> bytes, of those in the host */
    uint64_t card_bytes;      /* bytes that the card can allocate; UINT64_MAX: unlimited */
    uint64_t card_used_bytes; /* only kept if memory may spill to the host */
    tide_device_spill now;
} tide_spill;

/* limit_bytes 0: no memory may spill; all functions then do nothing. */
void tide_spill_init(tide_spill *spill, const tide_hostmem *mem, uint64_t card_bytes,
                     uint64_t limit_bytes);
void tide_spill_fini(tide_spill *spill);

/* Enters a piece: on the card if it fits there, else in the host. TIDE_DEVICE_OOM if it fits in
 * neither. */
TIDE_NODISCARD tide_status tide_spill_put(tide_spill *spill, uint64_t address, uint64_t n_bytes,
                                          tide_error *error);

/* Forgets a piece that was entered. */
void tide_spill_take_back(tide_spill *spill, uint64_t address, uint64_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
