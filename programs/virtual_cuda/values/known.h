/* known.h - addresses of the virtual card, as the simulated calls see them, and the bytes that the
 * card knows.
 *
 * Known are bytes that the host copied there, up to TIDE_VC_KNOWN_COPY_BYTES a copy and
 * TIDE_VC_KNOWN_BYTES in all (the oldest go first), and fills of any length. Everything else reads
 * as zero. What a kernel or library was given a pointer into is known no more, because it may have
 * written there: a program that reuses an address reads its new tensor as zeros, never the old
 * tensor's bytes. One hole is left: a kernel that is given an address before a known range, and
 * writes into the range from there, is not seen to write it; PyTorch's blocks begin at multiples of
 * 512 bytes, so that this takes a larger block over an older, smaller one, read in part.
 *
 * Thread-safe. No host memory: nothing new is known.
 */
#ifndef TIDE_VIRTUAL_CUDA_KNOWN_H
#define TIDE_VIRTUAL_CUDA_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/virtual_cuda/values/promise.h"

#define TIDE_VC_KNOWN_COPY_BYTES ((size_t)4 << 20)
#define TIDE_VC_KNOWN_BYTES ((size_t)64 << 20)
/* The same while a thread sends objects (tide_vc_known_objects). */
#define TIDE_VC_OBJECT_COPY_BYTES ((size_t)256 << 20)
#define TIDE_VC_OBJECT_BYTES ((size_t)1 << 30)

/* Whether the address lies in the range that device memory is given out of. */
bool tide_vc_is_device(const void *address);

/* A host output of a simulated call: sets n_bytes to zero. An address of the device is left alone,
 * but what was known of the bytes there is forgotten. NULL is allowed. */
void tide_vc_zero_output(void *output, size_t n_bytes);

/* A kernel or library may have written behind this device pointer: nothing is known there any
 * more. Where the bytes there hold addresses themselves, as lists of matrices do, neither is what
 * these lead to. Other addresses are ignored. */
void tide_vc_touch(const void *address);

/* The same of every device pointer in n_bytes of host memory, which begin at a multiple of 8. */
void tide_vc_touch_within(const void *block, size_t n_bytes);

/* The host copied n_bytes to the device. */
void tide_vc_known_write(void *to, const void *from, size_t n_bytes);

/* The device's bytes were set to the pattern, over and over; n_pattern is 1, 2, 4 or 8 and divides
 * n_bytes. */
void tide_vc_known_fill(void *to, const void *pattern, size_t n_pattern, size_t n_bytes);

/* What a collective will have written there: the promise's bytes, all of them. It is held as long
 * as somebody may read them. NULL: nothing is known of n_bytes there. */
void tide_vc_known_promise(void *to, tide_vc_promise *promise, size_t n_bytes);

/* Copies from one place of the device to another. A promise is carried along, and is not waited
 * for where one covers the whole range. */
void tide_vc_known_copy(void *to, const void *from, size_t n_bytes);

/* Gives n_bytes of the device's to the host: where the whole range is known, its bytes; else zeros,
 * and false. Waits for what was promised. */
bool tide_vc_known_read(void *to, const void *from, size_t n_bytes);

/* Whether the calling thread sends objects to other ranks, which travel as bytes on the card:
 * larger copies are known then. */
void tide_vc_known_objects(bool is_sending);
/* How many bytes of a copy may be known to this thread. */
size_t tide_vc_known_copy_bytes(void);

/* What is unknown of the range is zero from now on, and known. */
void tide_vc_known_settle(void *address, size_t n_bytes);

/* Whether the whole range is known or promised. */
bool tide_vc_known_covers(const void *from, size_t n_bytes);

/* Nothing is known of the range, or of any. */
void tide_vc_known_forget(uint64_t address, uint64_t n_bytes);
void tide_vc_known_forget_all(void);

/* Whether nothing is known at all; a quick look without a lock. */
bool tide_vc_known_is_empty(void);

/* The addresses that all known bytes lie between; low above high: nothing is known. A launch looks
 * at hundreds of words, most of which are no address of the card: this tells without a call. */
void tide_vc_known_bounds(uint64_t *ret_low, uint64_t *ret_high);

#endif
