/* host_internal.h - shared by the cpu and virtual devices: addresses under a lock, streams that are
 * only numbers, and events that are only timestamps, because every operation has finished when its
 * call returns.
 */
#ifndef TIDE_DEVICE_HOST_INTERNAL_H
#define TIDE_DEVICE_HOST_INTERNAL_H

#include <pthread.h>

#include "device/address_space.h"
#include "device/device_friend.h"
#include "device/spill.h"

typedef struct tide_device_host {
    tide_device base;         /* first, so that a tide_device * is a tide_device_host * */
    pthread_mutex_t lock;     /* guards space, spill and last_stream */
    tide_address_space space; /* live segments; its capacity is that of the card plus the host */
    uint64_t context_bytes;   /* subtracted from the capacity */
    tide_spill spill;         /* virtual: the pieces of segments that are in the host */
    tide_stream last_stream;  /* newest handle made; streams count 1, 2, 3, ... */
    unsigned char *pool;      /* cpu: the host's memory for TIDE_DEVICE_BASE_ADDRESS and up, owned;
                                 virtual: NULL */
} tide_device_host;

/* total_bytes UINT64_MAX: unlimited. Copies `info` and fills in its total_bytes. */
TIDE_NODISCARD tide_status tide_device_host_create(const tide_device_table *table,
                                                   const tide_device_options *options,
                                                   const tide_device_info *info,
                                                   uint64_t total_bytes,
                                                   tide_device_host **ret_host, tide_error *error);
void tide_device_host_destroy(tide_device_host *host);

/* Members of tide_device_table that both use unchanged. */
TIDE_NODISCARD tide_status tide_device_host_memory_info(tide_device *device,
                                                        uint64_t *ret_free_bytes,
                                                        uint64_t *ret_total_bytes,
                                                        tide_error *error);
TIDE_NODISCARD tide_status tide_device_host_stream_create(tide_device *device,
                                                          tide_stream *ret_stream,
                                                          tide_error *error);
TIDE_NODISCARD tide_status tide_device_host_stream_destroy(tide_device *device, tide_stream stream,
                                                           tide_error *error);
TIDE_NODISCARD tide_status tide_device_host_event_create(tide_device *device,
                                                         tide_device_event **ret_event,
                                                         tide_error *error);
void tide_device_host_event_destroy(tide_device *device, tide_device_event *event);
TIDE_NODISCARD tide_status tide_device_host_event_record(tide_device *device,
                                                         tide_device_event *event,
                                                         tide_stream stream, tide_error *error);
TIDE_NODISCARD tide_status tide_device_host_stream_wait(tide_device *device, tide_stream stream,
                                                        tide_device_event *event,
                                                        tide_error *error);
TIDE_NODISCARD tide_status tide_device_host_event_query(tide_device *device,
                                                        tide_device_event *event,
                                                        tide_error *error);
TIDE_NODISCARD tide_status tide_device_host_event_elapsed(tide_device *device,
                                                          const tide_device_event *begin,
                                                          const tide_device_event *end,
                                                          double *ret_ms, tide_error *error);
TIDE_NODISCARD tide_status tide_device_host_map_granule(tide_device *device, size_t *ret_bytes,
                                                        tide_error *error);
TIDE_NODISCARD tide_status tide_device_host_reserve(tide_device *device, size_t n_bytes,
                                                    uint64_t *ret_address, tide_error *error);
TIDE_NODISCARD tide_status tide_device_host_unreserve(tide_device *device, uint64_t address,
                                                      size_t n_bytes, tide_error *error);
TIDE_NODISCARD tide_status tide_device_host_synchronize(tide_device *device, tide_error *error);

/* These members in the table of a device. Events are always reached, so waiting for one is the same
 * as querying it. */
#define TIDE_DEVICE_HOST_MEMBERS                                                                   \
    .memory_info = tide_device_host_memory_info, .stream_create = tide_device_host_stream_create,  \
    .stream_destroy = tide_device_host_stream_destroy,                                             \
    .event_create = tide_device_host_event_create,                                                 \
    .event_destroy = tide_device_host_event_destroy,                                               \
    .event_record = tide_device_host_event_record, .stream_wait = tide_device_host_stream_wait,    \
    .event_query = tide_device_host_event_query,                                                   \
    .event_synchronize = tide_device_host_event_query,                                             \
    .event_elapsed = tide_device_host_event_elapsed, .synchronize = tide_device_host_synchronize,  \
    .map_granule = tide_device_host_map_granule, .reserve = tide_device_host_reserve,              \
    .unreserve = tide_device_host_unreserve

#endif
