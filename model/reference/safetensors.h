/* safetensors.h - a reader of .safetensors files: 8 bytes little-endian header length, a JSON
 * header {name: {dtype, shape, data_offsets}} with optional text under "__metadata__", raw
 * row-major data.
 *
 * Files are untrusted: every number is checked against the file before it is used. Limits: a header
 * of 4 MiB, 8,192 tensors of up to 8 dimensions, names below 256 bytes.
 */
#ifndef TIDE_MODEL_REFERENCE_SAFETENSORS_H
#define TIDE_MODEL_REFERENCE_SAFETENSORS_H

#include <stddef.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "model/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_SAFETENSOR_DIMS = 8 };

typedef struct tide_safetensor {
    const char *name;                   /* as all here, valid until the file is closed */
    tide_dtype dtype;                   /* TIDE_FP32 or TIDE_INT32: others are refused */
    size_t shape[TIDE_SAFETENSOR_DIMS]; /* outermost first */
    size_t n_dims;                      /* 0: one number */
    size_t n_elements;                  /* product of the shape */
    const void *data;                   /* n_elements, aligned to their size */
} tide_safetensor;

typedef struct tide_safetensors tide_safetensors;

/* Reads the whole file. `mem` is borrowed and outlives it. TIDE_IO if it cannot be read;
 * TIDE_FORMAT, TIDE_LIMIT: the message names file, tensor and fault. The caller closes it. */
TIDE_NODISCARD tide_status tide_safetensors_open(const tide_hostmem *mem, const char *path,
                                                 tide_safetensors **ret_file, tide_error *error);
/* NULL is allowed. */
void tide_safetensors_close(tide_safetensors *file);

/* NULL if no tensor has that name. */
const tide_safetensor *tide_safetensors_find(const tide_safetensors *file, const char *name);
/* The text of a key of "__metadata__", or NULL. */
const char *tide_safetensors_metadata(const tide_safetensors *file, const char *key);

#ifdef __cplusplus
}
#endif

#endif
