/* seats_internal.h - where members of a communicator say that they have come, and how far they are.
 */
#ifndef TIDE_VIRTUAL_CUDA_NCCL_SEATS_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_NCCL_SEATS_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "programs/virtual_cuda/nccl/communicator.h"

/* In memory that the members' processes share; all zero: the member has not come. */
typedef struct tide_vc_seat {
    _Atomic uint32_t pid;         /* written last; 0: it has not come */
    _Atomic uint64_t start_ticks; /* of the process (processes.h) */
    _Atomic uint64_t n_posted;    /* collectives */
    _Atomic uint64_t n_dropped;   /* of these, the oldest, whose files are gone */
} tide_vc_seat;

/* This process takes the seat. */
void tide_vc_seat_take(tide_vc_seat *seat);

typedef enum tide_vc_arrival {
    TIDE_VC_HAS_COME,  /* the count is above the number */
    TIDE_VC_IS_ABSENT, /* the member does not run */
    TIDE_VC_HAS_ENDED  /* it ended before, or never came: which is said */
} tide_vc_arrival;

/* Waits until a count of a member's is above `number`. */
tide_vc_arrival tide_vc_seat_wait(tide_vc_communicator *comm, int member,
                                  const _Atomic uint64_t *count, uint64_t number);

#endif
