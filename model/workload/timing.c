#include "model/workload/timing.h"

#include "common/clock.h"

/* The state of one measurement. */
typedef struct measurement {
    const tide_timing_config *config;   /* as given */
    const tide_timing_subject *subject; /* as given */
    tide_device_event *begin, *end;     /* owned; around the calls of a sample */
    bool waits;                         /* for the device, between the flush and the sample */
} measurement;

static int64_t now_ns(const tide_timing_config *config) {
    return config->now_ns != NULL ? config->now_ns(config->now_ctx) : tide_clock_now_ns();
}

static tide_status check(const tide_timing_config *config, tide_error *error) {
    if (config->n_samples == 0 || config->n_samples > TIDE_TIMING_MAX_SAMPLES ||
        config->n_calls == 0 || config->n_calls > TIDE_TIMING_MAX_CALLS) {
        return tide_fail(error, TIDE_INVALID,
                         "%zu samples of %zu calls: 1 to %d of each can be measured",
                         config->n_samples, config->n_calls, (int)TIDE_TIMING_MAX_SAMPLES);
    }
    if (!tide_device_get_info(config->device)->computes) {
        return tide_fail(error, TIDE_UNSUPPORTED,
                         "the device %s computes nothing, so it has no times: use cpu or cuda",
                         tide_device_get_info(config->device)->spec);
    }
    return TIDE_OK;
}

static tide_status prepare(const measurement *on, tide_error *error) {
    return on->subject->prepare != NULL ? on->subject->prepare(on->subject->ctx, error) : TIDE_OK;
}

static tide_status warm_up(const measurement *on, tide_error *error) {
    for (size_t i = 0; i < on->config->n_warmup; i++) {
        TIDE_TRY(prepare(on, error));
        TIDE_TRY(on->subject->call(on->subject->ctx, error));
    }
    return tide_device_synchronize(on->config->device, error);
}

/* All calls of a sample, between its events. */
static tide_status run_calls(const measurement *on, tide_error *error) {
    const tide_timing_config *config = on->config;
    TIDE_TRY(tide_device_event_record(config->device, on->begin, config->stream, error));
    for (size_t i = 0; i < config->n_calls; i++) {
        TIDE_TRY(on->subject->call(on->subject->ctx, error));
    }
    return tide_device_event_record(config->device, on->end, config->stream, error);
}

static tide_status take_sample(const measurement *on, double *ret_host_ms, double *ret_device_ms,
                               tide_error *error) {
    const tide_timing_config *config = on->config;
    double n_calls = (double)config->n_calls;
    double device_ms = 0.0;
    /* The order matters: prepare may use the caches, the flush empties them, and the sample begins
     * with cold ones. */
    TIDE_TRY(prepare(on, error));
    /* Without `waits` the flush is the only work before the sample, so its queueing is not timed.
     */
    if (!on->waits) {
        TIDE_TRY(tide_device_synchronize(config->device, error));
    }
    if (config->flush != NULL) {
        TIDE_TRY(config->flush(config->flush_ctx, error));
    }
    if (on->waits) {
        TIDE_TRY(tide_device_synchronize(config->device, error));
    }
    /* Both clocks time the same calls. host_ms is valid only if the device is idle here (`waits`);
     * otherwise it would include the flush. */
    int64_t begin_ns = now_ns(config);
    TIDE_TRY(run_calls(on, error));
    TIDE_TRY(tide_device_synchronize(config->device, error));
    int64_t end_ns = now_ns(config);
    TIDE_TRY(tide_device_event_elapsed(config->device, on->begin, on->end, &device_ms, error));
    *ret_host_ms = on->waits ? (double)(end_ns - begin_ns) * 1e-6 / n_calls : -1.0;
    *ret_device_ms = device_ms < 0.0 ? -1.0 : device_ms / n_calls;
    return TIDE_OK;
}

static tide_status measure(const measurement *on, tide_timing *timing, tide_error *error) {
    TIDE_TRY(warm_up(on, error));
    for (size_t i = 0; i < timing->n_samples; i++) {
        TIDE_TRY(take_sample(on, &timing->host_ms[i], &timing->device_ms[i], error));
    }
    return TIDE_OK;
}

tide_status tide_timing_measure(const tide_hostmem *mem, const tide_timing_config *config,
                                const tide_timing_subject *subject, tide_timing *ret_timing,
                                tide_error *error) {
    TIDE_TRY(check(config, error));
    bool has_clock = tide_device_get_info(config->device)->kind == TIDE_DEVICE_CUDA;
    measurement on = {
        .config = config, .subject = subject, .waits = config->flush == NULL || !has_clock};
    tide_timing timing = {.mem = mem, .n_samples = config->n_samples, .n_calls = config->n_calls};
    tide_status status = TIDE_NO_MEMORY;
    timing.host_ms = tide_hostmem_zeroed(mem, config->n_samples, sizeof(double));
    timing.device_ms = tide_hostmem_zeroed(mem, config->n_samples, sizeof(double));
    if (timing.host_ms == NULL || timing.device_ms == NULL) {
        status = tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for %zu samples",
                           config->n_samples);
        goto fail_samples;
    }
    status = tide_device_event_create(config->device, &on.begin, error);
    if (status != TIDE_OK) {
        goto fail_samples;
    }
    status = tide_device_event_create(config->device, &on.end, error);
    if (status != TIDE_OK) {
        goto fail_begin;
    }
    status = measure(&on, &timing, error);
    tide_device_event_destroy(config->device, on.end);
    if (status != TIDE_OK) {
        goto fail_begin;
    }
    tide_device_event_destroy(config->device, on.begin);
    *ret_timing = timing;
    return TIDE_OK;

fail_begin:
    tide_device_event_destroy(config->device, on.begin);
fail_samples:
    tide_timing_fini(&timing);
    return status;
}

void tide_timing_fini(tide_timing *timing) {
    if (timing->mem != NULL) {
        timing->mem->release(timing->mem->ctx, timing->host_ms);
        timing->mem->release(timing->mem->ctx, timing->device_ms);
    }
    *timing = (tide_timing){.mem = NULL};
}
