/* cufft_internal.h - plans of cuFFT, for its older and its newer interface. */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_CUFFT_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_CUFFT_INTERNAL_H

#include <stddef.h>

/* Transforms of one shape. Types are cudaDataType. */
typedef struct tide_vc_transforms {
    int n_dimensions;
    const long long *lengths; /* borrowed, of each dimension */
    int in_type, out_type, execution_type;
    long long n;
} tide_vc_transforms;

/* The plan does these transforms from now on. Its work area is allocated on the card, unless the
 * program lends it. `call` is named in reports. A cufftResult. */
int tide_vc_cufft_make(const char *call, int number, const tide_vc_transforms *what,
                       size_t *ret_work_bytes);

/* Only estimates the work area. */
int tide_vc_cufft_measure(const char *call, const tide_vc_transforms *of, size_t *ret_work_bytes);

/* Executes a plan: both arrays become unknown. */
int tide_vc_cufft_run(const char *call, int number, const void *input, const void *output);

int cufftCreate(int *ret_plan);

#endif
