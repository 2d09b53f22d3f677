#include "programs/launch/time.h"

#include <stddef.h>

#include "programs/step_time/steady.h"

/* The steps after reading the log and the constants. */
static tide_status forecast(tide_launch_time *to, const tide_time_host *host, tide_error *error) {
    TIDE_TRY(tide_time_ranges_init(&to->log, &to->ranges));
    TIDE_TRY(tide_time_log_steady(&to->log, &to->ranges));
    TIDE_TRY(tide_time_model_init(&to->log, &to->constants, &to->card, &to->model));
    return tide_time_forecast_init(&to->model, &to->ranges, host, &to->forecast, error);
}

tide_status tide_launch_time_init(const char *path, const tide_card *card,
                                  const tide_time_host *host, tide_launch_time *ret,
                                  tide_error *error) {
    *ret = (tide_launch_time){.log = {.mem = NULL}};
    TIDE_TRY(tide_time_card_of(card, &ret->card, error));
    TIDE_TRY(tide_time_log_read(tide_hostmem_default(), path, &ret->log, error));
    ret->constants = tide_time_constants_for(&TIDE_TIME_CONSTANTS, host, &ret->card);
    return forecast(ret, host, error);
}

tide_status tide_launch_time_init_own(tide_launch_list *list, bool is_pytorch,
                                      const tide_card *card, tide_launch_time *ret,
                                      tide_error *error) {
    const tide_time_host host = is_pytorch ? tide_time_host_modelled(&TIDE_TIME_CONSTANTS)
                                           : tide_time_host_stated(&TIDE_TIME_CONSTANTS);
    *ret = (tide_launch_time){.log = {.mem = NULL}};
    TIDE_TRY(tide_time_card_of(card, &ret->card, error));
    tide_time_log_take(list, &ret->log);
    ret->constants = TIDE_TIME_CONSTANTS;
    if (!is_pytorch) {
        ret->constants.launch_us = 0.0; /* the list also has the driver's time */
    }
    return forecast(ret, &host, error);
}

void tide_launch_time_fini(tide_launch_time *time) {
    tide_time_forecast_fini(&time->forecast);
    tide_time_model_fini(&time->model);
    tide_time_ranges_fini(&time->ranges);
    tide_time_log_fini(&time->log);
}

double tide_launch_step_us(const tide_launch_time *time) {
    const tide_time_forecast *forecast = &time->forecast;
    return forecast->is_lower_bound ? forecast->low.total_us : forecast->likely.total_us;
}
