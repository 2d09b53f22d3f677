/* cublas_copies.c - cuBLAS: copies of vectors and matrices between the host and the card, and the
 * memory of its first interface. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

enum { OK = 0, ALLOC_FAILED = 3, INVALID_VALUE = 7 };
enum { FROM_HOST = 1, TO_HOST = 2 }; /* cudaMemcpyKind */

/* The runtime's own functions, which this object also defines. */
int cudaMemcpy2D(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                 size_t width, size_t height, int kind);
int cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                      size_t width, size_t height, int kind, void *stream);
int cudaMalloc(void **ret_address, size_t n_bytes);
int cudaFree(void *address);

/* A copy of n_lines pieces of n_bytes each, a pitch apart. */
typedef struct lines {
    int64_t n_lines;
    size_t n_bytes, source_pitch, target_pitch;
} lines;

static int copy(lines what, const void *source, void *target, int kind) {
    if (what.n_lines < 0) {
        return INVALID_VALUE;
    }
    return cudaMemcpy2D(target, what.target_pitch, source, what.source_pitch, what.n_bytes,
                        (size_t)what.n_lines, kind) == 0
               ? OK
               : INVALID_VALUE;
}

static int copy_async(lines what, const void *source, void *target, int kind, void *stream) {
    if (what.n_lines < 0) {
        return INVALID_VALUE;
    }
    return cudaMemcpy2DAsync(target, what.target_pitch, source, what.source_pitch, what.n_bytes,
                             (size_t)what.n_lines, kind, stream) == 0
               ? OK
               : INVALID_VALUE;
}

static lines of_vector(int64_t n, int64_t n_bytes, int64_t source_step, int64_t target_step) {
    size_t bytes = (size_t)n_bytes;
    return (lines){n, bytes, bytes * (size_t)source_step, bytes * (size_t)target_step};
}

/* Matrices are stored by column. */
static lines of_matrix(int64_t n_rows, int64_t n_columns, int64_t n_bytes, int64_t source_rows,
                       int64_t target_rows) {
    size_t bytes = (size_t)n_bytes;
    return (lines){n_columns, bytes * (size_t)n_rows, bytes * (size_t)source_rows,
                   bytes * (size_t)target_rows};
}

/* A copy in one direction: sizes of 32 bits or of 64, with a stream or without one. */
/* NOLINTBEGIN(readability-function-size): cuBLAS's own signatures. */
#define VECTOR(name, size_type, kind)                                                              \
    TIDE_VC_EXPORT int name(size_type n, size_type n_bytes, const void *source,                    \
                            size_type source_step, void *target, size_type target_step);           \
    int name(size_type n, size_type n_bytes, const void *source, size_type source_step,            \
             void *target, size_type target_step) {                                                \
        return copy(of_vector(n, n_bytes, source_step, target_step), source, target, kind);        \
    }
#define VECTOR_ASYNC(name, size_type, kind)                                                        \
    TIDE_VC_EXPORT int name(size_type n, size_type n_bytes, const void *source,                    \
                            size_type source_step, void *target, size_type target_step,            \
                            void *stream);                                                         \
    int name(size_type n, size_type n_bytes, const void *source, size_type source_step,            \
             void *target, size_type target_step, void *stream) {                                  \
        return copy_async(of_vector(n, n_bytes, source_step, target_step), source, target, kind,   \
                          stream);                                                                 \
    }
#define MATRIX(name, size_type, kind)                                                              \
    TIDE_VC_EXPORT int name(size_type n_rows, size_type n_columns, size_type n_bytes,              \
                            const void *source, size_type source_rows, void *target,               \
                            size_type target_rows);                                                \
    int name(size_type n_rows, size_type n_columns, size_type n_bytes, const void *source,         \
             size_type source_rows, void *target, size_type target_rows) {                         \
        return copy(of_matrix(n_rows, n_columns, n_bytes, source_rows, target_rows), source,       \
                    target, kind);                                                                 \
    }
#define MATRIX_ASYNC(name, size_type, kind)                                                        \
    TIDE_VC_EXPORT int name(size_type n_rows, size_type n_columns, size_type n_bytes,              \
                            const void *source, size_type source_rows, void *target,               \
                            size_type target_rows, void *stream);                                  \
    int name(size_type n_rows, size_type n_columns, size_type n_bytes, const void *source,         \
             size_type source_rows, void *target, size_type target_rows, void *stream) {           \
        return copy_async(of_matrix(n_rows, n_columns, n_bytes, source_rows, target_rows), source, \
                          target, kind, stream);                                                   \
    }
VECTOR(cublasSetVector, int, FROM_HOST)
VECTOR(cublasSetVector_64, int64_t, FROM_HOST)
VECTOR(cublasGetVector, int, TO_HOST)
VECTOR(cublasGetVector_64, int64_t, TO_HOST)
VECTOR_ASYNC(cublasSetVectorAsync, int, FROM_HOST)
VECTOR_ASYNC(cublasSetVectorAsync_64, int64_t, FROM_HOST)
VECTOR_ASYNC(cublasGetVectorAsync, int, TO_HOST)
VECTOR_ASYNC(cublasGetVectorAsync_64, int64_t, TO_HOST)
MATRIX(cublasSetMatrix, int, FROM_HOST)
MATRIX(cublasSetMatrix_64, int64_t, FROM_HOST)
MATRIX(cublasGetMatrix, int, TO_HOST)
MATRIX(cublasGetMatrix_64, int64_t, TO_HOST)
MATRIX_ASYNC(cublasSetMatrixAsync, int, FROM_HOST)
MATRIX_ASYNC(cublasSetMatrixAsync_64, int64_t, FROM_HOST)
MATRIX_ASYNC(cublasGetMatrixAsync, int, TO_HOST)
MATRIX_ASYNC(cublasGetMatrixAsync_64, int64_t, TO_HOST)
/* NOLINTEND(readability-function-size) */

TIDE_VC_EXPORT int cublasAlloc(int n, int n_bytes, void **ret_address);
TIDE_VC_EXPORT int cublasFree(void *address);

int cublasAlloc(int n, int n_bytes, void **ret_address) {
    if (n <= 0 || n_bytes <= 0) {
        return INVALID_VALUE;
    }
    return cudaMalloc(ret_address, (size_t)n * (size_t)n_bytes) == 0 ? OK : ALLOC_FAILED;
}

int cublasFree(void *address) {
    return cudaFree(address) == 0 ? OK : INVALID_VALUE;
}
