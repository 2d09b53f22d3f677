/* program_options.h - the options of every command that runs a user's program on virtual cards: how
 * far it runs, the values that it reads, and the handling of its writes.
 */
#ifndef TIDE_CLI_PROGRAM_OPTIONS_H
#define TIDE_CLI_PROGRAM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/calibration.h"
#include "cli/options/options.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Texts are static. */
typedef struct tide_program_options {
    uint64_t n_calls;   /* 0: to the end, or to the requested number of steps */
    const char *values; /* "auto", "zero" */
    const char *streams;
    const char *writes;     /* "scratch", "allow" */
    bool wants_time;        /* forecast the time of a step */
    tide_host_options host; /* the host of that time */
} tide_program_options;

#define TIDE_PROGRAM_OPTIONS_DEFAULT                                                               \
    { .values = "auto", .streams = "now", .writes = "scratch" }

/* The names of the options that these rows have, for tide_options_find_unused. */
#define TIDE_PROGRAM_OPTIONS "calls values streams writes time host host-factor"

/* The i-th value, NULL past the last, for tide_option.choice_at. */
const char *tide_choice_values(size_t i);
const char *tide_choice_streams(size_t i);         /* of one run */
const char *tide_choice_streams_or_both(size_t i); /* "both" makes a run of each */
const char *tide_choice_writes(size_t i);

/* "shadow" is the former name of what auto does now. Rows of a table whose values have a
 * tide_program_options at `at`. */
#define TIDE_PROGRAM_ROW_CALLS(at)                                                                 \
    TIDE_OPTION(COUNT, "calls", "N", (at) + offsetof(tide_program_options, n_calls),               \
                "the same after N calls of its outermost module, where nothing is optimised")
#define TIDE_PROGRAM_ROW_VALUES(at)                                                                \
    {                                                                                              \
        .kind = TIDE_OPTION_CHOICE, .name = "values",                                              \
        .help = "what the program reads from the card: values computed on the CPU or assumed, "    \
                "or zeros; default auto (docs/guide/virtual-cuda.md)",                             \
        .synonyms = "shadow=auto", .choice_at = tide_choice_values,                                \
        .offset = (at) + offsetof(tide_program_options, values)                                    \
    }
#define TIDE_PROGRAM_ROW_STREAMS(at, choices, more)                                                \
    TIDE_OPTION_OF(CHOICE, "streams", NULL, choices,                                               \
                   (at) + offsetof(tide_program_options, streams),                                 \
                   "when work on streams completes: at once, " more "; default now")
#define TIDE_PROGRAM_ROW_WRITES(at)                                                                \
    TIDE_OPTION_OF(CHOICE, "writes", NULL, tide_choice_writes,                                     \
                   (at) + offsetof(tide_program_options, writes),                                  \
                   "scratch keeps what the program writes away from your files; default scratch")

#define TIDE_PROGRAM_ROW_TIME(at)                                                                  \
    TIDE_OPTION(FLAG, "time", NULL, (at) + offsetof(tide_program_options, wants_time),             \
                "forecast how long a step of the program takes on the card "                       \
                "(docs/guide/virtual-time.md)")

#define TIDE_PROGRAM_ROWS_HOST(at) TIDE_HOST_ROWS((at) + offsetof(tide_program_options, host))

/* TIDE_INVALID if steps and calls were both requested. */
TIDE_NODISCARD tide_status tide_program_options_check(const tide_program_options *options,
                                                      uint64_t n_steps, tide_error *error);

/* For use without a user's command: the message of TIDE_INVALID names a given option of these
 * rows. */
TIDE_NODISCARD tide_status tide_program_options_refuse(const tide_option_table *table,
                                                       const tide_operands *operands,
                                                       tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
