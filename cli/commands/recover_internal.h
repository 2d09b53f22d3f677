/* recover_internal.h - the list of what runs have left. */
#ifndef TIDE_CLI_COMMANDS_RECOVER_INTERNAL_H
#define TIDE_CLI_COMMANDS_RECOVER_INTERNAL_H

#include <stdbool.h>

#include "common/status.h"

/* recover_list.c. Prints the folders of all runs that have logs, with their sizes, ages and
 * commands. With `removes`, removes those whose run has ended instead, all or that of the name
 * `only` (NULL: all), and prints what it removed. TIDE_INVALID: there is none of that name, or its
 * run goes on. */
TIDE_NODISCARD tide_status tide_recover_list(bool removes, const char *only, tide_error *error);

#endif
