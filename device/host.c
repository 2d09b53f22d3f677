/* host.c - the members of the table that the cpu and virtual devices share. */
#include "device/host_internal.h"

#include "common/clock.h"

struct tide_device_event {
    int64_t time_ns; /* when it was recorded; -1: never */
};

tide_status tide_device_host_create(const tide_device_table *table,
                                    const tide_device_options *options,
                                    const tide_device_info *info, uint64_t total_bytes,
                                    tide_device_host **ret_host, tide_error *error) {
    const tide_hostmem *mem =
        options != NULL && options->mem != NULL ? options->mem : tide_hostmem_default();
    uint64_t context_bytes = info->context_bytes > 0 ? (uint64_t)info->context_bytes : 0;
    if (total_bytes <= context_bytes) {
        return tide_fail(error, TIDE_INVALID,
                         "a capacity of %llu bytes leaves nothing beside the %llu bytes of context "
                         "and libraries: ask for more",
                         (unsigned long long)total_bytes, (unsigned long long)context_bytes);
    }
    if (total_bytes != UINT64_MAX &&
        (total_bytes > INT64_MAX ||
         (options != NULL && options->spill_bytes > INT64_MAX - total_bytes))) {
        return tide_fail(error, TIDE_LIMIT, "a capacity of %llu bytes is beyond 2^63 - 1",
                         (unsigned long long)total_bytes);
    }
    tide_device_host *host = tide_hostmem_zeroed(mem, 1, sizeof(*host));
    if (host == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the device %s", info->spec);
    }
    uint64_t spill_bytes = options != NULL ? options->spill_bytes : 0;
    uint64_t card_bytes = total_bytes == UINT64_MAX ? UINT64_MAX : total_bytes - context_bytes;
    host->base = (tide_device){.table = table, .mem = mem, .info = *info};
    host->base.info.total_bytes = total_bytes == UINT64_MAX ? -1 : (int64_t)total_bytes;
    host->context_bytes = total_bytes == UINT64_MAX ? 0 : context_bytes;
    tide_spill_init(&host->spill, mem, card_bytes, spill_bytes);
    tide_address_space_init(&host->space, mem,
                            card_bytes == UINT64_MAX ? UINT64_MAX : card_bytes + spill_bytes);
    if (pthread_mutex_init(&host->lock, NULL) != 0) {
        mem->release(mem->ctx, host);
        return tide_fail(error, TIDE_NO_MEMORY, "no lock for the device %s", info->spec);
    }
    *ret_host = host;
    return TIDE_OK;
}

void tide_device_host_destroy(tide_device_host *host) {
    const tide_hostmem *mem = host->base.mem;
    pthread_mutex_destroy(&host->lock);
    tide_address_space_fini(&host->space);
    tide_spill_fini(&host->spill);
    mem->release(mem->ctx, host);
}

tide_status tide_device_host_memory_info(tide_device *device, uint64_t *ret_free_bytes,
                                         uint64_t *ret_total_bytes, tide_error *error) {
    (void)error;
    tide_device_host *host = (tide_device_host *)device;
    pthread_mutex_lock(&host->lock);
    *ret_free_bytes = host->spill.now.limit_bytes > 0
                          ? host->spill.card_bytes - host->spill.card_used_bytes
                          : tide_address_space_free_bytes(&host->space);
    pthread_mutex_unlock(&host->lock);
    *ret_total_bytes =
        device->info.total_bytes < 0 ? UINT64_MAX : (uint64_t)device->info.total_bytes;
    return TIDE_OK;
}

tide_status tide_device_host_stream_create(tide_device *device, tide_stream *ret_stream,
                                           tide_error *error) {
    (void)error;
    tide_device_host *host = (tide_device_host *)device;
    pthread_mutex_lock(&host->lock);
    *ret_stream = ++host->last_stream;
    pthread_mutex_unlock(&host->lock);
    return TIDE_OK;
}

tide_status tide_device_host_stream_destroy(tide_device *device, tide_stream stream,
                                            tide_error *error) {
    tide_device_host *host = (tide_device_host *)device;
    pthread_mutex_lock(&host->lock);
    tide_stream last_stream = host->last_stream;
    pthread_mutex_unlock(&host->lock);
    if (stream == 0 || stream > last_stream) {
        return tide_fail(error, TIDE_INVALID, "stream %llu was not created on the device %s",
                         (unsigned long long)stream, device->info.spec);
    }
    return TIDE_OK;
}

tide_status tide_device_host_event_create(tide_device *device, tide_device_event **ret_event,
                                          tide_error *error) {
    tide_device_event *event = device->mem->alloc(device->mem->ctx, sizeof(*event));
    if (event == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for an event");
    }
    event->time_ns = -1;
    *ret_event = event;
    return TIDE_OK;
}

void tide_device_host_event_destroy(tide_device *device, tide_device_event *event) {
    device->mem->release(device->mem->ctx, event);
}

tide_status tide_device_host_event_record(tide_device *device, tide_device_event *event,
                                          tide_stream stream, tide_error *error) {
    (void)device;
    (void)stream;
    (void)error;
    event->time_ns = tide_clock_now_ns();
    return TIDE_OK;
}

/* All work is done when the call that submits it returns, so every recorded event is reached. */
tide_status tide_device_host_stream_wait(tide_device *device, tide_stream stream,
                                         tide_device_event *event, tide_error *error) {
    (void)device;
    (void)stream;
    (void)event;
    (void)error;
    return TIDE_OK;
}

tide_status tide_device_host_event_query(tide_device *device, tide_device_event *event,
                                         tide_error *error) {
    (void)device;
    (void)event;
    (void)error;
    return TIDE_OK;
}

tide_status tide_device_host_event_elapsed(tide_device *device, const tide_device_event *begin,
                                           const tide_device_event *end, double *ret_ms,
                                           tide_error *error) {
    if (begin->time_ns < 0 || end->time_ns < 0) {
        return tide_fail(error, TIDE_INVALID, "the time between events that were never recorded");
    }
    *ret_ms = device->info.computes ? (double)(end->time_ns - begin->time_ns) * 1e-6 : -1.0;
    return TIDE_OK;
}

tide_status tide_device_host_map_granule(tide_device *device, size_t *ret_bytes,
                                         tide_error *error) {
    (void)device;
    (void)error;
    *ret_bytes = TIDE_DEVICE_GRANULE;
    return TIDE_OK;
}

tide_status tide_device_host_reserve(tide_device *device, size_t n_bytes, uint64_t *ret_address,
                                     tide_error *error) {
    tide_device_host *host = (tide_device_host *)device;
    pthread_mutex_lock(&host->lock);
    tide_status status = tide_address_space_reserve(&host->space, n_bytes, ret_address, error);
    pthread_mutex_unlock(&host->lock);
    return status;
}

tide_status tide_device_host_unreserve(tide_device *device, uint64_t address, size_t n_bytes,
                                       tide_error *error) {
    (void)n_bytes; /* the space knows the length */
    tide_device_host *host = (tide_device_host *)device;
    pthread_mutex_lock(&host->lock);
    tide_status status = tide_address_space_unreserve(&host->space, address, error);
    pthread_mutex_unlock(&host->lock);
    return status;
}

tide_status tide_device_host_synchronize(tide_device *device, tide_error *error) {
    (void)device;
    (void)error;
    return TIDE_OK;
}
