/* known.h - addresses of the virtual card, as the simulated calls see them, and the bytes that the
 * card knows.
 *
 * Known bytes are those that the host copied to the card, up to TIDE_VC_KNOWN_COPY_BYTES a copy and
 * TIDE_VC_KNOWN_BYTES in all (the oldest are dropped first), and fills of any length. All other
 * bytes read as zero. Bytes become unknown when a kernel or library gets a pointer into them,
 * because it may write there: a program that reuses an address reads its new tensor as zeros, never
 * the old tensor's bytes. One hole remains: a kernel that gets an address before a known range and
 * writes into the range from there is not noticed. PyTorch's blocks begin at multiples of 512
 * bytes, so this needs a larger block over an older, smaller one, read in part.
 *
 * Thread-safe. Without host memory nothing new becomes known.
 */
#ifndef TIDE_VIRTUAL_CUDA_KNOWN_H
#define TIDE_VIRTUAL_CUDA_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/values/promise.h"

#define TIDE_VC_KNOWN_COPY_BYTES ((size_t)4 << 20)
#define TIDE_VC_KNOWN_BYTES ((size_t)64 << 20)
/* The limits while a thread sends objects (tide_vc_known_objects). */
#define TIDE_VC_OBJECT_COPY_BYTES ((size_t)256 << 20)
#define TIDE_VC_OBJECT_BYTES ((size_t)1 << 30)

/* Whether the address is in the range that device memory is allocated from. */
bool tide_vc_is_device(const void *address);

/* A host output of a simulated call: sets n_bytes to zero. At an address of the device it writes
 * nothing, but the bytes there become unknown. NULL is allowed. */
void tide_vc_zero_output(void *output, size_t n_bytes);

/* A kernel or library may have written through this device pointer: the memory there becomes
 * unknown. If the bytes there hold addresses themselves, such as lists of matrices, the memory at
 * those addresses becomes unknown also. Other addresses are ignored. */
void tide_vc_touch(const void *address);

/* The same for every device pointer in n_bytes of host memory, which begin at a multiple of 8. */
void tide_vc_touch_within(const void *block, size_t n_bytes);

/* The host copied n_bytes to the device. */
void tide_vc_known_write(void *to, const void *from, size_t n_bytes);

/* The device's bytes were filled with the repeated pattern; n_pattern is 1, 2, 4 or 8 and divides
 * n_bytes. */
void tide_vc_known_fill(void *to, const void *pattern, size_t n_pattern, size_t n_bytes);

/* A collective will write the promise's bytes there, all of them. The promise is held as long as
 * the bytes may be read. NULL: the n_bytes become unknown. */
void tide_vc_known_promise(void *to, tide_vc_promise *promise, size_t n_bytes);

/* Copies from one place of the device to another. A promise that covers the whole range is copied
 * without waiting for it. */
void tide_vc_known_copy(void *to, const void *from, size_t n_bytes);

/* Reads n_bytes of the device to the host: the bytes if the whole range is known; otherwise zeros,
 * and false. Waits for promises. */
bool tide_vc_known_read(void *to, const void *from, size_t n_bytes);

/* The same without waiting: bytes of a promise that is not kept yet are unknown. False: `to` may be
 * written in part. */
bool tide_vc_known_peek(void *to, const void *from, size_t n_bytes);

/* Whether the calling thread sends objects to other ranks. They travel as bytes on the card, so
 * larger copies become known meanwhile. */
void tide_vc_known_objects(bool is_sending);
/* The most bytes of a copy that may become known to this thread. */
size_t tide_vc_known_copy_bytes(void);

/* Makes the unknown bytes of the range known, as zero. */
void tide_vc_known_settle(void *address, size_t n_bytes);

/* Whether the whole range is known or promised. */
bool tide_vc_known_covers(const void *from, size_t n_bytes);

/* Makes the range unknown, or all memory. */
void tide_vc_known_forget(uint64_t address, uint64_t n_bytes);
void tide_vc_known_forget_all(void);

/* Whether nothing is known at all; a quick check without a lock. */
bool tide_vc_known_is_empty(void);

/* The bounds of all known bytes; low above high: nothing is known. A launch checks hundreds of
 * words, most of which are not addresses of the card: the bounds exclude these without a call. */
void tide_vc_known_bounds(uint64_t *ret_low, uint64_t *ret_high);

#endif
