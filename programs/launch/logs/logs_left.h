/* logs_left.h - the logs that runs have left: runs that were killed, and runs whose snapshots could
 * not be written. Each log occupies its whole size on the disk until it is removed.
 */
#ifndef TIDE_LAUNCH_LOGS_LEFT_H
#define TIDE_LAUNCH_LOGS_LEFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_LOGS_COMMAND_BYTES = 256 };

/* The folder of a run. */
typedef struct tide_logs_run {
    char name[64];                         /* of its folder */
    char command[TIDE_LOGS_COMMAND_BYTES]; /* as typed, cut; "" if unknown */
    size_t n_logs;
    uint64_t n_bytes; /* on the disk */
    int64_t age_s;    /* since a file in it changed */
    bool is_running;  /* still running, or its snapshots are being written */
} tide_logs_run;

typedef struct tide_logs_left {
    char folder[4096];   /* of all runs */
    tide_logs_run *runs; /* owned; newest first */
    size_t n_runs;
    size_t n_left;    /* of them, not running */
    uint64_t n_bytes; /* of these */
} tide_logs_left;

/* Lists the folders of all runs. The list is empty if their parent does not exist. */
TIDE_NODISCARD tide_status tide_logs_left_init(tide_logs_left *ret, tide_error *error);
void tide_logs_left_fini(tide_logs_left *left);

/* Removes the folder of a run with the files that tidemark made in it. TIDE_INVALID: the run is
 * still running. TIDE_IO: the folder has another file, and both stay. */
TIDE_NODISCARD tide_status tide_logs_left_remove(const tide_logs_left *left, size_t run,
                                                 tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
