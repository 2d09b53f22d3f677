/* doors.h - the ways to NVIDIA's libraries that pass by the preloaded object: dlopen of a full
 * path, and dlsym on the handle of a library.
 *
 * One object of a process owns dlsym: the recorder (programs/live/entries/entry_symbols.c), or the
 * view of files if the recorder is not preloaded (programs/scratch/entries/entry_symbols.c). The
 * view owns dlvsym, dlopen and dlmopen. They look for the functions below by weak symbols, because
 * each object works without the others.
 *
 * What a program finds in a file of NVIDIA's is replaced by the function of that name in our
 * objects: the recorder's stand-in, or else the card's function. All other functions, such as those
 * of NVRTC, stay the real library's. dlerror returns what it would after the C library's own
 * lookup: NULL after a function was found.
 */
#ifndef TIDE_VIRTUAL_CUDA_DOORS_H
#define TIDE_VIRTUAL_CUDA_DOORS_H

#include <stdbool.h>

/* Whether a function of NVIDIA's libraries may have this name. Calls nothing, so a malloc that
 * starts may ask. */
bool tidemark_virtual_has_name(const char *name);

/* The function that a lookup on a handle returns. `found`: the C library's result for the name,
 * which is returned if the card does not replace it; NULL if it is NULL. */
void *tidemark_virtual_symbol(const char *name, void *found);

/* The same for a lookup with RTLD_NEXT. `caller` is an address in the code that asks. NULL: the C
 * library's result stays. */
void *tidemark_virtual_next(const char *name, const void *caller);

/* The path of the card's own object if `name`, a path or a bare name, is the driver's or NVML's
 * library; otherwise NULL. Valid as long as the process. */
const char *tidemark_virtual_library(const char *name);

#endif
