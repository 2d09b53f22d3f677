/* peaks.h - what a process took at most, and how its history ended.
 */
#ifndef TIDE_LAUNCH_PEAKS_H
#define TIDE_LAUNCH_PEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/left.h"
#include "snapshot/lifetimes.h"
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

/* The device with the highest peak of reserved bytes; 0: the process used none. */
size_t tide_left_fullest_device(const tide_left *process, const tide_summary *summary);

/* How many bytes each further step needs, by the peaks of the steps so far; 0: memory does not
 * grow, or less than is worth a word. *ret_step: the number of the last step. 0 also if the history
 * has no steps, or the host no memory. */
int64_t tide_left_growth(const tide_snapshot *snapshot, size_t device, int64_t *ret_step);

/* The same out of lifetimes that the caller made of the snapshot. */
int64_t tide_left_growth_from(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                              size_t device, int64_t *ret_step);

/* The rule by which that is told. `peaks`: of the steps, in bytes, n_steps of them.
 *
 * The first step has no optimizer state before its end, and the second does, so that growth from
 * the one to the other is usual and tells nothing. After that a step that repeats the one before it
 * needs nothing more. What counts is a last step whose peak is above all before it, by at least the
 * 2 MiB of PyTorch's smallest segment: less than that may be no more memory of the card at all.
 * Less counts if it repeats, as a list of losses that keeps its graphs does: then the last two
 * steps grew, both after the second. Batches of different lengths go up and down, and rarely do
 * either. */
int64_t tide_left_growth_of(const int64_t *peaks, size_t n_steps);

/* The last row that tells of a failed allocation; -1: none, or `snapshot` is NULL. */
int64_t tide_left_last_failure(const tide_snapshot *snapshot);

#ifdef __cplusplus
}
#endif

#endif
