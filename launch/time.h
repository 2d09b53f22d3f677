/* time.h - a forecast of time in the snapshot of a program that ran on a virtual card.
 */
#ifndef TIDE_LAUNCH_TIME_H
#define TIDE_LAUNCH_TIME_H

#include "common/status.h"
#include "snapshot/snapshot.h"
#include "step_time/forecast.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The name of the clock whose times a forecast has made. */
#define TIDE_CLOCK_FORECAST "forecast"

/* Puts the forecast into the snapshot, which nobody else has seen yet: the answer, samples of steps
 * and phases, kernels, and the times of events and scopes, which become those of the forecast, the
 * card's included. Where only a lower bound is known, or the program has no steps, the answer
 * alone. The model, ranges and forecast are of the process' launch log. */
TIDE_NODISCARD tide_status tide_launch_add_time(tide_snapshot *snapshot,
                                                const tide_time_model *model,
                                                const tide_time_ranges *ranges,
                                                const tide_time_forecast *forecast);

#ifdef __cplusplus
}
#endif

#endif
