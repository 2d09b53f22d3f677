/* ranges.h - where steps and phases begin and end in a launch log, by its marks.
 *
 * The marks are those of python/tidemark/steps.py. Steps are those that the program reports itself;
 * otherwise they end with the step of its first optimizer; if nothing is optimised, they begin with
 * the calls of the outermost module. Without a mark of its end, the last step ends with its last
 * backward pass or optimizer. A log without such marks is one step.
 *
 * A program may capture its last step, including the optimizer, into a CUDA graph and replay it
 * afterwards without marks: then each launch of that graph begins a step.
 */
#ifndef TIDE_STEP_TIME_RANGES_H
#define TIDE_STEP_TIME_RANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/step_time/log.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_time_phase {
    TIDE_TIME_FORWARD = 0, /* including the loss */
    TIDE_TIME_BACKWARD,
    TIDE_TIME_OPTIMIZER,
    TIDE_TIME_BETWEEN, /* after a backward pass and before the optimizer: clipping */
    TIDE_TIME_N_PHASES
} tide_time_phase;
const char *tide_time_phase_name(tide_time_phase phase); /* "forward"; BETWEEN: "other" */

/* Rows first to last - 1. A step with gradient accumulation has several ranges of one phase. */
typedef struct tide_time_range {
    size_t first, last;
    tide_time_phase phase; /* of a step: TIDE_TIME_N_PHASES */
    size_t step;           /* of a phase: its step, from 0 on */
} tide_time_range;

typedef struct tide_time_ranges {
    const tide_hostmem *mem; /* borrowed */
    tide_time_range *steps;  /* owned; complete ones, in order */
    size_t n_steps, steps_room;
    size_t n_before;         /* steps before the first replay of a captured step; 0: no replays */
    tide_time_range *phases; /* owned; in order */
    size_t n_phases, phases_room;
    bool is_whole; /* the log has no step marks: its one step is the whole log */
} tide_time_ranges;

/* The caller calls tide_time_ranges_fini, also after a failure. */
TIDE_NODISCARD tide_status tide_time_ranges_init(const tide_time_log *log,
                                                 tide_time_ranges *ret_ranges);
void tide_time_ranges_fini(tide_time_ranges *ranges);

#ifdef __cplusplus
}
#endif

#endif
