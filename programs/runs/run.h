/* run.h - one run: its configuration, its execution, and its result.
 *
 * A command builds one or many configurations, runs each, in this process (tide_run_here) or in a
 * subprocess (tide_run_in_subprocess), and reports the results. Nothing here depends on options or
 * the terminal, and nothing is printed. An unsuccessful run is not a failure of these functions: if
 * it does not fit, or the device cannot do it, that is an outcome with its reason.
 *
 * On the virtual device a run takes milliseconds and has no times. Elsewhere times are those of the
 * device's clock, or of the host's if the device has none; each phase is timed separately, never by
 * subtraction. A standard deviation is the sample's.
 */
#ifndef TIDE_PROGRAMS_RUNS_RUN_H
#define TIDE_PROGRAMS_RUNS_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "capture/dumper.h"
#include "common/hostmem.h"
#include "common/statistics.h"
#include "common/status.h"
#include "recorder/recorder.h"
#include "programs/runs/environment.h"
#include "programs/runs/limits.h"
#include "programs/runs/outcome.h"
#include "programs/runs/workload.h"
#include "programs/wire/run_assumed.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_RUN_REASON_BYTES = 512,
    TIDE_RUN_HOST_BYTES = 1280, /* the statement of the host on which a forecast is based */
    TIDE_RUN_PATH_BYTES = 4096, /* the longest file name, with its NUL */
    /* Steps of a run that only tests whether it fits, none of them warm-up: as many as in a run
     * with the defaults. The second step is the first with optimizer state, and the reserved bytes
     * of PyTorch's eager runs also grow after it, as fragments accumulate. */
    TIDE_RUN_FIT_STEPS = 15
};

#define TIDE_RUN_PAIRS_BY_TIME SIZE_MAX

/* ---- the run ---- */

/* The recording of a run, and the files that it writes. Texts are borrowed during the call. */
typedef struct tide_run_recording {
    bool is_on;                    /* record every allocation, which takes time */
    tide_recorder_config recorder; /* how; mem is ignored */
    double ns_per_event;       /* the cost of recording an event on this machine; -1: measure it */
    size_t overhead_pairs;     /* pairs of further steps, one recorded and one not, that measure the
                                  cost of recording; TIDE_RUN_PAIRS_BY_TIME: as many as take half as
                                  long as the run. None if nothing is timed or recorded */
    const char *snapshot_path; /* where the snapshot is saved; NULL: nowhere */
    bool keeps_snapshot;       /* also keep it in result->snapshot; not from a subprocess */
    bool strip_private;        /* the saved snapshot omits command line, host name and folders */
    const char *command;       /* the command line in the snapshot; NULL: "" */
    const tide_snapshot_run *description; /* the description of the run in the snapshot; NULL: the
                                             actual one. Not in a subprocess */
    bool forecasts_time; /* our own model on a virtual card: forecast the time of its steps */
    int snapshot_signal; /* signal on which the running program also writes a snapshot; 0: none */
    uint64_t snapshot_every; /* also write a snapshot after every n steps; 0: none */
} tide_run_recording;

typedef struct tide_run_config {
    tide_run_workload workload;
    tide_run_limits limits;
    tide_run_recording recording;
} tide_run_config;

/* Sets all defaults: a user's command, which the caller names, on "virtual" without a limit, not
 * recorded. */
void tide_run_config_init(tide_run_config *config);

/* ---- while it runs ---- */

typedef enum tide_run_stage {
    TIDE_RUN_STAGE_STEPS = 0, /* warm-up and measured steps */
    TIDE_RUN_STAGE_PAIRS      /* pairs of steps with and without recording */
} tide_run_stage;

/* Functions that report on a run to the caller, and one that stops it. Each may be NULL. They are
 * called on the thread of the run, except on_dump. */
typedef struct tide_run_hooks {
    void *ctx; /* borrowed; the first argument of each function */
    /* Called after each step or pair; never from a subprocess. */
    void (*progress)(void *ctx, tide_run_stage stage, size_t n_done, size_t n_total);
    /* Called about ten times a second while a subprocess runs. */
    void (*tick)(void *ctx);
    /* Called after each step and with each tick; true ends the run with TIDE_OUTCOME_STOPPED. */
    bool (*shall_stop)(void *ctx);
    /* Called with one line when something other than the run itself failed; the run continues. */
    void (*note)(void *ctx, const char *text);
    /* Called on the dumper's thread after a snapshot of the running program was written, or could
     * not be. */
    void (*on_dump)(void *ctx, const tide_dump *dump);
} tide_run_hooks;

/* ---- the result ---- */

/* Peaks from the cache's statistics, up to the end of the run; -1: unknown. */
typedef struct tide_run_memory {
    int64_t requested_peak_bytes, allocated_peak_bytes, reserved_peak_bytes;
    int64_t n_retries; /* how often the cache released all its segments and tried again */
    /* Only with limits.spill_bytes: the most bytes in the host's memory, how many segments (or
     * granules of expandable ones) were placed there, and the first step, from 0 and including
     * warm-up, in which one was; spill_step is also -1 if it was before the first step. For a
     * command: the bytes in use beyond the card, the allocations that found it full, and no
     * step. */
    int64_t spill_peak_bytes, n_spilled, spill_step;
} tide_run_memory;
/* For a run of which nothing is known: each figure is -1. */
#define TIDE_RUN_MEMORY_UNKNOWN                                                                    \
    {                                                                                              \
        .requested_peak_bytes = -1, .allocated_peak_bytes = -1, .reserved_peak_bytes = -1,         \
        .n_retries = -1, .spill_peak_bytes = -1, .n_spilled = -1, .spill_step = -1                 \
    }

enum { TIDE_RUN_BOUND_BYTES = 24 };

/* The values that a command's fullest process assumed. */
typedef struct tide_run_assumed {
    int64_t n_reads;   /* lines of the program and kinds of value; -1: unknown */
    int64_t n_rows;    /* of them could have given more rows */
    int64_t all_bytes; /* that all rows of all of them take more */
    /* The first row, of which all rows take most (snapshot/document/assumed.h). */
    char place[TIDE_RUN_ASSUMED_PLACE], what[TIDE_RUN_ASSUMED_WHAT];
    int64_t given_least, given_most, possible, n_times, row_bytes, row_all_bytes;
} tide_run_assumed;
#define TIDE_RUN_NO_ASSUMED                                                                        \
    {                                                                                              \
        .n_reads = -1, .n_rows = -1, .all_bytes = -1, .given_least = -1, .given_most = -1,         \
        .possible = -1, .n_times = -1, .row_bytes = -1, .row_all_bytes = -1                        \
    }

/* The figures of a user's command; -1: unknown. */
typedef struct tide_run_of_program {
    int64_t n_steps;          /* steps of its optimizer */
    int64_t growing_passes;   /* of the loop whose memory grew; -1: none grew, or unknown */
    int64_t growing_bytes;    /* growth of each pass; -1: as above */
    int64_t margin_bytes;     /* bytes of the fullest card that no process ever used; only if
                                 completed */
    int64_t unmeasured_bytes; /* that it may need of this card beyond its measured ones; likewise */
    int64_t is_near;          /* 1: it left less than that, or too little for the largest work
                                 areas of cuDNN; otherwise 0; likewise */
    int64_t n_inexact;        /* calls whose memory is not exactly known, and refused ones */
    tide_run_assumed assumed;
    /* The forecast of a step's time on the fullest card, in ms, and its range
     * (programs/step_time/). If too much is guessed, only step_low_ms is known. Our own model on a
     * virtual card also has it. */
    double step_ms, step_low_ms, step_high_ms;
    double gpu_ms, gpu_low_ms, gpu_high_ms; /* of that step: while the card is busy */
    int64_t n_launches, n_guessed;          /* in the forecast step */
    char step_bound[TIDE_RUN_BOUND_BYTES];  /* "the GPU", "the host" or either; "": no forecast */
    char host[TIDE_RUN_HOST_BYTES]; /* a sentence on the basis of the host's time; "": no time was
                                       forecast */
} tide_run_of_program;
/* Of other workloads. */
#define TIDE_RUN_NO_PROGRAM                                                                        \
    {                                                                                              \
        .n_steps = -1, .growing_passes = -1, .growing_bytes = -1, .margin_bytes = -1,              \
        .unmeasured_bytes = -1, .is_near = -1, .n_inexact = -1, .step_ms = -1.0,                   \
        .step_low_ms = -1.0, .step_high_ms = -1.0, .gpu_ms = -1.0, .gpu_low_ms = -1.0,             \
        .gpu_high_ms = -1.0, .n_launches = -1, .n_guessed = -1, .step_bound = "",                  \
        .assumed = TIDE_RUN_NO_ASSUMED                                                             \
    }

/* Bytes and times are -1 if unknown. */
typedef struct tide_run_result {
    tide_outcome outcome;
    tide_status status;                 /* the reason; TIDE_OK when completed */
    int signal_number;                  /* signal that ended the subprocess; 0: none */
    char reason[TIDE_RUN_REASON_BYTES]; /* the reason for the user; "" when completed */
    tide_error error;                   /* the full message; from a subprocess only the line */
    /* TIDE_OUTCOME_OOM: the size of the failed allocation, and the bytes that could still be
     * allocated. TIDE_OUTCOME_NO_HOST: a lower bound of the bytes that the run needs, and the free
     * bytes of the host. */
    int64_t asked_bytes, free_bytes;
    int64_t segment_bytes;  /* TIDE_OUTCOME_OOM: bytes of the segment that it would have needed */
    tide_run_memory memory; /* of a command: of its fullest process and device */
    tide_run_of_program program;
    /* Bytes in use on the whole device according to its driver, including other processes, at the
     * end of the run and before its first allocation. These are current values, not peaks. */
    int64_t device_used_bytes, device_used_before_bytes;
    int64_t host_peak_bytes; /* peak resident memory of the process that ran it */

    const tide_hostmem *mem;          /* the heap of the samples; NULL: nothing to release */
    size_t n_samples;                 /* measured steps; 0 on the virtual device */
    double *host_ms[TIDE_N_TIMED];    /* owned, n_samples each; NULL: the mode lacks the phase */
    double *device_ms[TIDE_N_TIMED];  /* the same by the device's clock */
    tide_statistics ms[TIDE_N_TIMED]; /* by the device's clock, else the host's */
    double loss;                      /* loss of the last step; NAN: none */
    double loss_scale;                /* after the last step; -1: no loss was scaled */
    int64_t n_skipped_steps;          /* steps skipped for an infinity or a NaN in a gradient; -1:
                                         no loss was scaled */
    int64_t n_tokens;                 /* of a step */
    double flops;             /* of the matrix products of a step, closed form, without recompute */
    double stated_peak_flops; /* stated peak of the device for this precision (model/peak.h) */
    double tokens_per_second; /* tokens of a step / mean time of a step */
    double achieved_flops;    /* per second: flops / mean time of a step in s */
    double peak_share;        /* achieved_flops / stated_peak_flops: 0.5 is half */

    int64_t started_unix_us;
    tide_run_environment environment;
    double recorder_ns_per_event;  /* for the recording of the next run; -1: unknown */
    char stacks_limited[512];      /* why stacks are short or absent; "" when whole */
    struct tide_run_result *parts; /* owned: of each of the program's sets. One that did not end
                                      well is TIDE_OUTCOME_FAILED, without figures: run it alone */
    size_t n_parts;
    size_t n_steps_done, n_steps;            /* including warm-up; equal when completed */
    char snapshot_path[TIDE_RUN_PATH_BYTES]; /* "": none was saved */
    struct tide_launch_time *time; /* owned; the forecast of our own model on a virtual card
                                      (programs/launch/time.h); NULL: none. Not from a subprocess */
    char no_forecast[TIDE_RUN_REASON_BYTES]; /* why the requested forecast is missing; "": not
                                                requested, or it is present */
    tide_snapshot *snapshot; /* owned; NULL unless requested. Also present if the run ran out of
                                memory or the snapshot could not be saved */
} tide_run_result;

/* Makes an empty result: every value is unknown, and it owns nothing. */
void tide_run_result_init(tide_run_result *result);
void tide_run_result_fini(tide_run_result *result);

/* Joins n >= 1 results of the same configuration: the first that did not complete, or all of them
 * with their samples concatenated and everything else from the first. Snapshots are omitted. */
void tide_run_result_join(const tide_run_result *results, size_t n, tide_run_result *ret_result);

/* Makes the result of a configuration that was refused with that status and message and was not
 * run: TIDE_OUTCOME_UNSUPPORTED, with the known parts of the environment. */
void tide_run_result_refuse(tide_run_result *result, tide_status status, const char *message);

/* ---- running ---- */

/* Runs it in this process. `hooks` may be NULL. `ret_result` is filled in any case; release it with
 * fini. host_peak_bytes covers the whole life of this process. */
void tide_run_here(const tide_run_config *config, const tide_run_hooks *hooks,
                   tide_run_result *ret_result);

/* The same in a subprocess: it forks, executes `program` (NULL: the file of this process) and
 * returns the result through a pipe. A crash or a leak there does not affect this process. The
 * subprocess ends when this process ends for any reason. Call it from a process with one thread. */
void tide_run_in_subprocess(const tide_run_config *config, const tide_run_hooks *hooks,
                            const char *program, tide_run_result *ret_result);

/* The same in parts, for a caller with several subprocesses at a time. */
typedef struct tide_run_process tide_run_process;
/* Starts it. A failed start is also a result. NULL without host memory. */
tide_run_process *tide_run_process_start(const tide_run_config *config, const char *program);
/* The file descriptor that becomes readable when the subprocess writes or has ended. */
int tide_run_process_fd(const tide_run_process *process);
/* Reads its output, and waits for it. False at the end of the output: the process can be
 * finished. */
bool tide_run_process_attend(tide_run_process *process);
/* Asks it to end early. */
void tide_run_process_stop(tide_run_process *process);
/* Waits for its end, returns its result and destroys the process. `was_stopped`: the caller stopped
 * it, if it did not end well. */
void tide_run_process_finish(tide_run_process *process, bool was_stopped,
                             tide_run_result *ret_result);

/* The command that the program of a subprocess must answer: `tidemark run-config JSON`. It calls
 * tide_run_subprocess_main with the JSON, which runs it, writes the result to file descriptor
 * TIDE_RUN_RESULT_FD and returns the exit status of the process. `other` is the kind of workload
 * that the program has besides a user's command; NULL: none. On failure, `error` has the
 * reason. */
#define TIDE_RUN_SUBPROCESS_COMMAND "run-config"
enum { TIDE_RUN_RESULT_FD = 3 };
TIDE_NODISCARD tide_status tide_run_subprocess_main(const char *json, const tide_run_kind *other,
                                                    tide_error *error);

/* For searches: runs it in this process, neither recorded nor described. A run that does not fit
 * also returns TIDE_OK, because that is an answer: *ret_fits is false, and `ret_memory` has the
 * peaks up to that point. On the virtual device this takes milliseconds and has the same figures as
 * tide_run_here. */
TIDE_NODISCARD tide_status tide_run_try(const tide_run_config *config, bool *ret_fits,
                                        tide_run_memory *ret_memory, tide_error *error);

/* For lists of tensors: runs it in this process with unlimited memory, recorded without call
 * stacks, and returns its snapshot, which the caller destroys. `ret_memory` may be NULL. */
TIDE_NODISCARD tide_status tide_run_record(const tide_run_config *config,
                                           tide_run_memory *ret_memory,
                                           tide_snapshot **ret_snapshot, tide_error *error);

/* ---- results in files ---- */

/* The result as a JSON object, without the snapshot itself; the caller deletes it. NULL without
 * host memory. */
cJSON *tide_run_result_to_json(const tide_run_result *result);
/* The reverse; values that follow from samples are computed again. The message of TIDE_FORMAT names
 * the key. `ret_result` is filled in any case; release it with fini. */
TIDE_NODISCARD tide_status tide_run_result_from_json(const cJSON *json, tide_run_result *ret_result,
                                                     tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
