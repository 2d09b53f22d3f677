/* retries.h - requests that the device refused at first: the allocator then freed its cache and
 * asked again.
 */
#ifndef TIDE_SNAPSHOT_RETRIES_H
#define TIDE_SNAPSHOT_RETRIES_H

#include <stddef.h>
#include <stdint.h>

#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of retries on the device that succeeded. Recognised by rows that free segments,
 * directly followed by a row that allocates a segment, all with one call stack, where the segment
 * would not have found room without them: the cache is also emptied by torch.cuda.empty_cache(),
 * and by torch.backends.cudnn.benchmark after it tried the plans of a convolution. 0 without call
 * stacks, and if the allocator collects garbage by a threshold, which looks the same. */
int64_t tide_retries_count(const tide_snapshot *snapshot, size_t device);

#ifdef __cplusplus
}
#endif

#endif
