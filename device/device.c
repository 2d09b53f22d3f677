/* device.c - opens a device by its name, and passes every call on to the table of its kind. */
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

#include "device/cards.h"
#include "device/device_friend.h"

const char *tide_device_kind_name(tide_device_kind kind) {
    switch (kind) {
    case TIDE_DEVICE_CUDA:
        return "cuda";
    case TIDE_DEVICE_CPU:
        return "cpu";
    case TIDE_DEVICE_VIRTUAL:
        return "virtual";
    default:
        return "unknown";
    }
}

/* The 3 of "cuda:3"; -1 for anything but a short plain number. */
static int ordinal_of(const char *text) {
    size_t n = strlen(text);
    if (n == 0 || n > 3 || strspn(text, "0123456789") != n) {
        return -1;
    }
    return (int)strtol(text, NULL, 10);
}

static tide_status unknown_spec(const char *spec, tide_error *error) {
    return tide_fail(error, TIDE_INVALID,
                     "unknown device \"%s\": use cuda, cuda:N, cpu, virtual or virtual:CARD", spec);
}

tide_status tide_device_open(const char *spec, const tide_device_options *options,
                             tide_device **ret_device, tide_error *error) {
    if (options != NULL && options->spill_bytes != 0 && strncmp(spec, "virtual", 7) != 0) {
        return tide_fail(error, TIDE_INVALID,
                         "the device %.64s: only on a virtual card is it modelled that segments "
                         "lie in the host's memory",
                         spec);
    }
    if (strcmp(spec, "cpu") == 0) {
        return tide_device_cpu_open(options, ret_device, error);
    }
    if (strcmp(spec, "virtual") == 0) {
        return tide_device_virtual_open(NULL, options, ret_device, error);
    }
    if (strncmp(spec, "virtual:", 8) == 0) {
        return tide_device_virtual_open(spec + 8, options, ret_device, error);
    }
    if (strcmp(spec, "cuda") == 0) {
        return tide_device_cuda_open(0, options, ret_device, error);
    }
    if (strncmp(spec, "cuda:", 5) == 0 && ordinal_of(spec + 5) >= 0) {
        return tide_device_cuda_open(ordinal_of(spec + 5), options, ret_device, error);
    }
    return unknown_spec(spec, error);
}

void tide_device_close(tide_device *device) {
    if (device != NULL) {
        device->table->close(device);
    }
}

const tide_device_info *tide_device_get_info(const tide_device *device) {
    return &device->info;
}

tide_status tide_device_alloc(tide_device *device, size_t n_bytes, uint64_t *ret_address,
                              tide_error *error) {
    return device->table->alloc(device, n_bytes, ret_address, error);
}

tide_status tide_device_release(tide_device *device, uint64_t address, tide_error *error) {
    return device->table->release(device, address, error);
}

tide_status tide_device_memory_info(tide_device *device, uint64_t *ret_free_bytes,
                                    uint64_t *ret_total_bytes, tide_error *error) {
    return device->table->memory_info(device, ret_free_bytes, ret_total_bytes, error);
}

void tide_device_get_spill(tide_device *device, tide_device_spill *ret_spill) {
    *ret_spill = (tide_device_spill){.limit_bytes = 0};
    if (device->table->get_spill != NULL) {
        device->table->get_spill(device, ret_spill);
    }
}

void *tide_device_pointer(tide_device *device, uint64_t address) {
    return device->table->pointer(device, address);
}

tide_status tide_device_copy(tide_device *device, void *dst, const void *src, size_t n_bytes,
                             tide_copy_direction direction, tide_stream stream, tide_error *error) {
    tide_device_count_work(device);
    return device->table->copy(device, dst, src, n_bytes, direction, stream, error);
}

tide_status tide_device_set(tide_device *device, void *dst, int byte, size_t n_bytes,
                            tide_stream stream, tide_error *error) {
    tide_device_count_work(device);
    return device->table->set(device, dst, byte, n_bytes, stream, error);
}

tide_status tide_device_stream_create(tide_device *device, tide_stream *ret_stream,
                                      tide_error *error) {
    return device->table->stream_create(device, ret_stream, error);
}

tide_status tide_device_stream_destroy(tide_device *device, tide_stream stream, tide_error *error) {
    return device->table->stream_destroy(device, stream, error);
}

tide_status tide_device_event_create(tide_device *device, tide_device_event **ret_event,
                                     tide_error *error) {
    return device->table->event_create(device, ret_event, error);
}

void tide_device_event_destroy(tide_device *device, tide_device_event *event) {
    if (event != NULL) {
        device->table->event_destroy(device, event);
    }
}

tide_status tide_device_event_record(tide_device *device, tide_device_event *event,
                                     tide_stream stream, tide_error *error) {
    return device->table->event_record(device, event, stream, error);
}

tide_status tide_device_stream_wait(tide_device *device, tide_stream stream,
                                    tide_device_event *event, tide_error *error) {
    return device->table->stream_wait(device, stream, event, error);
}

tide_status tide_device_event_query(tide_device *device, tide_device_event *event,
                                    tide_error *error) {
    return device->table->event_query(device, event, error);
}

tide_status tide_device_event_synchronize(tide_device *device, tide_device_event *event,
                                          tide_error *error) {
    return device->table->event_synchronize(device, event, error);
}

tide_status tide_device_event_elapsed(tide_device *device, const tide_device_event *begin,
                                      const tide_device_event *end, double *ret_ms,
                                      tide_error *error) {
    return device->table->event_elapsed(device, begin, end, ret_ms, error);
}

tide_status tide_device_synchronize(tide_device *device, tide_error *error) {
    return device->table->synchronize(device, error);
}

tide_status tide_device_graph_begin(tide_device *device, tide_stream stream, tide_error *error) {
    if (device->table->graph_begin == NULL) {
        return tide_fail(error, TIDE_UNSUPPORTED, "the device %s has no graphs", device->info.spec);
    }
    return device->table->graph_begin(device, stream, error);
}

tide_status tide_device_graph_end(tide_device *device, tide_stream stream, tide_graph *ret_graph,
                                  tide_error *error) {
    return device->table->graph_end(device, stream, ret_graph, error);
}

tide_status tide_device_graph_launch(tide_device *device, tide_graph graph, tide_stream stream,
                                     tide_error *error) {
    tide_device_count_work(device);
    return device->table->graph_launch(device, graph, stream, error);
}

void tide_device_graph_destroy(tide_device *device, tide_graph graph) {
    if (graph != 0) {
        device->table->graph_destroy(device, graph);
    }
}

tide_status tide_device_profiler_range(tide_device *device, bool begins, tide_error *error) {
    if (device->table->profiler_range == NULL) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "no profiler knows the device %s: profiler ranges need a cuda device",
                         device->info.spec);
    }
    return device->table->profiler_range(device, begins, error);
}

tide_status tide_device_map_granule(tide_device *device, size_t *ret_bytes, tide_error *error) {
    if (device->table->map_granule == NULL) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "the device %s cannot map memory at reserved addresses",
                         device->info.spec);
    }
    return device->table->map_granule(device, ret_bytes, error);
}

tide_status tide_device_reserve(tide_device *device, size_t n_bytes, uint64_t *ret_address,
                                tide_error *error) {
    return device->table->reserve(device, n_bytes, ret_address, error);
}

tide_status tide_device_unreserve(tide_device *device, uint64_t address, size_t n_bytes,
                                  tide_error *error) {
    return device->table->unreserve(device, address, n_bytes, error);
}

tide_status tide_device_map(tide_device *device, uint64_t address, size_t n_bytes,
                            size_t granule_bytes, tide_error *error) {
    return device->table->map(device, address, n_bytes, granule_bytes, error);
}

tide_status tide_device_unmap(tide_device *device, uint64_t address, size_t granule_bytes,
                              tide_error *error) {
    return device->table->unmap(device, address, granule_bytes, error);
}
