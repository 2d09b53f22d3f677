/* workspaces.h - the memory that the program lends to cuBLAS.
 *
 * PyTorch allocates cuBLAS's workspaces itself, and its history does not mark them; the call that
 * lends them does. python/tidemark asks for them by name. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_WORKSPACES_H
#define TIDE_VIRTUAL_CUDA_WORKSPACES_H

#include <stddef.h>
#include <stdint.h>

typedef enum tide_vc_lent {
    TIDE_VC_BY_HANDLE = 0, /* until the handle gets another */
    TIDE_VC_BY_CALL        /* for one product; the program may keep the memory for the next */
} tide_vc_lent;

/* The address was given to a library as a workspace. Only the first 256 different ones are
 * remembered. */
void tide_vc_workspace_add(const void *address, size_t n_bytes, tide_vc_lent lent);

/* ---- for python/tidemark, by name ---- */

/* The address of workspace i, counted from 0 in the order of their first calls; 0 if there are
 * fewer. With `by_call`, workspaces lent for one product count also. */
uint64_t tidemark_workspace(unsigned i, int by_call);

/* The program frees its workspaces: other allocations may get their addresses. */
void tidemark_workspaces_forget(void);

#endif
