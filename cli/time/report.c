/* The report of `tidemark time`. */
#include "cli/time/internal.h"
#include "cli/time_kernels.h"

static void say(tide_report *report, const char *key, const tide_time_forecast *of,
                void (*words)(const tide_time_forecast *of, char ret[TIDE_TIME_WORDS])) {
    char text[TIDE_TIME_WORDS];
    words(of, text);
    if (text[0] != '\0') {
        tide_report_say(report, key, "%s: %s", of->card->card->name, text);
    }
}

static void say_card(tide_report *report, const tide_time_forecast *of) {
    say(report, "step", of, tide_time_words_step);
    say(report, "phases", of, tide_time_words_phases);
    say(report, "basis", of, tide_time_words_basis);
}

/* A figure that depends on guesses is empty. */
static tide_cell ms_unless(const tide_time_forecast *of, double us) {
    return of->is_lower_bound || us < 0.0 ? tide_as_none() : tide_as_ms(us * 1e-3);
}

static void add_cards(tide_report *report, const tide_time_forecast *forecasts, size_t n_cards) {
    tide_table *table = tide_report_table(report, "cards", "forecast by card");
    TIDE_COLUMNS(table, TIDE_TEXT("card", "card"), TIDE_NUMBER("gpu_ms", "GPU busy"),
                 TIDE_NUMBER("step_ms", "step"), TIDE_NUMBER("low_ms", "at least"),
                 TIDE_NUMBER("high_ms", "at most"), TIDE_NUMBER("ratio", "ratio"),
                 TIDE_NUMBER("host_ms", "host"), TIDE_TEXT("bound", "bound by"),
                 TIDE_NUMBER("forward_ms", "forward"), TIDE_NUMBER("backward_ms", "backward"),
                 TIDE_NUMBER("optimizer_ms", "optimizer"), TIDE_NUMBER("utilisation", "MFU"),
                 TIDE_NUMBER("guessed_percent", "guessed"),
                 TIDE_NUMBER("uncompared_percent", "never compared"));
    for (size_t i = 0; i < n_cards; i++) {
        const tide_time_forecast *of = &forecasts[i];
        bool has_ratio = !of->is_lower_bound && !forecasts[0].is_lower_bound;
        double ratio = of->likely.total_us / forecasts[0].likely.total_us;
        TIDE_ROW(
            table, tide_as_text(of->card->card->name), ms_unless(of, of->likely.busy_us),
            ms_unless(of, of->likely.total_us), tide_as_ms(of->low.total_us * 1e-3),
            ms_unless(of, of->high.total_us), has_ratio ? tide_as_ratio(ratio) : tide_as_none(),
            ms_unless(of, of->likely.host_us), tide_as_text(tide_time_limit_name(of->limit)),
            ms_unless(of, of->phase_us[TIDE_TIME_FORWARD]),
            ms_unless(of, of->phase_us[TIDE_TIME_BACKWARD]),
            ms_unless(of, of->phase_us[TIDE_TIME_OPTIMIZER]),
            of->is_lower_bound || of->utilisation < 0.0 ? tide_as_none()
                                                        : tide_as_percent(100.0 * of->utilisation),
            tide_as_percent(100.0 * of->guessed_share),
            tide_as_percent(100.0 * of->uncompared_share));
    }
}

/* "published", "scaled", "given" or "measured": the basis of the host's factor. */
static void add_figures(tide_report *report, const tide_time_host *host) {
    static const char *const BASES[] = {
        [TIDE_TIME_HOST_PUBLISHED] = "published", [TIDE_TIME_HOST_SCALED] = "scaled",
        [TIDE_TIME_HOST_STATED] = "stated",       [TIDE_TIME_HOST_MODELLED] = "stated",
        [TIDE_TIME_HOST_GIVEN] = "given",         [TIDE_TIME_HOST_MEASURED] = "measured"};
    const tide_calibration *of = host->basis == TIDE_TIME_HOST_MEASURED ? host->target
                                 : host->basis == TIDE_TIME_HOST_SCALED ? host->own
                                                                        : NULL;
    tide_report_figure_real(report, "host_factor", host->factor);
    tide_report_figure_text(report, "host_source", BASES[host->basis]);
    tide_report_figure_text(report, "calibrated_cpu", of != NULL ? of->cpu : NULL);
    tide_report_figure_text(report, "calibrated_gpu",
                            of != NULL && of->has_gpu ? of->gpu.name : NULL);
    tide_report_figure_text(report, "calibrated_on", of != NULL ? of->made : NULL);
}

void tide_time_report(tide_report *report, const tide_time_forecast *forecasts, size_t n_cards,
                      size_t n_kernels) {
    for (size_t i = 0; i < n_cards; i++) {
        say_card(report, &forecasts[i]);
    }
    for (size_t i = 0; i < n_cards; i++) { /* for a calibrated card it has more detail */
        if (i == 0 || forecasts[i].has_own_card) {
            say(report, "host", &forecasts[i], tide_time_words_host);
        }
    }
    add_figures(report, &forecasts[0].host);
    add_cards(report, forecasts, n_cards);
    tide_time_add_families(report, &forecasts[0]);
    for (size_t i = 0; i < n_cards && n_kernels > 0; i++) {
        tide_time_add_kernels(report, &forecasts[i], n_kernels);
    }
}
