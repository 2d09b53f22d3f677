/* peaks.h - what a process took at most, and how its history ended.
 */
#ifndef TIDE_LAUNCH_PEAKS_H
#define TIDE_LAUNCH_PEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/left.h"
#include "snapshot/snapshot.h"
#include "snapshot/summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The peaks of a device: PyTorch's statistics, or the history where the program reset those.
 * `summary` is that of its history; NULL: it has none. */
int64_t tide_left_allocated_peak(const tide_left *process, const tide_summary *summary,
                                 size_t device);
int64_t tide_left_reserved_peak(const tide_left *process, const tide_summary *summary,
                                size_t device);

/* Whether the last step had a higher peak than the one before; *ret_n_steps: how many there are.
 * False also if the history has no steps, or the host no memory. */
bool tide_left_is_growing(const tide_snapshot *snapshot, size_t device, size_t *ret_n_steps);

/* The last row that tells of a failed allocation; -1: none, or `snapshot` is NULL. */
int64_t tide_left_last_failure(const tide_snapshot *snapshot);

#ifdef __cplusplus
}
#endif

#endif
