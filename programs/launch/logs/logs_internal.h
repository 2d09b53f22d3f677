/* logs_internal.h - names of what lies in the folder of all logs.
 */
#ifndef TIDE_LAUNCH_LOGS_INTERNAL_H
#define TIDE_LAUNCH_LOGS_INTERNAL_H

#include <stdbool.h>

#include "programs/launch/launch.h"

#define TIDE_LOGS_RUN "run-" /* begins the name of a run's folder */
#define TIDE_LOGS_ENDING ".log"
#define TIDE_LOGS_COMMAND "command" /* the file with what the user typed */

/* Whether a process writes the log now. */
bool tide_logs_is_written(const char *path);

/* The folder of all runs. False: its path is too long, or nobody has a home. */
bool tide_logs_find_state(char ret_folder[TIDE_LAUNCH_PATH_BYTES]);

#endif
