/* cufft_internal.h - plans of cuFFT, for its older and its newer interface. */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_CUFFT_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_CUFFT_INTERNAL_H

#include <stddef.h>

#include "programs/virtual_cuda/api/export.h"

/* Transforms of one shape. Types are cudaDataType. */
typedef struct tide_vc_transforms {
    int n_dimensions;
    const long long *lengths; /* borrowed, of each dimension */
    int in_type, out_type, execution_type;
    long long n;
} tide_vc_transforms;

/* A plan without transforms. Numbers of destroyed plans are used again. A cufftResult. */
TIDE_VC_EXPORT int cufftCreate(int *ret_number);

/* The plan does these transforms from now on. Its work area is allocated on the card, unless the
 * program lends it. `call` is named in reports. A cufftResult. */
int tide_vc_cufft_make(const char *call, int number, const tide_vc_transforms *what,
                       size_t *ret_work_bytes);

/* Only estimates the work area, in bytes. CUFFT_INVALID_VALUE if there are no lengths or no place
 * for the result. */
int tide_vc_cufft_measure(const char *call, const tide_vc_transforms *of, size_t *ret_work_bytes);

/* Executes a plan: both arrays become unknown. */
int tide_vc_cufft_run(const char *call, int number, const void *input, const void *output);

#endif
