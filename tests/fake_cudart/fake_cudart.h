/* fake_cudart.h - a CUDA runtime for tests, linked in place of cudart: one or more GPUs made of
 * host memory, with every failure on demand. The settings and queries of a test.
 *
 * Like the real runtime: without a driver every call answers 35 and reading the last error does not
 * clear it; an error that ends the context (an illegal address) answers every later call; output
 * arguments are left alone on failure; segments are multiples of 2 MiB. Device memory is host
 * memory that is returned to the system when it is freed, so later accesses fault; fresh memory is
 * filled with 0xFF, so that every number in it is NaN. The test decides whether copies are done on
 * return or late, and when events are reached. All functions may be called from any thread. */
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
    size_t context_bytes;    /* of it, taken by the context */
    size_t hole_bytes;       /* between neighbouring segments; a multiple of 2 MiB */

    const char *fail_function; /* borrowed; its calls are counted; NULL: those of all that fail */
    size_t fail_call;          /* this one of them fails ... */
    cudaError_t fail_with;     /* ... with this; one that ends the context stays for good */
    size_t event_delay;        /* queries that an event answers with 600 after each record */
    unsigned late_streams; /* bit i: work on the i-th created stream, or with 0 on the default one,
                              runs only when something waits for it */
    size_t ignored_wait;   /* this cudaStreamWaitEvent, from 1 on, does nothing; 0: none */
    bool late_copies;      /* host memory is read and written as late as allowed */
    bool has_no_mapping;   /* the driver reports that it cannot map memory at addresses */
    const char *missing_function; /* borrowed; the driver lacks it; NULL: it has all */

    size_t n_launches[TIDE_FAKE_MAX_DEVICES]; /* while each was the calling thread's current one:
                                                 kernels, and calls of libraries */
    void (*launched)(void *ctx, const char *what); /* called before each kernel with its name as in
                                                      the source, and before each product with its
                                                      description; NULL: not called */
    void *launched_ctx;                            /* its first argument */
    size_t n_calls;          /* of the calls that fail_function selects, failed ones included */
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

/* The only state; a test reads and writes it while no call runs. */
tide_fake_cudart *tide_fake_cudart_state(void);
/* One H100-like GPU of 80 GiB, or TIDE_FAKE_DEVICES of the environment, nothing failing; frees all
 * live memory; clears this thread's last error. This is also the initial state. */
void tide_fake_cudart_reset(void);

/* The n-th call from now of `function` (NULL: of any) fails with `error`. */
void tide_fake_cudart_fail(const char *function, size_t n, cudaError_t error);

/* For kernel launches and other calls outside the runtime, so that they count and fail like its
 * own. An error is kept as the last one, permanently if it ends the context. cudaSuccess:
 * continue. */
cudaError_t tide_fake_cudart_enter(const char *function);
/* The same for a library with its own runtime, like cuBLAS: this runtime's last error is unchanged,
 * and it learns of an ended context at its next call. */
cudaError_t tide_fake_cudart_enter_beside(const char *function);

#ifdef __cplusplus
}
#endif

#endif
