/* fake_cudart.h - a CUDA runtime for tests, linked in place of cudart: one or more GPUs made of
 * host memory, with everything that can go wrong on demand. What a test sets, and what it can ask.
 *
 * As the real runtime does: without a driver every call answers 35 and reading the last error does
 * not clear it; an error that ends the context (an illegal address) answers every later call;
 * output arguments are left alone on failure; segments are multiples of 2 MiB. Device memory is
 * host memory that goes back to the system when it is freed, so that later accesses fault; fresh
 * memory is filled with 0xFF, so that every number in it is NaN. The test decides whether copies
 * are done on return or late, and when events are reached. All functions may be called from any
 * thread. */
#ifndef TIDE_TESTS_FAKE_CUDART_H
#define TIDE_TESTS_FAKE_CUDART_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_fake_driver {
    TIDE_FAKE_DRIVER_PRESENT = 0,
    TIDE_FAKE_DRIVER_NONE,     /* no libcuda.so.1: version 0, everything else 35 */
    TIDE_FAKE_DRIVER_STUB,     /* the toolkit's stub in its place: version 0, everything else 34 */
    TIDE_FAKE_DRIVER_TOO_OLD,  /* has a version, everything else 35 */
    TIDE_FAKE_DRIVER_NO_DEVICE /* a driver that shows no GPU: 100 */
} tide_fake_driver;

enum { TIDE_FAKE_MAX_DEVICES = 8 };

/* Calls are counted from 1; 0: never. */
typedef struct tide_fake_cudart {
    tide_fake_driver driver; /* what is there */
    int driver_version;      /* 13000 for 13.0 */
    int n_devices;           /* of a driver that is present */
    int compute_capability;  /* of each: 90 for 9.0 */
    size_t capacity_bytes;   /* of each; a multiple of 2 MiB */
    size_t context_bytes;    /* of it, what the context takes */
    size_t hole_bytes;       /* between neighbouring segments; a multiple of 2 MiB */

    const char *fail_function; /* borrowed; calls of this one are counted; NULL: of all that fail */
    size_t fail_call;          /* this one of them fails ... */
    cudaError_t fail_with;     /* ... with this; one that ends the context stays for good */
    size_t event_delay;        /* queries that an event answers with 600 after each record */
    unsigned late_streams; /* bit i: what is on the i-th created stream, or with 0 on the default
                              one, runs only when something waits for it */
    size_t ignored_wait;   /* the call of cudaStreamWaitEvent, from 1 on, that does nothing; 0:
                              none does */
    bool late_copies;      /* a host's memory is read and written as late as it may be */
    bool has_no_mapping;   /* the driver says that it cannot map memory behind addresses */
    const char *missing_function; /* borrowed; of the driver, which has none of this name; NULL:
                                     it has all */

    size_t n_launches[TIDE_FAKE_MAX_DEVICES]; /* while each was the calling thread's current one:
                                                 kernels, and calls of libraries */
    void (*launched)(void *ctx, const char *what); /* called before each kernel with its name as in
                                                      the source, and before each product with what
                                                      it multiplies; NULL: by nobody */
    void *launched_ctx;                            /* its first argument */
    size_t n_calls;          /* of what fail_function selects, failed ones included */
    const char *failed_in;   /* the function that fail_call met; NULL: none yet */
    size_t used_bytes;       /* of segments and mapped memory on all devices */
    size_t n_segments;       /* live */
    size_t n_ranges;         /* of reserved addresses */
    size_t n_waits;          /* calls of cudaStreamWaitEvent */
    size_t n_streams;        /* live */
    size_t n_events;         /* live */
    size_t n_graphs;         /* live instances */
    size_t n_graph_launches; /* so far */
    size_t n_mistakes;       /* double frees, foreign handles, ranges outside a segment */
    char mistake[256];       /* the last of them, for people */
} tide_fake_cudart;

/* The one there is; a test reads and writes it while no call runs. */
tide_fake_cudart *tide_fake_cudart_state(void);
/* One H100-like GPU of 80 GiB, or as many as the environment's TIDE_FAKE_DEVICES says, nothing
 * failing; frees what is live; clears this thread's last error. It is so at the start, too. */
void tide_fake_cudart_reset(void);

/* The n-th call from now of `function` (NULL: of any) fails with `error`. */
void tide_fake_cudart_fail(const char *function, size_t n, cudaError_t error);

/* For calls that are not the runtime's, so that they count and fail as its own: kernel launches. An
 * error is kept as the last one, and for good where it ends the context. cudaSuccess: go on. */
cudaError_t tide_fake_cudart_enter(const char *function);
/* The same for a library that brings its own runtime along, as cuBLAS does: the last error of this
 * one stays as it is, and of an ended context it hears at its next call. */
cudaError_t tide_fake_cudart_enter_beside(const char *function);

#ifdef __cplusplus
}
#endif

#endif
