/* uses.h - what the kernels of the program take of a multiprocessor, and how many of their blocks
 * it holds. Thread-safe. An image is read when one of its kernels is first asked for; of what was
 * read a few bytes a kernel are kept.
 */
#ifndef TIDE_VIRTUAL_CUDA_USES_H
#define TIDE_VIRTUAL_CUDA_USES_H

#include <stdbool.h>
#include <stddef.h>

#include "device/chips.h"
#include "programs/virtual_cuda/launches/cubin.h"

/* What a registered kernel takes on a device. False: its image cannot be read. */
bool tide_vc_use_of(const void *kernel, int device, tide_vc_use *ret_use);

/* Blocks of n_threads threads, with so much static and dynamic shared memory and so many registers
 * a thread, that a multiprocessor of the chip holds at once; 0: not one. The rules are those of the
 * CUDA occupancy calculator: a warp's registers are allocated in units of 256, in one of four parts
 * of the register file; a block's shared memory, with what the system takes, in units of 128 bytes,
 * before compute capability 8.0 of 256. */
int tide_vc_resident_blocks(const tide_card_chip *chip, int n_threads, int n_registers,
                            size_t shared_bytes);

#endif
