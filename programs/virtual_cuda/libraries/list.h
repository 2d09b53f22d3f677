/* list.h - every function that the headers of NVIDIA's libraries declare, and how the virtual card
 * handles it. `tidemark devices --simulated` prints the list, which is a separate library because
 * it is also needed without a virtual card. tests/virtual_cuda compare it with the functions that
 * the preloaded object offers and with those that released PyTorch versions need. */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_LIST_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_LIST_H

#include <stddef.h>

/* The effects of a row, as flags. A function without any is harmless: it has no output. */
enum {
    TIDE_VC_SIMULATED = 1,    /* every output is written */
    TIDE_VC_INEXACT = 2,      /* the result is an estimate, or means nothing */
    TIDE_VC_REFUSED = 4,      /* fails with the library's own error */
    TIDE_VC_LEFT_TO_REAL = 8, /* the real library answers */
    TIDE_VC_BY_HAND = 16,     /* more than a row can express */
    TIDE_VC_NOT_SERVED = 32   /* fails as a refused one; it waits for somebody */
};

typedef struct tide_vc_function {
    const char *library, *name; /* static: "cublas", "cublasSgemm_v2" */
    int effects;
    int error;       /* what the function returns if it is refused or not served */
    const char *why; /* why it is (partly) refused, or what is inexact; one sentence or NULL */
} tide_vc_function;

/* The static list, grouped by library, each sorted by name. */
const tide_vc_function *tide_vc_functions(size_t *ret_n);

/* The name in NVIDIA's headers of the error of a refused function or one that is not served; NULL
 * if its result is not an error code: a NULL address, a count below 0, or nothing, and for other
 * functions. */
const char *tide_vc_error_name(const tide_vc_function *function);

#endif
