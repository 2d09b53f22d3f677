/* known.h - addresses of the virtual card, as the simulated calls see them.
 */
#ifndef TIDE_VIRTUAL_CUDA_KNOWN_H
#define TIDE_VIRTUAL_CUDA_KNOWN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the address lies in the range that device memory is given out of. */
bool tide_vc_is_device(const void *address);

/* A host output of a simulated call: sets n_bytes to zero. An address of the device is left alone,
 * but what was known of the bytes there is forgotten. NULL is allowed. */
void tide_vc_zero_output(void *output, size_t n_bytes);

/* A kernel or library may have written behind this device pointer: nothing is known there any
 * more. Other addresses are ignored. */
void tide_vc_touch(const void *address);

#endif
