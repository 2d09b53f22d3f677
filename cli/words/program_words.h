/* program_words.h - the user's program at the end of a command line: `tidemark run [options] python
 * train.py`, with or without "--" before it.
 */
#ifndef TIDE_CLI_PROGRAM_WORDS_H
#define TIDE_CLI_PROGRAM_WORDS_H

#include "cli/options/options.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_program_words {
    int n_own;            /* argv[0..n_own - 1] are the command's own arguments */
    char *const *program; /* the program and its arguments, NULL-terminated, borrowed from argv; may
                             be empty after a "--"; NULL: no program */
    bool is_after_dashes; /* a "--" is before it */
} tide_program_words;

/* Finds the program on a command line whose table has only options. */
tide_program_words tide_program_words_find(const tide_option_table *table, int argc, char **argv);

/* Puts the interpreter before a Python file that cannot start itself, such as train.py without
 * execute permission. Call it after the command's own arguments were parsed: the interpreter
 * overwrites their last place in argv. TIDE_INVALID if PATH has no Python. */
TIDE_NODISCARD tide_status tide_program_words_interpret(tide_program_words *words, char **argv,
                                                        tide_error *error);

/* For a command that also works without a program: TIDE_INVALID if the first word of a program
 * without "--" before it names nothing that can be started. */
TIDE_NODISCARD tide_status tide_program_words_check(const tide_program_words *words,
                                                    const char *example, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
