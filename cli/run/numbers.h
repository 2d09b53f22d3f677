/* numbers.h - the names of a run's files: the first number with which none of them exists, so no
 * run replaces the files of an earlier or concurrent run.
 */
#ifndef TIDE_CLI_RUN_NUMBERS_H
#define TIDE_CLI_RUN_NUMBERS_H

#include <stdbool.h>

#include "cli/files.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds a stem, `base` or "BASE-2" and so on, with which the current folder has no snapshot and,
 * with `has_page`, no page, and reserves it: other processes choose another one until *ret_fd is
 * closed or this process ends. *ret_fd -1: this system cannot reserve names. False if the name is
 * too long, or all numbers are in use. */
bool tide_run_choose_stem(const char *base, bool has_page, char ret_stem[TIDE_PATH_BYTES],
                          int *ret_fd);

#ifdef __cplusplus
}
#endif

#endif
