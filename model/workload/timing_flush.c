/* timing_flush.c - a buffer larger than every cache, written between samples. */
#include "model/workload/timing.h"

size_t tide_timing_flush_bytes(int64_t cache_bytes) {
    static const int64_t MOST = (int64_t)1 << 30; /* twice any cache of today's devices */
    int64_t n_bytes = cache_bytes > 0 ? cache_bytes : TIDE_TIMING_CACHE_BYTES;
    return (size_t)(n_bytes < MOST / 2 ? 2 * n_bytes : MOST);
}

tide_status tide_timing_flush_init(tide_timing_flush *flush, tide_cache *cache, tide_ops *ops,
                                   tide_error *error) {
    *flush = (tide_timing_flush){.cache = cache, .ops = ops};
    size_t n_bytes = tide_timing_flush_bytes(tide_device_get_info(ops->device)->cache_bytes);
    return tide_tensor_alloc(cache, &flush->buffer, n_bytes / sizeof(float), TIDE_FP32,
                             TIDE_TEMPORARY, "flush", error);
}

void tide_timing_flush_fini(tide_timing_flush *flush) {
    if (flush->cache != NULL) {
        tide_tensor_drop(flush->cache, &flush->buffer);
    }
}

tide_status tide_timing_flush_call(void *ctx, tide_error *error) {
    tide_timing_flush *flush = ctx;
    flush->value += 1.0; /* a new number each time, so no write can be skipped as unchanged */
    const tide_fill call = {
        .out = flush->buffer.array,
        .value = flush->value,
        .n = flush->buffer.n_elements,
    };
    return flush->ops->table->fill(flush->ops, &call, error);
}
