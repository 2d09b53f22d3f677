/* workload.h - a profiled run: builds the model on a device, runs warm-up and measured steps, and
 * times the phases.
 *
 * Everything is allocated through the cache, so the recording shows the whole run.
 * docs/model/memory-model.md derives the bytes.
 */
#ifndef TIDE_MODEL_WORKLOAD_WORKLOAD_H
#define TIDE_MODEL_WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/cache.h"
#include "common/hostmem.h"
#include "common/status.h"
#include "model/config.h"
#include "model/decode/shape.h"
#include "model/layers/mlp.h"
#include "model/ops.h"
#include "programs/wire/step_phases.h"
#include "recorder/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_workload_config {
    tide_architecture architecture; /* the kind of model */
    tide_model_config model;   /* with batch and context; mlp: only d_model, n_layers and batch_size
                                  are used (tide_workload_mlp); decode: size, n_layers, batch_size
                                  and context_length, the prompt (tide_workload_decode) */
    size_t new_tokens;         /* decode: new tokens of each sequence in a step; else 0 */
    tide_mode mode;            /* which phases a step has */
    bool keep_graph;           /* forward mode: keep the tensors that backward would need until the
                                  end of a step */
    tide_precision precision;  /* must be supported by the device */
    tide_attention attention;  /* of every block */
    tide_recompute recompute;  /* of every block */
    tide_emulation emulate;    /* pytorch: only on a device that does not compute, without
                                  clipping */
    tide_edition edition;      /* of the PyTorch code that is emulated */
    double clip_grad_norm;     /* largest L2 norm of all gradients together; 0: no clipping */
    uint64_t seed;             /* of parameters, tokens and targets */
    size_t warmup_steps;       /* steps before the measured ones; not among the samples */
    size_t steps;              /* measured steps, at least 1 */
    tide_adamw_settings adamw; /* constants of the optimizer */
    bool profiler_range;       /* a profiler range around the measured steps (device.h) */
    bool times_all_scopes;     /* time every scope on the device, whatever that costs the measured
                                  steps */
    bool trace_kernels;        /* trace the kernels in them (recorder/kernel_trace.h): only in a
                                  recorded run on a cuda device */
    bool cuda_graph;  /* the warm-up runs as usual, then one step is captured, and the measured
                         steps are replays of it (tide_workload_check_graph) */
    bool sync_phases; /* wait for the device after each phase, so host_ms is the time until its work
                         is done, not until it is submitted */
    /* Borrowed: the virtual device's operators log here what they would launch on a card, with
     * marks of steps and phases (programs/step_time/ranges.h); with `emulate`, PyTorch's launches.
     * NULL: no log. A model that decodes logs nothing. */
    tide_launch_list *launches;
    /* After each step or pair; false ends the run there, with TIDE_OK. NULL: none. */
    bool (*progress)(void *ctx, size_t n_done, size_t n_total);
    void *progress_ctx; /* borrowed; progress' first */
} tide_workload_config;

/* Defaults: size small, mode train, fp32, flash, 5 warm-up and 10 measured steps. */
void tide_workload_config_init(tide_workload_config *config);

/* TIDE_INVALID, with the reason, if the configuration requests a graph but cannot have one. */
TIDE_NODISCARD tide_status tide_workload_check_graph(const tide_workload_config *config,
                                                     tide_error *error);

#define TIDE_SCOPE_TIMES_SHARE 0.005

/* On a device with its own clock (cuda) the scopes of a recorded run also get device times
 * (recorder/scope_times.h): every scope in setup and warm-up (without warm-up, in the first
 * measured step), and in later steps down to the depth at which the events take at most
 * TIDE_SCOPE_TIMES_SHARE of the step before. Steps and phases are always timed.
 *
 * Samples of the measured steps in ms; -1 if a phase did not run or the device does not compute.
 * device_ms: between two device events around the phase. host_ms: the time until the host had
 * submitted the phase, or, with sync_phases, until it was done. The step's host_ms is its whole
 * duration, because the host waits for the device at its end. */
typedef struct tide_workload_result {
    const tide_hostmem *mem;         /* borrowed; the heap of the samples: the cache's */
    size_t n_samples;                /* completed measured steps */
    double *host_ms[TIDE_N_TIMED];   /* owned; n_samples each */
    double *device_ms[TIDE_N_TIMED]; /* owned; n_samples each */
    double *losses;    /* owned; n_losses: of every completed step, beginning with the warm-up */
    size_t n_losses;   /* 0 if there are none (forward, virtual) */
    double loss;       /* of the last step; NAN without one */
    bool scales_loss;  /* the loss is scaled, something is computed, and the mode is train */
    double loss_scale; /* if scales_loss: of the step after the last */
    int64_t n_skipped_steps; /* if scales_loss: because of an infinity or a NaN in a gradient */
} tide_workload_result;

typedef struct tide_workload tide_workload;

/* Checks the configuration and opens the operators; allocates nothing on the device. Cache and
 * recorder (NULL: no scopes) are borrowed and outlive the workload. */
TIDE_NODISCARD tide_status tide_workload_create(const tide_workload_config *config,
                                                tide_cache *cache, tide_recorder *recorder,
                                                tide_workload **ret_workload, tide_error *error);
/* Allocates everything that the run needs, fills it, and runs the steps; call it once per workload.
 * On TIDE_DEVICE_OOM, the recording so far is intact and the run's allocations stay alive, so a
 * snapshot shows them; tide_workload_destroy releases them. `ret_result` is filled even on failure,
 * with the samples so far; fini it in any case. */
TIDE_NODISCARD tide_status tide_workload_run(tide_workload *workload,
                                             tide_workload_result *ret_result, tide_error *error);
void tide_workload_destroy(tide_workload *workload);

/* Host times in ms of equal steps, with recording and without. */
typedef struct tide_workload_pairs {
    const tide_hostmem *mem; /* borrowed; the heap of the samples: the cache's */
    size_t n_pairs;          /* completed */
    double *recorded_ms;     /* owned; n_pairs */
    double *unrecorded_ms;   /* owned; n_pairs; of the other step of the pair */
} tide_workload_pairs;

/* Runs 1 + 2 n_pairs further steps: one unmeasured step, then pairs of a recorded and an unrecorded
 * step, whose order alternates. Needs a completed tide_workload_run, a device that computes and a
 * recorder: TIDE_INVALID otherwise. The recorder's log has gaps afterwards, so take the snapshot
 * first. The steps need no more memory than the earlier ones. `ret_pairs` is filled even on
 * failure, with the pairs so far; fini it in any case. */
TIDE_NODISCARD tide_status tide_workload_run_pairs(tide_workload *workload, size_t n_pairs,
                                                   tide_workload_pairs *ret_pairs,
                                                   tide_error *error);
void tide_workload_pairs_fini(tide_workload_pairs *pairs);
void tide_workload_result_fini(tide_workload_result *result);

/* The MLP that a workload of that architecture runs. */
void tide_workload_mlp(const tide_workload_config *config, tide_mlp_config *ret_mlp);

/* The language model that a workload of that architecture runs: the preset that the size names.
 * TIDE_INVALID if no preset has that name. */
TIDE_NODISCARD tide_status tide_workload_decode(const tide_workload_config *config,
                                                tide_decode_config *ret_decode, tide_error *error);

/* FLOP of the matrix products of a step. */
double tide_workload_step_flops(const tide_workload_config *config);
uint64_t tide_workload_n_parameters(const tide_workload_config *config);

/* A description of what computes: "AVX-512 kernels, 2 threads"; "" on a device that does not
 * compute. Valid until the workload is destroyed. */
const char *tide_workload_computed_by(const tide_workload *workload);

/* A lower bound of the bytes that the run needs on the device, by the closed forms of
 * docs/model/memory-model.md, without the GEMM library's workspace. It is used to refuse a run that
 * cannot fit the host before it starts. 0 for a configuration that its check refuses. */
uint64_t tide_workload_requested_peak_bytes(const tide_workload_config *config);

#ifdef __cplusplus
}
#endif

#endif
