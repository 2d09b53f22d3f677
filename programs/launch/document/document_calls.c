/* The history of a process whose allocator is cudaMallocAsync. PyTorch keeps none, so the calls of
 * CUDA's pools replace it. They have neither call stacks nor steps. A pool has no segments that a
 * program could see: each block is shown as its own segment, and an inexact row has the memory that
 * the pools held beyond them. */
#include <string.h>

#include "programs/launch/calls.h"
#include "programs/launch/document/document_internal.h"

typedef struct maker {
    tide_snapshot *snapshot;
    const tide_calls *calls;
    tide_event *events; /* owned */
    size_t n_events;
    tide_stream_row *streams;
    size_t n_streams;
} maker;

enum { MAX_STREAMS = 256 };

/* The number of a stream, or of the default one if the table is full. */
static uint8_t stream_of(maker *to, const tide_run_call *call) {
    for (size_t i = 0; i < to->n_streams; i++) {
        if (to->streams[i].handle == call->stream && to->streams[i].device == call->device) {
            return (uint8_t)i;
        }
    }
    if (to->n_streams == MAX_STREAMS) {
        return 0;
    }
    to->streams[to->n_streams] =
        (tide_stream_row){.handle = call->stream, .device = (uint8_t)call->device};
    return (uint8_t)to->n_streams++;
}

static tide_event *add(maker *to, const tide_run_call *call, uint8_t action) {
    tide_event *row = &to->events[to->n_events++];
    *row = (tide_event){.time_ns = call->time_ns - to->calls->rows[0].time_ns,
                        .address = call->address,
                        .requested_bytes = call->n_bytes,
                        .block_bytes = call->n_bytes,
                        .stack = TIDE_NONE,
                        .scope = TIDE_NONE,
                        .name = TIDE_NONE,
                        .action = action,
                        .device = (uint8_t)call->device,
                        .stream = stream_of(to, call)};
    return row;
}

static void add_call(maker *to, const tide_run_call *call) {
    if (call->action == TIDE_RUN_ALLOC) {
        (void)add(to, call, TIDE_ACTION_SEGMENT_ALLOC);
        (void)add(to, call, TIDE_ACTION_ALLOC);
    } else if (call->action == TIDE_RUN_FREE) {
        (void)add(to, call, TIDE_ACTION_FREE);
        (void)add(to, call, TIDE_ACTION_SEGMENT_FREE);
    } else if (call->action == TIDE_RUN_OOM) {
        add(to, call, TIDE_ACTION_OOM)->block_bytes = 0; /* the free memory is unknown */
    }
}

static tide_status make(maker *to) {
    tide_snapshot *snapshot = to->snapshot;
    size_t n = to->calls->n_rows;
    size_t n_devices = 1;
    to->events = tide_hostmem_zeroed(snapshot->arena.mem, 2 * n, sizeof(*to->events));
    to->streams = tide_arena_alloc(&snapshot->arena, MAX_STREAMS, sizeof(*to->streams));
    if (to->events == NULL || to->streams == NULL) {
        return TIDE_NO_MEMORY;
    }
    to->streams[to->n_streams++] = (tide_stream_row){.handle = 0};
    for (size_t i = 0; i < n; i++) {
        const tide_run_call *call = &to->calls->rows[i];
        add_call(to, call);
        n_devices = call->device + 1 > n_devices ? call->device + 1 : n_devices;
    }
    tide_snapshot_device *devices = tide_arena_alloc(&snapshot->arena, n_devices, sizeof(*devices));
    if (devices == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n_devices; i++) {
        devices[i] = (tide_snapshot_device){"virtual", "", -1, -1, -1, -1, -1, -1};
    }
    snapshot->devices = devices;
    snapshot->n_devices = n_devices;
    snapshot->streams = to->streams;
    snapshot->n_streams = to->n_streams;
    snapshot->n_events = to->n_events;
    snapshot->clock_source = "monotonic";
    return tide_event_table_from_rows(&snapshot->arena, to->events, to->n_events,
                                      &snapshot->events);
}

/* The most that the pools of the process held beyond the blocks. */
static int64_t beyond_blocks(const tide_calls *calls) {
    uint64_t most = 0;
    for (size_t i = 0; i < TIDE_RUN_DEVICES; i++) {
        const tide_calls_device *device = &calls->devices[i];
        uint64_t beyond = device->reserved_peak_bytes > device->used_peak_bytes
                              ? device->reserved_peak_bytes - device->used_peak_bytes
                              : 0;
        most = beyond > most ? beyond : most;
    }
    return (int64_t)most;
}

tide_status tide_document_from_calls(const char *path, tide_snapshot **ret_snapshot,
                                     int64_t *ret_beyond_bytes, tide_error *error) {
    tide_calls calls;
    tide_snapshot *snapshot = NULL;
    tide_status status = tide_calls_read(tide_hostmem_default(), path, &calls, error);
    if (status == TIDE_OK) {
        status = tide_snapshot_create(NULL, &snapshot);
    }
    if (status == TIDE_OK) {
        maker to = {.snapshot = snapshot, .calls = &calls};
        status = make(&to);
        snapshot->arena.mem->release(snapshot->arena.mem->ctx, to.events);
    }
    *ret_beyond_bytes = beyond_blocks(&calls);
    tide_calls_fini(&calls);
    if (status != TIDE_OK) {
        tide_snapshot_destroy(snapshot);
        return status;
    }
    *ret_snapshot = snapshot;
    return TIDE_OK;
}

tide_status tide_document_beyond_blocks(const char *path, int64_t *ret_beyond_bytes,
                                        tide_error *error) {
    tide_calls calls;
    tide_status status = tide_calls_read(tide_hostmem_default(), path, &calls, error);
    *ret_beyond_bytes = beyond_blocks(&calls);
    tide_calls_fini(&calls);
    return status;
}
