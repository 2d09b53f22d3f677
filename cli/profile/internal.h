/* internal.h - the parts of `tidemark profile`: options, the runs they name, the checks
 * before anything starts, one run, and what is printed.
 */
#ifndef TIDE_CLI_PROFILE_INTERNAL_H
#define TIDE_CLI_PROFILE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/cache.h"
#include "device/device.h"
#include "capture/dumper.h"
#include "capture/host.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/table.h"
#include "common/status.h"
#include "model/workload.h"
#include "snapshot/snapshot.h"

#define TIDE_NOT_GIVEN UINT64_MAX /* a count or size option that is not on the command line */

enum {
    TIDE_PROFILE_MAX_RUNS = 64,
    TIDE_PROFILE_NAME_BYTES = 160,
    TIDE_PROFILE_SPEC_BYTES = 64, /* of what tide_device_open takes */
    TIDE_PROFILE_MAX_STEPS = 1000000
};

/* The command line as it was written; all texts are borrowed from it. */
typedef struct tide_profile_options {
    /* Empty: the default. */
    tide_option_list sizes, contexts, batches, modes, precisions, attentions, recomputes;
    uint64_t d_model, n_layers, n_heads, d_ff, vocab_size; /* TIDE_NOT_GIVEN */
    const char *config_path;                               /* NULL: none */
    bool keep_graph;                                       /* mode forward only */
    const char *workload;                                  /* transformer, mlp */
    const char *emulate;                                   /* none, pytorch */
    const char *edition;         /* 2025, 2026; NULL: the default, eager only */
    const char *device;          /* "auto", or what tide_device_open takes */
    uint64_t memory_limit_bytes; /* TIDE_NOT_GIVEN: none */
    const char *alloc_conf;      /* NULL: none */
    double clip_grad_norm;       /* 0: no clipping */
    uint64_t seed;               /* of parameters, tokens and targets */
    uint64_t warmup_steps;       /* TIDE_PROFILE_MAX_STEPS at most */
    uint64_t steps;              /* measured; 1 .. TIDE_PROFILE_MAX_STEPS */
    uint64_t overhead_pairs;     /* TIDE_NOT_GIVEN: as many as a bound on their time allows */
    bool no_record;              /* time it without a recorder */
    const char *device_times;    /* auto or all: which scopes are timed on the device; cuda only */
    const char *log_path;        /* of the event log; NULL: what TIDEMARK_LOG names, or none */
    uint64_t log_bytes;          /* TIDE_NOT_GIVEN: the default */
    const char *log_full;        /* keep-newest, stop; NULL: the default */
    bool profiler_range;         /* the CUDA profiler around the measured steps; cuda only */
    bool kernels;                /* trace the kernels of the measured steps; cuda only */
    const char *snapshot_signal; /* a snapshot of the running program on it; NULL: none */
    uint64_t snapshot_every;     /* and after every so many steps; TIDE_NOT_GIVEN: none */
    const char *output;          /* NULL: the default name in this folder */
    const char *format;          /* of the tables on stdout */
    bool wide;                   /* their text, whole */
    bool strip_private;          /* of command line, host name and folders */
    bool open_browser;           /* write the report and open it */
} tide_profile_options;

extern const tide_option_table tide_profile_option_table;

void tide_profile_options_init(tide_profile_options *options);

/* ---- the runs that the options name ---- */

/* Whether an option, not a preset or a file, sets a dimension of the model. */
bool tide_profile_is_custom(const tide_profile_options *options);
/* How many: the product of the lists. */
size_t tide_profile_n_runs(const tide_profile_options *options);
/* The run of that number, 0 .. n - 1. The order: size, mode, context, batch, precision, attention,
 * recompute; the last vary fastest. TIDE_INVALID, TIDE_LIMIT: there is no such run; the rest of
 * `workload` is filled all the same. */
TIDE_NODISCARD tide_status tide_profile_configure(const tide_profile_options *options,
                                                  size_t number, tide_workload_config *workload,
                                                  tide_error *error);
/* small-train-c128-b4-fp32, with what is not the default behind it. */
void tide_profile_name(const tide_workload_config *workload,
                       char ret_name[TIDE_PROFILE_NAME_BYTES]);

/* Refuses values that no run could have. */
TIDE_NODISCARD tide_status tide_profile_check(const tide_profile_options *options,
                                              tide_error *error);
/* Environment, --alloc-conf and --memory-limit. */
TIDE_NODISCARD tide_status tide_profile_configure_cache(const tide_profile_options *options,
                                                        tide_cache_config *cache,
                                                        tide_error *error);
/* Opens and closes the device, "auto" the best one; on a GPU this process has a context then.
 * `command` for notes on stderr. */
TIDE_NODISCARD tide_status tide_profile_pick_device(const char *command, const char *spec,
                                                    char ret_spec[TIDE_PROFILE_SPEC_BYTES],
                                                    tide_device_kind *ret_kind, tide_error *error);
/* TIDE_INVALID, with the reason, where the device does not have the precision. */
TIDE_NODISCARD tide_status tide_profile_check_precision(tide_device_kind kind,
                                                        tide_precision precision,
                                                        tide_error *error);

/* ---- one run ---- */

/* How a run ended. */
typedef enum tide_profile_outcome {
    TIDE_RUN_COMPLETED = 0,
    TIDE_RUN_STOPPED, /* interrupted between two steps; there is a snapshot */
    TIDE_RUN_OOM,     /* the device had no room; there is a snapshot */
    TIDE_RUN_NO_HOST, /* could not fit the host's memory and was not started; no snapshot */
    TIDE_RUN_FAILED   /* anything else; a snapshot only where it could not be saved */
} tide_profile_outcome;

/* One run of the list, and what came of it. */
typedef struct tide_profile_run {
    tide_workload_config workload;      /* checked */
    char name[TIDE_PROFILE_NAME_BYTES]; /* small-train-c128-b4-fp32 */
    char path[TIDE_PATH_BYTES];         /* of the snapshot; "": it is not saved */
    tide_profile_outcome outcome;       /* how it ended */
    tide_status status;                 /* why, unless it completed */
    tide_error error;                   /* the same for people */
    uint64_t need_bytes;                /* TIDE_RUN_NO_HOST: the lower bound of what it needs */
    uint64_t available_bytes;           /* TIDE_RUN_NO_HOST: what there is */
    tide_cache_oom oom;                 /* TIDE_RUN_OOM: how things stood then */
    /* By the cache's own statistics. */
    int64_t requested_peak_bytes, allocated_peak_bytes, reserved_peak_bytes;
    /* In use on the whole device, as its driver sees it: when the run had ended and its segments
     * were still bought, and before the first one was; -1: unknown. */
    int64_t device_used_bytes, device_used_before_bytes;
    tide_device_info device;          /* spec "": it was not opened */
    char computed_by[TIDE_HOST_TEXT]; /* as tide_workload_computed_by; "" */
    tide_snapshot *snapshot;          /* owned; NULL where there is none */
    bool is_saved;                    /* the snapshot is a file, too */
} tide_profile_run;

/* Everything that `tidemark profile` is going to do. */
typedef struct tide_profile_plan {
    const tide_profile_options *options;  /* borrowed */
    tide_cache_config cache;              /* the same for every run */
    char device[TIDE_PROFILE_SPEC_BYTES]; /* never "auto" */
    tide_device_kind kind;                /* of that device */
    tide_profile_run *runs;               /* owned, n_runs */
    size_t n_runs;                        /* 1 .. TIDE_PROFILE_MAX_RUNS */
    bool is_list;                         /* an option named several values */
    char report_path[TIDE_PATH_BYTES];    /* "" : no report is written */
    const char *command;                  /* borrowed: the command line as text */
    char stacks_limited[512];             /* why stacks are short or not there; "" when whole */
    double recorder_ns_per_event;         /* -1: not measured */
    int snapshot_signal;                  /* number; 0: none */
    bool is_quiet;                        /* no progress and no notes on stderr */
} tide_profile_plan;

/* The runs that the options name, with names and paths, checked; nothing is allocated on a device
 * and nothing is left on disk. The caller calls fini in any case. */
TIDE_NODISCARD tide_status tide_profile_plan_init(tide_profile_plan *plan,
                                                  const tide_profile_options *options,
                                                  const char *command, tide_error *error);
void tide_profile_plan_fini(tide_profile_plan *plan);

/* Sets what a JSON file says about the model: d_model, n_layers, n_heads, d_ff, vocab_size,
 * context_length, batch_size, rope_theta, size. TIDE_INVALID names file, place or key. */
TIDE_NODISCARD tide_status tide_profile_read_config(const char *path, tide_model_config *config,
                                                    tide_error *error);

/* Runs `run` and writes its snapshot; fills its outcome. Never fails: failures are the outcome. */
void tide_profile_execute(tide_profile_plan *plan, tide_profile_run *run);

/* The samples of a run as the snapshot has them. */
typedef struct tide_profile_timing {
    tide_snapshot_timing timing;              /* its phases are those below */
    tide_snapshot_phase phases[TIDE_N_TIMED]; /* those that a step of the mode has */
} tide_profile_timing;

/* Whose memory a run of the workload takes: a text of tide_snapshot_run. */
const char *tide_profile_implementation(const tide_workload_config *workload);

/* Describe a run for its snapshot; `ret_run` borrows its texts from plan and host, `ret_timing`
 * its samples from result. */
void tide_profile_describe_run(const tide_profile_plan *plan, const tide_profile_run *run,
                               const tide_host_info *host, tide_snapshot_run *ret_run);
void tide_profile_describe_timing(const tide_profile_plan *plan, const tide_profile_run *run,
                                  const tide_workload_result *result, bool computes,
                                  tide_profile_timing *ret_timing);

/* Snapshots while a run goes on, each a file of its own beside the run's. */
typedef struct tide_profile_dumps {
    const tide_profile_plan *plan; /* borrowed */
    const tide_profile_run *run;   /* borrowed */
    tide_dumper *dumper;           /* owned; NULL: nothing is recorded, and nobody asked */
    tide_host_info host;           /* what the description borrows from */
    tide_snapshot_run description; /* of the run, as it is while it goes on */
} tide_profile_dumps;

/* Reads the options. TIDE_INVALID names the one that makes no sense. */
TIDE_NODISCARD tide_status tide_profile_dumps_check(const tide_profile_options *options,
                                                    tide_profile_plan *plan, tide_error *error);
/* From now on the signal of --snapshot-signal ends nothing, when it comes between two runs. */
void tide_profile_dumps_hold_signal(const tide_profile_plan *plan);
/* `dumps` must stay where it is until the end, which comes before that of the cache. */
TIDE_NODISCARD tide_status tide_profile_dumps_begin(tide_profile_dumps *dumps,
                                                    const tide_profile_plan *plan,
                                                    const tide_profile_run *run,
                                                    tide_recorder *recorder, tide_cache *cache,
                                                    tide_error *error);
/* After step n_done, warm-up included; `result` has the samples up to there. */
void tide_profile_dumps_step(tide_profile_dumps *dumps, const tide_workload_result *result,
                             size_t n_done, bool computes);
/* Waits for what is being written. Allowed where it never began. */
void tide_profile_dumps_end(tide_profile_dumps *dumps);

/* How many pairs of steps, recorded and not, follow the run; 0 where there is nothing to compare.
 */
size_t tide_profile_n_pairs(const tide_profile_plan *plan, const tide_profile_run *run,
                            const tide_workload_result *result);
/* Runs them and adds their times to the snapshot of the workload's run, which nobody else uses yet.
 * What was measured before a failure is added, too. */
TIDE_NODISCARD tide_status tide_profile_compare_recording(tide_workload *workload, size_t n_pairs,
                                                          tide_snapshot *snapshot,
                                                          tide_error *error);
/* What recording cost; nothing on a device that has no times. */
void tide_profile_say_recorder(const tide_profile_plan *plan, tide_report *report);

/* The losses of each run that has any, and a warning where the first cannot be right. */
void tide_profile_say_loss(const tide_profile_plan *plan, tide_report *report);

/* What a run that ran out of memory asked for, and what was alive then, on stderr. */
void tide_profile_print_oom(const tide_profile_run *run);

/* Results on stdout: of a single run, and of a list. */
TIDE_NODISCARD tide_status tide_profile_print_single(const tide_profile_plan *plan,
                                                     tide_error *error);
TIDE_NODISCARD tide_status tide_profile_print_list(const tide_profile_plan *plan,
                                                   tide_error *error);

#endif
