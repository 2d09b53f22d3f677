/* torch_entry.h - an entry of PyTorch's allocator (TraceEntry), in the layout of all versions so
 * far.
 */
#ifndef TIDE_LIVE_TORCH_ENTRY_H
#define TIDE_LIVE_TORCH_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/live/record.h"

/* Reads the entry. `pool_at`: offset of the pool's id (programs/live/torch/torch_versions.h); 0: it
 * has none. Does not set sequence and node. */
void tide_torch_entry_read(const void *entry, size_t pool_at, tide_live_entry *ret_entry);

/* Whether it can be the first entry of an unknown version: a known action, on a device, with a
 * plausible address and size. */
bool tide_torch_entry_is_sound(const void *entry);

#endif
