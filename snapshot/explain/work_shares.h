/* work_shares.h - where the time of a step goes, by operator or by kernel, out of a snapshot.
 *
 * Times are those of a measured step, on average: the device's where the scopes have them, else the
 * host's. An operator's time is what it does itself, without the operators inside it.
 */
#ifndef TIDE_SNAPSHOT_WORK_SHARES_H
#define TIDE_SNAPSHOT_WORK_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_WORK_MAX_PHASES = 8 };

/* One kernel or operator in one phase. */
typedef struct tide_work_row {
    const char *name; /* in the arena: a kernel's, or "layer > attention > softmax" */
    size_t phase;     /* index of the phase */
    double n_calls;   /* launches in a step */
    double ms;        /* of all of them together */
    bool is_product;  /* of matrices: a kernel by its name; an operator when that is most of it */
} tide_work_row;

typedef struct tide_work_phase {
    const char *name;  /* borrowed from the snapshot: "forward" */
    double ms;         /* of a step: its kernels together, or the phase's scope */
    double product_ms; /* of it in matrix products */
} tide_work_phase;

typedef struct tide_work_shares {
    tide_arena arena;    /* what rows points to */
    tide_work_row *rows; /* by phase, most time first */
    size_t n_rows;
    tide_work_phase phases[TIDE_WORK_MAX_PHASES]; /* in the order of a step */
    size_t n_phases;                              /* 0: the snapshot has no times */
    bool is_by_kernel;                            /* rows are kernels */
    double softmax_ms, products_ms; /* of forward, naive attention's parts; by operator; 0: none */
} tide_work_shares;

/* Of the measured steps, by kernel (nothing where none was traced) or by operator; of a snapshot
 * whose device computes nothing, nothing. The snapshot outlives the shares; the caller finishes
 * them. */
TIDE_NODISCARD tide_status tide_work_shares_init(tide_work_shares *shares,
                                                 const tide_snapshot *snapshot, bool by_kernel);
void tide_work_shares_fini(tide_work_shares *shares);

/* The row of a phase that takes most time; NULL: none. For the whole step (SIZE_MAX) the rows of
 * one name in all phases count together. `ret_ms` is its time. */
const tide_work_row *tide_work_shares_top(const tide_work_shares *shares, size_t phase,
                                          double *ret_ms);

/* Whether a kernel multiplies matrices, by its name. */
bool tide_work_is_product(const char *kernel);

#ifdef __cplusplus
}
#endif

#endif
