/* step_finder.h - finds the steps of a recording: by its scopes, by the annotations that PyTorch's
 * profiler and optimizers leave, or because its allocations repeat.
 */
#ifndef TIDE_SNAPSHOT_STEP_FINDER_H
#define TIDE_SNAPSHOT_STEP_FINDER_H

#include "snapshot/analysis/steps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills the source and the steps in the order of their rows, each with scope, number, first and
 * last row, is_warmup and is_open. `steps` has its memory and device, and no steps; the caller
 * finishes it also after an error. */
TIDE_NODISCARD tide_status tide_steps_find(tide_steps *steps, const tide_snapshot *snapshot,
                                           const tide_lifetimes *lifetimes);

/* The same without the steps that only repeat. */
TIDE_NODISCARD tide_status tide_steps_find_named(tide_steps *steps, const tide_snapshot *snapshot);

/* A step without rows that the scope stands for. */
tide_step tide_step_of_scope(uint32_t scope, const tide_scope_row *row, const char *name,
                             int64_t number);

/* Puts the steps into the order of their rows; those without rows go. */
void tide_steps_sort(tide_steps *steps);

/* Adds a step to the list. `capacity` is that of steps->steps, 0 at first. */
TIDE_NODISCARD tide_status tide_steps_add(tide_steps *steps, size_t *capacity, tide_step step);

/* The last resort of tide_steps_find: steps are what repeats. The allocations of a device are a
 * sequence of call sites (of sizes, where there are no call stacks). The longest run in which each
 * is the same as the one a period before gives the period, if it is three periods long at least and
 * half of the sequence, and a period has four allocations from two sites at least. What one
 * line of a module's forward or of PyTorch's own calls is its layers, and what has no Python code
 * is those of a backward pass, and no steps; without call stacks, what keeps most of the memory
 * that it takes is none either. A step begins where least is allocated. No steps: nothing repeats
 * so. */
TIDE_NODISCARD tide_status tide_steps_infer(tide_steps *steps, const tide_snapshot *snapshot,
                                            const tide_lifetimes *lifetimes);

#ifdef __cplusplus
}
#endif

#endif
