/* helper.h - starts tidemark as a process that is no child of the program. */
#ifndef TIDE_LIVE_HELPER_H
#define TIDE_LIVE_HELPER_H

#include <stdbool.h>
#include <stddef.h>

enum { TIDE_LIVE_MAX_ENTRIES = 4096 };

/* The program's environment without the variables that preload this library, and without ours: the
 * other process belongs neither to the program nor to a run. */
void tide_live_copy_environment(char *to[TIDE_LIVE_MAX_ENTRIES]);

/* Runs `tidemark` with these arguments, the first of which is its path, and waits for its end: it
 * continues in a process of its own (`tidemark recover --watch`). The program gets no SIGCHLD, and
 * its wait() does not see the process, which has no terminal, no open files of the program, and a
 * session of its own. False: it could not be started. One thread at a time: the one that opens the
 * recording. */
bool tide_live_start_helper(char *const arguments[]);

#endif
