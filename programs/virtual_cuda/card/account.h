/* account.h - how much of each card's memory is in use.
 *
 * The runtime, the driver and NVML share one account. Under `tidemark run` all processes of the run
 * share it (programs/wire/run_account.h); otherwise it belongs to this process alone. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_ACCOUNT_H
#define TIDE_VIRTUAL_CUDA_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/card/machine.h"

/* Makes this process' context on a device, unless it has one, and charges the memory that the
 * context and the libraries need. TIDE_VC_OK; TIDE_VC_MEMORY: it does not fit;
 * TIDE_VC_INITIALIZATION: the process was forked from one that had a context, which CUDA does not
 * support; TIDE_VC_NO_DEVICE: CUDA_VISIBLE_DEVICES shows no card; TIDE_VC_OPERATING_SYSTEM: the run
 * has too many processes. */
int tide_vc_context(int device);
bool tide_vc_has_context(int device);

/* Charges n_bytes of the card's memory and makes the context if needed. Returns a status as above;
 * on failure nothing is charged. */
int tide_vc_charge(int device, uint64_t n_bytes);
void tide_vc_refund(int device, uint64_t n_bytes);

/* Counts launches of kernels. */
void tide_vc_count_launches(int device, uint64_t n);

/* In use by all processes, including contexts and libraries. */
uint64_t tide_vc_used_bytes(const tide_vc_card *card);
/* Of a card that shares its memory with the host, also less what this process takes of the host's;
 * of other processes and the operating system nothing is known. */
uint64_t tide_vc_free_bytes(const tide_vc_card *card);

/* A process with a context on a device. */
typedef struct tide_vc_process {
    uint32_t pid;
    uint64_t used_bytes; /* on the device, including context and libraries */
} tide_vc_process;

/* Returns the number of processes and writes the first n_room of them. */
size_t tide_vc_processes(const tide_vc_card *card, tide_vc_process *ret_processes, size_t n_room);

#endif
