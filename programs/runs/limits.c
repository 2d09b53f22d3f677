#include "programs/runs/limits.h"

tide_status tide_run_limits_cache(const tide_run_limits *limits, tide_cache_config *ret_cache,
                                  tide_error *error) {
    tide_cache_config cache;
    tide_cache_config_init(&cache);
    TIDE_TRY(tide_cache_config_from_environment(&cache, error));
    if (limits->alloc_conf != NULL) {
        TIDE_TRY(tide_cache_config_parse(&cache, limits->alloc_conf, error));
    }
    if (limits->ignores_device) {
        cache.memory_limit_bytes = TIDE_UNLIMITED;
        cache.per_process_memory_fraction = 1.0;
    }
    if (limits->memory_limit_bytes != TIDE_RUN_UNLIMITED) {
        cache.memory_limit_bytes = limits->memory_limit_bytes < SIZE_MAX
                                       ? (size_t)limits->memory_limit_bytes
                                       : TIDE_UNLIMITED;
    }
    *ret_cache = cache;
    return TIDE_OK;
}

tide_status tide_run_limits_open(const tide_run_limits *limits, tide_device **ret_device,
                                 tide_error *error) {
    const tide_device_options options = {
        .capacity_bytes = limits->ignores_device ? UINT64_MAX : 0,
        .spill_bytes = limits->ignores_device ? 0 : limits->spill_bytes,
    };
    return tide_device_open(limits->device, &options, ret_device, error);
}

static tide_status look_at(tide_device *device, const tide_run_limits *limits, uint64_t *ret_bytes,
                           tide_error *error) {
    tide_cache_config config;
    tide_cache *cache = NULL;
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    TIDE_TRY(tide_run_limits_cache(limits, &config, error));
    TIDE_TRY(tide_device_memory_info(device, &free_bytes, &total_bytes, error));
    free_bytes += free_bytes == UINT64_MAX ? 0 : limits->spill_bytes; /* opening has checked it */
    /* The cache determines which is lower: the limit in bytes or the one as a fraction. */
    TIDE_TRY(tide_cache_create(device, NULL, &config, &cache, error));
    size_t limit_bytes = tide_cache_get_config(cache)->memory_limit_bytes;
    tide_cache_destroy(cache);
    *ret_bytes =
        limit_bytes != TIDE_UNLIMITED && limit_bytes < free_bytes ? limit_bytes : free_bytes;
    return TIDE_OK;
}

tide_status tide_run_limits_usable(const tide_run_limits *limits, uint64_t *ret_usable_bytes,
                                   tide_device_info *ret_info, tide_error *error) {
    tide_device *device = NULL;
    TIDE_TRY(tide_run_limits_open(limits, &device, error));
    tide_status status = look_at(device, limits, ret_usable_bytes, error);
    if (status == TIDE_OK && ret_info != NULL) {
        *ret_info = *tide_device_get_info(device);
    }
    tide_device_close(device);
    return status;
}
