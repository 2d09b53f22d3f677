/* step_rows.h - the recorded steps of each device, during a walk of the events: the same as
 * tide_steps_find finds in a document by scopes of the kind step, with memory only for the steps.
 */
#ifndef TIDE_SNAPSHOT_STEP_ROWS_H
#define TIDE_SNAPSHOT_STEP_ROWS_H

#include "snapshot/document/event_source.h"
#include "snapshot/analysis/steps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A step and its rows so far. */
typedef struct tide_step_span {
    uint64_t first, last;
    uint32_t scope;
} tide_step_span;

typedef struct tide_step_spans {
    tide_step_span *spans; /* owned; by their scopes */
    size_t n_spans;
    size_t capacity;
} tide_step_spans;

typedef struct tide_step_rows {
    const tide_hostmem *mem;         /* borrowed */
    const tide_event_source *source; /* borrowed */
    tide_step_spans *devices;        /* owned */
    uint32_t last_scope, last_step;  /* the scope looked up last, and its outermost step */
} tide_step_rows;

/* The caller calls fini, also after an error. */
TIDE_NODISCARD tide_status tide_step_rows_init(tide_step_rows *rows,
                                               const tide_event_source *source,
                                               const tide_hostmem *mem);
void tide_step_rows_fini(tide_step_rows *rows);

/* Takes row `row` of the recording. TIDE_UNSUPPORTED: it is within more than 1000 scopes. */
TIDE_NODISCARD tide_status tide_step_rows_note(tide_step_rows *rows, const tide_event *event,
                                               uint64_t row, tide_error *error);

/* Moves the steps of steps->device into `steps`, as tide_steps_find fills it. The caller calls fini
 * of `steps`, also after an error. */
TIDE_NODISCARD tide_status tide_step_rows_take(tide_step_rows *rows, tide_steps *steps,
                                               tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
