/* computed.h - values on the card that python/tidemark computes when they are read.
 *
 * The launch log asks for numbers that decide how much a kernel does, such as the number of blocks
 * of a mask. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_COMPUTED_H
#define TIDE_VIRTUAL_CUDA_COMPUTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes n_bytes of the device at `address` to `to`. False: they are unknown, or rest on an
 * assumption. Does not wait for other ranks. May take long, because the values may have to be
 * computed: hold no lock. */
bool tide_vc_computed_read(uint64_t address, size_t n_bytes, void *to);

/* ---- for python/tidemark, by name ---- */

/* Computes n_bytes at an address of the device; 0: they are unknown, or rest on an assumption. */
typedef int (*tidemark_values_compute)(void *to, uint64_t address, size_t n_bytes);

/* From now on, `compute` is asked. */
void tidemark_values_computes(tidemark_values_compute compute);

#endif
