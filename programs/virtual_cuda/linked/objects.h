/* objects.h - finds loaded objects of the process: the one with an address, and our objects that
 * answer in place of NVIDIA's libraries. This calls neither dlopen nor dlsym, which would change
 * what dlerror returns.
 */
#ifndef TIDE_VIRTUAL_CUDA_LINKED_OBJECTS_H
#define TIDE_VIRTUAL_CUDA_LINKED_OBJECTS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "programs/virtual_cuda/linked/exports.h"

/* The path of the program's own file. */
#define TIDE_VC_OBJECT_SELF "/proc/self/exe"

typedef struct tide_vc_object {
    uintptr_t base; /* the bytes by which the loader moved its addresses */
    const ElfW(Dyn) * dynamic;
    const char *path; /* valid while the object is loaded; NULL: not found */
} tide_vc_object;

/* The objects that answer. */
typedef struct tide_vc_offers {
    tide_vc_exports card;     /* the virtual card */
    tide_vc_exports recorder; /* nothing, unless the program is recorded */
} tide_vc_offers;

typedef struct tide_vc_objects {
    tide_vc_object object; /* with the address */
    tide_vc_offers offers;
} tide_vc_objects;

/* `code`: an address in an object, or NULL. Thread-safe. */
tide_vc_objects tide_vc_objects_find(const void *code);

/* The recorder's function of that name, if it has one, because it calls the card's; otherwise the
 * card's. NULL if neither has one. */
const void *tide_vc_offers_find(const tide_vc_offers *offers, const char *name);

/* Whether a library that was loaded after the object with this code, and that `is_foreign` accepts
 * by its path, has a function of that name. Thread-safe. `is_foreign` must not open or close
 * libraries. */
bool tide_vc_objects_have_next(const void *code, const char *name,
                               bool (*is_foreign)(const char *path));

#endif
