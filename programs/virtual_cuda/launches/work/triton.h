/* triton.h - what kernels that Triton makes read and write, told from its own text of them (TTIR),
 * which torch.compile's launcher loads from beside the machine code. Thread-safe.
 *
 * The text is read once. At each launch its arithmetic of addresses is done with ranges instead of
 * numbers: how far each pointer is moved bounds the bytes that it reaches, and so does the number
 * of accesses. Addresses that depend on values of the card count once for each access.
 */
#ifndef TIDE_VIRTUAL_CUDA_WORK_TRITON_H
#define TIDE_VIRTUAL_CUDA_WORK_TRITON_H

#include <stdbool.h>

#include "programs/virtual_cuda/launches/work/work.h"

/* A kernel that was made at run time. `machine_code`: the path of its file, "NAME.cubin", whose
 * text lies beside it as "NAME.ttir"; NULL: not known. Nothing happens without a launch log. */
void tide_vc_triton_add(const void *kernel, const char *machine_code);

/* False: the kernel was not made at run time. Without a text that can be followed, the row is a
 * guess. */
bool tide_vc_triton_work(const tide_vc_kernel_call *call, tide_run_launch *ret_row);

#endif
