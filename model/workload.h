/* workload.h - a profiled run: builds the model on a device, runs warm-up and measured steps, and
 * times the phases.
 *
 * Everything is allocated through the cache, so the recording shows the whole run.
 * docs/memory-model.md derives the bytes.
 */
#ifndef TIDE_MODEL_WORKLOAD_H
#define TIDE_MODEL_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/cache.h"
#include "common/hostmem.h"
#include "common/status.h"
#include "model/config.h"
#include "model/decode/shape.h"
#include "model/mlp.h"
#include "model/ops.h"
#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_workload_config {
    tide_architecture architecture; /* the kind of model */
    tide_model_config model;  /* with batch and context; mlp: d_model, n_layers and batch_size alone
                                 count (tide_workload_mlp); decode: size, n_layers, batch_size and
                                 context_length, the prompt (tide_workload_decode) */
    size_t new_tokens;        /* decode: that each sequence gets in a step; else 0 */
    tide_mode mode;           /* which phases a step has */
    bool keep_graph;          /* forward mode: keep what backward would need to the end of a step */
    tide_precision precision; /* one that the device computes */
    tide_attention attention; /* of every block */
    tide_recompute recompute; /* of every block */
    tide_emulation emulate;   /* pytorch: on a device that does not compute, without clipping */
    tide_edition edition;     /* of the PyTorch code that is emulated */
    double clip_grad_norm;    /* largest L2 norm of all gradients together; 0: no clipping */
    uint64_t seed;            /* of parameters, tokens and targets */
    size_t warmup_steps;      /* steps before the measured ones; not among the samples */
    size_t steps;             /* measured steps, at least 1 */
    tide_adamw_settings adamw; /* constants of the optimizer */
    bool profiler_range;       /* a profiler range around the measured steps (device.h) */
    bool times_all_scopes; /* time every scope on the device, at any cost to the measured steps */
    bool trace_kernels;    /* which kernels ran in them (recorder/kernel_trace.h): a recorded run
                              on a cuda device */
    bool cuda_graph;  /* the warm-up runs as ever, then one step is captured, and the measured steps
                         are replays of it (tide_workload_check_graph) */
    bool sync_phases; /* wait for the device after each phase, so that host_ms is the time until
                         its work was done and not only until it was submitted */
    /* Borrowed: where the virtual device's operators write what they would launch on a card, with
     * marks of steps and phases (programs/step_time/ranges.h); with `emulate`, what PyTorch would
     * launch. NULL: nowhere. Of a model that decodes nothing is written. */
    tide_launch_list *launches;
    /* After each step or pair; false ends the run there, with TIDE_OK. NULL: none. */
    bool (*progress)(void *ctx, size_t n_done, size_t n_total);
    void *progress_ctx; /* borrowed; progress' first */
} tide_workload_config;

/* Defaults: size small, mode train, fp32, flash, 5 warm-up and 10 measured steps. */
void tide_workload_config_init(tide_workload_config *config);

/* TIDE_INVALID, with the reason, where the configuration asks for a graph and cannot have it. */
TIDE_NODISCARD tide_status tide_workload_check_graph(const tide_workload_config *config,
                                                     tide_error *error);

#define TIDE_SCOPE_TIMES_SHARE 0.005

enum {
    TIDE_TIMED_FORWARD = 0,
    TIDE_TIMED_BACKWARD,
    TIDE_TIMED_OPTIMIZER,
    TIDE_TIMED_STEP,
    TIDE_N_TIMED
};

/* On a device with its own clock (cuda) the scopes of a recorded run also get device times
 * (recorder/scope_times.h): every scope in setup and warm-up (without warm-up, in the first
 * measured step), and in later steps down to the depth at which the events take at most
 * TIDE_SCOPE_TIMES_SHARE of the step before. Steps and phases are always timed.
 *
 * Samples of the measured steps in ms; -1 where a phase did not run or the device does not compute.
 * device_ms: between two device events that stand around the phase. host_ms: the time in which the
 * host submitted the phase, or, with sync_phases, in which it was done. The step's host_ms is its
 * whole duration, because the host waits for the device at its end. */
typedef struct tide_workload_result {
    const tide_hostmem *mem;         /* borrowed; what the samples came from: the cache's */
    size_t n_samples;                /* measured steps that were completed */
    double *host_ms[TIDE_N_TIMED];   /* owned; n_samples each */
    double *device_ms[TIDE_N_TIMED]; /* owned; n_samples each */
    double *losses;    /* owned; n_losses: of every completed step, those of the warm-up first */
    size_t n_losses;   /* 0 where there are none (forward, virtual) */
    double loss;       /* of the last step; NAN when there is none */
    bool scales_loss;  /* the loss is scaled, something is computed, and the mode is train */
    double loss_scale; /* then: of the step after the last */
    int64_t n_skipped_steps; /* then: because of an infinity or a NaN in a gradient */
} tide_workload_result;

typedef struct tide_workload tide_workload;

/* Checks the configuration and opens the operators; allocates nothing on the device. Cache and
 * recorder (NULL: no scopes) are borrowed and outlive the workload. */
TIDE_NODISCARD tide_status tide_workload_create(const tide_workload_config *config,
                                                tide_cache *cache, tide_recorder *recorder,
                                                tide_workload **ret_workload, tide_error *error);
/* Allocates what the whole run needs, fills it, and runs the steps; once per workload. On
 * TIDE_DEVICE_OOM the recording so far is intact and the run's allocations stay alive, so that a
 * snapshot shows them; tide_workload_destroy releases them. `ret_result` is filled even on failure,
 * with the samples so far; fini it in any case. */
TIDE_NODISCARD tide_status tide_workload_run(tide_workload *workload,
                                             tide_workload_result *ret_result, tide_error *error);
void tide_workload_destroy(tide_workload *workload);

/* Host times in ms of equal steps, with recording and without. */
typedef struct tide_workload_pairs {
    const tide_hostmem *mem; /* borrowed; what the samples came from: the cache's */
    size_t n_pairs;          /* completed */
    double *recorded_ms;     /* owned; n_pairs */
    double *unrecorded_ms;   /* owned; n_pairs; of the step beside it */
} tide_workload_pairs;

/* Runs 1 + 2 n_pairs further steps: one unmeasured step, then pairs of a recorded and an unrecorded
 * step, whose order alternates. After a tide_workload_run that completed, on a device that
 * computes, with a recorder: TIDE_INVALID otherwise. The recorder's log has gaps afterwards, so
 * take the snapshot before. The steps take no more memory than those before. `ret_pairs` is filled
 * even on failure, with the pairs so far; fini it in any case. */
TIDE_NODISCARD tide_status tide_workload_run_pairs(tide_workload *workload, size_t n_pairs,
                                                   tide_workload_pairs *ret_pairs,
                                                   tide_error *error);
void tide_workload_pairs_fini(tide_workload_pairs *pairs);
void tide_workload_result_fini(tide_workload_result *result);

/* The MLP that a workload of that architecture runs. */
void tide_workload_mlp(const tide_workload_config *config, tide_mlp_config *ret_mlp);

/* The language model that a workload of that architecture runs: the preset that the size names.
 * TIDE_INVALID: there is none of that name. */
TIDE_NODISCARD tide_status tide_workload_decode(const tide_workload_config *config,
                                                tide_decode_config *ret_decode, tide_error *error);

/* FLOP of the matrix products of a step. */
double tide_workload_step_flops(const tide_workload_config *config);
uint64_t tide_workload_n_parameters(const tide_workload_config *config);

/* A line about what computes: "AVX-512 kernels, 2 threads"; "" on a device that does not compute.
 * Valid until the workload is destroyed. */
const char *tide_workload_computed_by(const tide_workload *workload);

/* A lower bound of what the run will need on the device, by the closed forms of
 * docs/memory-model.md, the GEMM library's workspace left out: with which a run that cannot fit the
 * host is refused before it starts. 0 for a configuration that its check refuses. */
uint64_t tide_workload_requested_peak_bytes(const tide_workload_config *config);

#ifdef __cplusplus
}
#endif

#endif
