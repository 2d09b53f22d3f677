/* left_internal.h - the content of PID.json.
 */
#ifndef TIDE_LAUNCH_LEFT_INTERNAL_H
#define TIDE_LAUNCH_LEFT_INTERNAL_H

#include "launch/left.h"

/* Fills the process from the text of its PID.json; rows and texts go into the list's arena.
 * TIDE_FORMAT names the key. */
TIDE_NODISCARD tide_status tide_left_parse(const char *text, tide_left_list *list,
                                           tide_left *ret_process, tide_error *error);

/* left_log.c. A process that left nothing but the log at `path`, which the list keeps. TIDE_FORMAT:
 * nothing of it can be read. */
TIDE_NODISCARD tide_status tide_left_read_log(const char *path, int64_t pid, tide_left_list *list,
                                              tide_left *ret_process, tide_error *error);

#endif
