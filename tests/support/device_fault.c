#include "support/device_fault.h"

/* The decorator's tide_device_event. */
typedef struct late_event {
    tide_device_event *inner; /* owned; NULL without an inner device */
    size_t n_late;            /* queries that still answer TIDE_NOT_READY */
    size_t n_synchronized;    /* calls of synchronize before it was recorded */
    tide_stream stream;       /* that it was recorded on */
    bool is_waited_for;       /* since it was recorded */
    size_t number;            /* of its record, from 1 on */
} late_event;

static bool is_between(size_t call, size_t from, size_t to) {
    return from != 0 && call >= from && call <= to;
}

static tide_device *inner_of(tide_device *device) {
    return ((tide_device_fault *)device)->inner;
}

/* Counts the call; TIDE_OK unless fail_call makes it fail. */
static tide_status count(tide_device *device, tide_device_call call, tide_error *error) {
    static const char *const NAMES[TIDE_N_DEVICE_CALLS] = {
        "alloc",         "release",           "memory_info",   "copy",         "set",
        "stream_create", "stream_destroy",    "event_create",  "event_record", "stream_wait",
        "event_query",   "event_synchronize", "event_elapsed", "synchronize",  "map_granule",
        "reserve",       "unreserve",         "map",           "unmap"};
    tide_device_fault *fault = (tide_device_fault *)device;
    fault->n_calls++;
    bool is_lost = fault->fail_status == TIDE_DEVICE_LOST && fault->fail_call != 0 &&
                   fault->n_calls > fault->fail_call;
    if (fault->n_calls != fault->fail_call && !is_lost) {
        return TIDE_OK;
    }
    fault->n_failed[call]++;
    return tide_fail(error, fault->fail_status, "planted failure of %s (call %zu)", NAMES[call],
                     fault->n_calls);
}

static void fault_close(tide_device *device) {
    (void)device;
}

static tide_status next_address(tide_device_fault *fault, uint64_t *ret_address,
                                tide_error *error) {
    if (fault->n_addresses == 0) {
        return tide_fail(error, TIDE_DEVICE_FAILED, "a segment that the trace did not buy");
    }
    *ret_address = *fault->addresses++;
    fault->n_addresses--;
    return TIDE_OK;
}

static tide_status fault_alloc(tide_device *device, size_t n_bytes, uint64_t *ret_address,
                               tide_error *error) {
    tide_device_fault *fault = (tide_device_fault *)device;
    fault->n_allocs++;
    fault->last_bytes = n_bytes;
    TIDE_TRY(count(device, TIDE_CALL_ALLOC, error));
    if (is_between(fault->n_allocs, fault->fail_alloc_from, fault->fail_alloc_to)) {
        return tide_fail(error, fault->alloc_status, "planted failure of alloc %zu",
                         fault->n_allocs);
    }
    if (fault->inner != NULL) {
        TIDE_TRY(tide_device_alloc(fault->inner, n_bytes, ret_address, error));
        fault->n_segments++;
        return TIDE_OK;
    }
    return next_address(fault, ret_address, error);
}

static tide_status fault_release(tide_device *device, uint64_t address, tide_error *error) {
    tide_device_fault *fault = (tide_device_fault *)device;
    fault->n_releases++;
    TIDE_TRY(count(device, TIDE_CALL_RELEASE, error));
    if (is_between(fault->n_releases, fault->fail_release_from, fault->fail_release_to)) {
        return tide_fail(error, TIDE_DEVICE_FAILED, "planted failure of release %zu",
                         fault->n_releases);
    }
    if (fault->inner != NULL) {
        TIDE_TRY(tide_device_release(fault->inner, address, error));
        fault->n_segments--;
    }
    return TIDE_OK;
}

static tide_status fault_memory_info(tide_device *device, uint64_t *ret_free_bytes,
                                     uint64_t *ret_total_bytes, tide_error *error) {
    TIDE_TRY(count(device, TIDE_CALL_MEMORY_INFO, error));
    if (inner_of(device) != NULL) {
        return tide_device_memory_info(inner_of(device), ret_free_bytes, ret_total_bytes, error);
    }
    *ret_free_bytes = UINT64_MAX;
    *ret_total_bytes = UINT64_MAX;
    return TIDE_OK;
}

static void *fault_pointer(tide_device *device, uint64_t address) {
    return tide_device_pointer(inner_of(device), address);
}

static tide_status fault_copy(tide_device *device, void *dst, const void *src, size_t n_bytes,
                              tide_copy_direction direction, tide_stream stream,
                              tide_error *error) {
    TIDE_TRY(count(device, TIDE_CALL_COPY, error));
    return tide_device_copy(inner_of(device), dst, src, n_bytes, direction, stream, error);
}

static tide_status fault_set(tide_device *device, void *dst, int byte, size_t n_bytes,
                             tide_stream stream, tide_error *error) {
    TIDE_TRY(count(device, TIDE_CALL_SET, error));
    return tide_device_set(inner_of(device), dst, byte, n_bytes, stream, error);
}

static tide_status fault_stream_create(tide_device *device, tide_stream *ret_stream,
                                       tide_error *error) {
    TIDE_TRY(count(device, TIDE_CALL_STREAM_CREATE, error));
    return tide_device_stream_create(inner_of(device), ret_stream, error);
}

static tide_status fault_stream_destroy(tide_device *device, tide_stream stream,
                                        tide_error *error) {
    TIDE_TRY(count(device, TIDE_CALL_STREAM_DESTROY, error));
    return tide_device_stream_destroy(inner_of(device), stream, error);
}

static tide_status fault_event_create(tide_device *device, tide_device_event **ret_event,
                                      tide_error *error) {
    TIDE_TRY(count(device, TIDE_CALL_EVENT_CREATE, error));
    tide_device_fault *fault = (tide_device_fault *)device;
    late_event *event = tide_hostmem_zeroed(device->mem, 1, sizeof(*event));
    if (event == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for an event");
    }
    if (fault->inner != NULL) {
        tide_status status = tide_device_event_create(fault->inner, &event->inner, error);
        if (status != TIDE_OK) {
            device->mem->release(device->mem->ctx, event);
            return status;
        }
    }
    fault->n_events++;
    fault->n_created++;
    *ret_event = (tide_device_event *)event;
    return TIDE_OK;
}

static void fault_event_destroy(tide_device *device, tide_device_event *event) {
    late_event *late = (late_event *)event;
    if (late->inner != NULL) {
        tide_device_event_destroy(inner_of(device), late->inner);
    }
    device->mem->release(device->mem->ctx, late);
    ((tide_device_fault *)device)->n_events--;
}

static tide_status fault_event_record(tide_device *device, tide_device_event *event,
                                      tide_stream stream, tide_error *error) {
    TIDE_TRY(count(device, TIDE_CALL_EVENT_RECORD, error));
    tide_device_fault *fault = (tide_device_fault *)device;
    late_event *late = (late_event *)event;
    if (fault->inner != NULL) {
        TIDE_TRY(tide_device_event_record(fault->inner, late->inner, stream, error));
    }
    late->n_late = fault->late_queries;
    late->n_synchronized = fault->n_synchronized;
    late->stream = stream;
    late->is_waited_for = false;
    late->number = ++fault->n_recorded;
    return TIDE_OK;
}

static tide_status fault_stream_wait(tide_device *device, tide_stream stream,
                                     tide_device_event *event, tide_error *error) {
    TIDE_TRY(count(device, TIDE_CALL_STREAM_WAIT, error));
    tide_device_fault *fault = (tide_device_fault *)device;
    return fault->inner == NULL
               ? TIDE_OK
               : tide_device_stream_wait(fault->inner, stream, ((late_event *)event)->inner, error);
}

static tide_status fault_event_query(tide_device *device, tide_device_event *event,
                                     tide_error *error) {
    tide_device_fault *fault = (tide_device_fault *)device;
    late_event *late = (late_event *)event;
    fault->n_queries++;
    TIDE_TRY(count(device, TIDE_CALL_EVENT_QUERY, error));
    if (late->n_synchronized == fault->n_synchronized && !late->is_waited_for) {
        if (late->stream < 64 && (fault->held_streams >> late->stream & 1) != 0) {
            return TIDE_NOT_READY;
        }
        if (late->n_late > 0) {
            late->n_late--;
            return TIDE_NOT_READY;
        }
    }
    return fault->inner == NULL ? TIDE_OK
                                : tide_device_event_query(fault->inner, late->inner, error);
}

static tide_status fault_event_synchronize(tide_device *device, tide_device_event *event,
                                           tide_error *error) {
    tide_device_fault *fault = (tide_device_fault *)device;
    late_event *late = (late_event *)event;
    TIDE_TRY(count(device, TIDE_CALL_EVENT_SYNCHRONIZE, error));
    if (fault->inner != NULL) {
        TIDE_TRY(tide_device_event_synchronize(fault->inner, late->inner, error));
    }
    late->is_waited_for = true;
    fault->n_waited_for++;
    fault->last_waited_for = late->number;
    return TIDE_OK;
}

static tide_status fault_event_elapsed(tide_device *device, const tide_device_event *begin,
                                       const tide_device_event *end, double *ret_ms,
                                       tide_error *error) {
    TIDE_TRY(count(device, TIDE_CALL_EVENT_ELAPSED, error));
    return tide_device_event_elapsed(inner_of(device), ((const late_event *)begin)->inner,
                                     ((const late_event *)end)->inner, ret_ms, error);
}

static tide_status fault_synchronize(tide_device *device, tide_error *error) {
    TIDE_TRY(count(device, TIDE_CALL_SYNCHRONIZE, error));
    if (inner_of(device) != NULL) {
        TIDE_TRY(tide_device_synchronize(inner_of(device), error));
    }
    ((tide_device_fault *)device)->n_synchronized++;
    return TIDE_OK;
}

static tide_status fault_map_granule(tide_device *device, size_t *ret_bytes, tide_error *error) {
    TIDE_TRY(count(device, TIDE_CALL_MAP_GRANULE, error));
    if (inner_of(device) != NULL) {
        return tide_device_map_granule(inner_of(device), ret_bytes, error);
    }
    *ret_bytes = TIDE_DEVICE_GRANULE;
    return TIDE_OK;
}

static tide_status fault_reserve(tide_device *device, size_t n_bytes, uint64_t *ret_address,
                                 tide_error *error) {
    tide_device_fault *fault = (tide_device_fault *)device;
    TIDE_TRY(count(device, TIDE_CALL_RESERVE, error));
    TIDE_TRY(fault->inner == NULL ? next_address(fault, ret_address, error)
                                  : tide_device_reserve(fault->inner, n_bytes, ret_address, error));
    fault->n_ranges++;
    return TIDE_OK;
}

static tide_status fault_unreserve(tide_device *device, uint64_t address, size_t n_bytes,
                                   tide_error *error) {
    tide_device_fault *fault = (tide_device_fault *)device;
    TIDE_TRY(count(device, TIDE_CALL_UNRESERVE, error));
    if (fault->inner != NULL) {
        TIDE_TRY(tide_device_unreserve(fault->inner, address, n_bytes, error));
    }
    fault->n_ranges--;
    return TIDE_OK;
}

static tide_status fault_map(tide_device *device, uint64_t address, size_t n_bytes,
                             size_t granule_bytes, tide_error *error) {
    tide_device_fault *fault = (tide_device_fault *)device;
    fault->n_maps++;
    fault->last_bytes = n_bytes;
    TIDE_TRY(count(device, TIDE_CALL_MAP, error));
    if (is_between(fault->n_maps, fault->fail_map_from, fault->fail_map_to)) {
        return tide_fail(error, fault->alloc_status, "planted failure of map %zu", fault->n_maps);
    }
    if (fault->inner != NULL) {
        TIDE_TRY(tide_device_map(fault->inner, address, n_bytes, granule_bytes, error));
    }
    fault->mapped_bytes += n_bytes;
    return TIDE_OK;
}

static tide_status fault_unmap(tide_device *device, uint64_t address, size_t granule_bytes,
                               tide_error *error) {
    tide_device_fault *fault = (tide_device_fault *)device;
    fault->n_unmaps++;
    TIDE_TRY(count(device, TIDE_CALL_UNMAP, error));
    if (is_between(fault->n_unmaps, fault->fail_unmap_from, fault->fail_unmap_to)) {
        return tide_fail(error, TIDE_DEVICE_FAILED, "planted failure of unmap %zu",
                         fault->n_unmaps);
    }
    if (fault->inner != NULL) {
        TIDE_TRY(tide_device_unmap(fault->inner, address, granule_bytes, error));
    }
    fault->mapped_bytes -= granule_bytes;
    return TIDE_OK;
}

static const tide_device_table FAULT_TABLE = {
    .close = fault_close,
    .alloc = fault_alloc,
    .release = fault_release,
    .memory_info = fault_memory_info,
    .pointer = fault_pointer,
    .copy = fault_copy,
    .set = fault_set,
    .stream_create = fault_stream_create,
    .stream_destroy = fault_stream_destroy,
    .event_create = fault_event_create,
    .event_destroy = fault_event_destroy,
    .event_record = fault_event_record,
    .stream_wait = fault_stream_wait,
    .event_query = fault_event_query,
    .event_synchronize = fault_event_synchronize,
    .event_elapsed = fault_event_elapsed,
    .synchronize = fault_synchronize,
    .map_granule = fault_map_granule,
    .reserve = fault_reserve,
    .unreserve = fault_unreserve,
    .map = fault_map,
    .unmap = fault_unmap,
};

void tide_device_fault_init(tide_device_fault *fault, tide_device *inner) {
    *fault = (tide_device_fault){
        .base = {.table = &FAULT_TABLE,
                 .mem = tide_hostmem_default(),
                 .info = {.kind = TIDE_DEVICE_VIRTUAL, .spec = "test", .name = "test device"}},
        .inner = inner,
        .fail_status = TIDE_DEVICE_FAILED,
        .alloc_status = TIDE_DEVICE_OOM};
    if (inner != NULL) {
        fault->base.info = *tide_device_get_info(inner);
    } else {
        fault->base.info.total_bytes = -1;
        fault->base.info.compute_capability = -1;
    }
}
