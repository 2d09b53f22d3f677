/* work.h - the work that a launched kernel would do on a card: what it reads and writes, from its
 * name and its arguments. Thread-safe.
 *
 * families.c lists the known kernels. To add a family, add a file and a line there.
 */
#ifndef TIDE_VIRTUAL_CUDA_WORK_WORK_H
#define TIDE_VIRTUAL_CUDA_WORK_WORK_H

#include <stdint.h>

#include "programs/wire/run_launches.h"
#include "programs/virtual_cuda/launches/launch_log.h"

/* A kernel launch. */
typedef struct tide_vc_kernel_call {
    const void *kernel; /* its handle, the key under which its parsed name is remembered */
    const char *name;   /* as the compiler wrote it; "": unknown */
    unsigned grid[3], block[3];
    void **arguments; /* the addresses of its arguments; NULL: unknown */
} tide_vc_kernel_call;

/* Fills in the row's kind, family, bytes, elements and flags, or the other fields of its kind. */
void tide_vc_work_of(const tide_vc_kernel_call *call, tide_run_launch *ret_row);

/* Adds the kernel to the launch log, if there is one. */
void tide_vc_log_kernel(tide_vc_entry entry, const tide_vc_kernel_call *call, void *stream);

#endif
