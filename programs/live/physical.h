/* physical.h - memory without an address, from cuMemCreate: it is held until every handle is
 * released, every mapping is undone and every binding to a multicast object has ended.
 *
 * Rows tell it by a number of its own (1, 2, ...) in place of an address, because handles are given
 * out again while what they stood for is still mapped. Calls within other calls are ignored if they
 * make memory, as in programs/live/driver.h, and count if they end what is known. Thread-safe.
 */
#ifndef TIDE_LIVE_PHYSICAL_H
#define TIDE_LIVE_PHYSICAL_H

#include "programs/live/driver.h"

/* After cuMemCreate. on_host: it is memory of the host. */
void tide_live_physical_created(const tide_live_call *call, uint64_t handle, uint64_t n_bytes,
                                int device, bool on_host);

/* After cuMemRetainAllocationHandle gave the handle for what is mapped at the address. */
void tide_live_physical_retained(uint64_t handle, uint64_t address);

/* After cuMemMap, and before cuMemUnmap, of a range that may have several mappings. */
void tide_live_physical_mapped(uint64_t address, uint64_t n_bytes, uint64_t handle);
void tide_live_physical_unmapping(tide_live_call *call, uint64_t address, uint64_t n_bytes);

/* Before cuMemRelease. */
void tide_live_physical_releasing(tide_live_call *call, uint64_t handle);

/* After cuMulticastBindMem, and before cuMulticastUnbind. */
void tide_live_physical_bound(uint64_t multicast, uint64_t offset, uint64_t handle);
void tide_live_physical_unbinding(tide_live_call *call, uint64_t multicast, uint64_t offset,
                                  int device);

/* For a process that was just made by fork(). */
void tide_live_physical_forked(void);

#endif
