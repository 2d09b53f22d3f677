/* parameters_internal.h - the parameters of a kernel, from its name, and their values at a
 * launch. */
#ifndef TIDE_VIRTUAL_CUDA_WORK_PARAMETERS_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_WORK_PARAMETERS_INTERNAL_H

#include "programs/virtual_cuda/launches/kernels/family_internal.h"

/* Fills in the parameters of the function of that name in the symbol. False: none are found. */
bool tide_vc_parameters_parse(const char *symbol, const char *function, tide_vc_parsed *ret_parsed);

/* The value of an integer, or the number of elements of a tensor that is passed with its lengths.
 * False: it is neither, or is negative. */
bool tide_vc_parameter_count(const tide_vc_launched_kernel *launched, size_t i, uint64_t *ret);

/* The value of a pointer, or the address that a tensor with lengths begins with. */
bool tide_vc_parameter_address(const tide_vc_launched_kernel *launched, size_t i,
                               const void **ret_address);

#endif
