/* The clock that the program sees: the requirements of --clock virtual, and the note about it at
 * the end.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "programs/step_time/forecast.h"
#include "programs/step_time/log.h"
#include "programs/step_time/work.h"

static bool is_virtual(const tide_run_command_options *options) {
    return strcmp(options->clock, "virtual") == 0;
}

tide_status tide_run_check_clock(const tide_run_command_options *options, tide_error *error) {
    return is_virtual(options) && options->device == NULL
               ? tide_fail(error, TIDE_INVALID,
                           "--clock virtual shows the program the forecast of a virtual card: name "
                           "one: --device virtual:h100-80")
               : TIDE_OK;
}

/* All cards of a process must be of one model. */
static tide_status check_cards(const char *cards, tide_time_card *ret_rates, tide_card *ret_card,
                               tide_error *error) {
    tide_card other;
    if (!tide_launch_card(cards, 0, ret_card)) {
        return tide_fail(error, TIDE_INVALID, "--clock virtual: there is no card");
    }
    for (size_t i = 1; tide_launch_card(cards, i, &other); i++) {
        if (strcmp(other.name, ret_card->name) != 0) {
            return tide_fail(error, TIDE_INVALID,
                             "--clock virtual needs cards of one kind, and these are %s and %s: "
                             "run it on one kind, or without --clock virtual",
                             ret_card->name, other.name);
        }
    }
    tide_status status = tide_time_card_of(ret_card, ret_rates, error);
    if (status != TIDE_OK) {
        tide_error_prefix(error, "--clock virtual");
    }
    return status;
}

tide_status tide_run_set_clock(const tide_run_command_options *options,
                               char text[TIDE_TIME_PACE_TEXT], tide_launch_config *config,
                               tide_error *error) {
    tide_host_choice host;
    tide_card card;
    tide_time_card rates;
    if (!is_virtual(options)) {
        return TIDE_OK;
    }
    TIDE_TRY(check_cards(config->cards, &rates, &card, error));
    TIDE_TRY(tide_host_choose(&options->host, options->wants_time ? NULL : TIDE_COMMAND_RUN, &host,
                              error));
    const tide_time_pace pace = {host.host.factor,
                                 tide_time_constants_for(&TIDE_TIME_CONSTANTS, &host.host, &rates)};
    tide_time_pace_write(&pace, text);
    config->clock = text;
    config->logs_launches = true; /* the clock follows its rows */
    return TIDE_OK;
}

/* ---- the answer ---- */

typedef struct counts {
    uint64_t n_launches, n_guessed;
    double us, guessed_us;
} counts;

static tide_status count(const tide_time_pace *pace, const tide_time_card *rates, const char *path,
                         counts *to, tide_error *error) {
    tide_time_log log = {.mem = NULL};
    tide_status status = tide_time_log_read(tide_hostmem_default(), path, &log, error);
    for (size_t i = 0; i < log.n_rows && status == TIDE_OK; i++) {
        tide_work_time work = tide_work_time_of(&pace->constants, rates, &log.rows[i]);
        bool is_guessed = work.basis == TIDE_TIME_GUESSED;
        if (work.us > 0.0) {
            to->n_launches++;
            to->us += work.us;
            to->n_guessed += is_guessed;
            to->guessed_us += is_guessed ? work.us : 0.0;
        }
    }
    tide_time_log_fini(&log);
    return status;
}

void tide_run_tell_clock(const tide_run_answer *of) {
    counts all = {0};
    tide_time_pace pace;
    tide_card card;
    tide_time_card rates;
    if (of->config->clock == NULL || !tide_time_pace_read(of->config->clock, &pace) ||
        check_cards(of->config->cards, &rates, &card, NULL) != TIDE_OK) {
        return;
    }
    for (size_t i = 0; i < of->list->n_processes; i++) {
        tide_error error = {""};
        const char *path = of->processes[i].left->launches_path;
        if (path != NULL && count(&pace, &rates, path, &all, &error) != TIDE_OK) {
            tide_cli_note(TIDE_COMMAND_RUN, "the launches of the program's clock: %s",
                          error.message);
        }
    }
    if (all.n_launches == 0) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "the program's clock was a forecast: this machine's time times %.2f; the "
                      "program gave the card nothing to do",
                      pace.host);
        return;
    }
    bool is_low = (double)all.n_guessed > TIDE_TIME_MOST_GUESSED * (double)all.n_launches ||
                  all.guessed_us > TIDE_TIME_MOST_GUESSED * all.us;
    tide_cli_note(TIDE_COMMAND_RUN,
                  "the program's clock was a forecast, and so is every time that it printed: this "
                  "machine's time times %.2f, and the model's times of the card; of %" PRIu64
                  " launches %" PRIu64 " are guessed%s",
                  pace.host, all.n_launches, all.n_guessed,
                  is_low ? ", which is too much of them: its times are lower bounds" : "");
}
