#include "model/workload/workload_internal.h"

#include <math.h>

#include "common/clock.h"

void tide_workload_config_init(tide_workload_config *config) {
    tide_transformer_config defaults;
    tide_transformer_config_init(&defaults);
    *config = (tide_workload_config){
        .model = defaults.model,
        .mode = TIDE_TRAIN,
        .precision = TIDE_PRECISION_FP32,
        .attention = TIDE_ATTENTION_FLASH,
        .recompute = TIDE_RECOMPUTE_NONE,
        .warmup_steps = 5,
        .steps = 10,
        .adamw = defaults.adamw,
    };
}

/* Scope indices are 32 bits wide; and more steps than this are certainly a mistake. */
static const size_t MAX_STEPS = 1000000000;

static tide_status check_config(const tide_workload_config *config, const tide_recorder *recorder,
                                tide_error *error) {
    if (config->steps == 0) {
        return tide_fail(error, TIDE_INVALID, "0 measured steps: at least 1 is needed");
    }
    if (config->steps > MAX_STEPS || config->warmup_steps > MAX_STEPS) {
        return tide_fail(error, TIDE_LIMIT, "more than %zu steps", MAX_STEPS);
    }
    if (config->trace_kernels && recorder == NULL) {
        return tide_fail(error, TIDE_INVALID, "kernels are traced only in a recorded run");
    }
    if (config->emulate == TIDE_EMULATE_PYTORCH && config->clip_grad_norm > 0) {
        return tide_fail(error, TIDE_INVALID,
                         "PyTorch's training loop does not clip: leave out the norm to clip at");
    }
    if (config->architecture == TIDE_DECODE && config->mode != TIDE_FORWARD) {
        return tide_fail(error, TIDE_INVALID,
                         "a language model that decodes has mode forward only, not %s",
                         tide_mode_name((int)config->mode));
    }
    if (config->model.no_head && config->mode != TIDE_FORWARD) {
        return tide_fail(error, TIDE_INVALID,
                         "a model without its head has no logits and so no loss: it has mode "
                         "forward only, not %s",
                         tide_mode_name((int)config->mode));
    }
    if (config->keep_graph && config->mode != TIDE_FORWARD) {
        return tide_fail(error, TIDE_INVALID,
                         "keep_graph goes with mode forward only: mode %s keeps what backward "
                         "needs by itself",
                         tide_mode_name((int)config->mode));
    }
    return TIDE_OK;
}

static tide_status create_timers(tide_workload *workload, tide_error *error) {
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        tide_interval *timer = &workload->timers[i];
        TIDE_TRY(tide_device_event_create(workload->device, &timer->begin, error));
        TIDE_TRY(tide_device_event_create(workload->device, &timer->end, error));
    }
    return TIDE_OK;
}

static tide_status build(tide_workload *workload, tide_error *error) {
    const tide_workload_config *config = &workload->config;
    TIDE_TRY(tide_workload_check_graph(config, error));
    if (config->cuda_graph && tide_device_get_info(workload->device)->kind == TIDE_DEVICE_CUDA) {
        TIDE_TRY(tide_device_stream_create(workload->device, &workload->stream, error));
    }
    TIDE_TRY(create_timers(workload, error));
    workload->driver = tide_driver_of(config);
    TIDE_TRY(workload->driver->create(workload, error));
    if (workload->driver->ops != NULL) {
        workload->driver->ops(workload)->launches = config->launches;
    }
    if (workload->eager != NULL) {
        tide_eager_log_to(workload->eager, config->launches);
    }
    return TIDE_OK;
}

tide_status tide_workload_create(const tide_workload_config *config, tide_cache *cache,
                                 tide_recorder *recorder, tide_workload **ret_workload,
                                 tide_error *error) {
    TIDE_TRY(check_config(config, recorder, error));
    const tide_hostmem *mem = tide_cache_get_config(cache)->mem;
    tide_workload *workload = tide_hostmem_zeroed(mem, 1, sizeof(*workload));
    if (workload == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the run");
    }
    workload->config = *config;
    workload->mem = mem;
    workload->cache = cache;
    workload->recorder = recorder;
    workload->device = tide_cache_device(cache);
    workload->computes = tide_device_get_info(workload->device)->computes;
    tide_status status = build(workload, error);
    if (status != TIDE_OK) {
        tide_workload_destroy(workload);
        return status;
    }
    *ret_workload = workload;
    return TIDE_OK;
}

void tide_workload_destroy(tide_workload *workload) {
    if (workload == NULL) {
        return;
    }
    tide_device_graph_destroy(workload->device, workload->graph);
    tide_driver_destroy(workload);
    tide_kernel_trace_destroy(workload->kernels);
    tide_scope_times_destroy(workload->scope_times);
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        if (workload->timers[i].begin != NULL) {
            tide_device_event_destroy(workload->device, workload->timers[i].begin);
        }
        if (workload->timers[i].end != NULL) {
            tide_device_event_destroy(workload->device, workload->timers[i].end);
        }
    }
    if (workload->stream != 0 &&
        tide_device_stream_destroy(workload->device, workload->stream, NULL) != TIDE_OK) {
        workload->stream = 0; /* no caller could handle a failure */
    }
    workload->mem->release(workload->mem->ctx, workload);
}

static tide_status timer_begin(tide_workload *workload, size_t which, tide_error *error) {
    tide_interval *timer = &workload->timers[which];
    timer->host_begin_ns = tide_clock_now_ns();
    return tide_device_event_record(workload->device, timer->begin, workload->stream, error);
}

static tide_status timer_end(tide_workload *workload, size_t which, tide_error *error) {
    tide_interval *timer = &workload->timers[which];
    TIDE_TRY(tide_device_event_record(workload->device, timer->end, workload->stream, error));
    if (workload->config.sync_phases && which != TIDE_TIMED_STEP) { /* the end of a step is waited
                                                                       for anyway */
        TIDE_TRY(tide_device_synchronize(workload->device, error));
    }
    timer->host_ms = (double)(tide_clock_now_ns() - timer->host_begin_ns) * 1e-6;
    timer->ran = true;
    return TIDE_OK;
}

static tide_status run_setup(tide_workload *workload, tide_error *error) {
    tide_scope scope = tide_scope_begin(workload->recorder, TIDE_SCOPE_PHASE, "setup", -1);
    tide_status status = workload->driver->setup(workload, error);
    tide_scope_end(workload->recorder, scope);
    return status;
}

static tide_status forward_and_loss(tide_workload *workload, tide_error *error) {
    TIDE_TRY(timer_begin(workload, TIDE_TIMED_FORWARD, error));
    TIDE_TRY(workload->driver->forward(workload, error));
    if (workload->config.mode != TIDE_FORWARD) {
        TIDE_TRY(workload->driver->loss(workload, error));
    }
    return timer_end(workload, TIDE_TIMED_FORWARD, error);
}

static tide_status mark(tide_workload *workload, const char *name, tide_error *error) {
    return tide_launch_list_noted(tide_launch_list_mark(workload->config.launches, name), error);
}

/* The run_ functions also end their scope on failure, which ends every scope inside it. */
static tide_status run_forward(tide_workload *workload, tide_error *error) {
    tide_scope scope = tide_scope_begin(workload->recorder, TIDE_SCOPE_PHASE, "forward", -1);
    tide_status status = forward_and_loss(workload, error);
    tide_scope_end(workload->recorder, scope);
    return status;
}

static tide_status timed_backward(tide_workload *workload, tide_error *error) {
    TIDE_TRY(mark(workload, "backward begins", error));
    TIDE_TRY(timer_begin(workload, TIDE_TIMED_BACKWARD, error));
    TIDE_TRY(workload->driver->backward(workload, error));
    return timer_end(workload, TIDE_TIMED_BACKWARD, error);
}

static tide_status run_backward(tide_workload *workload, tide_error *error) {
    tide_scope scope = tide_scope_begin(workload->recorder, TIDE_SCOPE_PHASE, "backward", -1);
    tide_status status = timed_backward(workload, error);
    tide_scope_end(workload->recorder, scope);
    return status;
}

static tide_status timed_optimizer(tide_workload *workload, tide_error *error) {
    TIDE_TRY(mark(workload, "optimizer begins", error));
    TIDE_TRY(timer_begin(workload, TIDE_TIMED_OPTIMIZER, error));
    TIDE_TRY(workload->driver->optimize(workload, error));
    return timer_end(workload, TIDE_TIMED_OPTIMIZER, error);
}

static tide_status run_optimizer(tide_workload *workload, tide_error *error) {
    tide_scope scope = tide_scope_begin(workload->recorder, TIDE_SCOPE_PHASE, "optimizer", -1);
    tide_status status = timed_optimizer(workload, error);
    tide_scope_end(workload->recorder, scope);
    return status;
}

tide_status tide_workload_phases(tide_workload *workload, tide_error *error) {
    TIDE_TRY(run_forward(workload, error));
    if (workload->config.mode != TIDE_FORWARD) {
        TIDE_TRY(run_backward(workload, error));
    }
    if (workload->config.mode == TIDE_TRAIN) {
        TIDE_TRY(run_optimizer(workload, error));
    }
    return TIDE_OK;
}

static bool has_loss(const tide_workload *workload) {
    return workload->computes && workload->config.mode != TIDE_FORWARD;
}

/* Starts the copy of the loss to the host, which has arrived after the synchronisation at the
 * step's end. The copy follows the last device event of the step, so no phase's time includes
 * it. */
static tide_status fetch_loss(tide_workload *workload, tide_error *error) {
    const void *value = workload->graph != 0 ? workload->loss_value
                                             : workload->driver->loss_value(workload)->array.data;
    return tide_device_copy(workload->device, &workload->loss, value, sizeof(workload->loss),
                            TIDE_COPY_TO_HOST, workload->stream, error);
}

/* The phases, the copy of the loss, one synchronisation, and last the releases, which are not
 * timed. */
tide_status tide_workload_timed_step(tide_workload *workload, double *ret_loss, tide_error *error) {
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        workload->timers[i].ran = false;
    }
    TIDE_TRY(timer_begin(workload, TIDE_TIMED_STEP, error));
    TIDE_TRY(workload->graph != 0 ? tide_workload_launch(workload, error)
                                  : tide_workload_phases(workload, error));
    TIDE_TRY(timer_end(workload, TIDE_TIMED_STEP, error));
    if (has_loss(workload)) {
        TIDE_TRY(fetch_loss(workload, error));
    }
    TIDE_TRY(tide_device_synchronize(workload->device, error));
    tide_interval *step = &workload->timers[TIDE_TIMED_STEP];
    step->host_ms = (double)(tide_clock_now_ns() - step->host_begin_ns) * 1e-6;
    if (workload->scope_times != NULL) {
        TIDE_TRY(tide_scope_times_collect(workload->scope_times, error));
    }
    if (workload->kernels != NULL) {
        TIDE_TRY(tide_kernel_trace_collect(workload->kernels, error));
    }
    if (has_loss(workload)) {
        *ret_loss = (double)workload->loss;
    }
    return workload->graph != 0 ? TIDE_OK : workload->driver->end_step(workload, error);
}

static tide_status marked_step(tide_workload *workload, double *ret_loss, tide_error *error) {
    TIDE_TRY(tide_launch_list_noted(tide_launch_list_begin_step(workload->config.launches), error));
    TIDE_TRY(workload->is_captured ? tide_workload_replay(workload, ret_loss, error)
                                   : tide_workload_timed_step(workload, ret_loss, error));
    return mark(workload, "step ends", error);
}

tide_status tide_workload_step(tide_workload *workload, const char *name, size_t index,
                               double *ret_loss, tide_error *error) {
    tide_scope scope = tide_scope_begin(workload->recorder, TIDE_SCOPE_STEP, name, (int32_t)index);
    tide_status status = marked_step(workload, ret_loss, error);
    tide_scope_end(workload->recorder, scope);
    return status;
}

/* Appends the samples of the step that has just ended. */
static tide_status keep_samples(tide_workload *workload, tide_workload_result *result,
                                tide_error *error) {
    double device_ms[TIDE_N_TIMED];
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        const tide_interval *timer = &workload->timers[i];
        device_ms[i] = -1;
        if (timer->ran && workload->computes) {
            TIDE_TRY(tide_device_event_elapsed(workload->device, timer->begin, timer->end,
                                               &device_ms[i], error));
        }
    }
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        const tide_interval *timer = &workload->timers[i];
        bool timed = timer->ran && workload->computes;
        result->host_ms[i][result->n_samples] = timed ? timer->host_ms : -1;
        result->device_ms[i][result->n_samples] = device_ms[i];
    }
    result->n_samples++;
    return TIDE_OK;
}

static tide_status alloc_losses(const tide_workload *workload, tide_workload_result *result,
                                tide_error *error) {
    size_t n = workload->config.warmup_steps + workload->config.steps;
    if (!has_loss(workload)) {
        return TIDE_OK;
    }
    result->losses = tide_hostmem_zeroed(workload->mem, n, sizeof(double));
    return result->losses != NULL
               ? TIDE_OK
               : tide_fail(error, TIDE_NO_MEMORY,
                           "the host has no memory left for the losses of %zu steps", n);
}

static tide_status alloc_samples(const tide_workload *workload, tide_workload_result *result,
                                 tide_error *error) {
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        size_t n = workload->config.steps;
        result->host_ms[i] = tide_hostmem_zeroed(workload->mem, n, sizeof(double));
        result->device_ms[i] = tide_hostmem_zeroed(workload->mem, n, sizeof(double));
        if (result->host_ms[i] == NULL || result->device_ms[i] == NULL) {
            return tide_fail(error, TIDE_NO_MEMORY,
                             "the host has no memory left for the samples of %zu steps", n);
        }
    }
    return TIDE_OK;
}

static tide_status begin_scope_times(tide_workload *workload, tide_error *error) {
    bool has_clock = tide_device_get_info(workload->device)->kind == TIDE_DEVICE_CUDA;
    if (workload->recorder == NULL || !has_clock) {
        return TIDE_OK;
    }
    return tide_scope_times_create(workload->recorder, workload->device, workload->stream,
                                   &workload->scope_times, error);
}

/* Called after the last warm-up step (the first measured step if there is no warm-up) and after
 * every later step: limits the number of timed scopes to what a step of this length can afford. */
static tide_status limit_scope_times(tide_workload *workload, tide_error *error) {
    const tide_interval *step = &workload->timers[TIDE_TIMED_STEP];
    double ms = 0;
    if (workload->scope_times == NULL || workload->config.times_all_scopes) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_device_event_elapsed(workload->device, step->begin, step->end, &ms, error));
    tide_scope_times_limit(workload->scope_times, (int64_t)(ms * 1e6), TIDE_SCOPE_TIMES_SHARE);
    return TIDE_OK;
}

/* Marks the begin of the measured steps for a profiler and for the trace of kernels. */
static tide_status begin_measuring(tide_workload *workload, tide_error *error) {
    if (workload->config.profiler_range) {
        TIDE_TRY(tide_device_profiler_range(workload->device, true, error));
    }
    return workload->kernels != NULL ? tide_kernel_trace_begin(workload->kernels, error) : TIDE_OK;
}

static tide_status end_measuring(tide_workload *workload, tide_error *error) {
    if (workload->kernels != NULL) {
        TIDE_TRY(tide_kernel_trace_end(workload->kernels, error));
    }
    return workload->config.profiler_range
               ? tide_device_profiler_range(workload->device, false, error)
               : TIDE_OK;
}

/* Runs the steps from `first` up to `end`; *ret_goes_on false: the caller stops the run. */
static tide_status run_some(tide_workload *workload, tide_workload_result *result, size_t first,
                            size_t end, bool *ret_goes_on, tide_error *error) {
    const tide_workload_config *config = &workload->config;
    size_t n_total = config->warmup_steps + config->steps;
    for (size_t i = first; i < end; i++) {
        bool warmup = i < config->warmup_steps;
        TIDE_TRY(tide_workload_step(workload, warmup ? "warmup" : "step",
                                    warmup ? i : i - config->warmup_steps, &result->loss, error));
        if (result->losses != NULL) {
            result->losses[result->n_losses++] = result->loss;
        }
        if (!warmup) {
            TIDE_TRY(keep_samples(workload, result, error));
        }
        if (i + 1 >= config->warmup_steps) {
            TIDE_TRY(limit_scope_times(workload, error));
        }
        if (config->progress != NULL && !config->progress(config->progress_ctx, i + 1, n_total)) {
            *ret_goes_on = false;
            return TIDE_OK;
        }
    }
    return TIDE_OK;
}

/* The same inside a range for tools, so a trace separates warm-up and measurement. It is not a
 * scope, because a scope around steps would appear in the path of every row. */
static tide_status run_group(tide_workload *workload, tide_workload_result *result, bool is_warmup,
                             bool *ret_goes_on, tide_error *error) {
    const tide_workload_config *config = &workload->config;
    tide_range_begin(is_warmup ? "warm-up" : "measured");
    tide_status status =
        run_some(workload, result, is_warmup ? 0 : config->warmup_steps,
                 config->warmup_steps + (is_warmup ? 0 : config->steps), ret_goes_on, error);
    tide_range_end();
    return status;
}

static tide_status run_steps(tide_workload *workload, tide_workload_result *result,
                             tide_error *error) {
    bool goes_on = true;
    TIDE_TRY(run_setup(workload, error));
    if (workload->config.warmup_steps > 0) {
        TIDE_TRY(run_group(workload, result, true, &goes_on, error));
    }
    if (!goes_on) {
        return TIDE_OK;
    }
    if (workload->config.cuda_graph) {
        TIDE_TRY(tide_workload_capture(workload, error));
    }
    TIDE_TRY(begin_measuring(workload, error));
    TIDE_TRY(run_group(workload, result, false, &goes_on, error));
    return end_measuring(workload, error);
}

static void note_loss_scale(const tide_workload *workload, tide_workload_result *result) {
    const tide_loss_scaler *scaler =
        workload->driver->loss_scaler == NULL ? NULL : workload->driver->loss_scaler(workload);
    if (scaler != NULL && scaler->is_on && workload->computes &&
        workload->config.mode == TIDE_TRAIN) {
        result->scales_loss = true;
        result->loss_scale = (double)scaler->scale;
        result->n_skipped_steps = scaler->n_skipped;
    }
}

tide_status tide_workload_run(tide_workload *workload, tide_workload_result *ret_result,
                              tide_error *error) {
    *ret_result = (tide_workload_result){.mem = workload->mem, .loss = (double)NAN};
    TIDE_TRY(alloc_samples(workload, ret_result, error));
    TIDE_TRY(alloc_losses(workload, ret_result, error));
    TIDE_TRY(begin_scope_times(workload, error));
    if (workload->config.trace_kernels) {
        TIDE_TRY(tide_kernel_trace_create(workload->recorder, &workload->kernels, error));
    }
    tide_status status = run_steps(workload, ret_result, error);
    note_loss_scale(workload, ret_result);
    if (workload->scope_times != NULL) {
        /* A failed run also has them: its snapshot shows how far it got. */
        tide_status timed =
            tide_scope_times_finish(workload->scope_times, status == TIDE_OK ? error : NULL);
        status = status == TIDE_OK ? timed : status;
    }
    workload->is_complete = status == TIDE_OK;
    return status;
}

void tide_workload_result_fini(tide_workload_result *result) {
    for (size_t i = 0; result->mem != NULL && i < TIDE_N_TIMED; i++) {
        result->mem->release(result->mem->ctx, result->host_ms[i]);
        result->mem->release(result->mem->ctx, result->device_ms[i]);
    }
    if (result->mem != NULL) {
        result->mem->release(result->mem->ctx, result->losses);
    }
    *result = (tide_workload_result){.mem = NULL, .loss = (double)NAN};
}

const char *tide_workload_computed_by(const tide_workload *workload) {
    if (workload->decode != NULL && workload->computes) {
        return tide_decode_computed_by(workload->decode);
    }
    if (workload->driver->ops == NULL || !workload->computes) {
        return "";
    }
    const tide_ops *ops = workload->driver->ops(workload);
    return ops->table->describe(ops);
}
