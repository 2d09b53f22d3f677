/* charges.h - the card's memory that a communicator is charged.
 *
 *   TIDEMARK_NCCL_BYTES  bytes of the card for each communicator, in decimal; absent: the model of
 *                        buffers.h, part by part as the program's calls need them
 *
 * The model has no figures for a communicator of several nodes, and charges nothing for it. If the
 * card is full, the program continues, and the ledger records the bytes that do not fit. As with
 * NCCL's own calls, one thread at a time uses a communicator.
 */
#ifndef TIDE_VIRTUAL_CUDA_NCCL_CHARGES_H
#define TIDE_VIRTUAL_CUDA_NCCL_CHARGES_H

#include <stddef.h>

#include "programs/wire/run_communicators.h"
#include "programs/virtual_cuda/nccl/communicator.h"

/* The communicator is made; its ranks, device, members and channels are known. */
void tide_vc_charges_begin(tide_vc_communicator *comm);

/* The program calls a collective; n_bytes of its larger buffer. `root`: of those that have one. */
void tide_vc_charges_collective(tide_vc_communicator *comm, tide_run_exchange kind, int root,
                                size_t n_bytes);

/* The program sends to a member, or receives from one. */
void tide_vc_charges_message(tide_vc_communicator *comm, tide_run_exchange kind, int peer);

/* The program has released the communicator: frees all of it. */
void tide_vc_charges_end(tide_vc_communicator *comm);

#endif
