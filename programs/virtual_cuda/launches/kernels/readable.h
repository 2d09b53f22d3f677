/* readable.h - a kernel's name as tables show it. */
#ifndef TIDE_VIRTUAL_CUDA_WORK_READABLE_H
#define TIDE_VIRTUAL_CUDA_WORK_READABLE_H

#include <stddef.h>

/* Shortens the name that the compiler wrote: drops the result, the namespaces of PyTorch,
 * parameters of functions, and lambdas, but keeps the function around a lambda. A name that is not
 * C++ is unchanged. */
void tide_vc_readable(const char *name, char *ret_text, size_t n_room);

/* The same for a demangled name. */
void tide_vc_readable_symbol(const char *symbol, char *ret_text, size_t n_room);

#endif
