/* program_run.h - a run of a user's command on its way (program_here.c, program_parts.c).
 */
#ifndef TIDE_PROGRAMS_RUNS_PROGRAM_RUN_H
#define TIDE_PROGRAMS_RUNS_PROGRAM_RUN_H

#include <stdio.h>

#include "programs/launch/cards.h"
#include "programs/launch/launch.h"
#include "programs/launch/left/left.h"
#include "programs/launch/ranks.h"
#include "programs/launch/time.h"
#include "programs/runs/run_friend.h"

/* The host whose time is forecast, and the calibrations that it points to. */
typedef struct tide_run_host {
    tide_calibration own, target;
    tide_time_host host;
} tide_run_host;

/* One run on its way. */
typedef struct tide_run_of_command {
    const tide_run_config *config; /* borrowed, as the next two */
    const tide_run_hooks *hooks;
    tide_run_result *result;
    char cards[TIDE_LAUNCH_CARDS_BYTES];
    tide_launch_config launching;
    tide_ranks ranks; /* that run, of a job of ranks */
    tide_launch launch;
    tide_run_host host;
    FILE *errors; /* the program's error output */
    tide_left_list left;
    size_t process, device;               /* the fullest; of the list */
    char saved_path[TIDE_RUN_PATH_BYTES]; /* of the process that was saved last; "": none */
    tide_snapshot *snapshot;              /* owned: of that process; NULL: it has no history */
    int64_t failure_asked_bytes, failure_free_bytes; /* of a failed allocation; -1: none */
    bool is_part;      /* of a run of several sets: its figures are those of one process */
    double slowest_us; /* a step of the slowest rank so far; 0: none has a forecast */
} tide_run_of_command;

/* Makes the result from the processes of run->left. */
TIDE_NODISCARD tide_status tide_run_command_read(tide_run_of_command *run, tide_error *error);

/* program_parts.c: makes result->parts, one for each of the program's sets. */
TIDE_NODISCARD tide_status tide_run_command_read_parts(tide_run_of_command *run, tide_error *error);

#endif
