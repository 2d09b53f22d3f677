/* recover_internal.h - the list of the logs that runs have left. */
#ifndef TIDE_CLI_COMMANDS_RECOVER_INTERNAL_H
#define TIDE_CLI_COMMANDS_RECOVER_INTERNAL_H

#include <stdbool.h>

#include "common/status.h"

/* recover_list.c. Prints the folders of all runs that have logs, with their sizes, ages and
 * commands. With `removes`, removes those of ended runs instead, all or the one named `only` (NULL:
 * all), and prints the removed ones. TIDE_INVALID if there is none of that name, or its run has not
 * ended. */
TIDE_NODISCARD tide_status tide_recover_list(bool removes, const char *only, tide_error *error);

#endif
