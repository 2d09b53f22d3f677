/* Runs on the virtual device without a recording. */
#include "cli/dry_run.h"

#include "capture/capture.h"

static uint64_t peak_of(const tide_stat *stat) {
    return (uint64_t)stat[TIDE_POOL_ALL].peak;
}

static tide_status run_in(tide_cache *cache, const tide_workload_config *config,
                          tide_dry_run *ret_run, tide_error *error) {
    tide_recorder *recorder = tide_cache_recorder(cache);
    tide_workload *workload = NULL;
    tide_workload_result result;
    tide_cache_stats stats;
    TIDE_TRY(tide_workload_create(config, cache, recorder, &workload, error));
    tide_status status = tide_workload_run(workload, &result, error);
    tide_workload_result_fini(&result);
    tide_cache_get_stats(cache, &stats);
    *ret_run = (tide_dry_run){
        .fits = status == TIDE_OK,
        .requested_bytes = peak_of(stats.requested_bytes),
        .allocated_bytes = peak_of(stats.allocated_bytes),
        .reserved_bytes = peak_of(stats.reserved_bytes),
        .n_retries = stats.num_alloc_retries,
    };
    if (status == TIDE_DEVICE_OOM && tide_cache_get_oom(cache, &ret_run->out_of_memory)) {
        status = TIDE_OK;
    }
    tide_workload_destroy(workload);
    return status;
}

tide_status tide_dry_run_do(const tide_dry_room *room, const tide_workload_config *workload,
                            tide_dry_run *ret_run, tide_error *error) {
    tide_device *device = NULL;
    tide_cache *cache = NULL;
    const tide_device_options options = {.capacity_bytes = room->capacity_bytes};
    TIDE_TRY(tide_device_open(room->device, &options, &device, error));
    tide_status status = tide_cache_create(device, NULL, &room->cache, &cache, error);
    if (status == TIDE_OK) {
        status = run_in(cache, workload, ret_run, error);
        tide_cache_destroy(cache);
    }
    tide_device_close(device);
    return status;
}

static tide_status record_in(tide_device *device, tide_recorder *recorder,
                             const tide_cache_config *config, const tide_workload_config *workload,
                             const tide_snapshot_run *description, tide_dry_run *ret_run,
                             tide_snapshot **ret_snapshot, tide_error *error) {
    tide_cache *cache = NULL;
    TIDE_TRY(tide_cache_create(device, recorder, config, &cache, error));
    tide_status status = run_in(cache, workload, ret_run, error);
    if (status == TIDE_OK) {
        const tide_capture_options options = {.run = description};
        status = tide_capture(recorder, cache, &options, ret_snapshot, error);
    }
    tide_cache_destroy(cache);
    return status;
}

tide_status tide_dry_run_record(const tide_dry_room *room, const tide_workload_config *workload,
                                const tide_snapshot_run *description, tide_dry_run *ret_run,
                                tide_snapshot **ret_snapshot, tide_error *error) {
    tide_device *device = NULL;
    tide_recorder *recorder = NULL;
    const tide_device_options options = {.capacity_bytes = UINT64_MAX};
    tide_cache_config cache = room->cache;
    tide_recorder_config config;
    cache.memory_limit_bytes = TIDE_UNLIMITED;
    cache.per_process_memory_fraction = 1.0;
    tide_recorder_config_init(&config);
    config.capture_stacks = false;
    config.log_path = ""; /* anonymous, whatever the environment names */
    TIDE_TRY(tide_device_open(room->device, &options, &device, error));
    tide_status status = tide_recorder_create(&config, &recorder, error);
    if (status == TIDE_OK) {
        status = record_in(device, recorder, &cache, workload, description, ret_run, ret_snapshot,
                           error);
        tide_recorder_destroy(recorder);
    }
    tide_device_close(device);
    return status;
}

static tide_status look_at(tide_device *device, const tide_dry_room *room, uint64_t *ret_bytes,
                           tide_error *error) {
    tide_cache *cache = NULL;
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    TIDE_TRY(tide_device_memory_info(device, &free_bytes, &total_bytes, error));
    TIDE_TRY(tide_cache_create(device, NULL, &room->cache, &cache, error));
    /* The lower one of a limit in bytes and one as a fraction. */
    size_t limit_bytes = tide_cache_get_config(cache)->memory_limit_bytes;
    tide_cache_destroy(cache);
    *ret_bytes =
        limit_bytes != TIDE_UNLIMITED && limit_bytes < free_bytes ? limit_bytes : free_bytes;
    return TIDE_OK;
}

tide_status tide_dry_room_usable(const tide_dry_room *room, uint64_t *ret_usable_bytes,
                                 tide_device_info *ret_info, tide_error *error) {
    tide_device *device = NULL;
    const tide_device_options options = {.capacity_bytes = room->capacity_bytes};
    TIDE_TRY(tide_device_open(room->device, &options, &device, error));
    tide_status status = look_at(device, room, ret_usable_bytes, error);
    if (status == TIDE_OK && ret_info != NULL) {
        *ret_info = *tide_device_get_info(device);
    }
    tide_device_close(device);
    return status;
}
