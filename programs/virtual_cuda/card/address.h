/* address.h - chooses addresses of device memory, by a rule learnt from recordings of real cards
 * under Linux. Addresses go down. A request of up to 32 MiB opens a chunk of 32 MiB; a larger one
 * opens a multiple of 128 MiB. The rest of a chunk serves later requests, lowest address first. The
 * order of addresses decides which of two equal free blocks PyTorch picks.
 *
 * The addresses are above all that a processor gives a program, so no host memory can have them:
 * nothing is reserved, and no limit of the host counts (address space, number of mappings). Reading
 * one ends the program with SIGSEGV, as reading a real card's memory does. They are below 2^53, so
 * a reader that uses doubles represents them exactly. All devices share the addresses; each process
 * has its own, and they are the same in each run. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_ADDRESS_H
#define TIDE_VIRTUAL_CUDA_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/* 5.25 PiB of addresses. capture/live_calls.c makes up places below them. */
#define TIDE_VC_LOWEST_ADDRESS (UINT64_C(1) << 51)
#define TIDE_VC_HIGHEST_ADDRESS (UINT64_C(29) << 48)

/* Allocates n_bytes of addresses, a multiple of 512 above 0. Returns 0 if none are free or if there
 * is no host memory for the list. */
uint64_t tide_vc_address_take(uint64_t n_bytes);

/* Whether tide_vc_address_take would succeed now. */
bool tide_vc_address_fits(uint64_t n_bytes);

/* Frees a whole range that was allocated. */
void tide_vc_address_give_back(uint64_t address, uint64_t n_bytes);

#endif
