/* diff.h - the lines of a plan's changes as a patch of the program's files (diff -u), for patch -p1
 * in the folder of the run.
 *
 * The changes say where their lines go: after a line ("train.py:50"), or before a statement
 * ("before train.py:52"). Lines for several places have a comment "# at PLACE" before each part.
 * The caller runs the patched program: only its peaks show that the patch is the change.
 */
#ifndef TIDE_PROGRAMS_PLAN_DIFF_H
#define TIDE_PROGRAMS_PLAN_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lines that are added to a file. */
typedef struct tide_plan_insertion {
    char *path;   /* owned, as the next */
    char *text;   /* lines with their ends, indented for their place */
    size_t after; /* number of the line that they follow; 0: at the beginning of the file */
} tide_plan_insertion;

typedef struct tide_plan_diff {
    const tide_hostmem *mem;   /* borrowed */
    tide_plan_insertion *rows; /* owned; in order of addition */
    size_t n, capacity;
} tide_plan_diff;

void tide_plan_diff_init(tide_plan_diff *diff);
void tide_plan_diff_fini(tide_plan_diff *diff);

/* Adds the lines of a change, as the snapshot has them. TIDE_UNSUPPORTED, with the reason, if they
 * have no place, a file is outside of the current folder, or cannot be read. */
TIDE_NODISCARD tide_status tide_plan_diff_add(tide_plan_diff *diff, const char *lines,
                                              const char *place, tide_error *error);

/* The patch as text, which the caller releases; "" without insertions. */
TIDE_NODISCARD tide_status tide_plan_diff_text(tide_plan_diff *diff, char **ret_text,
                                               tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
