/* trial.h - one configuration run once, and everything that is known of it afterwards: a cell of a
 * sweep or a study, a probe of a search.
 *
 * tide_trial_run runs it in this process, tide_trial_run_apart in one of its own: a crash or a leak
 * there touches nothing here. What goes wrong in a run is its outcome, not a failure of these
 * functions: that it does not fit, or that the device cannot do it, is a result with its reason.
 * Nothing is printed. On the virtual device a run takes milliseconds and has no times.
 *
 * Times are those of profile: the device's clock, and the host's where the device has none; a
 * phase by itself, never by subtraction. std is the sample's.
 */
#ifndef TIDE_CLI_TRIAL_H
#define TIDE_CLI_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "device/device.h"
#include "capture/host.h"
#include "cli/files.h"
#include "common/hostmem.h"
#include "common/statistics.h"
#include "common/status.h"
#include "model/workload.h"
#include "snapshot/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_TRIAL_REASON_BYTES = 512 };

#define TIDE_TRIAL_UNLIMITED UINT64_MAX

/* What to run. All texts are borrowed during the call. */
typedef struct tide_trial_config {
    tide_workload_config workload; /* progress is not called; AdamW's settings are the defaults */
    const char *device;            /* what tide_device_open takes; never "auto" */
    uint64_t memory_limit_bytes;   /* of reserved bytes; TIDE_TRIAL_UNLIMITED: none */
    const char *alloc_conf;        /* on top of $TIDEMARK_ALLOC_CONF; NULL: none */
    const char *snapshot_path;     /* where the snapshot is saved; NULL: nowhere */
    bool records;                  /* every allocation, which costs time; implied by a path */
    bool keeps_snapshot;           /* result->snapshot; only in this process */
    bool strip_private;            /* the saved snapshot has no command line, host name, folders */
    const char *command;           /* what the snapshot says of the command line; NULL: "" */
} tide_trial_config;

/* The defaults of tide_workload_config_init, on "virtual", not recorded. */
void tide_trial_config_init(tide_trial_config *config);

typedef enum tide_trial_outcome {
    TIDE_TRIAL_COMPLETED = 0,
    TIDE_TRIAL_OOM,         /* the device, or the memory limit, had no room */
    TIDE_TRIAL_NO_HOST,     /* the cpu device: could not fit the host's memory, was not started */
    TIDE_TRIAL_UNSUPPORTED, /* the device or this build cannot do it, or no such model exists */
    TIDE_TRIAL_FAILED,      /* anything else that has a message */
    TIDE_TRIAL_CRASHED,     /* apart: a signal ended its process, or it ended without a result */
    TIDE_TRIAL_STOPPED,     /* an interruption (interrupt.h) ended it: no result */
    TIDE_N_TRIAL_OUTCOMES
} tide_trial_outcome;

/* "completed", "out of memory", ...; "?" out of range. */
const char *tide_trial_outcome_name(int outcome);
/* The number of a name, or -1. */
int tide_trial_outcome_from_name(const char *name);

/* Where and by what a trial was run. Texts are "" and numbers -1 where nobody knows. */
typedef struct tide_trial_environment {
    char device_kind[16];       /* cuda, cpu, virtual */
    char device_name[128];      /* as the driver calls it */
    int64_t device_total_bytes; /* capacity; -1: unlimited, or the host's */
    int compute_capability;     /* 90 for 9.0 */
    int driver_version;         /* the CUDA version that the driver supports: 12080 */
    int runtime_version;        /* of cudart: 12080 */
    char driver[64];            /* the driver's own version: "570.86.15" */
    int sm_clock_khz;           /* highest */
    int memory_clock_khz;       /* highest */
    char
        computed_by[TIDE_HOST_TEXT]; /* kernels, libraries and threads; "" where nothing computes */
    char tool[64];                   /* "tidemark 0.1.0" */
    char build[128];                 /* build type and compiler */
    tide_host_info host;             /* the machine */
} tide_trial_environment;

/* Of a device (NULL: none was opened) and what computed on it, on this machine. */
void tide_trial_environment_describe(const tide_device_info *device, const char *computed_by,
                                     tide_trial_environment *ret_environment);

/* What came of it. Bytes and times are -1 where there are none. */
typedef struct tide_trial_result {
    tide_trial_outcome outcome;
    tide_status status;                   /* why; TIDE_OK when completed */
    int signal_number;                    /* that ended its process; 0: none */
    char reason[TIDE_TRIAL_REASON_BYTES]; /* one line for people; "" when completed */
    /* TIDE_TRIAL_OOM: the allocation that found no room, and what could still be bought.
     * TIDE_TRIAL_NO_HOST: a lower bound of what the run needs, and what the host has. */
    int64_t asked_bytes, free_bytes;
    int64_t segment_bytes; /* TIDE_TRIAL_OOM: what would have been bought for it: a segment */
    /* Highest of each, by the cache's statistics; up to where it came. */
    int64_t requested_peak_bytes, allocated_peak_bytes, reserved_peak_bytes;
    /* In use on the whole device as its driver sees it, other processes included: at the end of the
     * run, and before its first allocation. Current use, not peaks. */
    int64_t device_used_bytes, device_used_before_bytes;
    int64_t host_peak_bytes; /* most memory resident of the process that ran it, by the kernel */

    const tide_hostmem *mem;          /* what the samples came from; NULL: nothing to release */
    size_t n_samples;                 /* measured steps; 0 on the virtual device */
    double *host_ms[TIDE_N_TIMED];    /* owned, n_samples each; NULL: the mode has no such phase */
    double *device_ms[TIDE_N_TIMED];  /* the same by the device's clock */
    tide_statistics ms[TIDE_N_TIMED]; /* device's clock, host's where the device has none */
    int64_t n_tokens;                 /* of a step: batch times context; mlp: the batch */
    double flops;             /* of the matrix products of a step, closed form, without recompute */
    double stated_peak_flops; /* of the device for this precision (model/peak.h) */
    double tokens_per_second; /* tokens of a step / mean time of a step */
    double achieved_flops;    /* a second: flops / mean time of a step in s */
    double peak_share;        /* achieved_flops / stated_peak_flops: 0.5 is half */

    int64_t started_unix_us;
    tide_trial_environment environment;
    char snapshot_path[TIDE_PATH_BYTES]; /* "": none was saved */
    tide_snapshot *snapshot;             /* owned; NULL unless asked for */
} tide_trial_result;

/* A result that says nothing; owns nothing. */
void tide_trial_result_init(tide_trial_result *result);
void tide_trial_result_fini(tide_trial_result *result);

/* True: both may be one and the same, because what both know is equal; then `place` knows what
 * either of them knows. */
bool tide_trial_environment_join(tide_trial_environment *place,
                                 const tide_trial_environment *other);

/* Makes it the result of a configuration that was not run, because it was refused with that status
 * and message: TIDE_TRIAL_UNSUPPORTED, with what is known here of the environment. */
void tide_trial_refuse(tide_trial_result *result, tide_status status, const char *message);

/* Runs it here. `ret_result` is filled in any case; fini it. host_peak_bytes is that of all that
 * this process ever did. TIDE_TRIAL_STOPPED after an interruption of which tide_interrupt_begin
 * was told. */
void tide_trial_run(const tide_trial_config *config, tide_trial_result *ret_result);

/* How a trial is run apart. NULL where it is optional: the defaults. */
typedef struct tide_trial_apart {
    const char *program;     /* NULL: the file of this process; answers TIDE_TRIAL_COMMAND */
    void (*tick)(void *ctx); /* about ten times a second while it runs; NULL: none */
    void *ctx;               /* borrowed; tick's first */
} tide_trial_apart;

/* The same in a process of its own: fork, exec of the program, the result through a pipe. The first
 * noted interruption (interrupt.h) ends it: TIDE_TRIAL_STOPPED. It ends with this process, too,
 * however that one ends. From a process with one thread. */
void tide_trial_run_apart(const tide_trial_config *config, const tide_trial_apart *apart,
                          tide_trial_result *ret_result);

/* The command that the process of a trial runs; for main.c. Not for people: its options are what
 * tide_trial_run_apart hands over, its result is JSON on file descriptor TIDE_TRIAL_RESULT_FD. */
#define TIDE_TRIAL_COMMAND "run-trial"
enum { TIDE_TRIAL_RESULT_FD = 3 };
int tide_trial_command(int argc, char **argv);

/* The result as a JSON object, without the snapshot itself; the caller deletes it. NULL: no host
 * memory. */
cJSON *tide_trial_result_to_json(const tide_trial_result *result);
/* The reverse: what was derived from samples is derived again. TIDE_FORMAT names the key.
 * `ret_result` is filled in any case; fini it. */
TIDE_NODISCARD tide_status tide_trial_result_from_json(const cJSON *json,
                                                       tide_trial_result *ret_result,
                                                       tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
