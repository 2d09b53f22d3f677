/* offsets_internal.h - PyTorch's OffsetCalculator<k, unsigned>, which a kernel of tensors with
 * strides has in its arguments: an int with the number of dimensions, 25 divisors of 12 bytes whose
 * first 4 are the dimension's length, and 25 rows of k strides in bytes, 4 bytes each. The first
 * dimension is the one whose elements lie closest together.
 */
#ifndef TIDE_VIRTUAL_CUDA_WORK_OFFSETS_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_WORK_OFFSETS_INTERNAL_H

#include "programs/virtual_cuda/launches/work/family_internal.h"

enum { TIDE_VC_SECTOR_BYTES = 32 }; /* what a card reads at least, however few of them are used */

/* An argument that is one, or begins with one. */
typedef struct tide_vc_offsets {
    const tide_vc_launched_kernel *launched;
    size_t argument;
    size_t k; /* operands */
    uint32_t n_dimensions;
} tide_vc_offsets;

/* False: the argument cannot be one. */
bool tide_vc_offsets_find(const tide_vc_launched_kernel *launched, size_t argument, size_t k,
                          tide_vc_offsets *ret);

/* Where in the argument a member that is aligned to 8 bytes comes behind it. */
size_t tide_vc_offsets_end(size_t k);

/* What operand i moves: each element that differs once, with its distance to the next or a sector.
 * A dimension of stride 0 is a broadcast, which the cache serves. */
uint64_t tide_vc_offsets_bytes(const tide_vc_offsets *of, size_t i);

/* The same of an operand whose stride 0 says that an index chooses the place, for n elements: along
 * the first dimension, each of them has its own sector. */
uint64_t tide_vc_offsets_chosen_bytes(const tide_vc_offsets *of, size_t i, uint64_t n);

#endif
