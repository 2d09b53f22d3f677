/* tidemark fit: the largest value with which a user's command fits a card, found by runs on it; and
 * the same for our own model, if this build has it. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/fit/internal.h"
#include "cli/options/report_options.h"
#include "cli/own_model.h"
#include "cli/words/program_words.h"

#define AT(member) offsetof(tide_fit_options, member)

/* Without our own model. */
static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_HEADING, .help = "A command of yours, after the options"},
    TIDE_FIT_ROWS_COMMAND,
    TIDE_FIT_ROW_MULTIPLE_OF,
    TIDE_OPTION(COUNT, "steps", "N", AT(run.steps), "number of steps of each run; default 3"),
    TIDE_FIT_ROW_DEVICE,
    TIDE_OPTION_ROW_MEMORY_LIMIT(AT(run), ""),
    TIDE_OPTION_ROW_SPILL(AT(run)),
    {.kind = TIDE_OPTION_HEADING, .help = "Output"},
    TIDE_REPORT_ROWS(AT(run.report)),
};

static const tide_option_table TABLE = {
    .command = "fit",
    .operands = TIDE_FIT_OPERANDS,
    .intro =
        "Finds the largest value of an argument with which a command fits a card. It needs no\n"
        "GPU.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .notes = TIDE_FIT_NOTES_COMMAND,
    .unneeded = TIDE_OWN_MODEL_OPTIONS,
};

static int answer_program(const tide_fit_options *options, const tide_operands *operands,
                          const tide_option_table *table, tide_program_words *words, char **argv) {
    tide_error error = {""};
    tide_status status = tide_program_words_check(
        words,
        "tidemark fit --device virtual:h100-80 --vary batch=1..64 python train.py --batch "
        "{batch}",
        &error);
    if (status == TIDE_OK) {
        status = tide_program_words_interpret(words, argv, &error);
    }
    return status == TIDE_OK ? tide_fit_program(options, table, operands, words->program)
                             : tide_cli_refuse("fit", status, &error);
}

int tide_fit_main(int argc, char **argv) {
    tide_fit_options options = {
        .find = "batch", .multiple_of = 1, .program = TIDE_PROGRAM_OPTIONS_DEFAULT};
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    const tide_own_model *own = tide_own_model_here;
    const tide_option_table *table = own != NULL ? own->fit_table : &TABLE;
    (own != NULL ? own->init_options : tide_run_options_init)(&options.run);
    tide_program_words words = tide_program_words_find(table, argc, argv);
    tide_operands operands;
    if (!tide_cli_parse(table, words.n_own, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    if (words.program != NULL) {
        return answer_program(&options, &operands, table, &words, argv);
    }
    if (options.varied.n > 0) {
        tide_cli_note("fit", "--vary needs a command after the options: python train.py --batch "
                             "{batch}");
        return TIDE_EXIT_USAGE;
    }
    if (tide_options_is_given(table, &operands, "max-step-ms")) {
        tide_cli_note("fit", "--max-step-ms needs --vary and a command after the options: python "
                             "train.py --batch {batch}; tidemark sweep forecasts a step of "
                             "tidemark's own model for each value of a list");
        return TIDE_EXIT_USAGE;
    }
    if (own == NULL) {
        tide_status missing = tide_own_model_refuse("no command follows the options", &error);
        return tide_cli_refuse("fit", missing, &error);
    }
    tide_status status = tide_program_options_refuse(table, &operands, &error);
    return status == TIDE_OK ? own->fit(&options, &operands)
                             : tide_cli_refuse("fit", status, &error);
}

const tide_command tide_command_fit = {
    .name = "fit",
    .summary = "the largest value with which a command fits a card, without a GPU",
    .options = &TABLE,
    .run = tide_fit_main,
};
