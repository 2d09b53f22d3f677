/* list.h - every function of NVIDIA's libraries that PyTorch asks for, and what the virtual card
 * does with it. `tidemark devices --simulated` prints the list, which is a library of its own: it
 * is known where no virtual card is. tests/virtual_cuda compare it with what the preloaded object
 * offers and with what released PyTorch versions need. */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_LIST_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_LIST_H

#include <stddef.h>

/* What a row's effects are, added. A function without any is harmless: it has no output. */
enum {
    TIDE_VC_SIMULATED = 1,    /* every output is written */
    TIDE_VC_INEXACT = 2,      /* what is answered is an estimate, or means nothing */
    TIDE_VC_REFUSED = 4,      /* fails with the library's own error */
    TIDE_VC_LEFT_TO_REAL = 8, /* the real library answers */
    TIDE_VC_BY_HAND = 16      /* more than a row can say */
};

typedef struct tide_vc_function {
    const char *library, *name; /* static: "cublas", "cublasSgemm_v2" */
    int effects;
    int error;       /* what a refused function returns; else 0 */
    const char *why; /* one sentence: why it, or some of it, is refused, or what is not
                        exact; or NULL */
} tide_vc_function;

/* The list, which is static, library by library, each in the order of names. */
const tide_vc_function *tide_vc_functions(size_t *ret_n);

/* The name of a refused function's error as NVIDIA's headers have it; NULL where what it returns is
 * no error code: a NULL address, a count below 0, or nothing. */
const char *tide_vc_error_name(const tide_vc_function *function);

#endif
