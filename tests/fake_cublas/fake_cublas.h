/* fake_cublas.h - a cuBLAS for tests, linked in place of the one that is opened at run time:
 * products in plain loops, column-major, with every argument checked. TF32 is rounded to as the
 * hardware does, so that it can be told from strict fp32. Calls count and fail as those of the fake
 * runtime (fake_cudart.h), under cuBLAS' names.
 */
#ifndef TIDE_TESTS_FAKE_CUBLAS_H
#define TIDE_TESTS_FAKE_CUBLAS_H

#include <stddef.h>

#include "model/ops_cuda/cublas.h"

typedef struct tide_fake_cublas {
    size_t n_handles;           /* live */
    size_t n_products;          /* calls, a batch counted once */
    size_t n_without_workspace; /* of them, where cuBLAS would have allocated by itself */
    size_t n_mistakes;          /* wrong leading dimensions, memory that is no device's, ... */
    size_t workspace_bytes;     /* last given */
    int math_mode;              /* last set */
    int compute_type;           /* of the last product */
    char mistake[256];          /* the last of them, for people */
} tide_fake_cublas;

/* The one there is; one thread. */
tide_fake_cublas *tide_fake_cublas_state(void);
void tide_fake_cublas_reset(void);

#endif
