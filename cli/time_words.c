#include "cli/time_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plural.h"
#include "common/text.h"
#include "device/cards.h"

enum { MS_BYTES = 32, MAX_TOLD = 4 };

/* Three digits: "0.482", "4.82", "48.2", "482". */
static const char *as_ms(double us, char ret[MS_BYTES]) {
    double ms = us * 1e-3;
    int n_decimals = ms >= 99.95 ? 0 : ms >= 9.995 ? 1 : ms >= 0.9995 ? 2 : 3;
    snprintf(ret, MS_BYTES, "%.*f", n_decimals, ms);
    return ret;
}

static void add_bound(tide_text *to, const tide_time_forecast *of) {
    tide_text_add(to, "; bound by %s", tide_time_limit_name(of->limit));
    if (of->limit != TIDE_TIME_GPU_BOUND && !tide_time_is_calibrated(of)) {
        tide_text_add(to, ", so that the range is wide%s",
                      of->host.basis == TIDE_TIME_HOST_STATED ||
                              of->host.basis == TIDE_TIME_HOST_MODELLED
                          ? ""
                          : ": `tidemark bench calibrate`, on the machine with the GPU, measures "
                            "its host");
    }
}

void tide_time_words_step(const tide_time_forecast *of, char ret_words[TIDE_TIME_WORDS]) {
    char one[MS_BYTES];
    char low[MS_BYTES];
    char high[MS_BYTES];
    tide_text to = tide_text_in(ret_words, TIDE_TIME_WORDS);
    const char *what = of->is_whole ? "the program" : "a step";
    if (of->is_lower_bound) {
        tide_text_add(&to, "%s takes at least %s ms; more is not forecast", what,
                      as_ms(of->low.total_us, low));
        return;
    }
    bool says_one = of->limit == TIDE_TIME_GPU_BOUND || tide_time_is_calibrated(of);
    if (says_one) {
        tide_text_add(&to, "%s takes %s ms (%s to %s)", what, as_ms(of->likely.total_us, one),
                      as_ms(of->low.total_us, low), as_ms(of->high.total_us, high));
    } else {
        tide_text_add(&to, "%s takes %s to %s ms", what, as_ms(of->low.total_us, low),
                      as_ms(of->high.total_us, high));
    }
    tide_text_add(&to, ": GPU busy %s ms (%s to %s)", as_ms(of->likely.busy_us, one),
                  as_ms(of->low.busy_us, low), as_ms(of->high.busy_us, high));
    tide_text_add(&to, ", host %s ms", as_ms(of->likely.host_us, one));
    add_bound(&to, of);
    if (of->utilisation >= 0.0 && says_one) {
        tide_text_add(&to, "; model FLOPs utilisation %.0f %%", 100.0 * of->utilisation);
    }
}

void tide_time_words_phases(const tide_time_forecast *of, char ret_words[TIDE_TIME_WORDS]) {
    char one[MS_BYTES];
    tide_text to = tide_text_in(ret_words, TIDE_TIME_WORDS);
    for (size_t i = 0; i < TIDE_TIME_N_PHASES && !of->is_lower_bound; i++) {
        if (of->phase_us[i] > 0.0) {
            tide_text_add_item(&to, ", ", "%s %s ms", tide_time_phase_name((tide_time_phase)i),
                               as_ms(of->phase_us[i], one));
        }
    }
}

/* What a kernel is to people: its family, or its kind where that says more. */
static const char *word_of(const tide_time_kernel *kernel) {
    switch (kernel->kind) {
    case TIDE_RUN_KERNEL:
        return tide_time_family_name((tide_run_family)kernel->family);
    case TIDE_RUN_ATTENTION:
        return "attention";
    case TIDE_RUN_CONVOLUTION:
        return "convolutions";
    case TIDE_RUN_COLLECTIVE:
        return "collectives";
    case TIDE_RUN_GRAPH_LAUNCH:
        return "CUDA graphs";
    default:
        return "copies";
    }
}

/* " (attention, softmax, norm and others)": those with most time. */
static void add_families(tide_text *to, const tide_time_forecast *of, tide_time_basis basis) {
    const char *told[MAX_TOLD] = {NULL};
    size_t n_told = 0;
    bool has_others = false;
    for (size_t i = 0; i < of->kernels.n; i++) {
        const tide_time_kernel *kernel = &of->kernels.rows[i];
        const char *word = word_of(kernel);
        bool is_told = kernel->basis != basis;
        for (size_t k = 0; k < n_told && !is_told; k++) {
            is_told = strcmp(told[k], word) == 0;
        }
        if (!is_told && n_told == MAX_TOLD) {
            has_others = true;
        } else if (!is_told) {
            tide_text_add(to, "%s%s", n_told == 0 ? " (" : ", ", word);
            told[n_told++] = word;
        }
    }
    tide_text_add(to, "%s%s", has_others ? " and others" : "", n_told > 0 ? ")" : "");
}

void tide_time_words_basis(const tide_time_forecast *of, char ret_words[TIDE_TIME_WORDS]) {
    tide_text to = tide_text_in(ret_words, TIDE_TIME_WORDS);
    tide_text_add(&to, "of %" PRIu64 " launches %" PRIu64 " %s guessed, with %.1f %% of the time",
                  of->n_launches, of->n_guessed, tide_plural(of->n_guessed, "is", "are"),
                  100.0 * of->guessed_share);
    if (of->is_lower_bound) {
        bool is_time = of->guessed_share > TIDE_TIME_MOST_GUESSED;
        tide_text_add(&to, "; more than 5 %% of the %s is guessed", is_time ? "time" : "launches");
    }
    if (of->n_uncompared > 0) {
        tide_text_add(&to,
                      "; %.1f %% of the time is in kernels whose work is known, but that were "
                      "never compared with a published time",
                      100.0 * of->uncompared_share);
        add_families(&to, of, TIDE_TIME_UNCOMPARED);
    }
    if (!of->card->is_compared) {
        tide_text_add(&to, "; no published time of this card was compared");
    }
}

/* "Xeon 8570, 2026-11-27" */
static void add_machine(tide_text *to, const tide_calibration *of) {
    tide_text_add(to, " (%s%s%s, %s)", of->cpu, of->has_gpu ? " with " : "",
                  of->has_gpu ? of->gpu.name : "", of->made);
}

void tide_time_words_host(const tide_time_forecast *of, char ret_words[TIDE_TIME_WORDS]) {
    const tide_time_host *host = &of->host;
    tide_text to = tide_text_in(ret_words, TIDE_TIME_WORDS);
    if (host->basis == TIDE_TIME_HOST_STATED) {
        tide_text_add(
            &to,
            "the host's time is stated, not measured: 2.6 us a kernel and 5.4 us a call of "
            "cuBLAS; ends of the range are for %.2f and %.2f of it; no calibration was "
            "used, since those are of PyTorch",
            host->least, host->most);
        return;
    }
    if (host->basis == TIDE_TIME_HOST_MODELLED) {
        tide_text_add(&to,
                      "the host's time is stated, not measured: for a launch 42 us forward in fp32 "
                      "and tf32, 35 in bf16-mixed, 18 backward and 7 in the optimizer, and 14 for "
                      "the driver, as on the machine that the model was fitted on, times %.2f, the "
                      "middle of published hosts; ends of the range are for %.2f and %.2f; no "
                      "calibration was used",
                      host->factor, host->least, host->most);
        return;
    }
    tide_text_add(&to, "the host's time is that of this run times %.2f, ", host->factor);
    switch (host->basis) {
    case TIDE_TIME_HOST_GIVEN:
        tide_text_add(&to, "as --host-factor says; no calibration was used for it");
        break;
    case TIDE_TIME_HOST_MEASURED:
        tide_text_add(&to, "as launches take by the calibration of the machine to forecast for");
        add_machine(&to, host->target);
        if (host->target != host->own) {
            tide_text_add(&to, " and by that of the machine of the run");
            add_machine(&to, host->own);
        }
        tide_text_add(&to, "; how well that holds for a whole step was never compared");
        break;
    case TIDE_TIME_HOST_SCALED:
        tide_text_add(&to, "the middle of published hosts by the calibration of this machine");
        add_machine(&to, host->own);
        tide_text_add(&to, "; ends of the range are for %.2f and %.2f", host->least, host->most);
        break;
    default:
        tide_text_add(&to,
                      "the middle of published hosts; ends of the range are for %.2f and %.2f; no "
                      "calibration was used",
                      host->least, host->most);
    }
    if (of->has_own_card) {
        tide_text_add(&to, "; rates of products and memory are those that were measured on this "
                           "card");
        add_machine(&to, host->target);
    }
}

void tide_time_words_none(const char *device, char ret_words[TIDE_TIME_WORDS]) {
    static const char VIRTUAL[] = "virtual:";
    tide_error error = {""};
    tide_time_card rates;
    const tide_card *card = strncmp(device, VIRTUAL, sizeof(VIRTUAL) - 1) == 0
                                ? tide_card_find(device + sizeof(VIRTUAL) - 1)
                                : NULL;
    bool is_refused = card != NULL && tide_time_card_of(card, &rates, &error) != TIDE_OK;
    (void)snprintf(ret_words, TIDE_TIME_WORDS, "times: not computed (%s)",
                   is_refused ? error.message : "the virtual device has none");
}
