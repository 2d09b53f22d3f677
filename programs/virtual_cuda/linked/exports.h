/* exports.h - functions that one loaded object exports, by name. dlsym would return the first of
 * all objects, which may be the program's own.
 */
#ifndef TIDE_VIRTUAL_CUDA_LINKED_EXPORTS_H
#define TIDE_VIRTUAL_CUDA_LINKED_EXPORTS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct tide_vc_exports {
    uintptr_t base; /* the bytes by which the loader moved its addresses */
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *hashes; /* DT_GNU_HASH; NULL: nothing is found */
} tide_vc_exports;

/* Of an object whose addresses were moved by `base` bytes; valid while it is loaded. */
tide_vc_exports tide_vc_exports_of(uintptr_t base, const ElfW(Dyn) * dynamic);

/* NULL if the object does not export a function of this name; data of the name is not found. */
const void *tide_vc_exports_find(const tide_vc_exports *of, const char *name);

/* Whether the object was linked with a library whose name begins so: "libcudart.so". */
bool tide_vc_exports_need(const ElfW(Dyn) * dynamic, const char *beginning);

#endif
