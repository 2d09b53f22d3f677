/* usual_gaps.h - the host's usual time between two calls, for the clock of a running program.
 *
 * A moment on this machine may be slow for reasons that a host with a GPU does not have. After
 * the same two calls on the same thread have followed each other a few times, their gap is at most
 * the lower quartile of the latest ones. Not thread-safe: the card's clock holds its lock.
 */
#ifndef TIDE_VIRTUAL_CUDA_USUAL_GAPS_H
#define TIDE_VIRTUAL_CUDA_USUAL_GAPS_H

#include <stdint.h>

/* Longer gaps are the program's own work, such as reading data: they count as they are. */
enum { TIDE_VC_LONGEST_GAP_NS = 1000000 };

/* Records a gap between the two calls of that key, and returns its usual length in ns, at most
 * gap_ns. */
int64_t tide_vc_usual_gap(uint64_t key, int64_t gap_ns);

#endif
