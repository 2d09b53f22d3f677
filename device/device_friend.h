/* device_friend.h - the table of functions that a device implements. Implementations embed `struct
 * tide_device` as their first member; tests add decorators the same way.
 */
#ifndef TIDE_DEVICE_DEVICE_FRIEND_H
#define TIDE_DEVICE_DEVICE_FRIEND_H

#include <stdatomic.h>

#include "device/device.h"

/* The contracts are those of device.h. Only members that define the meaning of NULL may be NULL. */
typedef struct tide_device_table {
    void (*close)(tide_device *device);
    tide_status (*alloc)(tide_device *device, size_t n_bytes, uint64_t *ret_address,
                         tide_error *error);
    tide_status (*release)(tide_device *device, uint64_t address, tide_error *error);
    tide_status (*memory_info)(tide_device *device, uint64_t *ret_free_bytes,
                               uint64_t *ret_total_bytes, tide_error *error);
    /* NULL: no memory ever spills to the host. */
    void (*get_spill)(tide_device *device, tide_device_spill *ret_spill);
    void *(*pointer)(tide_device *device, uint64_t address);
    tide_status (*copy)(tide_device *device, void *dst, const void *src, size_t n_bytes,
                        tide_copy_direction direction, tide_stream stream, tide_error *error);
    tide_status (*set)(tide_device *device, void *dst, int byte, size_t n_bytes, tide_stream stream,
                       tide_error *error);
    tide_status (*stream_create)(tide_device *device, tide_stream *ret_stream, tide_error *error);
    tide_status (*stream_destroy)(tide_device *device, tide_stream stream, tide_error *error);
    tide_status (*event_create)(tide_device *device, tide_device_event **ret_event,
                                tide_error *error);
    void (*event_destroy)(tide_device *device, tide_device_event *event);
    tide_status (*event_record)(tide_device *device, tide_device_event *event, tide_stream stream,
                                tide_error *error);
    tide_status (*stream_wait)(tide_device *device, tide_stream stream, tide_device_event *event,
                               tide_error *error);
    tide_status (*event_query)(tide_device *device, tide_device_event *event, tide_error *error);
    tide_status (*event_synchronize)(tide_device *device, tide_device_event *event,
                                     tide_error *error);
    tide_status (*event_elapsed)(tide_device *device, const tide_device_event *begin,
                                 const tide_device_event *end, double *ret_ms, tide_error *error);
    tide_status (*synchronize)(tide_device *device, tide_error *error);
    /* NULL: no profiler records this device. */
    tide_status (*profiler_range)(tide_device *device, bool begins, tide_error *error);
    /* Graphs: all four, or all NULL if the device has none. */
    tide_status (*graph_begin)(tide_device *device, tide_stream stream, tide_error *error);
    tide_status (*graph_end)(tide_device *device, tide_stream stream, tide_graph *ret_graph,
                             tide_error *error);
    tide_status (*graph_launch)(tide_device *device, tide_graph graph, tide_stream stream,
                                tide_error *error);
    void (*graph_destroy)(tide_device *device, tide_graph graph);
    /* Reserved addresses and memory mapped to them: all five, or all NULL if the device cannot do
     * this. */
    tide_status (*map_granule)(tide_device *device, size_t *ret_bytes, tide_error *error);
    tide_status (*reserve)(tide_device *device, size_t n_bytes, uint64_t *ret_address,
                           tide_error *error);
    tide_status (*unreserve)(tide_device *device, uint64_t address, size_t n_bytes,
                             tide_error *error);
    tide_status (*map)(tide_device *device, uint64_t address, size_t n_bytes, size_t granule_bytes,
                       tide_error *error);
    tide_status (*unmap)(tide_device *device, uint64_t address, size_t granule_bytes,
                         tide_error *error);
} tide_device_table;

struct tide_device {
    const tide_device_table *table; /* static */
    const tide_hostmem *mem;        /* borrowed; outlives the device */
    tide_device_info info;
    /* Number of calls that submitted work to the device. Copies and sets are counted here;
     * operators that launch kernels count each of them and set counts_work. */
    atomic_uint_fast64_t n_submitted;
    bool counts_work; /* the operators count their launches; false: the number means nothing */
};

/* Counts one call that submits work to the device. Any thread. */
static inline void tide_device_count_work(tide_device *device) {
    (void)atomic_fetch_add_explicit(&device->n_submitted, 1, memory_order_relaxed);
}

TIDE_NODISCARD tide_status tide_device_cpu_open(const tide_device_options *options,
                                                tide_device **ret_device, tide_error *error);
/* `card` NULL: no card. */
TIDE_NODISCARD tide_status tide_device_virtual_open(const char *card,
                                                    const tide_device_options *options,
                                                    tide_device **ret_device, tide_error *error);
/* TIDE_DEVICE_ABSENT, with the reason, without a driver, a device or CUDA in this build. */
TIDE_NODISCARD tide_status tide_device_cuda_open(int ordinal, const tide_device_options *options,
                                                 tide_device **ret_device, tide_error *error);

#endif
