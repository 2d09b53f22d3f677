/* cli.h - the shared parts of the commands of the tidemark program: the table of commands, exit
 * statuses, and the one place that prints messages.
 *
 * Results go to stdout, messages to stderr. Only main.c ends the process; a command returns its
 * exit status.
 */
#ifndef TIDE_CLI_CLI_H
#define TIDE_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/options/options.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_EXIT_SUCCESS = 0,
    TIDE_EXIT_FAILURE = 1,
    TIDE_EXIT_USAGE = 2,      /* the command line is not valid */
    TIDE_EXIT_DEVICE_OOM = 3, /* out of device memory; the snapshot is still written */
    TIDE_EXIT_GATE = 4,       /* everything ran, but a stated bound was missed */
    TIDE_EXIT_SIGNAL = 128    /* plus the signal's number: interrupted */
};

typedef struct tide_command {
    const char *name;                 /* "profile" */
    const char *summary;              /* one line for `tidemark --help`, no full stop */
    const tide_option_table *options; /* its options; --help is generated from it */
    /* argv[0] is the command's name. Returns the exit status. */
    int (*run)(int argc, char **argv);
} tide_command;

/* One per command that every build has; main.c has their table. */
extern const tide_command tide_command_run;
extern const tide_command tide_command_summary;
extern const tide_command tide_command_explain;
extern const tide_command tide_command_compare;
extern const tide_command tide_command_view;
extern const tide_command tide_command_dump;
extern const tide_command tide_command_export;
extern const tide_command tide_command_digest;
extern const tide_command tide_command_ranks;
extern const tide_command tide_command_picture;
extern const tide_command tide_command_recover;
extern const tide_command tide_command_mcp;
extern const tide_command tide_command_env;
extern const tide_command tide_command_top;
extern const tide_command tide_command_replay;
extern const tide_command tide_command_fit;
extern const tide_command tide_command_plan;
extern const tide_command tide_command_sweep;
extern const tide_command tide_command_time;
extern const tide_command tide_command_devices;

/* 0 for TIDE_OK, 2 for TIDE_INVALID, 3 for TIDE_DEVICE_OOM, 4 for TIDE_GATE, 1 for all others. */
int tide_exit_status(tide_status status);

/* Prints "tidemark COMMAND: MESSAGE" to stderr (the status' own text when the message is empty) and
 * returns the exit status, for use in a return statement. `command` may be NULL. */
int tide_cli_fail(const char *command, tide_status status, const tide_error *error);

/* The same for commands in which only the command line can exceed a limit: TIDE_LIMIT also returns
 * 2. */
int tide_cli_refuse(const char *command, tide_status status, const tide_error *error);

/* Prints "tidemark COMMAND: ..." to stderr: warnings and notes. Names in it may come from files and
 * programs: report/harmless.h escapes the characters that a terminal would obey. */
void tide_cli_note(const char *command, const char *format, ...) TIDE_PRINTF(2, 3);

/* Prints a result that is neither table nor JSON to `out`, stdout or stderr, escaped like a note.
 * The text must contain the line feed. */
void tide_cli_print(FILE *out, const char *format, ...) TIDE_PRINTF(2, 3);

/* Parses argv[1..] by the command's table into `values` and `operands` (NULL if the table has
 * none). True: continue. False: help or an error has been printed; return *ret_exit. */
bool tide_cli_parse(const tide_option_table *table, int argc, char **argv, void *values,
                    tide_operands *operands, int *ret_exit);

/* Flushes stdout: a report that was cut by a full disk or a closed pipe must not look like success.
 * Returns `exit_status`, or 1 with a message when stdout could not be written. */
int tide_cli_finish(const char *command, int exit_status);

/* The end of a command: tide_cli_finish with `exit_status` after TIDE_OK, else tide_cli_fail. */
int tide_cli_end(const char *command, tide_status status, const tide_error *error, int exit_status);

#ifdef __cplusplus
}
#endif

#endif
