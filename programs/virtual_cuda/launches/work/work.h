/* work.h - what a kernel that is launched would do on a card: what it reads and writes, told from
 * its name and its arguments. Thread-safe.
 *
 * families.c has the kernels that are known; a new family is a file of its own and a line there.
 */
#ifndef TIDE_VIRTUAL_CUDA_WORK_WORK_H
#define TIDE_VIRTUAL_CUDA_WORK_WORK_H

#include <stdint.h>

#include "common/run_launches.h"
#include "programs/virtual_cuda/launches/launch_log.h"

/* A kernel that is launched. */
typedef struct tide_vc_kernel_call {
    const void *kernel; /* its handle, by which what its name says is remembered */
    const char *name;   /* as the compiler wrote it; "": not known */
    unsigned grid[3], block[3];
    void **arguments; /* the addresses of its arguments; NULL: not known */
} tide_vc_kernel_call;

/* Fills in the row's kind, family, bytes, elements and flags, or what else its kind has. */
void tide_vc_work_of(const tide_vc_kernel_call *call, tide_run_launch *ret_row);

/* Adds the kernel to the launch log; nothing without one. */
void tide_vc_log_kernel(tide_vc_entry entry, const tide_vc_kernel_call *call, void *stream);

#endif
