/* own.h - changes of the command itself, not within PyTorch: the user's patch, and smaller batches
 * by the program's own options.
 *
 * A patch is applied by the run: `sh` patches the files, and then starts the program. What a run
 * writes is kept away from the user's files, so they stay as they are, and the program finds its
 * patched ones under their own names.
 */
#ifndef TIDE_PROGRAMS_PLAN_OWN_H
#define TIDE_PROGRAMS_PLAN_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "programs/plan/changes.h"
#include "programs/runs/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the user gives for them. */
typedef struct tide_plan_own {
    const char *patch_path;      /* borrowed; NULL: none */
    char *patched_command;       /* owned: the command with the patch, in the form of
                                    tide_run_program.command */
    char *diff_command;          /* owned: the same with the patch that the plan made */
    char batch_name[64];         /* of {batch}; "": none */
    char accumulate_name[64];    /* of {accum} */
    uint64_t least_batch, batch; /* the smallest that is tried, and that of the unchanged command */
} tide_plan_own;

/* Takes the user's patch. TIDE_INVALID if it cannot be read. The caller calls fini, also after a
 * failure. */
TIDE_NODISCARD tide_status tide_plan_own_take_patch(tide_plan_own *own, const char *path,
                                                    char *const *arguments, tide_error *error);
/* Takes the patch that the plan made, for a command in the form of tide_run_program.command. */
TIDE_NODISCARD tide_status tide_plan_own_take_diff(tide_plan_own *own, const char *path,
                                                   const char *command, tide_error *error);
void tide_plan_own_fini(tide_plan_own *own);

/* "batch=16,accum=2" of 1/`part` of the batch. `part` divides it. */
void tide_plan_own_values(const tide_plan_own *own, uint64_t part,
                          char ret_values[TIDE_RUN_VALUES_BYTES]);

/* Whether 1/`part` of the batch can be tried: a whole number, and not below the least. */
bool tide_plan_own_has_part(const tide_plan_own *own, uint64_t part);

/* Makes the own changes of a list in the configuration, and copies the other changes of the list to
 * `ret_others`, which is as large as the list. `values` keeps the values. */
void tide_plan_own_apply(const tide_plan_own *own, const char *changes, tide_run_config *config,
                         char *ret_others);

/* Whether a name of a list is one of these. */
bool tide_plan_is_own(const char *name, size_t n_name);

#ifdef __cplusplus
}
#endif

#endif
