/* logs.h - where the logs of live recordings are: outside of the run's folder, which disappears
 * with the process that started the run, so a log survives whatever ended both.
 *
 * Each run has its own folder in $XDG_STATE_HOME/tidemark (by default ~/.local/state). It is
 * removed when the snapshots of the run are written.
 */
#ifndef TIDE_LAUNCH_LOGS_H
#define TIDE_LAUNCH_LOGS_H

#include "programs/launch/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the folder of a run. TIDE_IO: it cannot be made; the message has the reason. */
TIDE_NODISCARD tide_status tide_logs_make(char ret_folder[TIDE_LAUNCH_PATH_BYTES],
                                          tide_error *error);

/* Marks the folder as belonging to a running run until *ret_fd is closed or this process ends, and
 * writes the command into it. *ret_fd -1: it could not be marked. */
void tide_logs_own(const char *folder, char *const *arguments, int *ret_fd);

/* Whether a process is writing the log. */
bool tide_logs_is_written(const char *path);

/* Removes the folder with its logs; does nothing for "". */
void tide_logs_remove(const char *folder);

/* The newest log of a run that was not turned into a snapshot. TIDE_INVALID: there is none; the
 * message names the searched folder. */
TIDE_NODISCARD tide_status tide_logs_last(char ret_path[TIDE_LAUNCH_PATH_BYTES], tide_error *error);

enum { TIDE_LOGS_MAX = 64 };

typedef struct tide_logs_list {
    char paths[TIDE_LOGS_MAX][TIDE_LAUNCH_PATH_BYTES]; /* by process id */
    size_t n;
} tide_logs_list;

/* The logs that running processes are writing. They are those of the run in `folder`, or, if that
 * is "", of the run whose newest process began last; `folder` is then set to its folder. `pid` -1:
 * of all processes of the run, at most TIDE_LOGS_MAX; otherwise of that process, in any run.
 * TIDE_INVALID: there is none; the message names the searched folder. */
TIDE_NODISCARD tide_status tide_logs_find_running(int64_t pid, char folder[TIDE_LAUNCH_PATH_BYTES],
                                                  tide_logs_list *ret, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
