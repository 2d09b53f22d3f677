/* account.h - how much of each card's memory is in use.
 *
 * The runtime, the driver and NVML look at the same account. Under `tidemark run` it is shared by
 * all processes of the run (common/run_account.h); else it is this process' own. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_ACCOUNT_H
#define TIDE_VIRTUAL_CUDA_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/card/machine.h"

/* Makes this process' context on a device, unless it has one: charges what context and libraries
 * take there. TIDE_VC_OK; TIDE_VC_MEMORY: there is no room for it; TIDE_VC_INITIALIZATION: the
 * process was forked from one that had a context, which CUDA does not support; TIDE_VC_NO_DEVICE:
 * CUDA_VISIBLE_DEVICES shows no card; TIDE_VC_OPERATING_SYSTEM: the run has too many processes. */
int tide_vc_context(int device);
bool tide_vc_has_context(int device);

/* Takes n_bytes of the card's memory, with a context if there is none yet. A status as above; then
 * nothing was taken. */
int tide_vc_charge(int device, uint64_t n_bytes);
void tide_vc_refund(int device, uint64_t n_bytes);

/* In use by all processes, with contexts and libraries. */
uint64_t tide_vc_used_bytes(const tide_vc_card *card);
uint64_t tide_vc_free_bytes(const tide_vc_card *card);

/* A process with a context on a device. */
typedef struct tide_vc_process {
    uint32_t pid;
    uint64_t used_bytes; /* there, with context and libraries */
} tide_vc_process;

/* How many there are; the first n_room of them are written. */
size_t tide_vc_processes(const tide_vc_card *card, tide_vc_process *ret_processes, size_t n_room);

#endif
