/* program.h - a user's command as a workload: names in braces in its arguments, and the values that
 * replace them.
 *
 * Only the names in `values` are replaced. Braces around any other text are kept, so an argument
 * may contain JSON or a pattern.
 */
#ifndef TIDE_PROGRAMS_RUNS_PROGRAM_H
#define TIDE_PROGRAMS_RUNS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"
#include "programs/runs/workload.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether an argument of the command has the name in braces. */
bool tide_run_program_uses(char *const *arguments, const char *name);

/* The arguments in the form of tide_run_program.command; release the text with cJSON_free. NULL
 * without host memory. */
char *tide_run_program_command(char *const *arguments);

/* The arguments with the values in place of their names, NULL-terminated; release them with
 * tide_run_program_release. TIDE_FORMAT if `command` is not an array of texts. */
TIDE_NODISCARD tide_status tide_run_program_arguments(const tide_run_program *program,
                                                      char ***ret_arguments, tide_error *error);
void tide_run_program_release(char **arguments);

/* The value of a name in "batch=8,ctx=1024", and its length; NULL if the name is missing. */
const char *tide_run_program_value(const char *values, const char *name, size_t *ret_n_bytes);

/* See workload.h. */
TIDE_NODISCARD tide_status tide_run_program_check(const tide_run_program *program,
                                                  tide_error *error);
void tide_run_program_name(const tide_run_program *program, char ret_name[TIDE_RUN_NAME_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
