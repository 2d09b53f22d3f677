/* stack_bounds.h - where the calling thread's stack ends, for code that reads a caller's variables.
 * Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_STACK_BOUNDS_H
#define TIDE_VIRTUAL_CUDA_STACK_BOUNDS_H

#include <stdint.h>

/* The address after the stack's last byte; 0: unknown. */
uintptr_t tide_vc_stack_end(void);

#endif
