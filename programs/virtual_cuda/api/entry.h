/* entry.h - functions by name, and which of them are served.
 */
#ifndef TIDE_VIRTUAL_CUDA_ENTRY_H
#define TIDE_VIRTUAL_CUDA_ENTRY_H

#include <stdbool.h>

/* Whether the function does anything but refuse its call (libraries/stub_friend.h). */
bool tide_vc_is_served(const void *function);

#endif
