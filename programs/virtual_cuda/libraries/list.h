/* list.h - every function of NVIDIA's libraries that PyTorch asks for, and how the virtual card
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
    TIDE_VC_BY_HAND = 16      /* more than a row can express */
};

typedef struct tide_vc_function {
    const char *library, *name; /* static: "cublas", "cublasSgemm_v2" */
    int effects;
    int error;       /* the error that a refused function returns; otherwise 0 */
    const char *why; /* why it is (partly) refused, or what is inexact; one sentence or NULL */
} tide_vc_function;

/* The static list, grouped by library, each sorted by name. */
const tide_vc_function *tide_vc_functions(size_t *ret_n);

/* The name of a refused function's error in NVIDIA's headers; NULL if its result is not an error
 * code: a NULL address, a count below 0, or nothing. */
const char *tide_vc_error_name(const tide_vc_function *function);

#endif
