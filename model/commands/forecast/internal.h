/* internal.h - the output of `tidemark forecast`. The forecast itself is that of
 * model/run/forecast.h. */
#ifndef TIDE_MODEL_COMMANDS_FORECAST_INTERNAL_H
#define TIDE_MODEL_COMMANDS_FORECAST_INTERNAL_H

#include "report/table.h"
#include "model/run/forecast.h"

/* On stdout. timed: the run whose time was forecast; NULL: not requested. `details`: also the
 * tables in text. */
TIDE_NODISCARD tide_status tide_forecast_print(const tide_forecast *forecast,
                                               const tide_run_result *timed, tide_format format,
                                               bool details, tide_error *error);

#endif
