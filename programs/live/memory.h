/* memory.h - host memory that does not come from the recorded program's malloc.
 *
 * Events arrive while PyTorch holds locks, in any thread, and perhaps inside the program's own
 * malloc: a malloc that counts, or that allocates device memory itself. So the recording gets its
 * memory from the system, and never returns it.
 */
#ifndef TIDE_LIVE_MEMORY_H
#define TIDE_LIVE_MEMORY_H

#include "common/hostmem.h"

/* Thread-safe. Released memory is reused for requests of about the same size. */
const tide_hostmem *tide_live_memory(void);

/* For a process just made by fork(): another thread may have held the lock. */
void tide_live_memory_forked(void);

#endif
