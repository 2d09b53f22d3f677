/* internal.h - the pieces of `tidemark env`. */
#ifndef TIDE_CLI_ENV_INTERNAL_H
#define TIDE_CLI_ENV_INTERNAL_H

#include "common/status.h"
#include "programs/launch/box/box_setup.h"

/* "90s", "10min", "2h" -> seconds. TIDE_INVALID: it is no such time, or above 1000000 s. */
TIDE_NODISCARD tide_status tide_env_seconds(const char *text, uint64_t *ret_seconds,
                                            tide_error *error);

/* The line of a variable: an export for a POSIX shell, or NAME=VALUE; cut to the room. */
void tide_env_line(const tide_box_variable *of, bool is_shell, char *ret_line, size_t n_room);

#endif
