/* options.h - the options of `tidemark fit`, for its two answers: about a user's command, and about
 * our own model (model/commands/fit/).
 */
#ifndef TIDE_CLI_FIT_OPTIONS_H
#define TIDE_CLI_FIT_OPTIONS_H

#include "cli/options/program_options.h"
#include "cli/options/run_options.h"

/* The command line as it was written; all texts are borrowed from it. */
typedef struct tide_fit_options {
    tide_run_options run;         /* the options that describe a run and its limits */
    const char *find;             /* a name of a quantity */
    uint64_t multiple_of;         /* 1 and more */
    tide_option_texts devices;    /* specs; n 0: plain virtual */
    tide_option_texts varied;     /* of a command: "batch=1..4096" */
    tide_program_options program; /* of a command */
    double most_step_ms;          /* of a command; 0: no limit */
} tide_fit_options;

/* Rows of the tables of both answers. */
#define TIDE_FIT_ROW_MULTIPLE_OF                                                                   \
    TIDE_OPTION(COUNT, "multiple-of", "N", offsetof(tide_fit_options, multiple_of),                \
                "try only multiples of N, such as contexts in steps of 128; default 1")
#define TIDE_FIT_ROW_DEVICE                                                                        \
    TIDE_OPTION_OF(TEXTS, "device", "virtual[:CARD]", tide_choice_virtual_device,                  \
                   offsetof(tide_fit_options, devices),                                            \
                   "card that the run must fit; may be given several times; tidemark devices "     \
                   "lists the cards")
#define TIDE_FIT_ROWS_COMMAND                                                                      \
    TIDE_OPTION(TEXTS, "vary", "NAME=LOW..HIGH", offsetof(tide_fit_options, varied),               \
                "find the largest value of {NAME} in its arguments; 3 steps unless --steps says "  \
                "otherwise"),                                                                      \
        TIDE_PROGRAM_ROW_CALLS(offsetof(tide_fit_options, program)),                               \
        TIDE_PROGRAM_ROW_VALUES(offsetof(tide_fit_options, program)),                              \
        TIDE_PROGRAM_ROW_STREAMS(offsetof(tide_fit_options, program), tide_choice_streams,         \
                                 "or when the host waits"),                                        \
        TIDE_PROGRAM_ROW_WRITES(offsetof(tide_fit_options, program)),                              \
        TIDE_OPTION(POSITIVE, "max-step-ms", "X", offsetof(tide_fit_options, most_step_ms),        \
                    "a value whose step is forecast to take longer than X ms does not fit either " \
                    "(docs/guide/virtual-time.md); default any time"),                             \
        TIDE_PROGRAM_ROWS_HOST(offsetof(tide_fit_options, program))

/* The command itself; its table is that of tide_own_model_here, if this build has our own model. */
int tide_fit_main(int argc, char **argv);

#define TIDE_FIT_OPERANDS "[[--] COMMAND [ARGUMENT...]]"

/* Lines of --help about the answer for a command. */
#define TIDE_FIT_NOTES_COMMAND                                                                     \
    "With COMMAND the answer is about that command, run on a virtual card as tidemark run\n"       \
    "does: --vary batch=1..4096 python train.py --batch {batch}. Only the declared name in\n"      \
    "braces is replaced. The search makes few runs, and takes for granted that a larger value\n"   \
    "needs no less memory.\n"

#endif
