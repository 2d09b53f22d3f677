/* physical.h - memory without an address, from cuMemCreate. It is held until every handle is
 * released, every mapping is undone and every binding to a multicast object has ended.
 *
 * Rows identify it by its own number (1, 2, ...) instead of an address, because handles are reused
 * while their memory is still mapped. Of calls within other calls, those that make memory are
 * ignored, as in programs/live/driver.h, and those that release known memory count. Thread-safe.
 */
#ifndef TIDE_LIVE_PHYSICAL_H
#define TIDE_LIVE_PHYSICAL_H

#include "programs/live/driver.h"

/* Called after cuMemCreate. on_host: it is memory of the host. */
void tide_live_physical_created(const tide_live_call *call, uint64_t handle, uint64_t n_bytes,
                                int device, bool on_host);

/* Called after cuMemRetainAllocationHandle returned the handle for the mapping at the address. */
void tide_live_physical_retained(uint64_t handle, uint64_t address);

/* Called after cuMemMap, and before cuMemUnmap of a range that may have several mappings. */
void tide_live_physical_mapped(uint64_t address, uint64_t n_bytes, uint64_t handle);
void tide_live_physical_unmapping(tide_live_call *call, uint64_t address, uint64_t n_bytes);

/* Called before cuMemRelease. */
void tide_live_physical_releasing(tide_live_call *call, uint64_t handle);

/* Called after cuMulticastBindMem, and before cuMulticastUnbind. */
void tide_live_physical_bound(uint64_t multicast, uint64_t offset, uint64_t handle);
void tide_live_physical_unbinding(tide_live_call *call, uint64_t multicast, uint64_t offset,
                                  int device);

/* For a process just made by fork(). */
void tide_live_physical_forked(void);

#endif
