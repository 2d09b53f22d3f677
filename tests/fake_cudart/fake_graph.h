/* fake_graph.h - CUDA graphs of the fake runtime, for its other files. The caller holds the
 * runtime's lock. */
#ifndef TIDE_TESTS_FAKE_GRAPH_H
#define TIDE_TESTS_FAKE_GRAPH_H

#include <stdbool.h>

#include <cuda_runtime_api.h>

/* Whether the stream is captured. */
bool tide_fake_graph_has(cudaStream_t stream);
/* Keeps work of the captured stream: run(work) at each launch of the graph; release(work) at its
 * end. False, and the capture is invalid: the host has no memory. */
bool tide_fake_graph_keep(int (*run)(void *work), void (*release)(void *work), void *work);
/* For calls that no capture permits: the error, which also ends the capture of the stream (or any,
 * where the call concerns all streams); cudaSuccess: go on. */
cudaError_t tide_fake_graph_forbid(cudaStream_t stream, bool all);
/* Takes all graphs back, and forgets a capture that has not ended. */
void tide_fake_graph_clear(void);

#endif
