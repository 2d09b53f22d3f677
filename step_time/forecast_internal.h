/* forecast_internal.h - the parts of a forecast that have files of their own. */
#ifndef TIDE_STEP_TIME_FORECAST_INTERNAL_H
#define TIDE_STEP_TIME_FORECAST_INTERNAL_H

#include "step_time/forecast.h"

/* kernels.c: the step's kernels by name, into forecast->kernels. */
TIDE_NODISCARD tide_status tide_time_forecast_kernels(const tide_time_model *model,
                                                      const tide_time_range *range,
                                                      tide_time_forecast *forecast);

#endif
