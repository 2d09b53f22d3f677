/* handle.h - objects that a program only passes back: handles of libraries, graphs, modules.
 *
 * A handle is zeroed memory of TIDE_VC_HANDLE_BYTES, so that a library's inline code which looks
 * into it reads zeros. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_HANDLE_H
#define TIDE_VIRTUAL_CUDA_HANDLE_H

enum { TIDE_VC_HANDLE_BYTES = 256 };

/* Never NULL: where there is no host memory, a shared object that is never released. */
void *tide_vc_handle_new(void);
/* NULL is allowed. */
void tide_vc_handle_release(void *handle);

#endif
