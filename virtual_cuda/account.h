/* account.h - how much of each card's memory is in use.
 *
 * The runtime, the driver and NVML look at the same account. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_ACCOUNT_H
#define TIDE_VIRTUAL_CUDA_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Takes n_bytes of the card's memory. False: so many are not free, and nothing was taken. */
bool tide_vc_charge(int device, uint64_t n_bytes);
void tide_vc_refund(int device, uint64_t n_bytes);

/* In use, with context and libraries. */
uint64_t tide_vc_used_bytes(int device);
uint64_t tide_vc_free_bytes(int device);

#endif
