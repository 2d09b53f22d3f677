/* The forecast of time of `tidemark profile` for our own model on a virtual card. */
#include "model/commands/profile/internal.h"
#include "cli/time_kernels.h"
#include "cli/time_runs.h"
#include "programs/launch/time.h"

enum { N_KERNELS = 10 };

void tide_profile_say_forecast(const tide_profile_run *run, tide_report *report) {
    const tide_run_result *result = &run->result;
    tide_time_say(report, result->time != NULL ? &result->time->forecast : NULL,
                  result->no_forecast);
    if (result->time != NULL) {
        tide_time_add_kernels(report, &result->time->forecast, N_KERNELS);
    }
}

bool tide_profile_has_forecast(const tide_profile_plan *plan) {
    tide_time_runs forecasts = {.n = 0};
    for (size_t i = 0; i < plan->n_runs; i++) {
        tide_time_runs_add(&forecasts, &plan->runs[i].result);
    }
    return forecasts.n > 0;
}

void tide_profile_say_forecasts(const tide_profile_plan *plan, tide_report *report) {
    const tide_time_forecast *last = NULL;
    char words[TIDE_TIME_WORDS];
    for (size_t i = 0; i < plan->n_runs; i++) {
        const tide_run_result *result = &plan->runs[i].result;
        if (result->time != NULL) {
            last = &result->time->forecast;
            tide_time_words_step(last, words);
            tide_report_say(report, "timing", "%s: forecast of time for %s: %s", plan->runs[i].name,
                            last->card->card->name, words);
            tide_time_words_basis(last, words);
            tide_report_say(report, "forecast_basis", "%s: the forecast is a model: %s",
                            plan->runs[i].name, words);
        } else if (result->no_forecast[0] != '\0' &&
                   (i == 0 || plan->runs[i - 1].result.no_forecast[0] == '\0')) {
            tide_report_say(report, "timing", "times: not computed (%s)", result->no_forecast);
        }
    }
    if (last != NULL) {
        tide_time_words_host(last, words);
        tide_report_say(report, "forecast_host", "%s", words);
    }
}
