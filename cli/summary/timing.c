/* The part of `tidemark summary` about times. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/words/loss_words.h"
#include "cli/words/snapshot_words.h"
#include "cli/summary/view.h"
#include "common/text/milliseconds.h"
#include "common/text/plural.h"
#include "common/statistics.h"

enum { SENTENCE_BYTES = 1024 };

static void time_row(tide_table *table, const char *name, const char *clock, const double *samples,
                     size_t n_samples) {
    tide_statistics ms = tide_statistics_of(samples, n_samples);
    if (ms.mean < 0.0) {
        return;
    }
    TIDE_ROW(table, tide_as_text(name), tide_as_text(clock), tide_as_count((int64_t)n_samples),
             tide_as_ms(ms.median), tide_as_ms(ms.mean), tide_as_ms(ms.std), tide_as_ms(ms.min),
             tide_as_ms(ms.max), tide_as_ms(tide_statistics_best_ten(samples, n_samples)));
}

static bool has_times(const tide_snapshot_timing *timing) {
    for (size_t i = 0; i < timing->n_phases; i++) {
        const tide_snapshot_phase *phase = &timing->phases[i];
        if (tide_statistics_of(phase->host_ms, phase->n_samples).mean >= 0.0 ||
            tide_statistics_of(phase->device_ms, phase->n_samples).mean >= 0.0) {
            return true;
        }
    }
    return false;
}

static void say_losses(const tide_summary_view *of) {
    char words[SENTENCE_BYTES];
    tide_words_losses(&of->snapshot->timing, words, sizeof(words));
    if (words[0] != '\0') {
        tide_report_say(of->report, "loss", "%s", words);
    }
    tide_words_loss_scale(&of->snapshot->timing, words, sizeof(words));
    if (words[0] != '\0') {
        tide_report_say(of->report, "loss_scale", "%s", words);
    }
}

/* The forecast, with its range and its guessed part. */
static void say_forecast(const tide_summary_view *of) {
    const tide_snapshot_forecast *forecast = &of->snapshot->forecast;
    if (forecast->card[0] == '\0') {
        return;
    }
    char texts[5][TIDE_MS_TEXT];
    const char *low = tide_ms_format(forecast->low_ms, texts[0]);
    if (forecast->step_ms < 0.0) {
        tide_report_say(of->report, "forecast",
                        "forecast for %s: a step takes at least %s ms; %.0f %% of the card's time "
                        "is guessed, so that more is not forecast",
                        forecast->card, low, 100.0 * forecast->guessed_share);
    } else {
        double compared_share =
            fmax(0.0, 1.0 - forecast->guessed_share - forecast->uncompared_share);
        tide_report_say(
            of->report, "forecast",
            "forecast for %s: GPU busy %s ms in a step, which takes %s to %s ms, likely %s ms: "
            "host %s ms; bound by %s; %.0f %% of the card's time is in kernels that were compared "
            "with published times, and %.1f %% is guessed",
            forecast->card, tide_ms_format(forecast->gpu_ms, texts[3]), low,
            tide_ms_format(forecast->high_ms, texts[1]),
            tide_ms_format(forecast->step_ms, texts[2]),
            tide_ms_format(forecast->host_ms, texts[4]), forecast->bound, 100.0 * compared_share,
            100.0 * forecast->guessed_share);
    }
}

void tide_summary_timing(const tide_summary_view *of) {
    const tide_snapshot_timing *timing = &of->snapshot->timing;
    const char *what = of->snapshot->forecast.card[0] != '\0' ? "Forecast time" : "Time";
    say_forecast(of);
    say_losses(of);
    if (!has_times(timing)) {
        tide_report_say(of->report, "timing", "timing: not computed%s",
                        of->snapshot->n_devices == 1 &&
                                strcmp(of->snapshot->devices[0].kind, "virtual") == 0
                            ? " (the virtual device computes nothing)"
                            : "");
        return;
    }
    const char *title = tide_report_text(
        of->report, "%s of %" PRId64 " %s after %" PRId64 " of warm-up", what,
        timing->measured_steps, tide_plural((uint64_t)timing->measured_steps, "step", "steps"),
        timing->warmup_steps);
    tide_table *table = tide_report_table(of->report, "timing", title);
    TIDE_COLUMNS(table, TIDE_TEXT("phase", "phase"), TIDE_TEXT("clock", "clock"),
                 TIDE_NUMBER("samples", "steps"), TIDE_NUMBER("median_ms", "median"),
                 TIDE_NUMBER("mean_ms", "mean"), TIDE_NUMBER("std_ms", "± sample std"),
                 TIDE_NUMBER("min_ms", "min"), TIDE_NUMBER("max_ms", "max"));
    if (timing->measured_steps >= TIDE_STATISTICS_TEN) {
        tide_table_column(table, "best_ten_ms",
                          tide_report_text(of->report, "best of %" PRId64 " x 10",
                                           timing->measured_steps / TIDE_STATISTICS_TEN),
                          true);
    }
    for (size_t i = 0; i < timing->n_phases; i++) {
        const tide_snapshot_phase *phase = &timing->phases[i];
        time_row(table, phase->name, "device", phase->device_ms, phase->n_samples);
        time_row(table, phase->name, "host", phase->host_ms, phase->n_samples);
    }
    if (of->snapshot->device_uncertainty_ns >= 0) {
        tide_report_say(of->report, "device_clock",
                        "device times of scopes lie within %.1f us of the host's clock",
                        (double)of->snapshot->device_uncertainty_ns * 1e-3);
    }
    char words[SENTENCE_BYTES];
    tide_words_recorder(of->snapshot, words, sizeof(words));
    if (words[0] != '\0') {
        tide_report_say(of->report, "recorder", "%s", words);
    }
}
