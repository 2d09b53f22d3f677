/* memory.h - host memory that the recorded program's malloc knows nothing of.
 *
 * Events arrive while PyTorch holds locks, in any thread, and perhaps while the program's own
 * malloc is at work: a malloc that counts or allocates device memory itself. So the recording takes
 * its memory from the system, and never gives any of it back.
 */
#ifndef TIDE_LIVE_MEMORY_H
#define TIDE_LIVE_MEMORY_H

#include "common/hostmem.h"

/* Thread-safe. Released memory is used again for requests of about the same size. */
const tide_hostmem *tide_live_memory(void);

/* For a process that was just made by fork(): another thread may have held the lock. */
void tide_live_memory_forked(void);

#endif
