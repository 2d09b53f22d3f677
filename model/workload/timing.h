/* timing.h - the time of any function with its context on a device.
 *
 *   const tide_timing_subject subject = {.call = multiply, .ctx = &matrices};
 *   tide_timing_config config = {.device = device, .n_warmup = 5, .n_samples = 15, .n_calls = 1};
 *   tide_timing timing;
 *   TIDE_TRY(tide_timing_measure(mem, &config, &subject, &timing, error));
 *   tide_statistics ms = tide_statistics_of(timing.device_ms, timing.n_samples);
 *   tide_timing_fini(&timing);
 *
 * A sample is the time of n_calls calls, back to back, divided by their number: "the best of R
 * repeats of N runs, divided by N" is ms.min with n_samples R and n_calls N. It begins when the
 * device has nothing else to do and ends when it has done all of it.
 *
 * There are two clocks. device_ms is the time between two device events; host_ms, by the host's
 * monotonic clock, also includes the submission and the wait at the end. On a device with its own
 * clock (cuda) the host does not wait for a flush: the device is busy with the flush while the host
 * submits the events and the call, so device_ms excludes the launch latency. The host's clock would
 * then include the flush, so host_ms is -1. */
#ifndef TIDE_MODEL_WORKLOAD_TIMING_H
#define TIDE_MODEL_WORKLOAD_TIMING_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/cache.h"
#include "common/hostmem.h"
#include "common/status.h"
#include "device/device.h"
#include "model/ops.h"
#include "model/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_TIMING_MAX_SAMPLES = 1000000, TIDE_TIMING_MAX_CALLS = 1000000 };

/* A function and its context. */
typedef tide_status (*tide_timing_call)(void *ctx, tide_error *error);

typedef struct tide_timing_subject {
    tide_timing_call prepare; /* before each sample and each call of the warm-up; not timed; NULL:
                                 nothing */
    tide_timing_call call;    /* the timed function */
    void *ctx;                /* passed to both; owned by the caller */
} tide_timing_subject;

typedef struct tide_timing_config {
    tide_device *device;    /* borrowed; must compute */
    tide_stream stream;     /* the stream of the subject */
    size_t n_warmup;        /* calls before the first sample; may be 0 */
    size_t n_samples;       /* 1 .. TIDE_TIMING_MAX_SAMPLES */
    size_t n_calls;         /* in a sample; 1 .. TIDE_TIMING_MAX_CALLS */
    tide_timing_call flush; /* called after `prepare` and before each sample, not timed: evicts the
                               caches; NULL: they stay warm */
    void *flush_ctx;        /* passed to flush; owned by the caller */
    /* The host's clock in ns; NULL: tide_clock_now_ns. */
    int64_t (*now_ns)(void *ctx);
    void *now_ctx; /* passed to now_ns; owned by the caller */
} tide_timing_config;

/* Samples in ms of one call; -1: not measured. */
typedef struct tide_timing {
    const tide_hostmem *mem; /* borrowed; the heap of the samples */
    size_t n_samples;        /* as configured, like the next */
    size_t n_calls;          /* in each of them */
    double *host_ms;         /* owned; n_samples */
    double *device_ms;       /* owned; n_samples */
} tide_timing;

/* TIDE_INVALID for a number out of its range. TIDE_UNSUPPORTED on a device that does not compute,
 * which has no times. Otherwise the status of the subject or of the device. `ret_timing` is written
 * only on TIDE_OK; the caller calls fini. */
TIDE_NODISCARD tide_status tide_timing_measure(const tide_hostmem *mem,
                                               const tide_timing_config *config,
                                               const tide_timing_subject *subject,
                                               tide_timing *ret_timing, tide_error *error);
void tide_timing_fini(tide_timing *timing);

/* timing_flush.c. A buffer that is written before a sample, twice the size of the device's last
 * cache: it evicts the sample's data from every cache. */
typedef struct tide_timing_flush {
    tide_cache *cache; /* borrowed; outlives the flush */
    tide_ops *ops; /* borrowed; outlives the flush; all their threads write, so every core's cache
                      is evicted */
    tide_tensor buffer; /* owned */
    double value;       /* written last */
} tide_timing_flush;

/* The buffer's size for a cache of cache_bytes; -1 (unknown) counts as TIDE_TIMING_CACHE_BYTES. */
enum { TIDE_TIMING_CACHE_BYTES = 128 << 20 };
size_t tide_timing_flush_bytes(int64_t cache_bytes);

TIDE_NODISCARD tide_status tide_timing_flush_init(tide_timing_flush *flush, tide_cache *cache,
                                                  tide_ops *ops, tide_error *error);
void tide_timing_flush_fini(tide_timing_flush *flush);
/* For tide_timing_config; `ctx` is the tide_timing_flush. */
TIDE_NODISCARD tide_status tide_timing_flush_call(void *ctx, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
