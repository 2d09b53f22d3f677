/* torch_entry.h - an entry of PyTorch's allocator (TraceEntry), as all versions so far have it.
 */
#ifndef TIDE_LIVE_TORCH_ENTRY_H
#define TIDE_LIVE_TORCH_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/live/record.h"

/* Reads the entry. `pool_at`: where the pool's id is (programs/live/torch_versions.h); 0: it has
 * none. Nothing is known of sequence and node here. */
void tide_torch_entry_read(const void *entry, size_t pool_at, tide_live_entry *ret_entry);

/* Whether it can be what an unknown version tells first: an action that is known, on a device, with
 * an address and a size as the allocator gives them. */
bool tide_torch_entry_is_sound(const void *entry);

#endif
