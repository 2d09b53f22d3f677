/* internal.h - the parts of `tidemark profile`: its options, the plan of runs that they name, and
 * the report of the results. The runs themselves are those of programs/runs/run.h.
 */
#ifndef TIDE_MODEL_COMMANDS_PROFILE_INTERNAL_H
#define TIDE_MODEL_COMMANDS_PROFILE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/files.h"
#include "model/commands/options/model_options.h"
#include "common/status.h"
#include "report/table.h"
#include "programs/runs/run.h"

enum { TIDE_PROFILE_MAX_RUNS = 64 };

/* The command line as it was written; all texts are borrowed from it. */
typedef struct tide_profile_options {
    tide_run_options run;        /* the options of every command that runs a model */
    uint64_t overhead_pairs;     /* TIDE_NOT_GIVEN: as many as the bound on their time allows */
    bool no_record;              /* time it without a recorder */
    const char *device_times;    /* auto or all: which scopes the device times; cuda only */
    const char *log_path;        /* of the event log; NULL: the file that TIDEMARK_LOG names, or
                                    none */
    uint64_t log_bytes;          /* TIDE_NOT_GIVEN: the default */
    const char *log_full;        /* keep-newest, stop; NULL: the default */
    bool profiler_range;         /* the CUDA profiler around the measured steps; cuda only */
    bool cuda_graph;             /* the measured steps are replays of a captured one */
    bool sync_phases;            /* wait for the device after each phase, and compare the clocks */
    bool kernels;                /* trace the kernels of the measured steps; cuda only */
    const char *snapshot_signal; /* the signal for a snapshot of the running program; NULL: none */
    uint64_t snapshot_every;     /* write a snapshot after every n steps; TIDE_NOT_GIVEN: none */
    bool open_browser;           /* write the report and open it */
} tide_profile_options;

extern const tide_option_table tide_profile_option_table;

void tide_profile_options_init(tide_profile_options *options);

/* One run of the list, and its result. */
typedef struct tide_profile_run {
    tide_run_config config;         /* checked */
    char name[TIDE_RUN_NAME_BYTES]; /* small-train-c128-b4-fp32 */
    char path[TIDE_PATH_BYTES];     /* path of its snapshot */
    tide_run_result result;         /* owned */
} tide_profile_run;

/* Everything that `tidemark profile` will do. */
typedef struct tide_profile_plan {
    const tide_profile_options *options; /* borrowed */
    char device[TIDE_RUN_SPEC_BYTES];    /* never "auto" */
    tide_device_kind kind;               /* of that device */
    tide_profile_run *runs;              /* owned, n_runs */
    size_t n_runs;                       /* 1 .. TIDE_PROFILE_MAX_RUNS */
    bool is_list;                        /* an option named several values */
    char report_path[TIDE_PATH_BYTES];   /* "": no report is written */
} tide_profile_plan;

/* The runs that the options name, with names and paths, checked; nothing is allocated on a device
 * or left on disk. `command` is the command line as text, borrowed. The caller calls fini in any
 * case. */
TIDE_NODISCARD tide_status tide_profile_plan_init(tide_profile_plan *plan,
                                                  const tide_profile_options *options,
                                                  const char *command, tide_error *error);
void tide_profile_plan_fini(tide_profile_plan *plan);

/* Names the files of snapshots and report. Refuses a name under which another file would be lost.
 */
TIDE_NODISCARD tide_status tide_profile_name_files(tide_profile_plan *plan, tide_error *error);

/* Reports the forecast of time of a run on a virtual card, or the reason why there is none. */
void tide_profile_say_forecast(const tide_profile_run *run, tide_report *report);
/* The same in one sentence for each run of a list, and the reason once if there is none. */
void tide_profile_say_forecasts(const tide_profile_plan *plan, tide_report *report);
/* Whether any run has one. */
bool tide_profile_has_forecast(const tide_profile_plan *plan);

/* Reports the cost of recording; nothing on a device without times. */
void tide_profile_say_recorder(const tide_profile_plan *plan, tide_report *report);

/* Reports the losses of each run that has any, and warns if the first loss cannot be right. */
void tide_profile_say_loss(const tide_profile_plan *plan, tide_report *report);

/* Reports the bytes of a language model that decodes, and its rows; nothing for other models. */
void tide_profile_say_decode(const tide_profile_plan *plan, tide_report *report);

/* Prints on stderr the failed request of a run that ran out of memory, and the live memory at that
 * time. */
void tide_profile_print_oom(const tide_profile_run *run);

/* Prints results on stdout: of a single run, and of a list. */
TIDE_NODISCARD tide_status tide_profile_print_single(const tide_profile_plan *plan,
                                                     tide_error *error);
TIDE_NODISCARD tide_status tide_profile_print_list(const tide_profile_plan *plan,
                                                   tide_error *error);

#endif
