/* stack_bounds.h - where the calling thread's stack ends, for those who look at a caller's
 * variables. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_STACK_BOUNDS_H
#define TIDE_VIRTUAL_CUDA_STACK_BOUNDS_H

#include <stdint.h>

/* The address behind the stack's last byte; 0: not known. */
uintptr_t tide_vc_stack_end(void);

#endif
