/* triton.h - the memory that Triton's kernels read and write, from their intermediate text (TTIR),
 * which torch.compile's launcher loads from the folder of the machine code. Thread-safe.
 *
 * The text is parsed once. Each launch evaluates its address arithmetic with ranges instead of
 * numbers. Two bounds limit the bytes that a pointer reaches: how far it moves, and the number of
 * accesses. Addresses that depend on values of the card count once for each access.
 */
#ifndef TIDE_VIRTUAL_CUDA_WORK_TRITON_H
#define TIDE_VIRTUAL_CUDA_WORK_TRITON_H

#include <stdbool.h>

#include "programs/virtual_cuda/launches/kernels/work.h"

/* Registers a kernel that was made at run time. `machine_code`: the path of its file, "NAME.cubin",
 * whose text is next to it as "NAME.ttir"; NULL: unknown. Does nothing without a launch log. */
void tide_vc_triton_add(const void *kernel, const char *machine_code);

/* False: the kernel was not made at run time. If its text cannot be followed, the row is a
 * guess. */
bool tide_vc_triton_work(const tide_vc_kernel_call *call, tide_run_launch *ret_row);

#endif
