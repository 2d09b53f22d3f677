/* seats_internal.h - where members of a communicator record their arrival and their progress.
 */
#ifndef TIDE_VIRTUAL_CUDA_NCCL_SEATS_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_NCCL_SEATS_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "programs/virtual_cuda/nccl/communicator.h"

/* In memory that the members' processes share; all zero until the member arrives. */
typedef struct tide_vc_seat {
    _Atomic uint32_t pid;         /* written last; 0: not arrived */
    _Atomic uint64_t start_ticks; /* of the process (processes.h) */
    _Atomic uint64_t n_posted;    /* collectives */
    _Atomic uint64_t n_dropped;   /* the oldest of these, whose files are removed */
} tide_vc_seat;

/* This process takes the seat. */
void tide_vc_seat_take(tide_vc_seat *seat);

typedef enum tide_vc_arrival {
    TIDE_VC_HAS_COME,  /* the count is above the number */
    TIDE_VC_IS_ABSENT, /* the member does not run */
    TIDE_VC_HAS_ENDED  /* it has ended or never came; this is reported */
} tide_vc_arrival;

/* Waits until a count of a member is above `number`. */
tide_vc_arrival tide_vc_seat_wait(tide_vc_communicator *comm, int member,
                                  const _Atomic uint64_t *count, uint64_t number);

#endif
