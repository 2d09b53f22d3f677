/* lasting.h - memory outside the heap that a process keeps until its end.
 *
 * Allocators call functions that the view replaces while they start, with their locks held:
 * jemalloc reads a link, mimalloc a file. So the view must not allocate before or during its own
 * start.
 */
#ifndef TIDE_SCRATCH_LASTING_H
#define TIDE_SCRATCH_LASTING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Room for n_bytes, aligned only for text. NULL: the system has no memory. */
char *tide_scratch_lasting(size_t n_bytes);

/* A copy of n_bytes of text, with a NUL at its end. NULL: no memory. */
char *tide_scratch_lasting_text(const char *text, size_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
