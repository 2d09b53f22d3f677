/* captured.h - what a CUDA graph does when it is launched: the sum of what was captured into it.
 * The times of its kernels are their own; they follow each other without the host.
 */
#ifndef TIDE_STEP_TIME_CAPTURED_H
#define TIDE_STEP_TIME_CAPTURED_H

#include "step_time/work.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero at first. */
typedef struct tide_time_captured {
    tide_work_time work;
    double us[TIDE_TIME_N_BASES]; /* of it, by how well it is known */
} tide_time_captured;

void tide_time_captured_add(tide_time_captured *sum, const tide_work_time *work);

/* Another graph is launched inside this one. */
void tide_time_captured_join(tide_time_captured *sum, const tide_time_captured *inner);

/* A launch of the graph. It is as well known as all of it but the part that a forecast may have of
 * worse. */
tide_work_time tide_time_captured_work(const tide_time_captured *sum);

#ifdef __cplusplus
}
#endif

#endif
