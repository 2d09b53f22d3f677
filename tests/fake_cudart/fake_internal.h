/* fake_internal.h - shared by the files of the fake runtime. */
#ifndef TIDE_TESTS_FAKE_INTERNAL_H
#define TIDE_TESTS_FAKE_INTERNAL_H

#include "common/status.h"
#include "fake_cudart/fake_cudart.h"

/* The beginning of every call: takes the lock, counts, and returns whether the call fails here. */
cudaError_t tide_fake_enter(const char *function);
/* Only takes the lock; tide_fake_leave_beside releases it. */
void tide_fake_lock(void);
/* The end of every call: keeps the result as the runtime does, releases the lock, and returns the
 * result. */
cudaError_t tide_fake_leave(cudaError_t result);

/* The same for calls that are not the runtime's: the last error is unchanged. */
cudaError_t tide_fake_leave_beside(cudaError_t result);

/* For all functions below the caller holds the lock. */

/* Bytes that the device could still allocate. */
size_t tide_fake_room(int device);
/* Counts bytes allocated and freed. */
void tide_fake_count_bytes(int device, size_t n_taken, size_t n_given_back);

tide_fake_cudart *tide_fake_cudart_locked(void);
/* Records a mistake of the caller that the real runtime might not notice. Returns `error`. */
cudaError_t tide_fake_mistake(cudaError_t error, const char *format, ...) TIDE_PRINTF(2, 3);
/* Everything recorded so far on a stream, or on all of them, is reached. */
void tide_fake_reach(cudaStream_t stream, bool all);
/* Whether it is the default stream or a live one. */
cudaError_t tide_fake_check_stream(cudaStream_t stream);
/* 0: the default stream; else the i-th stream created since the last clearing has the number i. */
unsigned tide_fake_stream_number(cudaStream_t stream);
/* Destroys all streams and events. */
void tide_fake_clear_handles(void);

#endif
