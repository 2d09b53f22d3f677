/* step_finder.h - finds the steps of a recording: by its scopes, by annotations of PyTorch's
 * profiler and optimizers, or because its allocations repeat.
 */
#ifndef TIDE_SNAPSHOT_STEP_FINDER_H
#define TIDE_SNAPSHOT_STEP_FINDER_H

#include "snapshot/analysis/steps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the source and the steps in the order of their rows, each with scope, number, first and
 * last row, is_warmup and is_open. `steps` has its memory and device, and no steps; the caller
 * calls fini, also after an error. */
TIDE_NODISCARD tide_status tide_steps_find(tide_steps *steps, const tide_snapshot *snapshot,
                                           const tide_lifetimes *lifetimes);

/* The same without steps that are inferred from repetition. */
TIDE_NODISCARD tide_status tide_steps_find_named(tide_steps *steps, const tide_snapshot *snapshot);

/* A step for the scope, without rows. */
tide_step tide_step_of_scope(uint32_t scope, const tide_scope_row *row, const char *name,
                             int64_t number);

/* Sorts the steps by their rows; drops those without rows. */
void tide_steps_sort(tide_steps *steps);

/* Adds a step to the list. `capacity` is that of steps->steps, 0 at first. */
TIDE_NODISCARD tide_status tide_steps_add(tide_steps *steps, size_t *capacity, tide_step step);

/* The last resort of tide_steps_find: infers steps from repetition. The allocations of a device are
 * a sequence of call sites (of sizes, if there are no call stacks). The period comes from the
 * longest run in which each allocation equals the one a period before. The run must be at least
 * three periods long and half of the sequence, and a period must have at least four allocations
 * from two sites. A period whose allocations all come from one line of a module's forward or of
 * PyTorch is a layer, and a period without Python code is a layer of a backward pass: no steps.
 * Without call stacks, a run that keeps most of its memory is not steps either. A step begins where
 * least is allocated. No steps if no run fits. */
TIDE_NODISCARD tide_status tide_steps_infer(tide_steps *steps, const tide_snapshot *snapshot,
                                            const tide_lifetimes *lifetimes);

#ifdef __cplusplus
}
#endif

#endif
