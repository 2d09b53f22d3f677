/* address.h - addresses of device memory, given out by the rule that was learnt from recordings of
 * real cards under Linux: addresses go down; a request of up to 32 MiB opens a chunk of 32 MiB, a
 * larger one a multiple of 128 MiB, and what is left of a chunk serves later requests, lowest
 * address first. The order of addresses decides which of two equal free blocks PyTorch takes.
 *
 * No memory of the host has such an address, because they are above all that a processor gives a
 * program: so nothing is reserved, and no limit of the host counts (address space, number of
 * mappings). Reading one ends the program with SIGSEGV, as reading a card's memory does. They are
 * below 2^53, where a reader whose numbers are doubles still tells them apart. All devices share
 * them; each process has its own, and they are the same in each run. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_ADDRESS_H
#define TIDE_VIRTUAL_CUDA_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/* 5.25 PiB of addresses. Places that capture/live_calls.c makes up are below them. */
#define TIDE_VC_LOWEST_ADDRESS (UINT64_C(1) << 51)
#define TIDE_VC_HIGHEST_ADDRESS (UINT64_C(29) << 48)

/* Takes n_bytes, which are a multiple of 512 above 0. 0: none are left, or there is no host memory
 * for the list of them. */
uint64_t tide_vc_address_take(uint64_t n_bytes);

/* Whether tide_vc_address_take would find n_bytes now. */
bool tide_vc_address_fits(uint64_t n_bytes);

/* Gives back a range that was taken, whole. */
void tide_vc_address_give_back(uint64_t address, uint64_t n_bytes);

#endif
