/* logs_internal.h - names of files in the folder of all logs.
 */
#ifndef TIDE_LAUNCH_LOGS_INTERNAL_H
#define TIDE_LAUNCH_LOGS_INTERNAL_H

#include <stdbool.h>

#include "programs/launch/launch.h"

#define TIDE_LOGS_RUN "run-" /* prefix of a run's folder */
#define TIDE_LOGS_ENDING ".log"
#define TIDE_LOGS_COMMAND "command" /* the file with the user's command */

/* The folder of all runs. False: its path is too long, or there is no home. */
bool tide_logs_find_state(char ret_folder[TIDE_LAUNCH_PATH_BYTES]);

#endif
