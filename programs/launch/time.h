/* time.h - adds a forecast of time to the snapshot of a program that ran on a virtual card.
 */
#ifndef TIDE_LAUNCH_TIME_H
#define TIDE_LAUNCH_TIME_H

#include "common/status.h"
#include "snapshot/document/snapshot.h"
#include "programs/step_time/forecast.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The name of the clock of forecast times. */
#define TIDE_CLOCK_FORECAST "forecast"

/* A launch log and everything computed from it, for one card. */
typedef struct tide_launch_time {
    tide_time_log log;
    tide_time_ranges ranges;
    tide_time_card card;
    tide_time_constants constants; /* the card's calibrated constants */
    tide_time_model model;
    tide_time_forecast forecast;
} tide_launch_time;

/* Forecasts from the log at the path. Fails as tide_time_card_of, tide_time_log_read and
 * tide_time_forecast_init. Borrows `card` and the data in `host`. The caller calls
 * tide_launch_time_fini, also after a failure. */
TIDE_NODISCARD tide_status tide_launch_time_init(const char *path, const tide_card *card,
                                                 const tide_time_host *host, tide_launch_time *ret,
                                                 tide_error *error);
void tide_launch_time_fini(tide_launch_time *time);

/* A step's likely time in microseconds, or its lower bound if no more is known. */
double tide_launch_step_us(const tide_launch_time *time);

/* The same from the list that the operators of our own model wrote, or from PyTorch's run of it;
 * the list is empty afterwards. Fails as tide_time_card_of and tide_time_forecast_init. */
TIDE_NODISCARD tide_status tide_launch_time_init_own(tide_launch_list *list, bool is_pytorch,
                                                     const tide_card *card, tide_launch_time *ret,
                                                     tide_error *error);

/* Puts the forecast into the snapshot, which is not shared yet: the answer, samples of steps and
 * phases, kernels, and the times of events and scopes, which become those of the forecast,
 * including the card's. If only a lower bound is known, or the program has no steps, only the
 * answer. The model, ranges and forecast are those of the process' launch log. */
TIDE_NODISCARD tide_status tide_launch_add_time(tide_snapshot *snapshot,
                                                const tide_time_model *model,
                                                const tide_time_ranges *ranges,
                                                const tide_time_forecast *forecast);

#ifdef __cplusplus
}
#endif

#endif
