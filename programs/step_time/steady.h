/* steady.h - the host's usual time between two rows, in place of the time of one moment.
 *
 * Caches, other programs on the processor's other thread and the clock's changes make the host
 * slower for a moment, never faster. Steps that launch the same rows in the same order therefore
 * get one time between two rows: the lower quartile of that place in all of these steps.
 */
#ifndef TIDE_STEP_TIME_STEADY_H
#define TIDE_STEP_TIME_STEADY_H

#include <stdint.h>

#include "programs/step_time/ranges.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes host_ns of the log's rows, which then never goes back, and sets waited_share. The first
 * step counts only if fewer than two others are like it: it is slower, because it loads code. Rows
 * outside the steps, and steps unlike all others, keep their times. Fails only with TIDE_NO_MEMORY,
 * and the log is then unchanged. */
TIDE_NODISCARD tide_status tide_time_log_steady(tide_time_log *log, const tide_time_ranges *ranges);

/* The step's rows as one number: what they do and in which order. Times, threads and sizes do not
 * count: a step with other sizes takes the host as long. */
uint64_t tide_time_step_key(const tide_time_log *log, const tide_time_range *step);

#ifdef __cplusplus
}
#endif

#endif
