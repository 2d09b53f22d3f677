/* steps.h - the steps of a run on one device: whether each repeats the one before it, what is alive
 * at their ends, what grows from one to the next, and what is never released.
 *
 * A step is an outermost scope of that kind with events on the device, from its first event to its
 * last; whatever other threads do in between belongs to it. Those named "warmup" are warm-up. A
 * recording without such scopes may still show its steps: by the annotations of PyTorch's profiler
 * and optimizers, or because its allocations repeat (step_finder.h).
 */
#ifndef TIDE_SNAPSHOT_STEPS_H
#define TIDE_SNAPSHOT_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the steps of a recording are known, the surest first. */
typedef enum tide_step_source {
    TIDE_STEPS_RECORDED = 0, /* scopes of the kind step */
    TIDE_STEPS_PROFILER,     /* annotations "ProfilerStep#7" of PyTorch's profiler */
    TIDE_STEPS_OPTIMIZER,    /* each ends with an annotation "Optimizer.step#AdamW.step" */
    TIDE_STEPS_INFERRED      /* the allocations repeat; nothing in the recording says so */
} tide_step_source;

typedef struct tide_step {
    uint32_t scope;       /* row of the table of scopes; TIDE_NONE: no scope stands for the step */
    int64_t number;       /* as the recording numbers it, else from 0 on; -1: it has none */
    bool is_warmup;       /* named so */
    bool is_open;         /* the recording ends within it, so that its figures are too low */
    bool is_compared;     /* with the measured step before it; false for the first */
    bool repeats;         /* is_compared: the same actions on the same sizes in the same order */
    size_t first, last;   /* its first and last row of the event table on the device */
    int64_t differs;      /* its first row that does not repeat; -1: it lacks one, or repeats */
    int64_t differs_from; /* the row of the step before that it should be; -1: there is none */
    int64_t n_rows;       /* about blocks */
    int64_t n_segment_rows; /* about segments: what it bought and gave back */
    int64_t peak_bytes;     /* highest allocated bytes after one of its rows */
    int64_t end_bytes;      /* allocated after its last row */
    int64_t end_blocks;     /* the same in blocks */
} tide_step;

typedef struct tide_steps {
    const tide_hostmem *mem; /* borrowed */
    size_t device;           /* index of the device */
    tide_step_source source; /* valid if there are steps */
    size_t n_period_allocs;  /* TIDE_STEPS_INFERRED: allocations of each step */
    double period_share; /* TIDE_STEPS_INFERRED: allocations that repeat, of all on the device */
    tide_step *steps;    /* owned; by their first rows */
    size_t n_steps;
    size_t first_measured; /* index of the first that is neither warm-up nor open; n_steps: there is
                              none */
} tide_steps;

/* Blocks of one name and call stack. */
typedef struct tide_kept {
    uint32_t name, stack;  /* TIDE_NONE */
    uint32_t scope;        /* of the first of them; TIDE_NONE */
    uint8_t category;      /* of the first of them */
    int64_t before_bytes;  /* allocated at the earlier instant */
    int64_t before_blocks; /* the same in blocks */
    int64_t bytes;         /* allocated at the later instant */
    int64_t blocks;        /* the same in blocks */
    int64_t n_steps;       /* in which those of the later instant were born; 0: in none */
    int64_t first_born; /* row of the first of these; -1: before the first row, or there is none */
} tide_kept;

typedef struct tide_kept_list {
    const tide_hostmem *mem; /* borrowed */
    tide_kept *items;        /* owned */
    size_t n_items;
} tide_kept_list;

/* The caller finishes it. No steps: a valid empty list. */
TIDE_NODISCARD tide_status tide_steps_init(tide_steps *steps, const tide_snapshot *snapshot,
                                           const tide_lifetimes *lifetimes, size_t device);

/* The same without steps that the recording does not name: without TIDE_STEPS_INFERRED. */
TIDE_NODISCARD tide_status tide_steps_init_named(tide_steps *steps, const tide_snapshot *snapshot,
                                                 const tide_lifetimes *lifetimes, size_t device);
void tide_steps_fini(tide_steps *steps);

/* "step 3"; a step without a number has its name alone. Cut where there is no room. */
void tide_step_name(const tide_snapshot *snapshot, const tide_step *step, char *ret_text,
                    size_t n_room);

/* The number in the list of the step that a row lies in or behind; -1: before the first. */
int64_t tide_steps_at(const tide_steps *steps, int64_t row);

/* Compares the allocated blocks after two rows, most grown first. Items that did not change are
 * included, so that the differences add up to that of the allocated bytes. The caller finishes it.
 */
TIDE_NODISCARD tide_status tide_steps_growth(const tide_steps *steps,
                                             const tide_lifetimes *lifetimes, int64_t before,
                                             int64_t after, tide_kept_list *ret);

/* Blocks that were allocated after this row and never released count as leaks: it is the last row
 * of the warm-up, or else of the first step; -1: there are no steps. */
int64_t tide_steps_warm(const tide_steps *steps);

/* Blocks that were allocated after the row and are still allocated at the end, largest first; the
 * before_ members are 0. The caller finishes it. */
TIDE_NODISCARD tide_status tide_steps_leaks(const tide_steps *steps,
                                            const tide_lifetimes *lifetimes, int64_t warm,
                                            tide_kept_list *ret);
void tide_kept_list_fini(tide_kept_list *list);

#ifdef __cplusplus
}
#endif

#endif
