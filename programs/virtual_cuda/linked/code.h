/* code.h - replaces functions of a loaded object by others: the first bytes of each become a jump.
 *
 * The object's code must not run meanwhile: call this before its constructors. Pages of code are
 * never writable and executable at the same time.
 */
#ifndef TIDE_VIRTUAL_CUDA_LINKED_CODE_H
#define TIDE_VIRTUAL_CUDA_LINKED_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/linked/object_file.h"

enum { TIDE_VC_JUMP_BYTES = 14 };

typedef struct tide_vc_replacement {
    uint64_t at; /* in the object, before it is moved to where it is loaded */
    const void *function;
    bool is_for_loading; /* nvcc's own code calls it, also when an object is loaded */
} tide_vc_replacement;

/* Replaces all n functions, whose code is at least TIDE_VC_JUMP_BYTES long, in the object whose
 * addresses were moved by `base` bytes when it was loaded. Returns 0, or an errno; then no function
 * was replaced. ESTALE: the object is not what its file has. ENOTRECOVERABLE: the object's code
 * cannot run any more. */
int tide_vc_code_replace(const tide_vc_object_file *file, uintptr_t base,
                         const tide_vc_replacement *all, size_t n);

#endif
