/* together.h - several runs of a Python script by one import: python/tidemark/changes/many.py
 * imports torch and what the script imports, and forks a child for each list of changes, one after
 * the other.
 *
 *     python -u train.py --batch 8  ──>  python -u FOLDER/changes/many.py SETS train.py --batch 8
 *
 * Each child is a process of the run. The file `together` in the folder of the run has the process
 * id of each that ended well, and its list.
 */
#ifndef TIDE_LAUNCH_TOGETHER_H
#define TIDE_LAUNCH_TOGETHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/launch/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the command is a Python interpreter with a script: one import can serve several runs of
 * it. Only after the import is it known to be safe. */
bool tide_launch_can_share_import(char *const *arguments);

/* The command that runs a script once for each of config->sets. */
typedef struct tide_launch_together_command {
    char **arguments; /* owned; its texts are those below and the configuration's */
    char *sets;       /* owned */
    char many[2 * TIDE_LAUNCH_PATH_BYTES];
} tide_launch_together_command;

/* Makes it. TIDE_INVALID unless tide_launch_can_share_import. The caller calls fini, also after a
 * failure. */
TIDE_NODISCARD tide_status tide_launch_together(const tide_launch_config *config,
                                                const tide_launch *launch,
                                                tide_launch_together_command *ret,
                                                tide_error *error);
void tide_launch_together_fini(tide_launch_together_command *command);

/* The process that ran the i-th of the lists; -1: none ended well. */
int64_t tide_launch_process_of_set(const tide_launch *launch, const char *sets, size_t i);

/* The number of lists; at least 1. */
size_t tide_launch_count_sets(const char *sets);

#ifdef __cplusplus
}
#endif

#endif
