#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tiny_run.h"

#include "snapshot/analysis/summary.h"
#include "support/tiny_workload.h"

/* The run is in bf16-mixed, because its casts have their own stream. */
tide_workload_config tiny_run_config(void) {
    tide_workload_config config = tiny_workload(2);
    config.precision = TIDE_PRECISION_BF16_MIXED;
    return config;
}

static tide_status create(tiny_run *on) {
    const tide_device_options options = {.mem = &on->heap.mem,
                                         .capacity_bytes = (uint64_t)64 << 20};
    TIDE_TRY(tide_device_open(on->spec, &options, &on->inner, &on->error));
    on->device.inner = on->inner;
    on->device.base.info = *tide_device_get_info(on->inner);
    tide_recorder_config recording;
    tide_recorder_config_init(&recording);
    recording.mem = &on->heap.mem;
    recording.log_bytes = (size_t)1 << 20;
    recording.capture_stacks = on->captures_stacks;
    TIDE_TRY(tide_recorder_create(&recording, &on->recorder, &on->error));
    tide_cache_config settings;
    tide_cache_config_init(&settings);
    settings.mem = &on->heap.mem;
    settings.expandable_segments = on->is_expandable;
    TIDE_TRY(tide_cache_create(&on->device.base, on->recorder, &settings, &on->cache, &on->error));
    const tide_workload_config config = tiny_run_config();
    return tide_workload_create(&config, on->cache, on->recorder, &on->workload, &on->error);
}

tide_status tiny_run_train(tiny_run *on) {
    tide_workload_result result;
    tide_status status = tide_workload_run(on->workload, &result, &on->error);
    tide_workload_result_fini(&result);
    return status;
}

/* Makes the calls that a run on these devices does not make by itself. */
static tide_status use_stream(tiny_run *on, tide_stream stream, void *data) {
    tide_device *device = &on->device.base;
    tide_device_event *event = NULL;
    char byte = 0;
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    TIDE_TRY(tide_device_memory_info(device, &free_bytes, &total_bytes, &on->error));
    TIDE_TRY(tide_device_set(device, data, 7, 100, stream, &on->error));
    TIDE_TRY(
        tide_device_copy(device, &byte, data, sizeof(byte), TIDE_COPY_TO_HOST, stream, &on->error));
    TIDE_TRY(tide_device_event_create(device, &event, &on->error));
    tide_status status = tide_device_event_record(device, event, stream, &on->error);
    if (status == TIDE_OK) {
        status = tide_device_event_query(device, event, &on->error);
    }
    if (status == TIDE_OK) {
        status = tide_device_event_synchronize(device, event, &on->error);
    }
    tide_device_event_destroy(device, event);
    return status;
}

/* Uses a buffer on another stream, as a program would. */
static tide_status use_buffer(tiny_run *on) {
    tide_device *device = &on->device.base;
    tide_stream stream = 0;
    uint64_t address = 0;
    TIDE_TRY(tide_device_stream_create(device, &stream, &on->error));
    tide_status status = tide_cache_alloc(on->cache, 100, stream, NULL, &address, &on->error);
    if (status == TIDE_OK) {
        status = use_stream(on, stream, tide_device_pointer(device, address));
        assert_int_equal(tide_cache_release(on->cache, address, NULL), TIDE_OK);
    }
    return status == TIDE_OK ? tide_device_stream_destroy(device, stream, &on->error) : status;
}

tide_status tiny_run_save(tiny_run *on, tide_error *error) {
    const tide_capture_options options = {.mem = &on->heap.mem};
    tide_snapshot *snapshot = NULL;
    TIDE_TRY(tide_capture(on->recorder, on->cache, &options, &snapshot, error));
    tide_status status = tide_snapshot_save(snapshot, on->path, error);
    tide_snapshot_destroy(snapshot);
    return status;
}

/* Reads the file back and summarises it. */
static tide_status load(tiny_run *on) {
    tide_snapshot *snapshot = NULL;
    tide_summary *summary = NULL;
    TIDE_TRY(tide_snapshot_load(on->path, &on->heap.mem, &snapshot, &on->error));
    tide_status status = tide_summary_create(snapshot, &summary, &on->error);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(snapshot);
    return status;
}

tide_status tiny_run_go(tiny_run *on) {
    TIDE_TRY(create(on));
    TIDE_TRY(tiny_run_train(on));
    tide_workload_destroy(on->workload);
    on->workload = NULL;
    TIDE_TRY(use_buffer(on));
    TIDE_TRY(tiny_run_save(on, &on->error));
    TIDE_TRY(load(on));
    return tide_cache_empty(on->cache, &on->error);
}
