/* fake_cublas.h - a cuBLAS for tests, linked instead of the library opened at run time: products in
 * plain loops, column-major, with every argument checked. Operands are shortened to TF32 if the
 * compute type asks for it. Calls count and fail like those of the fake runtime (fake_cudart.h),
 * under cuBLAS' names. */
#ifndef TIDE_TESTS_FAKE_CUBLAS_H
#define TIDE_TESTS_FAKE_CUBLAS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/ops_cuda/cublas.h"

/* How an fp32 operand loses the digits that TF32 lacks. */
typedef enum tide_fake_tf32 {
    TIDE_FAKE_TF32_NEAREST = 0, /* to 10 bits of fraction, ties to even */
    TIDE_FAKE_TF32_CUT,         /* truncated to 10 bits */
    TIDE_FAKE_TF32_AS_BF16      /* a fault: to 7 bits of fraction, to nearest */
} tide_fake_tf32;

typedef struct tide_fake_cublas {
    tide_fake_tf32 tf32;        /* how a test wants products in TF32 */
    size_t n_handles;           /* live */
    size_t n_products;          /* calls, a batch counted once */
    size_t n_without_workspace; /* calls without a workspace, for which cuBLAS would have allocated
                                   memory */
    size_t n_mistakes;          /* wrong leading dimensions, memory of no device, ... */
    size_t workspace_bytes;     /* last given */
    int math_mode;              /* last set */
    int compute_type;           /* of the last product */
    bool lt_has_nothing;        /* cuBLASLt offers no way to compute a product */
    size_t n_lt_objects;        /* live operations, layouts and preferences of cuBLASLt */
    size_t n_lt_choices;        /* calls that asked for a way to compute a product */
    size_t n_lt_products;       /* of n_products */
    char mistake[256];          /* the last of them, for people */
} tide_fake_cublas;

/* The only state; for one thread. */
tide_fake_cublas *tide_fake_cublas_state(void);
void tide_fake_cublas_reset(void);

#endif
