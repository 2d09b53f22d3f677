/* internal.h - the parts of `tidemark fit` for a user's command. */
#ifndef TIDE_CLI_FIT_INTERNAL_H
#define TIDE_CLI_FIT_INTERNAL_H

#include "cli/fit/options.h"

/* program.c. The answers about the command at `arguments`; returns the exit status. */
int tide_fit_program(const tide_fit_options *options, const tide_option_table *table,
                     const tide_operands *operands, char *const *arguments);

#endif
