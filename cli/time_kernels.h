/* time_kernels.h - the table of kernels of a forecast: `tidemark time` and `tidemark profile` have
 * the same.
 */
#ifndef TIDE_CLI_TIME_KERNELS_H
#define TIDE_CLI_TIME_KERNELS_H

#include <stddef.h>

#include "report/table.h"
#include "step_time/forecast.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The n_shown kernels of the step with the most time; 0: no table. */
void tide_time_add_kernels(tide_report *report, const tide_time_forecast *of, size_t n_shown);

#ifdef __cplusplus
}
#endif

#endif
