/* owners.h - who holds the memory that a device's driver gave out, and how much is unexplained.
 */
#ifndef TIDE_SNAPSHOT_OWNERS_H
#define TIDE_SNAPSHOT_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The owner of memory of libraries that are not distinguished. */
#define TIDE_OWNER_OTHERS "others"

/* The driver's account of a device; NULL if the file has none. */
const tide_snapshot_driver_account *tide_owners_account(const tide_snapshot *snapshot,
                                                        size_t device);

/* The memory in use at the peak, less the context and the memory of the owners: that of other
 * programs, and what the recording missed. Below 0 if the owners claim more than is in use.
 * Includes the context if its size is unknown. False: unknown. */
bool tide_owners_unexplained(const tide_snapshot *snapshot, size_t device, int64_t *ret_bytes);

/* The memory of the device that was never in use; -1: unknown. */
int64_t tide_owners_left(const tide_snapshot *snapshot, size_t device);

#ifdef __cplusplus
}
#endif

#endif
