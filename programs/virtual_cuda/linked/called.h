/* called.h - whether a program calls a CUDA runtime that was replaced: some packages bring one, and
 * never call it.
 *
 * Each replaced function jumps to a few instructions of its own (a step), and these to a routine
 * that notes the call, keeps all arguments and continues at the virtual card's function.
 */
#ifndef TIDE_VIRTUAL_CUDA_LINKED_CALLED_H
#define TIDE_VIRTUAL_CUDA_LINKED_CALLED_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/virtual_cuda/linked/code.h"

typedef struct tide_vc_calls {
    bool have_begun;
    void (*begin)(struct tide_vc_calls *of); /* called once, by the first call; any thread */
} tide_vc_calls;

/* Has the calls of these functions noted in `of`, which must outlive the process's last call. Those
 * that nvcc's own code calls when an object is loaded are left out. False: the system gives no
 * executable memory, and `all` is unchanged. */
bool tide_vc_calls_watch(tide_vc_replacement *all, size_t n, tide_vc_calls *of);

#endif
