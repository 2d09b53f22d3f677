/* cublas.c - cuBLAS: the modes of a handle, copies of matrices, and the dot product of two vectors
 * whose type is an argument. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cublas.def"

enum { OK = 0, INVALID_VALUE = 7 };
enum { FROM_HOST = 1, TO_HOST = 2 }; /* cudaMemcpyKind */
/* cudaDataType of results that are not four bytes */
enum { REAL_64 = 1, REAL_16 = 2, COMPLEX_32 = 4, COMPLEX_64 = 5, COMPLEX_16 = 6, BFLOAT_16 = 14 };

typedef tide_vc_blas_modes modes;

/* The runtime's own copy, which this object also defines. */
int cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                      size_t width, size_t height, int kind, void *stream);

TIDE_VC_EXPORT int cublasSetStream_v2(modes *handle, void *stream);
TIDE_VC_EXPORT int cublasSetMathMode(modes *handle, int mode);
TIDE_VC_EXPORT int cublasGetMathMode(const modes *handle, int *ret_mode);
TIDE_VC_EXPORT int cublasSetPointerMode_v2(modes *handle, int mode);
TIDE_VC_EXPORT int cublasGetPointerMode_v2(const modes *handle, int *ret_mode);
TIDE_VC_EXPORT int cublasDotEx(void *handle, int n, const void *x, int x_type, int x_step,
                               const void *y, int y_type, int y_step, void *result, int result_type,
                               int execution_type);
TIDE_VC_EXPORT int cublasSetVectorAsync(int n, int n_bytes, const void *source, int source_step,
                                        void *target, int target_step, void *stream);
TIDE_VC_EXPORT int cublasGetVectorAsync(int n, int n_bytes, const void *source, int source_step,
                                        void *target, int target_step, void *stream);
TIDE_VC_EXPORT int cublasSetMatrixAsync(int n_rows, int n_columns, int n_bytes, const void *source,
                                        int source_rows, void *target, int target_rows,
                                        void *stream);
TIDE_VC_EXPORT int cublasGetMatrixAsync(int n_rows, int n_columns, int n_bytes, const void *source,
                                        int source_rows, void *target, int target_rows,
                                        void *stream);

int cublasSetStream_v2(modes *handle, void *stream) {
    if (handle != NULL) {
        handle->stream = stream;
    }
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

int cublasDotEx(void *handle, int n, const void *x, int x_type, int x_step, const void *y,
                int y_type, int y_step, void *result, int result_type, int execution_type) {
    (void)handle, (void)n, (void)x, (void)x_type, (void)x_step, (void)y, (void)y_type;
    (void)y_step, (void)execution_type;
    tide_vc_zero_output(result, bytes_of_result(result_type));
    return OK;
}

/* A copy of n_lines pieces of n_bytes each, a pitch apart. */
typedef struct lines {
    int n_lines;
    size_t n_bytes, source_pitch, target_pitch;
} lines;

static int copy(const lines *what, const void *source, void *target, int kind, void *stream) {
    if (what->n_lines < 0) {
        return INVALID_VALUE;
    }
    return cudaMemcpy2DAsync(target, what->target_pitch, source, what->source_pitch, what->n_bytes,
                             (size_t)what->n_lines, kind, stream) == 0
               ? OK
               : INVALID_VALUE;
}

static lines of_vector(int n, int n_bytes, int source_step, int target_step) {
    size_t bytes = (size_t)n_bytes;
    return (lines){n, bytes, bytes * (size_t)source_step, bytes * (size_t)target_step};
}

int cublasSetVectorAsync(int n, int n_bytes, const void *source, int source_step, void *target,
                         int target_step, void *stream) {
    lines what = of_vector(n, n_bytes, source_step, target_step);
    return copy(&what, source, target, FROM_HOST, stream);
}

int cublasGetVectorAsync(int n, int n_bytes, const void *source, int source_step, void *target,
                         int target_step, void *stream) {
    lines what = of_vector(n, n_bytes, source_step, target_step);
    return copy(&what, source, target, TO_HOST, stream);
}

/* Matrices are stored by column. */
static lines of_matrix(int n_rows, int n_columns, int n_bytes, int source_rows, int target_rows) {
    size_t bytes = (size_t)n_bytes;
    return (lines){n_columns, bytes * (size_t)n_rows, bytes * (size_t)source_rows,
                   bytes * (size_t)target_rows};
}

int cublasSetMatrixAsync(int n_rows, int n_columns, int n_bytes, const void *source,
                         int source_rows, void *target, int target_rows, void *stream) {
    lines what = of_matrix(n_rows, n_columns, n_bytes, source_rows, target_rows);
    return copy(&what, source, target, FROM_HOST, stream);
}

int cublasGetMatrixAsync(int n_rows, int n_columns, int n_bytes, const void *source,
                         int source_rows, void *target, int target_rows, void *stream) {
    lines what = of_matrix(n_rows, n_columns, n_bytes, source_rows, target_rows);
    return copy(&what, source, target, TO_HOST, stream);
}
