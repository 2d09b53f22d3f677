#include "launch/time.h"

#include <stddef.h>

tide_status tide_launch_time_init(const char *path, const tide_card *card,
                                  const tide_time_host *host, tide_launch_time *ret,
                                  tide_error *error) {
    *ret = (tide_launch_time){.log = {.mem = NULL}};
    TIDE_TRY(tide_time_card_of(card, &ret->card, error));
    TIDE_TRY(tide_time_log_read(tide_hostmem_default(), path, &ret->log, error));
    TIDE_TRY(tide_time_ranges_init(&ret->log, &ret->ranges));
    ret->constants = tide_time_constants_for(&TIDE_TIME_CONSTANTS, host, &ret->card);
    TIDE_TRY(tide_time_model_init(&ret->log, &ret->constants, &ret->card, &ret->model));
    return tide_time_forecast_init(&ret->model, &ret->ranges, host, &ret->forecast, error);
}

void tide_launch_time_fini(tide_launch_time *time) {
    tide_time_forecast_fini(&time->forecast);
    tide_time_model_fini(&time->model);
    tide_time_ranges_fini(&time->ranges);
    tide_time_log_fini(&time->log);
}
