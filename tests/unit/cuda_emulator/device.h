/* device.h - kernels that call device functions and store their results; see device.cu. All
 * pointers are device memory; each function launches a kernel and returns the result of
 * TIDE_LAUNCH. */
#ifndef TIDE_TESTS_DEVICE_H
#define TIDE_TESTS_DEVICE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* out (6, 32): of a warp whose lane i holds 100 + i: from lane 5 of each group of 8; from lane ^ 3;
 * 2 up; 2 down; 3 up in groups of 8; 3 down in groups of 8. */
int device_shuffles(int *out);
/* out (32): votes for odd lanes: 0 the ballot, 1 any, 2 all; 3 to 5 the same for lanes below 16,
 * which alone vote. */
int device_votes(unsigned *out);
/* out (4): sum, maximum, minimum of the numbers of `blocks` blocks of 64 threads, and how many
 * threads there were. out must be 0, 0, -1, 0. */
int device_atomics(unsigned *out, unsigned blocks);
/* out (grid (3, 2, 2), block (4, 2, 3)): each thread's own place. */
int device_indices(int *out);
/* bits (n) = the bf16 numbers nearest to x (n); back (n) = these as fp32. */
int device_bf16(uint16_t *bits, float *back, const float *x, int n);

/* d (16, 8) = a (16, 16) b (16, 8), by fragments that each lane reads by the layout in mma.h. */
int device_product(float *d, const uint16_t *a, const uint16_t *b);
/* d (16, 8) = a (16, 8) b (8, 8), rounded to TF32, in the same way; through shared memory with b
 * transposed (8, 8) where loaded is not 0. */
int device_product_tf32(float *d, const float *a, const float *b, int loaded);
/* out (n) = the bits of x (n), rounded to TF32 */
int device_tf32(uint32_t *out, const float *x, int n);
/* device_product through shared memory, with tide_load_matrices; b_transposed (8, 16). */
int device_product_loaded(float *d, const uint16_t *a, const uint16_t *b,
                          const uint16_t *b_transposed, int use_transposed);
/* out (32, n_matrices): the part of matrices (n_matrices, 8, 8) that each lane gets. */
int device_load(uint32_t *out, const uint16_t *matrices, int n_matrices, int transposed);
/* out (n) = x (n) through shared memory, by copies of 16 bytes, with 3 groups in flight at a time;
 * n is at most 4096. */
int device_copy(float *out, const float *x, int n);
/* out (n) = 2^x (n) */
int device_exp2(float *out, const float *x, int n);

#ifdef __cplusplus
}
#endif

#endif
