/* workspaces.h - memory that the program lends to NVIDIA's libraries as workspaces.
 *
 * PyTorch allocates such memory itself, and its allocator's events do not mark it. The call that
 * lends it does (programs/live/entries/entry_libraries.c). Thread-safe.
 */
#ifndef TIDE_LIVE_WORKSPACES_H
#define TIDE_LIVE_WORKSPACES_H

#include <stdint.h>

/* The block at the address is lent. Recorded once in the block's life. `name`: a static text,
 * "workspace of cuBLAS". */
void tide_live_workspace_lent(const void *address, const char *name);

/* A block at the address is freed. */
void tide_live_workspace_freed(uint64_t address);

#endif
