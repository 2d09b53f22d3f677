/* fake_memory.h - the device memory of the fake runtime: host memory, allocated in segments of 2
 * MiB at the lowest address that fits, and registered as device memory. The caller holds the
 * runtime's lock.
 */
#ifndef TIDE_TESTS_FAKE_MEMORY_H
#define TIDE_TESTS_FAKE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

enum { TIDE_FAKE_GRANULE = 2 << 20 }; /* bytes; segments are multiples of it */

/* n_bytes > 0, a multiple of the granule; with at least hole_bytes to the neighbours. NULL if the
 * host has no room. */
void *tide_fake_memory_take(size_t n_bytes, size_t hole_bytes, int device);
/* The segment that begins at `address`: its bytes and its device; 0 if there is none. */
size_t tide_fake_memory_find(const void *address, int *ret_device);
/* Frees a segment; later accesses fault. */
void tide_fake_memory_give_back(void *address);
/* All of them. */
void tide_fake_memory_clear(void);

#endif
