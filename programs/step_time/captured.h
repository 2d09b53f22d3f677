/* captured.h - what a CUDA graph does when it is launched: the sum of what was captured into it.
 * The times of its kernels are their own; they follow each other without the host.
 */
#ifndef TIDE_STEP_TIME_CAPTURED_H
#define TIDE_STEP_TIME_CAPTURED_H

#include "programs/step_time/work.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds what was captured, or another graph that is launched inside this one. `sum`: zero at first.
 */
void tide_time_captured_add(tide_work_time *sum, const tide_work_time *work);

/* A launch of the graph. It is called as well known as all of it but the part that a forecast may
 * have of worse. */
tide_work_time tide_time_captured_launch(const tide_work_time *sum);

/* A row that was captured: it takes no time itself. */
tide_work_time tide_time_captured_row(const tide_work_time *work);

#ifdef __cplusplus
}
#endif

#endif
