/* cusparse.c - cuSPARSE: descriptors remember their matrix or vector, so a product makes its result
 * unknown and leaves its inputs known. */
#include "programs/virtual_cuda/libraries/described_internal.h"
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cusparse.def"

_Static_assert(sizeof(described) <= TIDE_VC_HANDLE_BYTES, "a description fits in a handle");

enum { OK = 0 };

TIDE_VC_EXPORT int cusparseCreateCsr(described **ret_matrix, int64_t n_rows, int64_t n_columns,
                                     int64_t n_nonzero, const void *row_offsets,
                                     const void *columns, const void *values);
TIDE_VC_EXPORT int cusparseCreateCoo(described **ret_matrix, int64_t n_rows, int64_t n_columns,
                                     int64_t n_nonzero, const void *rows, const void *columns,
                                     const void *values);
TIDE_VC_EXPORT int cusparseCreateDnMat(described **ret_matrix, int64_t n_rows, int64_t n_columns,
                                       int64_t leading, const void *values);
TIDE_VC_EXPORT int cusparseCreateDnVec(described **ret_vector, int64_t n_values,
                                       const void *values);
TIDE_VC_EXPORT int cusparseCsrSetPointers(described *matrix, const void *row_offsets,
                                          const void *columns, const void *values);
TIDE_VC_EXPORT int cusparseSpMatGetSize(const described *matrix, int64_t *ret_rows,
                                        int64_t *ret_columns, int64_t *ret_nonzero);

static int create(described **ret_described, described what) {
    *ret_described = tide_vc_handle_new();
    **ret_described = what;
    return OK;
}

/* The last arguments are omitted: types, index base and order change nothing here. */
int cusparseCreateCsr(described **ret_matrix, int64_t n_rows, int64_t n_columns, int64_t n_nonzero,
                      const void *row_offsets, const void *columns, const void *values) {
    return create(ret_matrix,
                  (described){{values, columns, row_offsets}, n_rows, n_columns, n_nonzero, false});
}

int cusparseCreateCoo(described **ret_matrix, int64_t n_rows, int64_t n_columns, int64_t n_nonzero,
                      const void *rows, const void *columns, const void *values) {
    return create(ret_matrix,
                  (described){{values, columns, rows}, n_rows, n_columns, n_nonzero, false});
}

int cusparseCreateDnMat(described **ret_matrix, int64_t n_rows, int64_t n_columns, int64_t leading,
                        const void *values) {
    (void)leading;
    return create(ret_matrix, (described){{values, NULL, NULL}, n_rows, n_columns, 0, false});
}

int cusparseCreateDnVec(described **ret_vector, int64_t n_values, const void *values) {
    return create(ret_vector, (described){{values, NULL, NULL}, n_values, 1, 0, false});
}

int cusparseCsrSetPointers(described *matrix, const void *row_offsets, const void *columns,
                           const void *values) {
    matrix->data[0] = values;
    matrix->data[1] = columns;
    matrix->data[2] = row_offsets;
    return OK;
}

int cusparseSpMatGetSize(const described *matrix, int64_t *ret_rows, int64_t *ret_columns,
                         int64_t *ret_nonzero) {
    if (matrix->is_counted) {
        tide_vc_inexact(__func__, "the number of nonzero values is computed on the card; the "
                                  "program's own is returned");
    }
    *ret_rows = matrix->n_rows;
    *ret_columns = matrix->n_columns;
    *ret_nonzero = matrix->n_nonzero;
    return OK;
}

/* ---- further formats, and the constant forms ---- */

/* NOLINTBEGIN(readability-function-size): cuSPARSE's own signatures. */
/* Three sizes, then the arrays of a compressed matrix or of coordinates. */
#define CREATES_MATRIX(name)                                                                       \
    TIDE_VC_EXPORT int name(described **ret_matrix, int64_t n_rows, int64_t n_columns,             \
                            int64_t n_nonzero, const void *first, const void *second,              \
                            const void *values);                                                   \
    int name(described **ret_matrix, int64_t n_rows, int64_t n_columns, int64_t n_nonzero,         \
             const void *first, const void *second, const void *values) {                          \
        return create(ret_matrix,                                                                  \
                      (described){{values, second, first}, n_rows, n_columns, n_nonzero, false});  \
    }
CREATES_MATRIX(cusparseCreateCsc)
CREATES_MATRIX(cusparseCreateConstCsr)
CREATES_MATRIX(cusparseCreateConstCsc)
CREATES_MATRIX(cusparseCreateConstCoo)

/* The rows, columns and nonzero values count blocks. */
#define CREATES_BLOCKS(name)                                                                       \
    TIDE_VC_EXPORT int name(described **ret_matrix, int64_t n_rows, int64_t n_columns, int64_t n,  \
                            int64_t block_rows, int64_t block_columns, const void *offsets,        \
                            const void *columns, const void *values);                              \
    int name(described **ret_matrix, int64_t n_rows, int64_t n_columns, int64_t n,                 \
             int64_t block_rows, int64_t block_columns, const void *offsets, const void *columns,  \
             const void *values) {                                                                 \
        return create(ret_matrix, (described){{values, columns, offsets},                          \
                                              n_rows * block_rows,                                 \
                                              n_columns * block_columns,                           \
                                              n * block_rows * block_columns,                      \
                                              false});                                             \
    }
CREATES_BLOCKS(cusparseCreateBsr)
CREATES_BLOCKS(cusparseCreateConstBsr)

#define CREATES_ELL(name)                                                                          \
    TIDE_VC_EXPORT int name(described **ret_matrix, int64_t n_rows, int64_t n_columns,             \
                            int64_t block_rows, int64_t ell_columns, const void *columns,          \
                            const void *values);                                                   \
    int name(described **ret_matrix, int64_t n_rows, int64_t n_columns, int64_t block_rows,        \
             int64_t ell_columns, const void *columns, const void *values) {                       \
        (void)block_rows;                                                                          \
        return create(                                                                             \
            ret_matrix,                                                                            \
            (described){{values, columns, NULL}, n_rows, n_columns, n_rows * ell_columns, false}); \
    }
CREATES_ELL(cusparseCreateBlockedEll)
CREATES_ELL(cusparseCreateConstBlockedEll)

#define CREATES_SLICED_ELL(name)                                                                   \
    TIDE_VC_EXPORT int name(described **ret_matrix, int64_t n_rows, int64_t n_columns, int64_t n,  \
                            int64_t n_values, int64_t slice_rows, const void *offsets,             \
                            const void *columns, const void *values);                              \
    int name(described **ret_matrix, int64_t n_rows, int64_t n_columns, int64_t n,                 \
             int64_t n_values, int64_t slice_rows, const void *offsets, const void *columns,       \
             const void *values) {                                                                 \
        (void)n_values, (void)slice_rows;                                                          \
        return create(ret_matrix,                                                                  \
                      (described){{values, columns, offsets}, n_rows, n_columns, n, false});       \
    }
CREATES_SLICED_ELL(cusparseCreateSlicedEll)
CREATES_SLICED_ELL(cusparseCreateConstSlicedEll)

#define CREATES_VECTOR(name)                                                                       \
    TIDE_VC_EXPORT int name(described **ret_vector, int64_t n, int64_t n_nonzero,                  \
                            const void *indices, const void *values);                              \
    int name(described **ret_vector, int64_t n, int64_t n_nonzero, const void *indices,            \
             const void *values) {                                                                 \
        return create(ret_vector, (described){{values, indices, NULL}, n, 1, n_nonzero, false});   \
    }
CREATES_VECTOR(cusparseCreateSpVec)
CREATES_VECTOR(cusparseCreateConstSpVec)
/* NOLINTEND(readability-function-size) */

TIDE_VC_EXPORT int cusparseCreateConstDnMat(described **ret_matrix, int64_t n_rows,
                                            int64_t n_columns, int64_t leading, const void *values);
TIDE_VC_EXPORT int cusparseCreateConstDnVec(described **ret_vector, int64_t n_values,
                                            const void *values);
TIDE_VC_EXPORT int cusparseCooSetPointers(described *matrix, const void *rows, const void *columns,
                                          const void *values);
TIDE_VC_EXPORT int cusparseCscSetPointers(described *matrix, const void *column_offsets,
                                          const void *rows, const void *values);

int cusparseCreateConstDnMat(described **ret_matrix, int64_t n_rows, int64_t n_columns,
                             int64_t leading, const void *values) {
    return cusparseCreateDnMat(ret_matrix, n_rows, n_columns, leading, values);
}

int cusparseCreateConstDnVec(described **ret_vector, int64_t n_values, const void *values) {
    return cusparseCreateDnVec(ret_vector, n_values, values);
}

int cusparseCooSetPointers(described *matrix, const void *rows, const void *columns,
                           const void *values) {
    return cusparseCsrSetPointers(matrix, rows, columns, values);
}

int cusparseCscSetPointers(described *matrix, const void *column_offsets, const void *rows,
                           const void *values) {
    return cusparseCsrSetPointers(matrix, column_offsets, rows, values);
}

/* ---- the values of a descriptor ---- */

#define GETS_VALUES(name)                                                                          \
    TIDE_VC_EXPORT int name(const described *of, const void **ret_values);                         \
    int name(const described *of, const void **ret_values) {                                       \
        *ret_values = of->data[0];                                                                 \
        return OK;                                                                                 \
    }
GETS_VALUES(cusparseDnMatGetValues)
GETS_VALUES(cusparseConstDnMatGetValues)
GETS_VALUES(cusparseDnVecGetValues)
GETS_VALUES(cusparseConstDnVecGetValues)
GETS_VALUES(cusparseSpMatGetValues)
GETS_VALUES(cusparseConstSpMatGetValues)
GETS_VALUES(cusparseSpVecGetValues)
GETS_VALUES(cusparseConstSpVecGetValues)

#define SETS_VALUES(name)                                                                          \
    TIDE_VC_EXPORT int name(described *of, const void *values);                                    \
    int name(described *of, const void *values) {                                                  \
        of->data[0] = values;                                                                      \
        return OK;                                                                                 \
    }
SETS_VALUES(cusparseDnMatSetValues)
SETS_VALUES(cusparseDnVecSetValues)
SETS_VALUES(cusparseSpMatSetValues)
SETS_VALUES(cusparseSpVecSetValues)

/* ---- products with a scalar result, or with the program's own operations ---- */

/* Types are cudaDataType. The plan keeps the result's descriptor, whose values may change. */
typedef struct planned {
    const described *result;
} planned;

/* NOLINTBEGIN(readability-function-size): cuSPARSE's own signatures. */
TIDE_VC_EXPORT int cusparseSpVV(void *handle, int operation, const described *x, const described *y,
                                void *ret_result, int type, void *buffer);
TIDE_VC_EXPORT int cusparseSpMMOp_createPlan(void *handle, planned **ret_plan, int a_operation,
                                             int b_operation, const described *a,
                                             const described *b, const described *result, int type,
                                             int algorithm, const void *addition,
                                             size_t n_addition_bytes, const void *product,
                                             size_t n_product_bytes, const void *epilogue,
                                             size_t n_epilogue_bytes, size_t *ret_work_bytes);
TIDE_VC_EXPORT int cusparseSpMMOp(const planned *plan, void *buffer);

int cusparseSpVV(void *handle, int operation, const described *x, const described *y,
                 void *ret_result, int type, void *buffer) {
    enum { REAL_64 = 1, COMPLEX_32 = 4, COMPLEX_64 = 5 };
    size_t n_bytes = type == COMPLEX_64 ? 16 : type == REAL_64 || type == COMPLEX_32 ? 8 : 4;
    (void)handle, (void)operation, (void)x, (void)y;
    tide_vc_zero_output(ret_result, n_bytes);
    tide_vc_touch(buffer);
    tide_vc_other_work(__func__);
    return OK;
}

int cusparseSpMMOp_createPlan(void *handle, planned **ret_plan, int a_operation, int b_operation,
                              const described *a, const described *b, const described *result,
                              int type, int algorithm, const void *addition,
                              size_t n_addition_bytes, const void *product, size_t n_product_bytes,
                              const void *epilogue, size_t n_epilogue_bytes,
                              size_t *ret_work_bytes) {
    (void)handle, (void)a_operation, (void)b_operation, (void)a, (void)b, (void)type;
    (void)algorithm, (void)addition, (void)n_addition_bytes, (void)product, (void)n_product_bytes;
    (void)epilogue, (void)n_epilogue_bytes;
    *ret_plan = tide_vc_handle_new();
    (*ret_plan)->result = result;
    *ret_work_bytes = 0;
    tide_vc_inexact(__func__, "the workspace is unknown and counted as 0");
    return OK;
}
/* NOLINTEND(readability-function-size) */

int cusparseSpMMOp(const planned *plan, void *buffer) {
    tide_vc_touch(plan->result != NULL ? plan->result->data[0] : NULL);
    tide_vc_touch(buffer);
    tide_vc_other_work(__func__);
    return OK;
}

/* ---- incomplete factors and triangles: no pivot is ever 0 ---- */

enum { POINTER_MODE = 2 }; /* after the stream, in a handle of cuSPARSE */
enum { NO_PIVOT = -1 };

/* In pointer mode DEVICE the result is on the card. */
static int no_zero_pivot(int *ret_position) {
    static const int none = NO_PIVOT;
    if (tide_vc_is_device(ret_position)) {
        tide_vc_known_write(ret_position, &none, sizeof(none));
    } else {
        *ret_position = none;
    }
    return OK;
}

#define HAS_NO_ZERO_PIVOT(name)                                                                    \
    TIDE_VC_EXPORT int name(const void *handle, const void *info, int *ret_position);              \
    int name(const void *handle, const void *info, int *ret_position) {                            \
        (void)handle, (void)info;                                                                  \
        return no_zero_pivot(ret_position);                                                        \
    }
HAS_NO_ZERO_PIVOT(cusparseXbsric02_zeroPivot)
HAS_NO_ZERO_PIVOT(cusparseXbsrilu02_zeroPivot)
HAS_NO_ZERO_PIVOT(cusparseXbsrsm2_zeroPivot)
HAS_NO_ZERO_PIVOT(cusparseXbsrsv2_zeroPivot)
HAS_NO_ZERO_PIVOT(cusparseXcsric02_zeroPivot)
HAS_NO_ZERO_PIVOT(cusparseXcsrilu02_zeroPivot)

/* ---- the streams of handles, their first word: of cuSPARSE and of cuSOLVER ---- */

#define STREAM_OF(set, get)                                                                        \
    TIDE_VC_EXPORT int set(void **handle, void *stream);                                           \
    TIDE_VC_EXPORT int get(void *const *handle, void **ret_stream);                                \
    int set(void **handle, void *stream) {                                                         \
        *handle = stream;                                                                          \
        return OK;                                                                                 \
    }                                                                                              \
    int get(void *const *handle, void **ret_stream) {                                              \
        *ret_stream = *handle;                                                                     \
        return OK;                                                                                 \
    }
TIDE_VC_EXPORT int cusparseSetPointerMode(int *handle, int mode);
TIDE_VC_EXPORT int cusparseGetPointerMode(const int *handle, int *ret_mode);

int cusparseSetPointerMode(int *handle, int mode) {
    handle[POINTER_MODE] = mode;
    return OK;
}

int cusparseGetPointerMode(const int *handle, int *ret_mode) {
    *ret_mode = handle[POINTER_MODE];
    return OK;
}

STREAM_OF(cusparseSetStream, cusparseGetStream)
STREAM_OF(cusolverDnSetStream, cusolverDnGetStream)
