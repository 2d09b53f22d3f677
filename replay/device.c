/* The device below a replayed cache.
 *
 * With a script, it behaves like the recorded device during the current request: it allocates at
 * the recorded addresses, and refuses where the recorded device must have refused. If the replay's
 * allocator requests memory that was not recorded, it gets invented addresses, so the comparison
 * continues and reports the difference. */
#include <string.h>

#include "common/assert.h"
#include "replay/replay_internal.h"

/* Where invented addresses begin: above those of any device, and below 2^62, to keep sums of an
 * address and a size positive in a file. */
#define MADE_UP UINT64_C(0x2000000000000000)

static tide_device *inner_of(tide_device *device) {
    return ((tide_replay_device *)device)->inner;
}

/* The row of the script that answers the current call. False if the script has no more rows. */
static bool next_row(const tide_replay_device *device, tide_event *ret_row) {
    TIDE_ASSERT(device->at <= device->n_script);
    if (device->at == device->n_script) {
        return false;
    }
    *ret_row = tide_event_at(device->snapshot, device->script[device->at]);
    return true;
}

static bool is_next(const tide_replay_device *device, tide_action action) {
    tide_event row;
    return next_row(device, &row) && row.action == action;
}

/* Whether the recorded device refused at this point. A refusal leaves no row of its own, but the
 * allocator reacts by releasing memory or reports out of memory. */
static bool refuses(const tide_replay_device *device) {
    tide_event row;
    return next_row(device, &row) ? tide_action_takes_segment(row.action) : device->ends_in_oom;
}

/* The index of the first allocated piece at or above the address. */
static size_t place_of(const tide_replay_device *device, uint64_t address) {
    size_t low = 0;
    size_t high = device->n_sold;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (device->sold[middle].address < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Whether any of these addresses is in use. */
static bool overlaps(const tide_replay_device *device, uint64_t address, uint64_t n_bytes) {
    size_t at = place_of(device, address);
    if (at < device->n_sold && device->sold[at].address - address < n_bytes) {
        return true;
    }
    return at > 0 && address - device->sold[at - 1].address < device->sold[at - 1].n_bytes;
}

tide_status tide_replay_device_sell(tide_replay_device *device, uint64_t address, uint64_t n_bytes,
                                    tide_error *error) {
    size_t at = place_of(device, address);
    tide_replay_sold *sold = tide_hostmem_grow(device->base.mem, device->sold, &device->capacity,
                                               device->n_sold + 1, sizeof(*sold));
    if (sold == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for a segment");
    }
    device->sold = sold;
    memmove(&sold[at + 1], &sold[at], (device->n_sold - at) * sizeof(*sold));
    sold[at] = (tide_replay_sold){address, n_bytes};
    device->n_sold++;
    return TIDE_OK;
}

static void take_back(tide_replay_device *device, uint64_t address) {
    size_t at = place_of(device, address);
    if (at < device->n_sold && device->sold[at].address == address) {
        device->n_sold--;
        memmove(&device->sold[at], &device->sold[at + 1],
                (device->n_sold - at) * sizeof(*device->sold));
    }
}

static uint64_t made_up(tide_replay_device *device, uint64_t n_bytes) {
    uint64_t address = device->made_up_address;
    TIDE_ASSERT(address % TIDE_DEVICE_GRANULE == 0);
    device->made_up_address +=
        (n_bytes + TIDE_DEVICE_GRANULE - 1) / TIDE_DEVICE_GRANULE * TIDE_DEVICE_GRANULE;
    return address;
}

static tide_status refuse(tide_error *error) {
    return tide_fail(error, TIDE_DEVICE_OOM, "the recorded device refused here");
}

static tide_status replay_alloc(tide_device *base, size_t n_bytes, uint64_t *ret_address,
                                tide_error *error) {
    tide_replay_device *device = (tide_replay_device *)base;
    if (!device->has_script) {
        return tide_device_alloc(device->inner, n_bytes, ret_address, error);
    }
    tide_event row;
    if (refuses(device)) {
        return refuse(error);
    }
    uint64_t address = 0;
    if (next_row(device, &row) && row.action == TIDE_ACTION_SEGMENT_ALLOC) {
        device->at++;
        address = overlaps(device, row.address, n_bytes) ? 0 : row.address;
    }
    address = address != 0 ? address : made_up(device, n_bytes);
    TIDE_TRY(tide_replay_device_sell(device, address, n_bytes, error));
    *ret_address = address;
    return TIDE_OK;
}

static tide_status replay_release(tide_device *base, uint64_t address, tide_error *error) {
    tide_replay_device *device = (tide_replay_device *)base;
    if (!device->has_script) {
        return tide_device_release(device->inner, address, error);
    }
    if (is_next(device, TIDE_ACTION_SEGMENT_FREE)) {
        device->at++;
    }
    take_back(device, address);
    return TIDE_OK;
}

static tide_status replay_memory_info(tide_device *base, uint64_t *ret_free_bytes,
                                      uint64_t *ret_total_bytes, tide_error *error) {
    return tide_device_memory_info(inner_of(base), ret_free_bytes, ret_total_bytes, error);
}

static void *replay_pointer(tide_device *base, uint64_t address) {
    return tide_device_pointer(inner_of(base), address);
}

static tide_status replay_copy(tide_device *base, void *dst, const void *src, size_t n_bytes,
                               tide_copy_direction direction, tide_stream stream,
                               tide_error *error) {
    return tide_device_copy(inner_of(base), dst, src, n_bytes, direction, stream, error);
}

static tide_status replay_set(tide_device *base, void *dst, int byte, size_t n_bytes,
                              tide_stream stream, tide_error *error) {
    return tide_device_set(inner_of(base), dst, byte, n_bytes, stream, error);
}

static tide_status replay_stream_create(tide_device *base, tide_stream *ret_stream,
                                        tide_error *error) {
    return tide_device_stream_create(inner_of(base), ret_stream, error);
}

static tide_status replay_stream_destroy(tide_device *base, tide_stream stream, tide_error *error) {
    return tide_device_stream_destroy(inner_of(base), stream, error);
}

static tide_status replay_event_create(tide_device *base, tide_device_event **ret_event,
                                       tide_error *error) {
    return tide_device_event_create(inner_of(base), ret_event, error);
}

static void replay_event_destroy(tide_device *base, tide_device_event *event) {
    tide_device_event_destroy(inner_of(base), event);
}

static tide_status replay_event_record(tide_device *base, tide_device_event *event,
                                       tide_stream stream, tide_error *error) {
    return tide_device_event_record(inner_of(base), event, stream, error);
}

static tide_status replay_stream_wait(tide_device *base, tide_stream stream,
                                      tide_device_event *event, tide_error *error) {
    return tide_device_stream_wait(inner_of(base), stream, event, error);
}

/* Never ready, so the cache's polls free nothing: the recording shows when a free completes. */
static tide_status replay_event_query(tide_device *base, tide_device_event *event,
                                      tide_error *error) {
    (void)base;
    (void)event;
    (void)error;
    return TIDE_NOT_READY;
}

static tide_status replay_event_synchronize(tide_device *base, tide_device_event *event,
                                            tide_error *error) {
    return tide_device_event_synchronize(inner_of(base), event, error);
}

static tide_status replay_event_elapsed(tide_device *base, const tide_device_event *begin,
                                        const tide_device_event *end, double *ret_ms,
                                        tide_error *error) {
    return tide_device_event_elapsed(inner_of(base), begin, end, ret_ms, error);
}

static tide_status replay_synchronize(tide_device *base, tide_error *error) {
    return tide_device_synchronize(inner_of(base), error);
}

static tide_status replay_map_granule(tide_device *base, size_t *ret_bytes, tide_error *error) {
    return tide_device_map_granule(inner_of(base), ret_bytes, error);
}

static tide_status replay_reserve(tide_device *base, size_t n_bytes, uint64_t *ret_address,
                                  tide_error *error) {
    tide_replay_device *device = (tide_replay_device *)base;
    if (!device->has_script) {
        return tide_device_reserve(device->inner, n_bytes, ret_address, error);
    }
    uint64_t address = device->range_address;
    for (size_t i = device->at; i < device->n_script && address == 0; i++) {
        const tide_event row = tide_event_at(device->snapshot, device->script[i]);
        /* A new range is mapped from its beginning on. */
        address = row.action == TIDE_ACTION_SEGMENT_MAP ? row.address : 0;
    }
    device->range_address = 0;
    if (address == 0 && device->ends_in_oom) {
        return refuse(error); /* its place is set at the first mapping */
    }
    if (address == 0 || overlaps(device, address, n_bytes)) {
        address = made_up(device, n_bytes);
    }
    TIDE_TRY(tide_replay_device_sell(device, address, n_bytes, error));
    *ret_address = address;
    return TIDE_OK;
}

static tide_status replay_unreserve(tide_device *base, uint64_t address, size_t n_bytes,
                                    tide_error *error) {
    tide_replay_device *device = (tide_replay_device *)base;
    if (!device->has_script) {
        return tide_device_unreserve(device->inner, address, n_bytes, error);
    }
    take_back(device, address);
    return TIDE_OK;
}

static tide_status replay_map(tide_device *base, uint64_t address, size_t n_bytes,
                              size_t granule_bytes, tide_error *error) {
    tide_replay_device *device = (tide_replay_device *)base;
    if (!device->has_script) {
        return tide_device_map(device->inner, address, n_bytes, granule_bytes, error);
    }
    if (refuses(device)) {
        return refuse(error);
    }
    device->at += is_next(device, TIDE_ACTION_SEGMENT_MAP) ? 1 : 0;
    return TIDE_OK;
}

static tide_status replay_unmap(tide_device *base, uint64_t address, size_t granule_bytes,
                                tide_error *error) {
    tide_replay_device *device = (tide_replay_device *)base;
    if (!device->has_script) {
        return tide_device_unmap(device->inner, address, granule_bytes, error);
    }
    tide_event row;
    /* One row covers several granules, so only the last of them completes the row. */
    if (next_row(device, &row) && row.action == TIDE_ACTION_SEGMENT_UNMAP &&
        address + granule_bytes >= row.address + row.block_bytes) {
        device->at++;
    }
    return TIDE_OK;
}

static void replay_close(tide_device *base) {
    tide_replay_device_close((tide_replay_device *)base);
}

static const tide_device_table REPLAY_TABLE = {
    .close = replay_close,
    .alloc = replay_alloc,
    .release = replay_release,
    .memory_info = replay_memory_info,
    .pointer = replay_pointer,
    .copy = replay_copy,
    .set = replay_set,
    .stream_create = replay_stream_create,
    .stream_destroy = replay_stream_destroy,
    .event_create = replay_event_create,
    .event_destroy = replay_event_destroy,
    .event_record = replay_event_record,
    .stream_wait = replay_stream_wait,
    .event_query = replay_event_query,
    .event_synchronize = replay_event_synchronize,
    .event_elapsed = replay_event_elapsed,
    .synchronize = replay_synchronize,
    .map_granule = replay_map_granule,
    .reserve = replay_reserve,
    .unreserve = replay_unreserve,
    .map = replay_map,
    .unmap = replay_unmap,
};

tide_status tide_replay_device_open(const tide_hostmem *mem, int64_t total_bytes, bool has_script,
                                    tide_replay_device **ret_device, tide_error *error) {
    tide_replay_device *device = tide_hostmem_zeroed(mem, 1, sizeof(*device));
    if (device == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the replay's device");
    }
    const tide_device_options options = {.mem = mem};
    tide_status status = tide_device_open("virtual", &options, &device->inner, error);
    if (status != TIDE_OK) {
        mem->release(mem->ctx, device);
        return status;
    }
    device->base = (tide_device){
        .table = &REPLAY_TABLE, .mem = mem, .info = *tide_device_get_info(device->inner)};
    device->base.info.total_bytes = total_bytes;
    device->has_script = has_script;
    device->made_up_address = MADE_UP;
    *ret_device = device;
    return TIDE_OK;
}

void tide_replay_device_close(tide_replay_device *device) {
    if (device == NULL) {
        return;
    }
    const tide_hostmem *mem = device->base.mem;
    mem->release(mem->ctx, device->sold);
    tide_device_close(device->inner);
    mem->release(mem->ctx, device);
}
