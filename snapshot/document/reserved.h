/* reserved.h - the reserved bytes of a device, row by row of the history.
 *
 * The sizes in a forged file may exceed 64 bits in sum. Then the sum stays at UINT64_MAX, even when
 * segments are released, because the remainder is unknown.
 */
#ifndef TIDE_SNAPSHOT_RESERVED_H
#define TIDE_SNAPSHOT_RESERVED_H

#include <stddef.h>
#include <stdint.h>

#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* At the start of the history. */
uint64_t tide_reserved_at_start(const tide_snapshot *snapshot, size_t device);

/* After a row of the device. */
void tide_reserved_pass(const tide_event *row, uint64_t *reserved_bytes);

/* The most. */
uint64_t tide_reserved_peak(const tide_snapshot *snapshot, size_t device);

#ifdef __cplusplus
}
#endif

#endif
