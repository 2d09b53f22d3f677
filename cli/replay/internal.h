/* internal.h - the parts of `tidemark replay`: its options, the runs, the report.
 */
#ifndef TIDE_CLI_REPLAY_INTERNAL_H
#define TIDE_CLI_REPLAY_INTERNAL_H

#include "cli/options.h"
#include "cli/report_options.h"
#include "report/table.h"
#include "replay/replay.h"

enum { TIDE_REPLAY_MAX_RUNS = 64, TIDE_REPLAY_NAME_BYTES = 160 };

typedef struct tide_replay_command {
    tide_option_texts confs;    /* --alloc-conf, each on top of the recorded settings */
    const char *start;          /* auto, recorded, rebuilt */
    const char *output;         /* NULL: none */
    tide_report_options report; /* how the report is printed */
    uint64_t limit_bytes;       /* UINT64_MAX: not given */
    uint64_t n_samples;         /* --over-time */
    bool verify;                /* exit status 4 where it does not come out */
    bool grid;                  /* all settings that make sense */
    bool strip_private;         /* of the output */
} tide_replay_command;

/* A replay under one of the settings. */
typedef struct tide_replay_entry {
    char name[TIDE_REPLAY_NAME_BYTES]; /* the settings as they were given */
    tide_cache_config config;
    tide_replay *replay; /* owned */
} tide_replay_entry;

/* The smallest limit of a device at which the recorded requests are all served. */
typedef struct tide_replay_need {
    uint64_t limit_bytes;      /* under the best of the settings; UINT64_MAX: not searched, none */
    size_t entry;              /* these settings */
    uint64_t base_limit_bytes; /* under the recorded settings; UINT64_MAX: the same */
} tide_replay_need;

typedef struct tide_replay_runs {
    const tide_snapshot *snapshot;           /* borrowed */
    const tide_replay_command *command;      /* borrowed */
    tide_cache_config recorded;              /* settings */
    bool is_told;                            /* the file tells all of them */
    tide_replay_figures *recorded_by_device; /* owned; as many as the snapshot has devices */
    tide_replay_limit *limits; /* owned; by device: what its rows tell, where no limit is known */
    uint64_t *limits_bytes;    /* owned; of these, for the engine */
    tide_replay_need *needs;   /* owned; by device; of a grid */
    tide_replay *verified;     /* owned; under the recorded settings; NULL: not asked for */
    tide_replay_entry entries[TIDE_REPLAY_MAX_RUNS];
    size_t n_entries;
    size_t base; /* entry that the others are compared with; SIZE_MAX: the recording */
} tide_replay_runs;

/* Runs all that the command asks for. */
TIDE_NODISCARD tide_status tide_replay_runs_init(tide_replay_runs *runs,
                                                 const tide_snapshot *snapshot,
                                                 const tide_replay_command *command,
                                                 tide_error *error);
void tide_replay_runs_fini(tide_replay_runs *runs);

/* Whether anything happened on the device. */
bool tide_replay_uses_device(const tide_replay_runs *runs, size_t device);
/* The memory limit of a device in the entries' runs: given, recorded, or told by its rows;
 * UINT64_MAX: none. */
uint64_t tide_replay_limit_in_use(const tide_replay_runs *runs, size_t device);
/* A run of the entry's settings with these limits by device (NULL: those of the command). */
TIDE_NODISCARD tide_status tide_replay_run_entry(const tide_replay_runs *runs, size_t entry,
                                                 const uint64_t *limits_bytes,
                                                 tide_replay **ret_replay, tide_error *error);
/* Fills runs->needs of each device on which every entry runs out of memory. */
TIDE_NODISCARD tide_status tide_replay_find_needs(tide_replay_runs *runs, tide_error *error);

/* The table of a grid for each device, and which settings are best there. */
void tide_replay_report_ranks(tide_report *report, const tide_replay_runs *runs);
/* Fills the report. */
void tide_replay_report(tide_report *report, const tide_replay_runs *runs, const char *path);

#endif
