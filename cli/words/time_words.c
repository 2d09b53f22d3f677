#include "cli/words/time_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/text/milliseconds.h"
#include "common/text/plural.h"
#include "common/text/text.h"
#include "device/cards.h"
#include "programs/step_time/compared.h"

enum { MAX_NAMED = 4 };

static const char *as_ms(double us, char ret[TIDE_MS_TEXT]) {
    return tide_ms_format(us * 1e-3, ret);
}

static void add_range(tide_text *to, const tide_time_forecast *of) {
    char low[TIDE_MS_TEXT];
    char high[TIDE_MS_TEXT];
    as_ms(of->low.total_us, low);
    if (of->is_lower_bound) {
        tide_text_add(to, "at least %s ms", low);
    } else {
        tide_text_add(to, "%s to %s ms", low, as_ms(of->high.total_us, high));
    }
}

void tide_time_words_range(const tide_time_forecast *of, char ret_words[TIDE_TIME_WORDS]) {
    tide_text to = tide_text_in(ret_words, TIDE_TIME_WORDS);
    add_range(&to, of);
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
    char one[TIDE_MS_TEXT];
    char low[TIDE_MS_TEXT];
    char high[TIDE_MS_TEXT];
    tide_text to = tide_text_in(ret_words, TIDE_TIME_WORDS);
    const char *what = of->is_whole ? "the program" : "a step";
    if (of->is_lower_bound) {
        tide_text_add(&to, "%s takes ", what);
        add_range(&to, of);
        tide_text_add(&to, "; more is not forecast");
        return;
    }
    bool says_one = of->limit == TIDE_TIME_GPU_BOUND || tide_time_is_calibrated(of);
    tide_text_add(&to, "GPU busy %s ms (%s to %s) in %s, ", as_ms(of->likely.busy_us, one),
                  as_ms(of->low.busy_us, low), as_ms(of->high.busy_us, high), what);
    if (says_one) {
        tide_text_add(&to, "which takes %s ms (%s to %s)", as_ms(of->likely.total_us, one),
                      as_ms(of->low.total_us, low), as_ms(of->high.total_us, high));
    } else {
        tide_text_add(&to, "which takes ");
        add_range(&to, of);
    }
    tide_text_add(&to, ": host %s ms", as_ms(of->likely.host_us, one));
    add_bound(&to, of);
    if (of->utilisation >= 0.0 && says_one) {
        tide_text_add(&to, "; model FLOPs utilisation %.0f %%", 100.0 * of->utilisation);
    }
}

void tide_time_words_phases(const tide_time_forecast *of, char ret_words[TIDE_TIME_WORDS]) {
    char one[TIDE_MS_TEXT];
    tide_text to = tide_text_in(ret_words, TIDE_TIME_WORDS);
    for (size_t i = 0; i < TIDE_TIME_N_PHASES && !of->is_lower_bound; i++) {
        if (of->phase_us[i] > 0.0) {
            tide_text_add_item(&to, ", ", "%s %s ms", tide_time_phase_name((tide_time_phase)i),
                               as_ms(of->phase_us[i], one));
        }
    }
}

/* A kernel in plain words: its family, or its kind if that is more specific. */
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
    case TIDE_RUN_PRODUCT:
        return "matrix products";
    default:
        return "copies";
    }
}

/* "attention, softmax, norm and others": those with the most time. */
static void add_families(tide_text *to, const tide_time_forecast *of, tide_time_basis basis) {
    const char *named[MAX_NAMED] = {NULL};
    size_t n_named = 0;
    bool has_others = false;
    for (size_t i = 0; i < of->kernels.n; i++) {
        const tide_time_kernel *kernel = &of->kernels.rows[i];
        const char *word = word_of(kernel);
        bool is_named = kernel->basis != basis;
        size_t n_word = strcspn(word, ","); /* "elementwise, casts" is elementwise */
        for (size_t k = 0; k < n_named && !is_named; k++) {
            is_named = strncmp(named[k], word, n_word) == 0;
        }
        if (!is_named && n_named == MAX_NAMED) {
            has_others = true;
        } else if (!is_named) {
            tide_text_add(to, "%s%.*s", n_named == 0 ? "" : ", ", (int)n_word, word);
            named[n_named++] = word;
        }
    }
    tide_text_add(to, "%s", has_others ? " and others" : "");
}

static bool guesses_collectives(const tide_time_forecast *of) {
    for (size_t i = 0; i < of->kernels.n; i++) {
        if (of->kernels.rows[i].kind == TIDE_RUN_COLLECTIVE &&
            of->kernels.rows[i].basis == TIDE_TIME_GUESSED) {
            return true;
        }
    }
    return false;
}

void tide_time_words_basis(const tide_time_forecast *of, char ret_words[TIDE_TIME_WORDS]) {
    tide_text to = tide_text_in(ret_words, TIDE_TIME_WORDS);
    double compared_share = fmax(0.0, 1.0 - of->guessed_share - of->uncompared_share);
    tide_text_add(&to,
                  "%.1f %% of the card's time is in kernels that were compared with published "
                  "times",
                  100.0 * compared_share);
    if (of->error_share > 0.0) {
        tide_text_add(&to, " (median error %.1f %%; ", 100.0 * of->error_share);
        add_families(&to, of, TIDE_TIME_COMPARED);
        tide_text_add(&to, ")");
    }
    if (of->n_uncompared > 0) {
        tide_text_add(&to,
                      ", and %.1f %% in kernels whose work is known, but that were never "
                      "compared (before its fit, a family's median error was %.0f %%; ",
                      100.0 * of->uncompared_share, TIDE_TIME_NEVER_COMPARED.median_percent);
        add_families(&to, of, TIDE_TIME_UNCOMPARED);
        tide_text_add(&to, ")");
    }
    if (of->n_guessed > 0) {
        bool is_time = of->guessed_share > TIDE_TIME_MOST_GUESSED;
        tide_text_add(&to, "; of %" PRIu64 " %s %" PRIu64 " %s guessed, with %.1f %% of the time",
                      of->n_launches, tide_plural(of->n_launches, "launch", "launches"),
                      of->n_guessed, tide_plural(of->n_guessed, "is", "are"),
                      100.0 * of->guessed_share);
        tide_text_add(&to, "%s",
                      !of->is_lower_bound ? ""
                      : is_time           ? "; more than 5 % of the time is guessed"
                                          : "; more than 5 % of the launches are guessed");
    }
    if (of->error_share > 0.0 && !of->is_lower_bound) {
        tide_text_add(&to,
                      "; the card's range is the sum of its families' intervals, which held %u of "
                      "100 published times that were left out of their fit",
                      TIDE_TIME_HELD_PERCENT);
    }
    if (guesses_collectives(of)) {
        tide_text_add(
            &to, "; collectives between nodes are guessed: %s",
            tide_time_network_source(of->card) == NULL
                ? "no source states the network between nodes of this card"
                : "it is unknown which nodes the ranks of a group are in, or which network "
                  "cards a root uses");
    }
    if (!of->card->is_compared) {
        tide_text_add(&to, "; no published time of this card was compared");
    }
}

/* Other programs slowed the host down: the largest share of its time that needs no word. */
#define USUAL_WAITING 0.1

void tide_time_words_host(const tide_time_forecast *of, char ret_words[TIDE_TIME_WORDS]) {
    tide_time_host_words(&of->host, of->has_own_card, ret_words);
    size_t n = strlen(ret_words);
    if (of->waited_share > USUAL_WAITING) {
        (void)snprintf(ret_words + n, TIDE_TIME_WORDS - n,
                       "; this machine was busy: the program waited %.0f %% of the time for a "
                       "processor, which the forecast leaves out",
                       100.0 * of->waited_share);
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
