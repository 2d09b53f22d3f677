/* offsets_internal.h - PyTorch's OffsetCalculator<k, unsigned>, an argument of kernels for tensors
 * with strides: an int with the number of dimensions, 25 divisors of 12 bytes whose first 4 are the
 * dimension's length, and 25 rows of k strides in bytes, 4 bytes each. The first dimension is the
 * one whose elements are closest together.
 */
#ifndef TIDE_VIRTUAL_CUDA_WORK_OFFSETS_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_WORK_OFFSETS_INTERNAL_H

#include "programs/virtual_cuda/launches/kernels/family_internal.h"

enum { TIDE_VC_SECTOR_BYTES = 32 }; /* the least that a card reads */

/* An argument that is an OffsetCalculator or begins with one. */
typedef struct tide_vc_offsets {
    const tide_vc_launched_kernel *launched;
    size_t argument;
    size_t k; /* operands */
    uint32_t n_dimensions;
} tide_vc_offsets;

/* False: the argument cannot be one. */
bool tide_vc_offsets_find(const tide_vc_launched_kernel *launched, size_t argument, size_t k,
                          tide_vc_offsets *ret);

/* The place in the argument of an 8-byte aligned member after the calculator. */
size_t tide_vc_offsets_end(size_t k);

/* The bytes that operand i moves: each distinct element once, counted as its distance to the next
 * or a sector. A dimension of stride 0 is a broadcast, which the cache serves. */
uint64_t tide_vc_offsets_bytes(const tide_vc_offsets *of, size_t i);

/* The same for n elements of an operand whose stride 0 means that an index chooses the place: along
 * the first dimension, each element has its own sector. */
uint64_t tide_vc_offsets_chosen_bytes(const tide_vc_offsets *of, size_t i, uint64_t n);

#endif
