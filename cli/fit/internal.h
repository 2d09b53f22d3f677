/* internal.h - the parts of `tidemark fit` for a user's command. */
#ifndef TIDE_CLI_FIT_INTERNAL_H
#define TIDE_CLI_FIT_INTERNAL_H

#include <stdbool.h>

#include "cli/fit/options.h"
#include "programs/runs/run.h"
#include "report/table.h"

/* program.c. The answers about the command at `arguments`; returns the exit status. */
int tide_fit_program(const tide_fit_options *options, const tide_option_table *table,
                     const tide_operands *operands, char *const *arguments);

/* assumed.c. Whether the run of an answer also fits with all rows that assumed values could have
 * given. */
bool tide_fit_with_all_rows(const tide_run_of_program *program);
/* Otherwise the condition after "fits"; "" without one. The report keeps it. */
const char *tide_fit_condition(const tide_run_of_program *program, tide_report *report);
/* Adds the sentence `assumed`; nothing if no value was assumed. */
void tide_fit_say_assumed(const char *card, const tide_run_of_program *program,
                          tide_report *report);
/* The table of these values, and a row of it. */
tide_table *tide_fit_assumed_table(tide_report *report);
void tide_fit_add_assumed(const char *card, const tide_run_of_program *program, tide_table *table);

#endif
