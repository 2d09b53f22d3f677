/* captured.h - the work of a CUDA graph's launch: the sum of the work captured into it. Its kernels
 * keep their own times and follow each other without the host.
 */
#ifndef TIDE_STEP_TIME_CAPTURED_H
#define TIDE_STEP_TIME_CAPTURED_H

#include "programs/step_time/work.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds captured work, or another graph that is launched inside this one. `sum`: zero at first.
 */
void tide_time_captured_add(tide_work_time *sum, const tide_work_time *work);

/* A launch of the graph. Its basis ignores worse ones that together have at most
 * TIDE_TIME_MOST_GUESSED of its time. */
tide_work_time tide_time_captured_launch(const tide_work_time *sum);

/* A row that was captured: it takes no time itself. */
tide_work_time tide_time_captured_row(const tide_work_time *work);

#ifdef __cplusplus
}
#endif

#endif
