/* workload_graph.c - a step as a graph: captured once after the warm-up, then replayed. */
#include "programs/wire/stated_host.h"
#include "model/precision.h"
#include "model/workload/workload_internal.h"
#include "recorder/recorder_friend.h"

tide_status tide_workload_check_graph(const tide_workload_config *config, tide_error *error) {
    if (!config->cuda_graph) {
        return TIDE_OK;
    }
    const struct {
        bool is_so;
        const char *reason;
    } refusals[] = {
        {config->architecture == TIDE_DECODE,
         "a language model that decodes runs a different number of tokens at each place, and one "
         "graph has one: use a transformer or an MLP"},
        {config->emulate == TIDE_EMULATE_PYTORCH, "only tidemark's own step is captured, not "
                                                  "PyTorch's allocations: leave out the emulation"},
        {config->warmup_steps == 0,
         "the first step makes what must not lie in the graph's pool, such as the optimizer's "
         "state: at least 1 warm-up step is needed"},
        {config->mode == TIDE_TRAIN && tide_precision_scales_loss(config->precision),
         "fp16-mixed skips a step by a value that the host reads, which a replay cannot do: use "
         "bf16-mixed"},
        {config->sync_phases,
         "a graph is launched as a whole, so the host cannot wait between its phases"},
    };
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        if (refusals[i].is_so) {
            return tide_fail(error, TIDE_INVALID, "%s", refusals[i].reason);
        }
    }
    return TIDE_OK;
}

static tide_status captured_step(tide_workload *workload, tide_error *error) {
    TIDE_TRY(tide_workload_phases(workload, error));
    if (workload->config.mode != TIDE_FORWARD) { /* its block is not reused later */
        workload->loss_value = workload->driver->loss_value(workload)->array.data;
    }
    return workload->driver->end_step(workload, error);
}

/* On a device with graphs the stream keeps the step's work. A graph that ended with an error does
 * not exist: the first failure is reported. */
static tide_status kept_step(tide_workload *workload, tide_error *error) {
    tide_device *device = workload->device;
    if (workload->stream == 0) {
        return captured_step(workload, error);
    }
    TIDE_TRY(tide_device_graph_begin(device, workload->stream, error));
    tide_status status = captured_step(workload, error);
    tide_status end = tide_device_graph_end(device, workload->stream, &workload->graph,
                                            status == TIDE_OK ? error : NULL);
    return status == TIDE_OK ? end : status;
}

static void set_captured(tide_workload *workload, bool is_captured) {
    if (workload->config.launches != NULL) {
        workload->config.launches->is_quiet = is_captured;
    }
}

/* The step's allocations and releases happen, its operators do not run: a capture only notes them.
 * Scopes in it are recorded without times of the device. */
static tide_status capture(tide_workload *workload, tide_error *error) {
    tide_ops *ops = workload->driver->ops(workload);
    TIDE_TRY(tide_device_synchronize(workload->device, error));
    TIDE_TRY(tide_cache_begin_capture(workload->cache, error));
    tide_ops_begin_capture(ops);
    set_captured(workload, true);
    tide_scope_times_pause(workload->scope_times, true);
    tide_status status = kept_step(workload, error);
    tide_scope_times_pause(workload->scope_times, false);
    set_captured(workload, false);
    tide_ops_end_capture(ops);
    return status == TIDE_OK ? tide_cache_end_capture(workload->cache, error) : status;
}

tide_status tide_workload_capture(tide_workload *workload, tide_error *error) {
    tide_scope scope = tide_scope_begin(workload->recorder, TIDE_SCOPE_STEP, "capture", -1);
    tide_status status = capture(workload, error);
    tide_scope_end(workload->recorder, scope);
    workload->is_captured = status == TIDE_OK;
    return status;
}

tide_status tide_workload_launch(tide_workload *workload, tide_error *error) {
    if (workload->config.mode == TIDE_TRAIN) {
        TIDE_TRY(workload->driver->begin_replay(workload, error));
    }
    return tide_device_graph_launch(workload->device, workload->graph, workload->stream, error);
}

/* The launch of the graph. The work from here to the end of the replay runs without the host. */
static tide_status begin_log(tide_workload *workload, tide_error *error) {
    tide_launch_list *launches = workload->config.launches;
    const tide_run_launch row = {.kind = TIDE_RUN_GRAPH_LAUNCH};
    if (launches == NULL) {
        return TIDE_OK;
    }
    tide_status status = tide_launch_list_add(launches, NULL, TIDE_STATED_KERNEL_NS, row);
    launches->is_free = true;
    return tide_launch_list_noted(status, error);
}

static void end_log(tide_workload *workload) {
    if (workload->config.launches != NULL) {
        workload->config.launches->is_free = false;
    }
}

/* Neither cpu nor virtual has graphs: the host calls the operators again, with the addresses of the
 * capture. Nothing of that is recorded, as with the launch of a graph. */
static tide_status call_again(tide_workload *workload, double *ret_loss, tide_error *error) {
    TIDE_TRY(tide_cache_begin_replay(workload->cache, error));
    TIDE_TRY(begin_log(workload, error));
    tide_recorder_set_quiet(workload->recorder, true);
    tide_status status = tide_workload_timed_step(workload, ret_loss, error);
    tide_recorder_set_quiet(workload->recorder, false);
    end_log(workload);
    for (size_t i = 0; i < TIDE_N_TIMED; i++) {
        workload->timers[i].ran = i == TIDE_TIMED_STEP;
    }
    return status == TIDE_OK ? tide_cache_end_replay(workload->cache, error) : status;
}

tide_status tide_workload_replay(tide_workload *workload, double *ret_loss, tide_error *error) {
    return workload->graph != 0 ? tide_workload_timed_step(workload, ret_loss, error)
                                : call_again(workload, ret_loss, error);
}
