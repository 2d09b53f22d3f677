/* device.h - where memory and compute come from, as a table of functions.
 *
 * Kinds: "cuda:N" (a GPU), "cpu" (host memory from a pool with a capacity), "virtual" (addresses
 * only: no memory, no compute, deterministic) and "virtual:CARD" (the same with the capacity and
 * library workspace of a card in cards.h). cpu and virtual assign segment addresses by one rule:
 * the lowest address that fits, from TIDE_DEVICE_BASE_ADDRESS up, in granules of 2 MiB.
 *
 * Errors are values: TIDE_DEVICE_OOM is a normal answer and leaves the device usable,
 * TIDE_DEVICE_LOST is sticky. All functions may be called from any thread; the cache calls alloc
 * and release under its own lock.
 */
#ifndef TIDE_DEVICE_DEVICE_H
#define TIDE_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_DEVICE_BASE_ADDRESS                                                                   \
    UINT64_C(0x700000000000) /* first segment address of cpu and virtual */
#define TIDE_DEVICE_GRANULE                                                                        \
    ((size_t)2 << 20) /* their segments start and end on multiples of this */

typedef struct tide_device tide_device;
typedef struct tide_device_event tide_device_event; /* owned by its creator */
typedef uint64_t tide_stream; /* a native stream handle; 0 is the default stream */
typedef uint64_t tide_graph;  /* a native handle of an instantiated graph; 0: none */

typedef enum tide_device_kind {
    TIDE_DEVICE_CUDA = 0,
    TIDE_DEVICE_CPU,
    TIDE_DEVICE_VIRTUAL
} tide_device_kind;

/* "cuda", "cpu", "virtual", as in snapshots. */
const char *tide_device_kind_name(tide_device_kind kind);

typedef enum tide_copy_direction {
    TIDE_COPY_TO_DEVICE = 0,
    TIDE_COPY_TO_HOST,
    TIDE_COPY_ON_DEVICE
} tide_copy_direction;

typedef struct tide_device_info {
    tide_device_kind kind;  /* cuda, cpu or virtual */
    char spec[64];          /* the name that opens it again: "cpu", "virtual:h100-80" */
    char name[128];         /* for people: "NVIDIA H100 80GB HBM3", "cpu" */
    int64_t total_bytes;    /* capacity; -1: unlimited */
    int64_t context_bytes;  /* size of context and libraries before the first allocation; -1: not
                               measured */
    size_t workspace_bytes; /* workspace that the GEMM library gets from the cache; 0: none */
    int compute_capability; /* 90 for 9.0; -1: none */
    int driver_version;     /* as the driver reports it; -1: none */
    int runtime_version;    /* as the runtime reports it; -1: none */
    int sm_clock_khz;       /* highest, of the multiprocessors; -1: unknown */
    int memory_clock_khz;   /* highest, of the memory; -1: unknown */
    int memory_bus_bits;    /* width of the bus to it; -1: unknown */
    int64_t cache_bytes;    /* of the last cache before its memory; -1: unknown */
    bool computes;          /* false: operators return immediately and have no duration */
} tide_device_info;

typedef struct tide_device_options {
    const tide_hostmem *mem; /* NULL: tide_hostmem_default(); borrowed, outlives the device */
    uint64_t capacity_bytes; /* cpu, virtual: capacity; 0: the card's, the host's free memory, or
                                unlimited */
    uint64_t spill_bytes;    /* virtual with a capacity: further bytes, in the host's memory once
                                the card is full (like the Windows driver); 0: none. TIDE_INVALID on
                                any other device */
} tide_device_options;

/* Device memory that is in the host because the card was full. */
typedef struct tide_device_spill {
    uint64_t limit_bytes; /* from the options; 0: no memory may spill, and the other figures are
                             0 */
    uint64_t now_bytes, peak_bytes;
    uint64_t n_pieces; /* segments, and mapped granules, that were ever placed in the host */
} tide_device_spill;

/* Opens "cpu", "virtual", "virtual:CARD", "cuda" or "cuda:N". TIDE_DEVICE_ABSENT if the machine
 * lacks it (the message gives the reason and the remedy), TIDE_INVALID for an unknown spec (the
 * message lists the valid ones). `options` may be NULL. The caller destroys the device, after every
 * cache on it. */
TIDE_NODISCARD tide_status tide_device_open(const char *spec, const tide_device_options *options,
                                            tide_device **ret_device, tide_error *error);
void tide_device_close(tide_device *device);

/* Valid until the device is closed. */
const tide_device_info *tide_device_get_info(const tide_device *device);

/* A segment of n_bytes > 0. TIDE_DEVICE_OOM when there is no room; `ret_address` is then untouched.
 */
TIDE_NODISCARD tide_status tide_device_alloc(tide_device *device, size_t n_bytes,
                                             uint64_t *ret_address, tide_error *error);
/* TIDE_INVALID for an address that is not a live segment. */
TIDE_NODISCARD tide_status tide_device_release(tide_device *device, uint64_t address,
                                               tide_error *error);

/* Virtual memory management: reserve addresses first, then map memory to parts of them, and unmap
 * it, granule by granule. Mapped memory is used like a segment.
 *
 * The smallest granule, a power of two; granules are multiples of it. TIDE_UNSUPPORTED, with the
 * reason, on a device that cannot do this. */
TIDE_NODISCARD tide_status tide_device_map_granule(tide_device *device, size_t *ret_bytes,
                                                   tide_error *error);
/* Reserves n_bytes > 0 of addresses without memory, a multiple of the smallest granule.
 * TIDE_DEVICE_OOM when the addresses are exhausted. */
TIDE_NODISCARD tide_status tide_device_reserve(tide_device *device, size_t n_bytes,
                                               uint64_t *ret_address, tide_error *error);
/* Releases a whole reserved range with no memory mapped; TIDE_INVALID for anything else. */
TIDE_NODISCARD tide_status tide_device_unreserve(tide_device *device, uint64_t address,
                                                 size_t n_bytes, tide_error *error);
/* Maps memory to n_bytes > 0 of a reserved range, in granules of granule_bytes: all of it or
 * nothing. TIDE_DEVICE_OOM when there is not enough memory. */
TIDE_NODISCARD tide_status tide_device_map(tide_device *device, uint64_t address, size_t n_bytes,
                                           size_t granule_bytes, tide_error *error);
/* Unmaps the memory of one granule immediately: work that uses it must be done. */
TIDE_NODISCARD tide_status tide_device_unmap(tide_device *device, uint64_t address,
                                             size_t granule_bytes, tide_error *error);

/* Free and total bytes as the device sees them now; UINT64_MAX both when unlimited. */
TIDE_NODISCARD tide_status tide_device_memory_info(tide_device *device, uint64_t *ret_free_bytes,
                                                   uint64_t *ret_total_bytes, tide_error *error);

/* A segment, or a mapped granule, is in the host as a whole, and stays there until it is released,
 * even if the card gets room meanwhile. tide_device_memory_info counts only the card. */
void tide_device_get_spill(tide_device *device, tide_device_spill *ret_spill);

/* The pointer with which code reaches the byte at `address`: a host pointer on cpu, the address
 * itself on cuda, and also on virtual, where it must never be dereferenced. Valid as long as the
 * segment. */
void *tide_device_pointer(tide_device *device, uint64_t address);

/* Copies in the order of `stream`. Unless the direction is TIDE_COPY_ON_DEVICE, one of dst and src
 * is a host pointer, whose bytes may be read or written at any time until the caller has waited for
 * the stream. On virtual, a copy to the host writes zeros and other copies do nothing. */
TIDE_NODISCARD tide_status tide_device_copy(tide_device *device, void *dst, const void *src,
                                            size_t n_bytes, tide_copy_direction direction,
                                            tide_stream stream, tide_error *error);
TIDE_NODISCARD tide_status tide_device_set(tide_device *device, void *dst, int byte, size_t n_bytes,
                                           tide_stream stream, tide_error *error);

TIDE_NODISCARD tide_status tide_device_stream_create(tide_device *device, tide_stream *ret_stream,
                                                     tide_error *error);
TIDE_NODISCARD tide_status tide_device_stream_destroy(tide_device *device, tide_stream stream,
                                                      tide_error *error);

TIDE_NODISCARD tide_status tide_device_event_create(tide_device *device,
                                                    tide_device_event **ret_event,
                                                    tide_error *error);
void tide_device_event_destroy(tide_device *device, tide_device_event *event);
TIDE_NODISCARD tide_status tide_device_event_record(tide_device *device, tide_device_event *event,
                                                    tide_stream stream, tide_error *error);
/* Makes later work of `stream` wait for the event, as it was last recorded before this call. The
 * host does not wait. An event that was never recorded counts as reached. */
TIDE_NODISCARD tide_status tide_device_stream_wait(tide_device *device, tide_stream stream,
                                                   tide_device_event *event, tide_error *error);
/* TIDE_OK: reached. TIDE_NOT_READY: not yet. */
TIDE_NODISCARD tide_status tide_device_event_query(tide_device *device, tide_device_event *event,
                                                   tide_error *error);
/* Waits until the event is reached, but not for work after it. An event that was never recorded
 * counts as reached. */
TIDE_NODISCARD tide_status tide_device_event_synchronize(tide_device *device,
                                                         tide_device_event *event,
                                                         tide_error *error);
/* Milliseconds between two reached events; -1 on a device that does not compute. */
TIDE_NODISCARD tide_status tide_device_event_elapsed(tide_device *device,
                                                     const tide_device_event *begin,
                                                     const tide_device_event *end, double *ret_ms,
                                                     tide_error *error);
TIDE_NODISCARD tide_status tide_device_synchronize(tide_device *device, tide_error *error);

/* Graphs: work submitted to `stream`, which must be a created one, between begin and end is kept
 * instead of executed, and each launch executes all of it. Meanwhile nothing may wait for the
 * stream or for the device; segments may be allocated. TIDE_UNSUPPORTED on a device without graphs.
 * After a successful begin, call end. If end fails, as it does after a call that was not allowed,
 * no graph exists and the stream is as before. The caller destroys the graph before the stream; a
 * launch that still runs then completes. */
TIDE_NODISCARD tide_status tide_device_graph_begin(tide_device *device, tide_stream stream,
                                                   tide_error *error);
TIDE_NODISCARD tide_status tide_device_graph_end(tide_device *device, tide_stream stream,
                                                 tide_graph *ret_graph, tide_error *error);
TIDE_NODISCARD tide_status tide_device_graph_launch(tide_device *device, tide_graph graph,
                                                    tide_stream stream, tide_error *error);
void tide_device_graph_destroy(tide_device *device, tide_graph graph); /* 0: does nothing */

/* Begins or ends the range that a profiler records if it waits for one, such as nsys profile
 * --capture-range=cudaProfilerApi. Does nothing without a profiler. TIDE_UNSUPPORTED on a device
 * that no profiler records. */
TIDE_NODISCARD tide_status tide_device_profiler_range(tide_device *device, bool begins,
                                                      tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
