/* steps.h - the steps of a run on one device: whether each repeats the previous one, the blocks
 * alive at its end, the growth from one step to the next, and blocks that are never released.
 *
 * A step is an outermost scope of that kind with events on the device, from its first event to its
 * last, including events of other threads in between. Steps named "warmup" are warm-up. In a
 * recording without such scopes, steps come from the annotations of PyTorch's profiler and
 * optimizers, or from repeated allocations (step_finder.h).
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

/* How the steps of a recording are known, the most certain source first. */
typedef enum tide_step_source {
    TIDE_STEPS_RECORDED = 0, /* scopes of the kind step */
    TIDE_STEPS_PROFILER,     /* annotations "ProfilerStep#7" of PyTorch's profiler */
    TIDE_STEPS_OPTIMIZER,    /* each ends with an annotation "Optimizer.step#AdamW.step" */
    TIDE_STEPS_INFERRED      /* inferred: the allocations repeat */
} tide_step_source;

typedef struct tide_step {
    uint32_t scope;     /* row of the table of scopes; TIDE_NONE: the step has no scope */
    int64_t number;     /* of the recording, else from 0 on; -1: none */
    bool is_warmup;     /* named so */
    bool is_open;       /* the recording ends within it, so its figures are too low */
    bool is_compared;   /* with the previous measured step; false for the first */
    bool repeats;       /* is_compared: has the same actions on the same sizes in the same order */
    size_t first, last; /* its first and last row of the event table on the device */
    int64_t differs; /* its first row that does not repeat; -1: a row is missing, or it repeats */
    int64_t differs_from;   /* the row of the previous step to match; -1: none */
    int64_t n_rows;         /* about blocks */
    int64_t n_segment_rows; /* about segments, allocated and freed */
    int64_t peak_bytes;     /* highest allocated bytes after one of its rows */
    int64_t end_bytes;      /* allocated bytes after its last row */
    int64_t end_blocks;     /* allocated blocks after its last row */
} tide_step;

typedef struct tide_steps {
    const tide_hostmem *mem; /* borrowed */
    size_t device;           /* index of the device */
    tide_step_source source; /* valid if there are steps */
    size_t n_period_allocs;  /* TIDE_STEPS_INFERRED: allocations of each step */
    double period_share;     /* TIDE_STEPS_INFERRED: share of allocations that repeat */
    tide_step *steps;        /* owned; by their first rows */
    size_t n_steps;
    size_t first_measured; /* the first that is neither warm-up nor open; n_steps: none */
} tide_steps;

/* Blocks of one name and call stack. */
typedef struct tide_kept {
    uint32_t name, stack;  /* TIDE_NONE */
    uint32_t scope;        /* of the first block; TIDE_NONE */
    uint8_t category;      /* of the first block */
    int64_t before_bytes;  /* allocated at the earlier instant */
    int64_t before_blocks; /* the same in blocks */
    int64_t bytes;         /* allocated at the later instant */
    int64_t blocks;        /* the same in blocks */
    int64_t n_steps;       /* steps that allocated the later blocks; 0: none */
    int64_t first_born;    /* row of the first later block; -1: before the first row, or none */
} tide_kept;

typedef struct tide_kept_list {
    const tide_hostmem *mem; /* borrowed */
    tide_kept *items;        /* owned */
    size_t n_items;
} tide_kept_list;

/* The caller calls fini. No steps: a valid empty list. */
TIDE_NODISCARD tide_status tide_steps_init(tide_steps *steps, const tide_snapshot *snapshot,
                                           const tide_lifetimes *lifetimes, size_t device);

/* The same with named steps only, without TIDE_STEPS_INFERRED. */
TIDE_NODISCARD tide_status tide_steps_init_named(tide_steps *steps, const tide_snapshot *snapshot,
                                                 const tide_lifetimes *lifetimes, size_t device);
void tide_steps_fini(tide_steps *steps);

/* "step 3"; only the name for a step without a number. Cut if there is no room. */
void tide_step_name(const tide_snapshot *snapshot, const tide_step *step, char *ret_text,
                    size_t n_room);

/* The index of the step that contains the row or is the last before it; -1: before the first. */
int64_t tide_steps_at(const tide_steps *steps, int64_t row);

/* Compares the allocated blocks after two rows, most grown first. Items without a change are
 * included, so the differences add up to that of the allocated bytes. The caller calls fini. */
TIDE_NODISCARD tide_status tide_steps_growth(const tide_steps *steps,
                                             const tide_lifetimes *lifetimes, int64_t before,
                                             int64_t after, tide_kept_list *ret);

/* Blocks allocated after this row and never released count as leaks: it is the last row of the
 * warm-up, or else of the first step; -1: there are no steps. */
int64_t tide_steps_warm(const tide_steps *steps);

/* Blocks that were allocated after the row and are still allocated at the end, largest first; the
 * before_ members are 0. The caller calls fini. */
TIDE_NODISCARD tide_status tide_steps_leaks(const tide_steps *steps,
                                            const tide_lifetimes *lifetimes, int64_t warm,
                                            tide_kept_list *ret);
void tide_kept_list_fini(tide_kept_list *list);

#ifdef __cplusplus
}
#endif

#endif
