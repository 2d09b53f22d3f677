/* twin.h - runs an operator of the cuda device in the emulator and its twin of the cpu device on
 * the same numbers, and compares what they wrote.
 *
 *   static tide_status forward(const twin_side *side, const void *shape, tide_error *error) {
 *       const size_t *n = shape;
 *       const tide_swiglu_forward call = {
 *           .out = side->arrays[0], .gate = side->arrays[1], .up = side->arrays[2], .n = *n};
 *       return TWIN(side, swiglu_forward)(side->ops, &call, error);
 *   }
 *
 *   twin_case *test = twin_begin("swiglu_forward");
 *   twin_written(test, TIDE_BF16, n);             array 0: filled with NaN before
 *   twin_read(test, TIDE_BF16, n, 4);             arrays 1 and 2: uniform in [-4, 4)
 *   twin_read(test, TIDE_BF16, n, 1);
 *   twin_check(test, forward, &n, tolerance);     frees everything too
 *
 * The cuda side runs in forward, reverse and shuffled thread order, and must write the same bits in
 * each. Its arrays have exactly the stated lengths; the memory around them is watched. They are
 * device memory: a test that touches them while the operator runs crashes, also in the emulator. */
#ifndef TIDE_TESTS_TWIN_H
#define TIDE_TESTS_TWIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/ops.h"
#include "model/ops_cpu/ops_cpu_internal.h"
#include "model/ops_cuda/ops_cuda_friend.h"

enum { TWIN_ARRAYS = 16 };

typedef struct twin_side {
    tide_ops *ops;                  /* of its device */
    bool is_cuda;                   /* else cpu */
    tide_array arrays[TWIN_ARRAYS]; /* in the order in which the case made them */
} twin_side;

/* The operator of the side's device. */
#define TWIN(side, name) ((side)->is_cuda ? tide_cuda_##name : tide_cpu_##name)

/* Array i for operators, typed. */
static inline float *twin_fp32(const twin_side *side, size_t i) {
    return (float *)side->arrays[i].data;
}
static inline int32_t *twin_int32(const twin_side *side, size_t i) {
    return (int32_t *)side->arrays[i].data;
}

/* The side with arrays i and j exchanged where it is the cuda one: a planted fault. */
static inline twin_side twin_exchanged(const twin_side *side, size_t i, size_t j) {
    twin_side other = *side;
    if (side->is_cuda) {
        other.arrays[i] = side->arrays[j];
        other.arrays[j] = side->arrays[i];
    }
    return other;
}

/* Copies the first n_bytes of array i from, or to, the memory of the side's device: the host cannot
 * access a GPU's memory. */
void twin_load(const twin_side *side, size_t i, void *ret_bytes, size_t n_bytes);
void twin_store(const twin_side *side, size_t i, const void *bytes, size_t n_bytes);

/* Calls the operator on the side's arrays. */
typedef tide_status (*twin_call)(const twin_side *side, const void *shape, tide_error *error);

typedef struct twin_case twin_case;

/* `name` is for messages. */
twin_case *twin_begin(const char *name);

/* Each adds one array of n elements and returns its number, counted from 0. Written arrays are
 * compared; numbers are uniform in [-scale, scale), different in each array; int8 numbers are
 * whole, with a scale of at most 128. */
size_t twin_written(twin_case *test, tide_dtype dtype, size_t n);
size_t twin_read(twin_case *test, tide_dtype dtype, size_t n, double scale);
size_t twin_updated(twin_case *test, tide_dtype dtype, size_t n, double scale); /* both */
size_t twin_scratch(twin_case *test, tide_dtype dtype, size_t n);               /* neither */
size_t twin_tokens(twin_case *test, size_t n, int32_t bound);                   /* in [0, bound) */
/* Given numbers: `values` (n) are copied, rounded to dtype. */
size_t twin_given(twin_case *test, tide_dtype dtype, const float *values, size_t n);

/* Later arrays begin n_elements after an address that is a multiple of 16. */
void twin_shift(twin_case *test, size_t n_elements);
/* The maximum of blocks of a grid that loops, by default 3: few, so that the loops iterate. */
void twin_max_blocks(twin_case *test, unsigned max_blocks);
/* The cuda side may multiply fp32 arrays as TF32. */
void twin_in_tf32(twin_case *test);

/* Runs both sides and fails the test unless every written number is within tolerance * (|want| +
 * largest |want|), for bf16 plus one unit in its last place: both sides round once, perhaps in
 * different directions. Tolerance 0 requires equal numbers, also in bf16. Ends the case. */
void twin_check(twin_case *test, twin_call call, const void *shape, double tolerance);
/* The reverse, for planted faults: the comparison must fail. */
void twin_reject(twin_case *test, twin_call call, const void *shape, double tolerance);

#endif
