/* uses.h - the resources of a multiprocessor that the program's kernels need, and how many of their
 * blocks it holds. Thread-safe. An image is read when one of its kernels is first asked for; only a
 * few bytes a kernel are kept.
 */
#ifndef TIDE_VIRTUAL_CUDA_USES_H
#define TIDE_VIRTUAL_CUDA_USES_H

#include <stdbool.h>
#include <stddef.h>

#include "device/chips.h"
#include "programs/virtual_cuda/launches/cubin.h"

/* The resources that a registered kernel needs on a device. False: its image cannot be read. */
bool tide_vc_use_of(const void *kernel, int device, tide_vc_use *ret_use);

/* The number of blocks that a multiprocessor of the chip holds at the same time, given n_threads
 * threads, static plus dynamic shared memory, and registers a thread; 0: not one. The rules are
 * those of the CUDA occupancy calculator. A warp's registers are allocated in units of 256, in one
 * of four parts of the register file. A block's shared memory, with the system's share, is
 * allocated in units of 128 bytes (256 before compute capability 8.0). */
int tide_vc_resident_blocks(const tide_card_chip *chip, int n_threads, int n_registers,
                            size_t shared_bytes);

#endif
