/* tidemark time: the time of the steps of a launch log on other cards. */
#include <stdio.h>
#include <string.h>

#include "cli/calibration.h"
#include "cli/cli.h"
#include "cli/options/report_options.h"
#include "cli/time/internal.h"
#include "device/card_names.h"
#include "device/cards.h"
#include "programs/step_time/log.h"
#include "programs/step_time/steady.h"

enum { MAX_CARDS = TIDE_OPTION_LIST_ITEMS, USUAL_KERNELS = 10 };

typedef struct time_options {
    tide_option_list cards; /* names; none: the card of the log */
    uint64_t n_kernels;
    tide_host_options host;
    tide_report_options report;
} time_options;

#define AT(member) offsetof(time_options, member)

static const char *card_at(size_t i) {
    size_t n_cards = 0;
    const tide_card *cards = tide_cards(&n_cards);
    return i < n_cards ? cards[i].name : NULL;
}

static const char *find_name(const char *text) {
    const tide_card *card = tide_card_find(text);
    return card != NULL ? card->name : NULL;
}

static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_CHOICES,
     .name = "cards",
     .value = "CARD,...",
     .help = "cards to forecast for, by their names in `tidemark devices --cards`; the first is "
             "the base of ratios; default the card that the program ran on",
     .choice_at = card_at,
     .offset = AT(cards),
     .find = find_name,
     .unknown = tide_card_unknown},
    TIDE_OPTION(COUNT, "kernels", "N", AT(n_kernels),
                "show the N kernels with most time on each card; default 10, 0 for none"),
    TIDE_HOST_ROWS(AT(host)),
    TIDE_REPORT_ROWS(AT(report)),
};

static const tide_option_table TABLE = {
    .command = "time",
    .operands = "FILE",
    .intro = "Forecasts how long a step of a program takes on a card, from a launch log, which\n"
             "`tidemark run --launch-log FILE` writes. Nothing runs; the forecast is a model\n"
             "(docs/guide/virtual-time.md).\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 1,
    .max_operands = 1,
};

/* The results for each card. */
typedef struct made {
    tide_time_log log;
    tide_time_ranges ranges;
    tide_host_choice host;
    size_t n_cards;
    tide_time_card cards[MAX_CARDS];
    tide_time_constants constants[MAX_CARDS]; /* of each card, as calibrated */
    tide_time_model models[MAX_CARDS];
    tide_time_forecast forecasts[MAX_CARDS];
} made;

static tide_status find_card(const char *name, tide_time_card *ret_card, tide_error *error) {
    const tide_card *card = tide_card_find(name);
    char text[TIDE_NEAREST_TEXT];
    if (card == NULL) {
        return tide_fail(error, TIDE_INVALID, "%s", tide_card_unknown(name, text));
    }
    return tide_time_card_of(card, ret_card, error);
}

static tide_status add_card(made *to, const char *name, tide_error *error) {
    size_t i = to->n_cards;
    TIDE_TRY(find_card(name, &to->cards[i], error));
    to->n_cards++;
    to->constants[i] = tide_time_constants_for(&TIDE_TIME_CONSTANTS, &to->host.host, &to->cards[i]);
    TIDE_TRY(tide_time_model_init(&to->log, &to->constants[i], &to->cards[i], &to->models[i]));
    return tide_time_forecast_init(&to->models[i], &to->ranges, &to->host.host, &to->forecasts[i],
                                   error);
}

static tide_status make(made *to, const time_options *options, const char *path,
                        tide_error *error) {
    TIDE_TRY(tide_host_choose(&options->host, "time", &to->host, error));
    TIDE_TRY(tide_time_log_read(tide_hostmem_default(), path, &to->log, error));
    if (!tide_time_log_is_whole(&to->log)) {
        tide_cli_note(
            "time",
            "%s ends before the program does: the program was killed, or the file is cut; "
            "the forecast is of what the log holds",
            path);
    }
    TIDE_TRY(tide_time_ranges_init(&to->log, &to->ranges));
    TIDE_TRY(tide_time_log_steady(&to->log, &to->ranges));
    for (size_t i = 0; i < options->cards.n; i++) {
        TIDE_TRY(add_card(to, options->cards.texts[i], error));
    }
    return options->cards.n > 0 ? TIDE_OK : add_card(to, to->log.card, error);
}

static void release(made *of) {
    for (size_t i = 0; i < of->n_cards; i++) {
        tide_time_forecast_fini(&of->forecasts[i]);
        tide_time_model_fini(&of->models[i]);
    }
    tide_time_ranges_fini(&of->ranges);
    tide_time_log_fini(&of->log);
}

static tide_status report_on(const made *of, const time_options *options, tide_error *error) {
    tide_report report;
    tide_report_init(&report, "time");
    tide_time_report(&report, of->forecasts, of->n_cards, (size_t)options->n_kernels);
    return tide_report_end(&report, TIDE_OK, tide_format_chosen(&options->report), error);
}

static int run(int argc, char **argv) {
    time_options options = {.n_kernels = USUAL_KERNELS};
    tide_operands operands = {.n = 0};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    tide_error error = {""};
    made of = {.n_cards = 0};
    tide_status status = make(&of, &options, operands.texts[0], &error);
    if (status == TIDE_OK) {
        status = report_on(&of, &options, &error);
    }
    release(&of);
    return tide_cli_end("time", status, &error, TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_time = {
    .name = "time",
    .summary = "how long a recorded program's steps take on other cards: a forecast",
    .options = &TABLE,
    .run = run,
};
