/* owners.h - whose memory it is that a device's driver gave out, and what nobody accounts for.
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

/* The owner of what libraries hold that are not told apart. */
#define TIDE_OWNER_OTHERS "others"

/* The driver's account of a device; NULL: the file has none. */
const tide_snapshot_driver_account *tide_owners_account(const tide_snapshot *snapshot,
                                                        size_t device);

/* What is in use at the peak, less the context and what the owners hold: memory of other programs,
 * and what the recording missed. Below 0: the owners claim more than is in use. An unknown context
 * is a part of it. False: not known. */
bool tide_owners_unexplained(const tide_snapshot *snapshot, size_t device, int64_t *ret_bytes);

#ifdef __cplusplus
}
#endif

#endif
