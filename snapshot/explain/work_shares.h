/* work_shares.h - the time of a step by operator or by kernel, from a snapshot.
 *
 * Times are averages over the measured steps, by the device's clock if the scopes have its times,
 * else by the host's. An operator's time excludes the operators inside it.
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
    double n_calls;   /* launches per step */
    double ms;        /* of all launches of a step */
    bool is_product;  /* matrix product: a kernel by its name; an operator that is mostly one */
} tide_work_row;

typedef struct tide_work_phase {
    const char *name;  /* borrowed from the snapshot: "forward" */
    double ms;         /* of a step: sum of its kernels, or the phase's scope */
    double product_ms; /* of that, in matrix products */
} tide_work_phase;

typedef struct tide_work_shares {
    tide_arena arena;    /* holds the rows */
    tide_work_row *rows; /* by phase, most time first */
    size_t n_rows;
    tide_work_phase phases[TIDE_WORK_MAX_PHASES]; /* in the order of a step */
    size_t n_phases;                              /* 0: the snapshot has no times */
    bool is_by_kernel;                            /* rows are kernels */
    double softmax_ms, products_ms; /* of naive attention in forward, by operator; 0: none */
} tide_work_shares;

/* Computes the shares of the measured steps, by kernel (no rows if no kernel was traced) or by
 * operator. No rows if the snapshot's device computes nothing. The snapshot must outlive the
 * shares; the caller calls fini. */
TIDE_NODISCARD tide_status tide_work_shares_init(tide_work_shares *shares,
                                                 const tide_snapshot *snapshot, bool by_kernel);
void tide_work_shares_fini(tide_work_shares *shares);

/* The row of a phase with the most time; NULL: none. SIZE_MAX means the whole step, where rows of
 * one name in all phases are added together. `ret_ms` is the row's time. */
const tide_work_row *tide_work_shares_top(const tide_work_shares *shares, size_t phase,
                                          double *ret_ms);

/* Whether a kernel multiplies matrices, by its name. */
bool tide_work_is_product(const char *kernel);

#ifdef __cplusplus
}
#endif

#endif
