/* fake_queue.h - work that runs late: on the streams of tide_fake_cudart.late_streams, work runs
 * only when something waits for it.
 *
 * On a GPU, unordered work of two streams may run in either order. A test that delays first one
 * stream and then the other sees both orders, so a missing wait changes a result. The functions
 * take the runtime's lock themselves and run the work without it.
 */
#ifndef TIDE_TESTS_FAKE_QUEUE_H
#define TIDE_TESTS_FAKE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

/* A piece of work: run(work) is called once, then release(work). release NULL: the work has another
 * owner. */
typedef struct tide_fake_work {
    int (*run)(void *work);
    void (*release)(void *work);
    void *work;
} tide_fake_work;

/* Keeps the work if the stream is late, and otherwise runs it. Returns run's result; 0: kept. */
int tide_fake_queue_do(cudaStream_t stream, tide_fake_work work);
/* The stream records, as record `number` (no two have the same), or waits for it. */
void tide_fake_queue_record(cudaStream_t stream, uint64_t number);
void tide_fake_queue_wait(cudaStream_t stream, uint64_t number);
/* Runs the work before the record. */
void tide_fake_queue_reach(uint64_t number);
/* Runs everything of the stream, or of all streams. */
void tide_fake_queue_finish(cudaStream_t stream, bool all);

/* The caller holds the lock. Keeps the work if the stream is late; false: it is not, or there is no
 * host memory. */
bool tide_fake_queue_keep(cudaStream_t stream, tide_fake_work work);
/* Likewise: forgets everything. */
void tide_fake_queue_clear(void);

#endif
