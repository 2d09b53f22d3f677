#include "cli/time_kernels.h"

#include "cli/options/report_options.h"
#include "cli/words/time_words.h"

enum { KERNEL_BYTES = 160 };

static const char *basis_word(tide_time_basis basis) {
    return basis == TIDE_TIME_COMPARED     ? "compared"
           : basis == TIDE_TIME_UNCOMPARED ? "never compared"
                                           : "guessed";
}

void tide_time_add_kernels(tide_report *report, const tide_time_forecast *of, size_t n_shown) {
    tide_table *table = tide_report_table(
        report, "kernels", tide_report_text(report, "kernels on %s", of->card->card->name));
    double all_us = 0.0;
    TIDE_COLUMNS(table, TIDE_TEXT("card", "card"), TIDE_TEXT("kernel", "kernel"),
                 TIDE_TEXT("family", "family"), TIDE_NUMBER("launches", "launches"),
                 TIDE_NUMBER("ms", "time"), TIDE_NUMBER("percent", "share"),
                 TIDE_TEXT("bound", "bound by"), TIDE_TEXT("basis", "how known"));
    for (size_t i = 0; i < of->kernels.n; i++) {
        all_us += of->kernels.rows[i].us;
    }
    for (size_t i = 0; i < of->kernels.n && i < n_shown; i++) {
        const tide_time_kernel *kernel = &of->kernels.rows[i];
        char name[KERNEL_BYTES];
        tide_time_kernel_name(kernel, name, sizeof(name));
        TIDE_ROW(table, tide_as_text(of->card->card->name), tide_as_text(name),
                 kernel->kind == TIDE_RUN_KERNEL
                     ? tide_as_text(tide_time_family_name((tide_run_family)kernel->family))
                     : tide_as_none(),
                 tide_as_count((int64_t)kernel->n_launches), tide_as_ms(kernel->us * 1e-3),
                 tide_as_share(kernel->us, all_us),
                 tide_as_text(tide_time_bound_name(kernel->bound)),
                 tide_as_text(basis_word(kernel->basis)));
    }
}

/* A figure below 0 is unknown. */
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

static void say(tide_report *report, const char *key, const char *intro,
                const tide_time_forecast *of,
                void (*words)(const tide_time_forecast *of, char ret_words[TIDE_TIME_WORDS])) {
    char text[TIDE_TIME_WORDS];
    words(of, text);
    if (text[0] != '\0') {
        tide_report_say(report, key, "%s%s", intro, text);
    }
}

void tide_time_say(tide_report *report, const tide_time_forecast *of, const char *why) {
    if (of == NULL) {
        tide_report_say(report, "timing", "times: not computed (%s)",
                        why[0] != '\0' ? why : "the virtual device has none");
        return;
    }
    add_figures(of, report);
    say(report, "timing",
        tide_report_text(report, "forecast of time for %s: ", of->card->card->name), of,
        tide_time_words_step);
    say(report, "forecast_phases", "forecast of phases, each by itself: ", of,
        tide_time_words_phases);
    say(report, "forecast_basis", "the forecast is a model: ", of, tide_time_words_basis);
    say(report, "forecast_host", "", of, tide_time_words_host);
}
