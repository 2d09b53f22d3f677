/* time_kernels.h - a forecast of time in a report: `tidemark time`, `profile` and `forecast` print
 * the same.
 */
#ifndef TIDE_CLI_TIME_KERNELS_H
#define TIDE_CLI_TIME_KERNELS_H

#include <stddef.h>

#include "report/table.h"
#include "programs/step_time/forecast.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The n_shown kernels of the step with the most time; 0: no table. */
void tide_time_add_kernels(tide_report *report, const tide_time_forecast *of, size_t n_shown);

/* Adds the step, its phases, their basis, and figures. NULL: no forecast, for the reason in `why`;
 * "" means a virtual device without a card. */
void tide_time_say(tide_report *report, const tide_time_forecast *of, const char *why);

#ifdef __cplusplus
}
#endif

#endif
