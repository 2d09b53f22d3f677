/* reached.h - the device addresses that unseen kernels were given.
 *
 * PyTorch's operators are seen where they are called. Kernels that the program made itself
 * (Triton's, launched through the driver API) and those of a replayed graph are not:
 * python/tidemark forgets the values that they may have written. The addresses are in a ring,
 * numbered from 0 in the order of the launches. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_REACHED_H
#define TIDE_VIRTUAL_CUDA_REACHED_H

#include <stdint.h>

/* The ring keeps the newest addresses. */
enum { TIDE_VC_REACHED = 1 << 16 };

/* A kernel was given this address; other than device addresses are ignored. */
void tide_vc_reached(uint64_t address);

/* A kernel was given addresses that the card could not read: it may have written anywhere. */
void tide_vc_reached_anywhere(void);

/* ---- for python/tidemark, by name ---- */

/* Copies the addresses from number `from` on, at most n, and returns the number of the next one
 * that will be recorded. 0 among them: a kernel may have written anywhere. If the returned number
 * exceeds `from` by more than TIDE_VC_REACHED, some are lost, and nothing is copied. */
uint64_t tidemark_values_reached(uint64_t from, uint64_t *ret_addresses, uint64_t n);

#endif
