/* list.h - every function of NVIDIA's libraries that PyTorch asks for, and what the virtual card
 * does with it. `tidemark devices --simulated` prints the list. */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_LIST_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_LIST_H

#include <stddef.h>

#include "virtual_cuda/export.h"

/* What a row's effects are, added. A function without any is harmless: it has no output. */
enum {
    TIDE_VC_SIMULATED = 1,    /* every output is written */
    TIDE_VC_INEXACT = 2,      /* a size that only the real library knows reads 0 */
    TIDE_VC_REFUSED = 4,      /* fails with the library's own error */
    TIDE_VC_LEFT_TO_REAL = 8, /* the real library answers */
    TIDE_VC_BY_HAND = 16      /* more than a row can say */
};

typedef struct tide_vc_function {
    const char *library, *name; /* static: "cublas", "cublasSgemm_v2" */
    int effects;
} tide_vc_function;

/* The list, which is static. */
TIDE_VC_EXPORT const tide_vc_function *tide_vc_functions(size_t *ret_n);

#endif
