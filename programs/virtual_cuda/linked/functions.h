/* functions.h - the functions of a CUDA runtime that is linked into an object, by its symbols, and
 * those that answer instead of them.
 */
#ifndef TIDE_VIRTUAL_CUDA_LINKED_FUNCTIONS_H
#define TIDE_VIRTUAL_CUDA_LINKED_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/linked/code.h"
#include "programs/virtual_cuda/linked/objects.h"
#include "programs/virtual_cuda/linked/object_file.h"

/* More than a runtime has; the others would not be replaced. */
enum { TIDE_VC_MAX_FUNCTIONS = 1024 };

/* A function of the object, where it is loaded. */
typedef struct tide_vc_named {
    const char *name; /* borrowed */
    uintptr_t at;
} tide_vc_named;

/* Whether the object has a CUDA runtime: the names that are private to it begin alike. An object
 * may have functions of the public names that are not CUDA's. */
bool tide_vc_functions_are_linked(const tide_vc_symbols *symbols);

/* Lists the functions with public names in the object that was loaded at `base`. Returns their
 * number. A function that is shorter than a jump is left out: it only continues at another public
 * one. */
size_t tide_vc_functions_list(const tide_vc_symbols *symbols, uintptr_t base,
                              tide_vc_named ret[TIDE_VC_MAX_FUNCTIONS]);

/* The version of the runtime, such as 13000, from its own function, which only returns a constant.
 * 0: unknown. */
int tide_vc_functions_version(const tide_vc_named *all, size_t n);

/* Fills in by which function each is replaced. Returns the number of those that are. is_other: the
 * process also has a runtime of another version of CUDA, 12 or 13; functions that differ between
 * them are then refused. */
size_t tide_vc_functions_find(const tide_vc_named *all, size_t n, uintptr_t base,
                              const tide_vc_offers *offers, bool is_other,
                              tide_vc_replacement ret[TIDE_VC_MAX_FUNCTIONS]);

#endif
