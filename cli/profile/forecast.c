/* What `tidemark profile` says of the time of our own model on a virtual card: a forecast. */
#include "cli/profile/internal.h"
#include "cli/time_kernels.h"
#include "cli/time_words.h"
#include "launch/time.h"

enum { N_KERNELS = 10 };

typedef void words_function(const tide_time_forecast *of, char ret_words[TIDE_TIME_WORDS]);

static void say(tide_report *report, const char *key, const char *intro,
                const tide_time_forecast *of, words_function *words) {
    char text[TIDE_TIME_WORDS];
    words(of, text);
    if (text[0] != '\0') {
        tide_report_say(report, key, "%s%s", intro, text);
    }
}

/* A figure below 0 is not known. */
static double ms_unless(const tide_time_forecast *of, double us) {
    return of->is_lower_bound || us < 0.0 ? -1.0 : us * 1e-3;
}

static void add_figures(const tide_time_forecast *of, tide_report *report) {
    tide_report_figure_ns_of_ms(report, "forecast_step_ns", ms_unless(of, of->likely.total_us));
    tide_report_figure_ns_of_ms(report, "forecast_step_low_ns", of->low.total_us * 1e-3);
    tide_report_figure_ns_of_ms(report, "forecast_step_high_ns", ms_unless(of, of->high.total_us));
    tide_report_figure_text(report, "forecast_bound", tide_time_limit_name(of->limit));
    tide_report_figure_real(report, "forecast_guessed_percent", 100.0 * of->guessed_share);
    tide_report_figure_real(report, "forecast_uncompared_percent", 100.0 * of->uncompared_share);
}

void tide_profile_say_forecast(const tide_profile_run *run, tide_report *report) {
    if (run->result.time == NULL) {
        tide_report_say(report, "timing", "times: not computed (%s)",
                        run->result.no_forecast[0] != '\0' ? run->result.no_forecast
                                                           : "the virtual device has none");
        return;
    }
    const tide_time_forecast *of = &run->result.time->forecast;
    add_figures(of, report);
    say(report, "timing",
        tide_report_text(report, "forecast of time for %s: ", of->card->card->name), of,
        tide_time_words_step);
    say(report, "forecast_phases", "forecast of phases, each by itself: ", of,
        tide_time_words_phases);
    say(report, "forecast_basis", "the forecast is a model: ", of, tide_time_words_basis);
    say(report, "forecast_host", "", of, tide_time_words_host);
    tide_time_add_kernels(report, of, N_KERNELS);
}

bool tide_profile_has_forecast(const tide_profile_plan *plan) {
    for (size_t i = 0; i < plan->n_runs; i++) {
        if (plan->runs[i].result.time != NULL) {
            return true;
        }
    }
    return false;
}

void tide_profile_say_forecasts(const tide_profile_plan *plan, tide_report *report) {
    const tide_time_forecast *last = NULL;
    for (size_t i = 0; i < plan->n_runs; i++) {
        const tide_run_result *result = &plan->runs[i].result;
        if (result->time != NULL) {
            last = &result->time->forecast;
            say(report, "timing",
                tide_report_text(report, "%s: forecast of time for %s: ", plan->runs[i].name,
                                 last->card->card->name),
                last, tide_time_words_step);
            say(report, "forecast_basis",
                tide_report_text(report, "%s: the forecast is a model: ", plan->runs[i].name), last,
                tide_time_words_basis);
        } else if (result->no_forecast[0] != '\0' &&
                   (i == 0 || plan->runs[i - 1].result.no_forecast[0] == '\0')) {
            tide_report_say(report, "timing", "times: not computed (%s)", result->no_forecast);
        }
    }
    if (last != NULL) {
        say(report, "forecast_host", "", last, tide_time_words_host);
    }
}
