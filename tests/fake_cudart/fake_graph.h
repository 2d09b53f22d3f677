/* fake_graph.h - CUDA graphs of the fake runtime, for its other files. The caller holds the
 * runtime's lock. */
#ifndef TIDE_TESTS_FAKE_GRAPH_H
#define TIDE_TESTS_FAKE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include "fake_cudart/fake_queue.h"

/* Whether the stream is captured. */
bool tide_fake_graph_has(cudaStream_t stream);
/* Keeps work of the captured stream; the graph owns it and runs it at each launch. False, and the
 * capture is invalid: the host has no memory. */
bool tide_fake_graph_keep(cudaStream_t stream, tide_fake_work work);
/* Adds a record of the captured stream (tide_fake_queue_record). */
void tide_fake_graph_record(cudaStream_t stream, uint64_t number);
/* Adds a wait of the stream for a record of the capture, which the stream thereby joins. An error,
 * and the capture is invalid: the capture has no such record, or no room for the stream. */
cudaError_t tide_fake_graph_wait(cudaStream_t stream, uint64_t number);
/* For calls that no capture permits: the error, which also ends the capture of the stream (or any,
 * if the call concerns all streams); cudaSuccess: continue. */
cudaError_t tide_fake_graph_forbid(cudaStream_t stream, bool all);
/* Destroys all graphs, and drops an unfinished capture. */
void tide_fake_graph_clear(void);

#endif
