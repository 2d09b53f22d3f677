/* refusals_internal.h - what each function of NVIDIA's headers returns if the virtual card refuses
 * it: the status of its library that means "not supported" or comes closest, or a value that no
 * success has. The kinds of results are those of the tables in data/cuda_api/, so that a row for a
 * function that no header declares does not compile.
 */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_REFUSALS_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_REFUSALS_INTERNAL_H

/* Not a status: the result travels in a floating-point register, and is not a number. */
#define TIDE_VC_NOT_A_NUMBER 0x7fffffff

#define PROTOTYPE(name, result, ...) TIDE_VC_REFUSAL_##name = REFUSAL_##result,
#define REFUSAL_STATUS LIBRARY_REFUSES
#define REFUSAL_NUMBER (-1)
#define REFUSAL_SIZE (-1)
#define REFUSAL_POINTER 0
#define REFUSAL_TEXT 0
#define REFUSAL_STRUCTURE 0
#define REFUSAL_FLOATING TIDE_VC_NOT_A_NUMBER
#define REFUSAL_VOID 0
enum {
#define LIBRARY_REFUSES 801 /* cudaErrorNotSupported, CUDA_ERROR_NOT_SUPPORTED */
#include "data/cuda_api/cudart.def"
#include "data/cuda_api/driver.def"
#undef LIBRARY_REFUSES
#define LIBRARY_REFUSES 3 /* NVML_ERROR_NOT_SUPPORTED */
#include "data/cuda_api/nvml.def"
#undef LIBRARY_REFUSES
#define LIBRARY_REFUSES 15 /* CUBLAS_STATUS_NOT_SUPPORTED */
#include "data/cuda_api/cublas.def"
#include "data/cuda_api/cublaslt.def"
#undef LIBRARY_REFUSES
#define LIBRARY_REFUSES 3000 /* CUDNN_STATUS_NOT_SUPPORTED */
#include "data/cuda_api/cudnn.def"
#undef LIBRARY_REFUSES
#define LIBRARY_REFUSES 16 /* CUFFT_NOT_SUPPORTED */
#include "data/cuda_api/cufft.def"
#undef LIBRARY_REFUSES
#define LIBRARY_REFUSES 5007 /* CU_FILE_PLATFORM_NOT_SUPPORTED, cufile.h */
#include "data/cuda_api/cufile.def"
#undef LIBRARY_REFUSES
#define LIBRARY_REFUSES 27 /* CUPTI_ERROR_NOT_SUPPORTED */
#include "data/cuda_api/cupti.def"
#undef LIBRARY_REFUSES
#define LIBRARY_REFUSES 204 /* CURAND_STATUS_ARCH_MISMATCH */
#include "data/cuda_api/curand.def"
#undef LIBRARY_REFUSES
#define LIBRARY_REFUSES 9 /* CUSOLVER_STATUS_NOT_SUPPORTED */
#include "data/cuda_api/cusolver.def"
#undef LIBRARY_REFUSES
#define LIBRARY_REFUSES 10 /* CUSPARSE_STATUS_NOT_SUPPORTED */
#include "data/cuda_api/cusparse.def"
#include "data/cuda_api/cusparselt.def"
#undef LIBRARY_REFUSES
#define LIBRARY_REFUSES 5 /* ncclInvalidUsage */
#include "data/cuda_api/nccl.def"
#undef LIBRARY_REFUSES
#define LIBRARY_REFUSES 9 /* NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED, nvjpeg.h 11.9 */
#include "data/cuda_api/nvjpeg.def"
#undef LIBRARY_REFUSES
#define LIBRARY_REFUSES 3 /* NVSHMEMX_ERROR_NOT_SUPPORTED, nvshmemx_error.h */
#include "data/cuda_api/nvshmem.def"
#undef LIBRARY_REFUSES
/* NVRTC and NVTX refuse nothing. */
#define LIBRARY_REFUSES 0
#include "data/cuda_api/nvrtc.def"
#include "data/cuda_api/nvtx.def"
#undef LIBRARY_REFUSES
};
#undef PROTOTYPE

#endif
