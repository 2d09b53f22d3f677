/* peaks.h - the peak memory of a process, and how its history ended.
 */
#ifndef TIDE_LAUNCH_PEAKS_H
#define TIDE_LAUNCH_PEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text/text.h"
#include "programs/launch/left/left.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The peaks of a device: PyTorch's statistics, or the history if the program reset those. `summary`
 * is that of its history; NULL if it has none. */
int64_t tide_left_allocated_peak(const tide_left *process, const tide_summary *summary,
                                 size_t device);
int64_t tide_left_reserved_peak(const tide_left *process, const tide_summary *summary,
                                size_t device);

/* The device with the highest peak of reserved bytes; 0: the process used none. */
size_t tide_left_fullest_device(const tide_left *process, const tide_summary *summary);

/* How many bytes each further pass of the loop that grows most needs, by the rule of
 * snapshot/explain/growth.h. 0: memory does not grow, or there is no host memory. *ret_passes: the
 * complete passes so far, -1 with 0. `to` (may be NULL) gets the words: "by 6.00 MiB on each
 * iteration of the loop at ..". */
int64_t tide_left_growth(const tide_snapshot *snapshot, size_t device, tide_text *to,
                         int64_t *ret_passes);

/* The same from lifetimes that the caller made of the snapshot. */
int64_t tide_left_growth_from(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                              size_t device, tide_text *to, int64_t *ret_passes);

/* The process that ended out of memory; of several, the first to end. False: none did. */
bool tide_left_first_out(const tide_left_list *list, size_t *ret_process);

/* The row of the first failed allocation of any device: the one that every command reports. A
 * program may catch it and fail again. -1: none, or `snapshot` is NULL. */
int64_t tide_left_first_failure(const tide_snapshot *snapshot);

#ifdef __cplusplus
}
#endif

#endif
