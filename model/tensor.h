/* tensor.h - an array on a device: its address and element type, and how it is allocated and
 * released. */
#ifndef TIDE_MODEL_TENSOR_H
#define TIDE_MODEL_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/cache.h"
#include "common/event.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_dtype { TIDE_FP32 = 0, TIDE_BF16, TIDE_INT32, TIDE_INT8, TIDE_FP16 } tide_dtype;

/* 4, 2, 4, 1, 2. */
size_t tide_dtype_bytes(tide_dtype dtype);
/* "fp32", "bf16", "int32", "int8", "fp16". */
const char *tide_dtype_name(tide_dtype dtype);

/* The operand of an operator: a typed pointer on the device. On virtual it must never be
 * dereferenced. Passed by value. */
typedef struct tide_array {
    void *data;       /* borrowed from the tensor */
    tide_dtype dtype; /* of each element */
} tide_array;

typedef struct tide_tensor {
    uint64_t address;  /* owned block of the cache; 0: not allocated */
    size_t n_elements; /* as last allocated */
    tide_array array;  /* of the same block; data NULL while not allocated */
} tide_tensor;

/* Allocates n_elements of dtype with the tag (category, name). The tensor must not be allocated. */
TIDE_NODISCARD tide_status tide_tensor_alloc(tide_cache *cache, tide_tensor *tensor,
                                             size_t n_elements, tide_dtype dtype,
                                             tide_category category, const char *name,
                                             tide_error *error);
/* Releases it. Does nothing if it is not allocated. */
TIDE_NODISCARD tide_status tide_tensor_release(tide_cache *cache, tide_tensor *tensor,
                                               tide_error *error);
/* The same for destructors, where no caller can act on a failure. */
void tide_tensor_drop(tide_cache *cache, tide_tensor *tensor);

#ifdef __cplusplus
}
#endif

#endif
