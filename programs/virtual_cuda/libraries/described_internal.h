/* described_internal.h - a descriptor of cuSPARSE: the sizes and arrays of its matrix or vector. It
 * is stored in the handle. */
#ifndef TIDE_VIRTUAL_CUDA_LIBRARIES_DESCRIBED_INTERNAL_H
#define TIDE_VIRTUAL_CUDA_LIBRARIES_DESCRIBED_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct described {
    const void
        *data[3]; /* on the card, the values first, then the indices; NULL for missing arrays */
    int64_t n_rows, n_columns, n_nonzero;
    bool is_counted; /* a function counted the nonzero values on the card; n_nonzero is older */
} described;

#endif
