/* ledger.h - the traffic of each communicator, for the answer of the run.
 *
 * It is in a file of the run's folder (programs/wire/run_communicators.h); without a folder nothing
 * is recorded. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_NCCL_LEDGER_H
#define TIDE_VIRTUAL_CUDA_NCCL_LEDGER_H

#include <stddef.h>

#include "programs/wire/run_communicators.h"
#include "programs/virtual_cuda/nccl/communicator.h"

/* Gives the communicator its place; `name` may be NULL. */
void tide_vc_ledger_open(tide_vc_communicator *comm, const char *name);

/* Counts one call of this member; n_bytes of its larger buffer. */
void tide_vc_ledger_count(const tide_vc_communicator *comm, tide_run_exchange kind, size_t n_bytes);

/* Notes what the communicator is charged by now. */
void tide_vc_ledger_charge(const tide_vc_communicator *comm);

/* What the process' communicators on the device are charged now, for the recording. */
uint64_t tidemark_nccl_bytes(int device);

/* The program has released the communicator: it is charged nothing any longer. */
void tide_vc_ledger_close(const tide_vc_communicator *comm);

#endif
