/* cublas.c - cuBLAS: the modes of a handle, copies of matrices, and the dot product of two vectors
 * whose type is an argument. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cublas.def"

enum { OK = 0 };
/* cudaDataType of results that are not four bytes */
enum { REAL_64 = 1, REAL_16 = 2, COMPLEX_32 = 4, COMPLEX_64 = 5, COMPLEX_16 = 6, BFLOAT_16 = 14 };

typedef tide_vc_blas_modes modes;

TIDE_VC_EXPORT int cublasSetStream_v2(modes *handle, void *stream);
TIDE_VC_EXPORT int cublasSetMathMode(modes *handle, int mode);
TIDE_VC_EXPORT int cublasGetMathMode(const modes *handle, int *ret_mode);
TIDE_VC_EXPORT int cublasSetPointerMode_v2(modes *handle, int mode);
TIDE_VC_EXPORT int cublasGetPointerMode_v2(const modes *handle, int *ret_mode);
TIDE_VC_EXPORT int cublasGetStream_v2(const modes *handle, void **ret_stream);
TIDE_VC_EXPORT int cublasSetAtomicsMode(modes *handle, int mode);
TIDE_VC_EXPORT int cublasGetAtomicsMode(const modes *handle, int *ret_mode);
TIDE_VC_EXPORT int cublasSetSmCountTarget(modes *handle, int n);
TIDE_VC_EXPORT int cublasGetSmCountTarget(const modes *handle, int *ret_n);
/* NOLINTBEGIN(readability-function-size): cuBLAS's own signatures. */
#define DOT_OF(name, size_type)                                                                    \
    TIDE_VC_EXPORT int name(void *handle, size_type n, const void *x, int x_type,                  \
                            size_type x_step, const void *y, int y_type, size_type y_step,         \
                            void *result, int result_type, int execution_type);                    \
    int name(void *handle, size_type n, const void *x, int x_type, size_type x_step,               \
             const void *y, int y_type, size_type y_step, void *result, int result_type,           \
             int execution_type) {                                                                 \
        (void)handle, (void)n, (void)x, (void)x_type, (void)x_step, (void)y, (void)y_type;         \
        (void)y_step, (void)execution_type;                                                        \
        tide_vc_zero_output(result, bytes_of_result(result_type));                                 \
        return OK;                                                                                 \
    }
#define NUMBER_OF(name, size_type)                                                                 \
    TIDE_VC_EXPORT int name(void *handle, size_type n, const void *x, int x_type,                  \
                            size_type x_step, void *result, int result_type, int execution_type);  \
    int name(void *handle, size_type n, const void *x, int x_type, size_type x_step, void *result, \
             int result_type, int execution_type) {                                                \
        (void)handle, (void)n, (void)x, (void)x_type, (void)x_step, (void)execution_type;          \
        tide_vc_zero_output(result, bytes_of_result(result_type));                                 \
        return OK;                                                                                 \
    }

int cublasSetStream_v2(modes *handle, void *stream) {
    if (handle != NULL) {
        handle->stream = stream;
    }
    return OK;
}

int cublasGetStream_v2(const modes *handle, void **ret_stream) {
    *ret_stream = handle->stream;
    return OK;
}

int cublasSetAtomicsMode(modes *handle, int mode) {
    handle->atomics = mode;
    return OK;
}

int cublasGetAtomicsMode(const modes *handle, int *ret_mode) {
    *ret_mode = handle->atomics;
    return OK;
}

int cublasSetSmCountTarget(modes *handle, int n) {
    handle->n_multiprocessors = n;
    return OK;
}

int cublasGetSmCountTarget(const modes *handle, int *ret_n) {
    *ret_n = handle->n_multiprocessors;
    return OK;
}

int cublasSetMathMode(modes *handle, int mode) {
    handle->math = mode;
    return OK;
}

int cublasGetMathMode(const modes *handle, int *ret_mode) {
    *ret_mode = handle->math;
    return OK;
}

int cublasSetPointerMode_v2(modes *handle, int mode) {
    handle->pointer = mode;
    return OK;
}

int cublasGetPointerMode_v2(const modes *handle, int *ret_mode) {
    *ret_mode = handle->pointer;
    return OK;
}

static size_t bytes_of_result(int type) {
    switch (type) {
    case REAL_16:
    case BFLOAT_16:
        return 2;
    case REAL_64:
    case COMPLEX_32:
        return 8;
    case COMPLEX_64:
        return 16;
    default:
        return 4; /* includes COMPLEX_16 */
    }
}

DOT_OF(cublasDotEx, int)
DOT_OF(cublasDotEx_64, int64_t)
DOT_OF(cublasDotcEx, int)
DOT_OF(cublasDotcEx_64, int64_t)
NUMBER_OF(cublasAsumEx, int)
NUMBER_OF(cublasAsumEx_64, int64_t)
NUMBER_OF(cublasNrm2Ex, int)
NUMBER_OF(cublasNrm2Ex_64, int64_t)
/* NOLINTEND(readability-function-size) */
