/* failure.h - the first request of a device that failed, with all figures of that instant.
 *
 * The margin is what would have been left if all free memory had been in one piece:
 * reserved + free on the device - allocated - requested. Below 0, fragmentation plays no part.
 */
#ifndef TIDE_SNAPSHOT_FAILURE_H
#define TIDE_SNAPSHOT_FAILURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "snapshot/analysis/lifetimes.h"
#include "snapshot/explain/reserved.h"
#include "snapshot/explain/stack_facts.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_failure {
    int64_t event;               /* its row; -1: no request failed */
    size_t n_failed;             /* requests that failed, in the whole recording */
    uint32_t stack, scope;       /* of the request; TIDE_NONE */
    int64_t asked_bytes;         /* Q */
    int64_t free_bytes;          /* F, on the device; -1: without a limit, and the margins are 0 */
    int64_t allocated_bytes;     /* A */
    int64_t capacity_bytes;      /* C = reserved + F */
    int64_t margin_bytes;        /* M = C - A - Q */
    int64_t usable_margin_bytes; /* M without the free memory of other streams and private pools and
                                    without blocks whose free waits: no layout gives the request
                                    these */
    tide_reserved_kind kind;     /* of the memory that the request could use */
    int64_t total_bytes;         /* of the device, or of the process's limit; -1: unknown */
    bool is_limited;             /* the process's own limit, not the device's memory */
    int64_t largest_bytes;       /* the largest allocated block then; 0: none */
    tide_reserved reserved;
} tide_failure;

/* The row of the first request of a device that failed; the number of rows if none did. */
size_t tide_failure_row(const tide_snapshot *snapshot, size_t device);

/* TIDE_LIMIT as tide_layout_init. */
TIDE_NODISCARD tide_status tide_failure_find(const tide_stack_facts *stacks,
                                             const tide_lifetimes *lifetimes, size_t device,
                                             tide_failure *ret_failure);

#ifdef __cplusplus
}
#endif

#endif
