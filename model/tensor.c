#include "model/tensor.h"

enum { MAX_DTYPE_BYTES = 4 };

size_t tide_dtype_bytes(tide_dtype dtype) {
    return dtype == TIDE_INT8 ? 1 : dtype == TIDE_BF16 || dtype == TIDE_FP16 ? 2 : 4;
}

const char *tide_dtype_name(tide_dtype dtype) {
    static const char *const NAMES[] = {"fp32", "bf16", "int32", "int8", "fp16"};
    return NAMES[dtype];
}

tide_status tide_tensor_alloc(tide_cache *cache, tide_tensor *tensor, size_t n_elements,
                              tide_dtype dtype, tide_category category, const char *name,
                              tide_error *error) {
    if (tensor->address != 0) {
        return tide_fail(error, TIDE_INVALID, "tensor %s is allocated twice", name);
    }
    /* Checked with the largest type: a division by a compile-time constant is free. */
    if (n_elements > SIZE_MAX / MAX_DTYPE_BYTES) {
        return tide_fail(error, TIDE_LIMIT, "tensor %s: %zu elements are more than memory can hold",
                         name, n_elements);
    }
    const tide_tag tag = {category, name};
    uint64_t address = 0;
    TIDE_TRY(
        tide_cache_alloc(cache, n_elements * tide_dtype_bytes(dtype), 0, &tag, &address, error));
    tensor->address = address;
    tensor->n_elements = n_elements;
    tensor->array.data =
        address == 0 ? NULL : tide_device_pointer(tide_cache_device(cache), address);
    tensor->array.dtype = dtype;
    return TIDE_OK;
}

tide_status tide_tensor_release(tide_cache *cache, tide_tensor *tensor, tide_error *error) {
    if (tensor->address == 0) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_cache_release(cache, tensor->address, error));
    tensor->address = 0;
    tensor->array.data = NULL;
    return TIDE_OK;
}

void tide_tensor_drop(tide_cache *cache, tide_tensor *tensor) {
    /* A release fails only after the device is lost, and then its memory is lost anyway. */
    if (tide_tensor_release(cache, tensor, NULL) != TIDE_OK) {
        *tensor = (tide_tensor){0};
    }
}
