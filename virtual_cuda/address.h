/* address.h - addresses of device memory, given out by the rule that was learnt from recordings of
 * real cards under Linux: addresses go down; a request of up to 32 MiB opens a chunk of 32 MiB, a
 * larger one a multiple of 128 MiB, and what is left of a chunk serves later requests, lowest
 * address first. The order of addresses decides which of two equal free blocks PyTorch takes.
 *
 * The range is reserved in the host's address space without access, so that no address can be that
 * of host memory. One range serves all devices. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_ADDRESS_H
#define TIDE_VIRTUAL_CUDA_ADDRESS_H

#include <stdint.h>

/* Takes n_bytes, which are a multiple of 512 above 0. 0: none are left. */
uint64_t tide_vc_address_take(uint64_t n_bytes);

/* Gives back a range that was taken, whole. */
void tide_vc_address_give_back(uint64_t address, uint64_t n_bytes);

#endif
