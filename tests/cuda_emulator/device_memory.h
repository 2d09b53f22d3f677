/* device_memory.h - which addresses are device memory of the emulated device. The library that
 * replaces the runtime registers the memory that it allocates; a kernel that receives or touches
 * any other address is reported. One OS thread at a time. C and C++.
 */
#ifndef TIDE_TESTS_DEVICE_MEMORY_H
#define TIDE_TESTS_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* [base, base + n_bytes) becomes device memory; n_bytes > 0, ranges do not overlap. */
void tide_device_memory_register(void *base, size_t n_bytes);
/* Removes the range that begins at `base`; false if there is none. */
bool tide_device_memory_unregister(void *base);

/* Whether [address, address + n_bytes) is inside one registered range. With n_bytes 0: whether
 * `address` is in a range, or one past its end. */
bool tide_device_memory_holds(const void *address, size_t n_bytes);

/* Called before a kernel is launched. Returns cudaSuccess, or the cudaError_t that the launch
 * returns instead of running. The library that replaces the runtime may define it; otherwise every
 * launch runs. */
int tide_device_launches(const char *kernel);

/* Called before each launch. True: `run` is kept and called with `work` later, once or at each
 * launch of a graph; then `work` goes to `release`. False: nothing is kept, and the caller launches
 * now. The library that replaces the runtime may define it; otherwise nothing is kept. */
bool tide_device_keeps(const void *stream, int (*run)(void *work), void (*release)(void *work),
                       void *work);

#ifdef __cplusplus
}
#endif

#endif
