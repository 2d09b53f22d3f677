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
                  (described){{values, columns, row_offsets}, n_rows, n_columns, n_nonzero});
}

int cusparseCreateCoo(described **ret_matrix, int64_t n_rows, int64_t n_columns, int64_t n_nonzero,
                      const void *rows, const void *columns, const void *values) {
    return create(ret_matrix, (described){{values, columns, rows}, n_rows, n_columns, n_nonzero});
}

int cusparseCreateDnMat(described **ret_matrix, int64_t n_rows, int64_t n_columns, int64_t leading,
                        const void *values) {
    (void)leading;
    return create(ret_matrix, (described){{values, NULL, NULL}, n_rows, n_columns, 0});
}

int cusparseCreateDnVec(described **ret_vector, int64_t n_values, const void *values) {
    return create(ret_vector, (described){{values, NULL, NULL}, n_values, 1, 0});
}

int cusparseCsrSetPointers(described *matrix, const void *row_offsets, const void *columns,
                           const void *values) {
    matrix->data[0] = values;
    matrix->data[1] = columns;
    matrix->data[2] = row_offsets;
    return OK;
}

/* The number of nonzero values of a product is computed on the card; this returns the program's own
 * value. */
int cusparseSpMatGetSize(const described *matrix, int64_t *ret_rows, int64_t *ret_columns,
                         int64_t *ret_nonzero) {
    *ret_rows = matrix->n_rows;
    *ret_columns = matrix->n_columns;
    *ret_nonzero = matrix->n_nonzero;
    return OK;
}
