#include "cli/time_runs.h"

#include <inttypes.h>

#include "common/text/plural.h"
#include "common/text/text.h"
#include "programs/launch/cards.h"
#include "programs/step_time/card.h"

void tide_time_runs_add(tide_time_runs *to, const tide_run_result *result) {
    const tide_run_of_program *of = &result->program;
    if (of->step_low_ms < 0.0) {
        return;
    }
    to->n++;
    to->n_unknown += of->n_guessed < 0;
    to->n_guessing += of->n_guessed > 0;
    if (of->n_guessed > to->most_guessed) {
        to->most_guessed = of->n_guessed;
        to->n_launches = of->n_launches;
    }
}

static void add_guesses(tide_text *to, const tide_time_runs *of) {
    if (of->n_unknown > 0) {
        tide_text_add(to,
                      "%zu of %zu forecasts %s of an older version, which does not say how many "
                      "launches are guessed; ",
                      of->n_unknown, of->n, tide_plural(of->n_unknown, "is", "are"));
    }
    if (of->n_guessing > 0) {
        tide_text_add(to,
                      "launches are guessed in %zu of %zu forecasts, at most %" PRId64
                      " of %" PRId64 " in a step; ",
                      of->n_guessing, of->n, of->most_guessed, of->n_launches);
    } else if (of->n_unknown == 0) {
        tide_text_add(to, "no launch is guessed; ");
    }
}

void tide_time_runs_words(const tide_time_runs *of, const char *device,
                          char ret_words[TIDE_TIME_WORDS]) {
    tide_text to = tide_text_in(ret_words, TIDE_TIME_WORDS);
    if (of->n == 0) {
        tide_time_words_none(device, ret_words);
        return;
    }
    tide_text_add(&to, "times: forecast, a model: the likely time of a step, the ends of its "
                       "range, and what it is bound by; ");
    add_guesses(&to, of);
    tide_text_add(&to, "tidemark's own kernels were never compared with a published time");
}

static bool is_compared(const char *device) {
    char cards[TIDE_LAUNCH_CARDS_BYTES];
    tide_card card;
    tide_time_card rates;
    return tide_launch_cards(device, cards, NULL) == TIDE_OK && tide_launch_card(cards, 0, &card) &&
           tide_time_card_of(&card, &rates, NULL) == TIDE_OK && rates.is_compared;
}

void tide_time_runs_command_words(const tide_time_runs *of, const char *device,
                                  char ret_words[TIDE_TIME_WORDS]) {
    tide_text to = tide_text_in(ret_words, TIDE_TIME_WORDS);
    tide_text_add(&to, "the forecast is a model: ");
    add_guesses(&to, of);
    tide_text_add(&to, is_compared(device)
                           ? "`tidemark run --time` shows which kernels were never compared with "
                             "a published time"
                           : "no published time of this card was compared");
}
