/* handle.h - objects that a program only passes back: handles of libraries, graphs, modules.
 *
 * A handle is zeroed memory of TIDE_VC_HANDLE_BYTES: inline code of a library that looks into it
 * reads zeros. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_HANDLE_H
#define TIDE_VIRTUAL_CUDA_HANDLE_H

enum { TIDE_VC_HANDLE_BYTES = 256 };

/* Never NULL: without host memory it is a shared object that is never released. */
void *tide_vc_handle_new(void);
/* NULL is allowed. */
void tide_vc_handle_release(void *handle);

#endif
