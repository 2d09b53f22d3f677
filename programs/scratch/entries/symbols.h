/* symbols.h - finds functions by name without dlsym: the view's replacements, and the C library's
 * own dlsym. Uses no heap memory, and no lock except the linker's.
 */
#ifndef TIDE_SCRATCH_SYMBOLS_H
#define TIDE_SCRATCH_SYMBOLS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The exported function of this shared object, or NULL. */
void *tide_scratch_own_symbol(const char *name);

/* A function of the C library, from its own table, or NULL. */
void *tide_scratch_library_symbol(const char *name);

/* Whether the address is in one of the objects of the C library: libc, libpthread, libdl, librt. */
bool tide_scratch_is_of_library(const void *address);

#ifdef __cplusplus
}
#endif

#endif
