/* run.h - one run: what it is, how it is carried out, and what came of it.
 *
 * A command builds one or many configurations, runs each, in this process (tide_run_here) or in a
 * subprocess (tide_run_in_subprocess), and reports the results. Nothing here knows options or the
 * terminal, and nothing is printed. A run that goes wrong is no failure of these functions: that it
 * does not fit, or that the device cannot do it, is an outcome with its reason.
 *
 * On the virtual device a run takes milliseconds and has no times. Elsewhere times are those of the
 * device's clock, and of the host's where the device has none; each phase is timed by itself, never
 * by subtraction. A standard deviation is the sample's.
 */
#ifndef TIDE_RUN_RUN_H
#define TIDE_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "capture/dumper.h"
#include "common/hostmem.h"
#include "common/statistics.h"
#include "common/status.h"
#include "recorder/recorder.h"
#include "run/environment.h"
#include "run/limits.h"
#include "run/outcome.h"
#include "run/workload.h"
#include "snapshot/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TIDE_RUN_REASON_BYTES = 512,
    TIDE_RUN_PATH_BYTES = 4096, /* of a file name with its NUL, at most */
    /* Steps of a run that only asks whether it fits, none of them warm-up: as many as a run with
     * the defaults has. The second step is the first with AdamW's state, and the reserved bytes of
     * PyTorch's eager runs grow after it, too, as fragments pile up. */
    TIDE_RUN_FIT_STEPS = 15
};

#define TIDE_RUN_PAIRS_BY_TIME SIZE_MAX

/* ---- what to run ---- */

/* What is recorded of a run, and the files it makes. Texts are borrowed during the call. */
typedef struct tide_run_recording {
    bool is_on;                    /* record every allocation, which takes time */
    tide_recorder_config recorder; /* how; mem is ignored */
    double ns_per_event;           /* what an event costs on this machine; -1: it is measured */
    size_t overhead_pairs;     /* pairs of further steps, one recorded and one not, that tell what
                                  recording costs; TIDE_RUN_PAIRS_BY_TIME: as many as take half as long
                                  as the run. None where nothing is timed or recorded */
    const char *snapshot_path; /* where the snapshot is saved; NULL: nowhere */
    bool keeps_snapshot;       /* in result->snapshot; not from a subprocess */
    bool strip_private;        /* the saved snapshot has no command line, host name, folders */
    const char *command;       /* what the snapshot says of the command line; NULL: "" */
    const tide_snapshot_run *description; /* what the snapshot says of the run; NULL: what it is.
                                             Not in a subprocess */
    int snapshot_signal;     /* also a snapshot of the running program on it; 0: none */
    uint64_t snapshot_every; /* and after every so many steps; 0: none */
} tide_run_recording;

typedef struct tide_run_config {
    tide_run_workload workload;
    tide_run_limits limits;
    tide_run_recording recording;
} tide_run_config;

/* The one place of defaults: our small model, five steps of warm-up and ten measured, on "virtual"
 * without a limit, not recorded. */
void tide_run_config_init(tide_run_config *config);

/* ---- while it runs ---- */

typedef enum tide_run_stage {
    TIDE_RUN_STAGE_STEPS = 0, /* warm-up and measured steps */
    TIDE_RUN_STAGE_PAIRS      /* recording on and off */
} tide_run_stage;

/* What the caller wants to hear, and how it stops a run. Each may be NULL. They are called on the
 * thread of the run, except on_dump. */
typedef struct tide_run_hooks {
    void *ctx; /* borrowed; the first argument of each */
    /* After each step or pair. In a subprocess: never. */
    void (*progress)(void *ctx, tide_run_stage stage, size_t n_done, size_t n_total);
    /* About ten times a second while a subprocess runs. */
    void (*tick)(void *ctx);
    /* Asked after each step, and with each tick; true ends the run: TIDE_OUTCOME_STOPPED. */
    bool (*shall_stop)(void *ctx);
    /* Something beside the run failed; the run goes on. One line. */
    void (*note)(void *ctx, const char *text);
    /* A snapshot of the running program was written, or was not: on the dumper's thread. */
    void (*on_dump)(void *ctx, const tide_dump *dump);
} tide_run_hooks;

/* ---- what came of it ---- */

/* Peaks by the cache's statistics, up to where the run came; -1: unknown. */
typedef struct tide_run_memory {
    int64_t requested_peak_bytes, allocated_peak_bytes, reserved_peak_bytes;
    int64_t n_retries; /* times the cache gave all cached segments back to go on */
} tide_run_memory;

/* Bytes and times are -1 where there are none. */
typedef struct tide_run_result {
    tide_outcome outcome;
    tide_status status;                 /* why; TIDE_OK when completed */
    int signal_number;                  /* that ended the subprocess; 0: none */
    char reason[TIDE_RUN_REASON_BYTES]; /* one line for people; "" when completed */
    tide_error error;                   /* the same at length; from a subprocess the line alone */
    /* TIDE_OUTCOME_OOM: the allocation that found no room, and what could still be bought.
     * TIDE_OUTCOME_NO_HOST: a lower bound of what the run needs, and what the host has. */
    int64_t asked_bytes, free_bytes;
    int64_t segment_bytes; /* TIDE_OUTCOME_OOM: what would have been bought for it: a segment */
    tide_run_memory memory;
    /* In use on the whole device as its driver sees it, other processes included: at the end of the
     * run, and before its first allocation. Current use, not peaks. */
    int64_t device_used_bytes, device_used_before_bytes;
    int64_t host_peak_bytes; /* most memory resident of the process that ran it, by the kernel */

    const tide_hostmem *mem;          /* what the samples came from; NULL: nothing to release */
    size_t n_samples;                 /* measured steps; 0 on the virtual device */
    double *host_ms[TIDE_N_TIMED];    /* owned, n_samples each; NULL: the mode has no such phase */
    double *device_ms[TIDE_N_TIMED];  /* the same by the device's clock */
    tide_statistics ms[TIDE_N_TIMED]; /* device's clock, host's where the device has none */
    double loss;                      /* of the last step; NAN: there is none */
    int64_t n_tokens;                 /* of a step */
    double flops;             /* of the matrix products of a step, closed form, without recompute */
    double stated_peak_flops; /* of the device for this precision (model/peak.h) */
    double tokens_per_second; /* tokens of a step / mean time of a step */
    double achieved_flops;    /* a second: flops / mean time of a step in s */
    double peak_share;        /* achieved_flops / stated_peak_flops: 0.5 is half */

    int64_t started_unix_us;
    tide_run_environment environment;
    double recorder_ns_per_event;            /* for the recording of the next run; -1: unknown */
    char stacks_limited[512];                /* why stacks are short or absent; "" when whole */
    size_t n_steps_done, n_steps;            /* warm-up included; equal when completed */
    char snapshot_path[TIDE_RUN_PATH_BYTES]; /* "": none was saved */
    tide_snapshot *snapshot; /* owned; NULL unless it was asked for. There is one of a run that ran
                                out of memory, and of one whose snapshot could not be saved */
} tide_run_result;

/* A result that says nothing and owns nothing. */
void tide_run_result_init(tide_run_result *result);
void tide_run_result_fini(tide_run_result *result);

/* Makes it the result of a configuration that was not run, because it was refused with that status
 * and message: TIDE_OUTCOME_UNSUPPORTED, with what is known here of the environment. */
void tide_run_result_refuse(tide_run_result *result, tide_status status, const char *message);

/* ---- running ---- */

/* Runs it in this process. `hooks` may be NULL. `ret_result` is filled in any case; fini it.
 * host_peak_bytes is that of all that this process ever did. */
void tide_run_here(const tide_run_config *config, const tide_run_hooks *hooks,
                   tide_run_result *ret_result);

/* The same in a subprocess: fork, exec of `program` (NULL: the file of this process), the result
 * through a pipe. A crash or a leak there touches nothing here. It ends with this process, too,
 * however that one ends. Call it from a process with one thread. */
void tide_run_in_subprocess(const tide_run_config *config, const tide_run_hooks *hooks,
                            const char *program, tide_run_result *ret_result);

/* The command that the program of a subprocess must answer: `tidemark run-config JSON`. It calls
 * tide_run_subprocess_main with the JSON, which runs it, writes the result to file descriptor
 * TIDE_RUN_RESULT_FD and returns the exit status of the process. On failure `error` says why. */
#define TIDE_RUN_SUBPROCESS_COMMAND "run-config"
enum { TIDE_RUN_RESULT_FD = 3 };
TIDE_NODISCARD tide_status tide_run_subprocess_main(const char *json, tide_error *error);

/* For searches: runs it here, neither recorded nor described. TIDE_OK for a run that does not fit,
 * too: that is an answer, and *ret_fits is false; `ret_memory` has its peaks up to there. The
 * virtual device takes milliseconds, and gives the figures that tide_run_here gives. */
TIDE_NODISCARD tide_status tide_run_try(const tide_run_config *config, bool *ret_fits,
                                        tide_run_memory *ret_memory, tide_error *error);

/* For looking at tensors: runs it here where nothing is short, recorded without call stacks, and
 * gives its snapshot, which the caller destroys. `ret_memory` may be NULL. */
TIDE_NODISCARD tide_status tide_run_record(const tide_run_config *config,
                                           tide_run_memory *ret_memory,
                                           tide_snapshot **ret_snapshot, tide_error *error);

/* ---- results in files ---- */

/* The result as a JSON object, without the snapshot itself; the caller deletes it. NULL: no host
 * memory. */
cJSON *tide_run_result_to_json(const tide_run_result *result);
/* The reverse: what was derived from samples is derived again. TIDE_FORMAT names the key.
 * `ret_result` is filled in any case; fini it. */
TIDE_NODISCARD tide_status tide_run_result_from_json(const cJSON *json, tide_run_result *ret_result,
                                                     tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
