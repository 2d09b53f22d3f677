/* workload_internal.h - the state of a workload, and one step of it: workload.c runs it,
 * workload_pairs.c measures the cost of recording. */
#ifndef TIDE_MODEL_WORKLOAD_WORKLOAD_INTERNAL_H
#define TIDE_MODEL_WORKLOAD_WORKLOAD_INTERNAL_H

#include "model/decode/decode.h"
#include "model/eager/eager.h"
#include "model/layers/mlp.h"
#include "model/layers/transformer.h"
#include "model/workload/workload.h"
#include "recorder/kernel_trace.h"
#include "recorder/recorder.h"
#include "recorder/scope_times.h"

/* A timed interval: a device event at each end, and the host's times. */
typedef struct tide_interval {
    tide_device_event *begin; /* owned */
    tide_device_event *end;   /* owned */
    int64_t host_begin_ns;    /* of the host's monotonic clock */
    double host_ms;           /* of the latest interval */
    bool ran;                 /* in this step */
} tide_interval;

/* The driver of one kind of model: the pieces of its run. */
typedef struct tide_driver {
    tide_status (*create)(tide_workload *workload, tide_error *error);
    tide_status (*setup)(tide_workload *workload, tide_error *error); /* and fills it */
    tide_status (*forward)(tide_workload *workload, tide_error *error);
    tide_status (*loss)(tide_workload *workload, tide_error *error);
    tide_status (*backward)(tide_workload *workload, tide_error *error);
    tide_status (*optimize)(tide_workload *workload, tide_error *error);
    tide_status (*end_step)(tide_workload *workload, tide_error *error);
    /* NULL: its steps are never captured. */
    tide_status (*begin_replay)(tide_workload *workload, tide_error *error);
    /* NULL: nothing is computed. */
    const tide_tensor *(*loss_value)(const tide_workload *workload);
    tide_ops *(*ops)(const tide_workload *workload);
    /* The scaler of the loss; NULL: the loss is never scaled. */
    const tide_loss_scaler *(*loss_scaler)(const tide_workload *workload);
} tide_driver;

/* workload_models.c */
const tide_driver *tide_driver_of(const tide_workload_config *config);
void tide_driver_destroy(tide_workload *workload);

struct tide_workload {
    tide_workload_config config;        /* as given */
    const tide_hostmem *mem;            /* borrowed; the cache's */
    tide_cache *cache;                  /* borrowed; outlives the workload */
    tide_recorder *recorder;            /* borrowed; NULL: no scopes */
    tide_device *device;                /* borrowed; the cache's */
    tide_stream stream;                 /* owned if not 0, the default stream: a captured step's
                                           work is on a stream of its own */
    tide_graph graph;                   /* owned; the captured step, on a device with graphs */
    bool computes;                      /* of the device; false: nothing has a time */
    const tide_driver *driver;          /* static; of the one model below that is not NULL */
    tide_transformer *transformer;      /* owned, as the three below; NULL: another one is run */
    tide_eager *eager;                  /* PyTorch's allocations */
    tide_mlp *mlp;                      /* linear layers with GELU */
    tide_decode *decode;                /* a language model that generates tokens */
    tide_interval timers[TIDE_N_TIMED]; /* by TIDE_TIMED_... */
    tide_scope_times *scope_times; /* owned; NULL before the run, and if the host's clock is the
                                      only one or nothing is recorded */
    tide_kernel_trace *kernels;    /* owned; NULL: no kernels are traced */
    bool is_captured;              /* the step is a graph: further steps replay it */
    bool is_complete;              /* tide_workload_run has completed */
    const void *loss_value;        /* on the device, written by a captured step */
    float loss; /* of the latest step; a field here because the copy arrives after the call that
                   started it */
};

/* A step in a scope of its own. Sets the timers, and *ret_loss if the step has a loss. */
TIDE_NODISCARD tide_status tide_workload_step(tide_workload *workload, const char *name,
                                              size_t index, double *ret_loss, tide_error *error);
/* The same without the scope. */
TIDE_NODISCARD tide_status tide_workload_timed_step(tide_workload *workload, double *ret_loss,
                                                    tide_error *error);
/* Forward, backward and optimizer, if the mode has them. */
TIDE_NODISCARD tide_status tide_workload_phases(tide_workload *workload, tide_error *error);

/* workload_graph.c. Captures a step, in a scope of its own. */
TIDE_NODISCARD tide_status tide_workload_capture(tide_workload *workload, tide_error *error);
/* Submits its graph, on a device with graphs. */
TIDE_NODISCARD tide_status tide_workload_launch(tide_workload *workload, tide_error *error);
/* Replays it, without a scope: the caller has opened that of the step. */
TIDE_NODISCARD tide_status tide_workload_replay(tide_workload *workload, double *ret_loss,
                                                tide_error *error);

#endif
