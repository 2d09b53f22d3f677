/* flash_case.h - calls of flash attention for test_attention.c: the inputs of both devices, and how
 * far their results may differ.
 *
 * Both devices read the same numbers; the backward pass reads what the cpu's forward pass wrote.
 * Both compute in fp32 and differ by the order of their sums, each off by the error that
 * test_ops_attention.c of the cpu device derives: so twice that error is allowed, relative to the
 * largest number.
 *
 * Tensor cores multiply numbers of 8 significant bits in bf16 and of 11 in TF32. They compute out
 * from rounded probabilities, each off by at most u = 2^-8 or 2^-11 of itself, which moves out by
 * at most u of the largest value, and that is about as large as the largest out, the first query's;
 * dv from rounded probabilities, and dq and dk from rounded dscores, which are sums of both signs
 * where single terms may be larger than the sum: 2 u. In TF32 they round q, k, v and dout besides.
 * That is not in the tolerance: the cpu side is given what was rounded by other means, and so
 * scores agree as in fp32, and any other rounding, to eleven bits or fewer, is seen.
 */
#ifndef TIDE_TESTS_FLASH_CASE_H
#define TIDE_TESTS_FLASH_CASE_H

#include "twin.h"

/* How a call is made. */
typedef enum flash_way {
    FLASH_PLAIN,
    FLASH_SHIFTED, /* arrays begin one element after an aligned address */
    FLASH_IN_TF32, /* fp32 arrays may be multiplied as TF32 */
} flash_way;

typedef struct flash_shape {
    tide_dtype dtype;  /* of all but lse and scratch */
    size_t B, T, H, D; /* as in ops.h */
    flash_way way;
} flash_shape;

/* Arrays of a forward case, in order. */
enum { OUT, LSE, FORWARD_Q, FORWARD_K, FORWARD_V };
/* Arrays of a backward case, in order. */
enum { DQ, DK, DV, DOUT, Q, K, V, GIVEN_OUT, GIVEN_LSE, SCRATCH };

/* What a forward case compares. */
typedef enum flash_compared { ALL, ONLY_LSE } flash_compared;

/* Four arrays of a backward case, in order; owned by the caller. */
typedef struct flash_inputs {
    float *x[4]; /* dout, q, k, v, each of the type's numbers */
} flash_inputs;

size_t flash_n_elements(const flash_shape *s); /* of q */
size_t flash_n_rows(const flash_shape *s);     /* of lse */

/* u of the comment above, for what is rounded on tensor cores; 0: computed elsewhere. */
double flash_operand_error(const flash_shape *s);
/* Of lse, whose sums are of unrounded probabilities. */
double flash_lse_tolerance(const flash_shape *s);
double flash_forward_tolerance(const flash_shape *s);
double flash_backward_tolerance(const flash_shape *s);

/* Calls of twin_check; the shape is a flash_shape. In TF32 the cpu side first rounds
 * what it reads of q, k, v and dout. */
tide_status flash_forward(const twin_side *side, const void *shape, tide_error *error);
tide_status flash_backward(const twin_side *side, const void *shape, tide_error *error);

/* A case in the way of the shape, still without arrays. */
twin_case *flash_begin(const flash_shape *s, const char *name);
twin_case *flash_forward_case(const flash_shape *s, flash_compared what);
twin_case *flash_backward_case(const flash_shape *s);
/* The same with these inputs, which it frees. */
twin_case *flash_backward_case_of(const flash_shape *s, flash_inputs inputs);
/* q, k and v in [-2, 2), dout in [-1, 1). */
flash_inputs flash_make_inputs(const flash_shape *s);
/* n numbers in [-2, 2), each one of the type's; the caller frees them. */
float *flash_numbers(tide_dtype dtype, size_t n, unsigned seed);

#endif
