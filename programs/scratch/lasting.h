/* lasting.h - memory for what a process keeps until its end, which does not come from the heap.
 *
 * The functions that the view takes the place of are called by allocators while they start, with
 * their locks held: jemalloc reads a link, mimalloc a file. So nothing that the view does before
 * or in its own start may allocate.
 */
#ifndef TIDE_SCRATCH_LASTING_H
#define TIDE_SCRATCH_LASTING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Room for n_bytes, aligned for text alone. NULL: the system has no memory. */
char *tide_scratch_lasting(size_t n_bytes);

/* A copy of n_bytes of text, with a NUL at its end. NULL: no memory. */
char *tide_scratch_lasting_text(const char *text, size_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
