/* workspaces.h - memory that the program lends to a library of NVIDIA's for its work.
 *
 * PyTorch allocates such memory itself, and its allocator's events do not say what it is. The call
 * that lends it does (programs/live/entries/entry_libraries.c). Thread-safe.
 */
#ifndef TIDE_LIVE_WORKSPACES_H
#define TIDE_LIVE_WORKSPACES_H

#include <stdint.h>

/* The block at the address is lent. It is told once as long as the block lives. `name`: a static
 * text, "workspace of cuBLAS". */
void tide_live_workspace_lent(const void *address, const char *name);

/* A block at the address is given back. */
void tide_live_workspace_freed(uint64_t address);

#endif
