/* readable.h - a kernel's name as tables show it. */
#ifndef TIDE_VIRTUAL_CUDA_WORK_READABLE_H
#define TIDE_VIRTUAL_CUDA_WORK_READABLE_H

#include <stddef.h>

/* The name that the compiler wrote, without what is the same in all of them: its result, the
 * namespaces of PyTorch, parameters of functions, and lambdas, whose function stays. What is no
 * name of C++ stays as it is. */
void tide_vc_readable(const char *name, char *ret_text, size_t n_room);

/* The same of a name that is taken apart already. */
void tide_vc_readable_symbol(const char *symbol, char *ret_text, size_t n_room);

#endif
