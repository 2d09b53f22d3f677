/* internal.h - the parts of `tidemark replay`: its options and the report. The replays are
 * those of replay/runs.h.
 */
#ifndef TIDE_CLI_REPLAY_INTERNAL_H
#define TIDE_CLI_REPLAY_INTERNAL_H

#include "cli/options/options.h"
#include "cli/options/report_options.h"
#include "replay/runs.h"
#include "report/table.h"

typedef struct tide_replay_command {
    tide_option_texts confs;    /* --alloc-conf, each added to the recorded settings */
    const char *start;          /* auto, recorded, rebuilt */
    const char *output;         /* NULL: none */
    tide_report_options report; /* how the report is printed */
    uint64_t limit_bytes;       /* UINT64_MAX: not given */
    uint64_t n_samples;         /* --over-time */
    bool verify;                /* exit status 4 if the replay differs */
    bool grid;                  /* try all sensible settings */
    bool strip_private;         /* of the output */
} tide_replay_command;

/* The table of a grid for each device, and the best settings there. */
void tide_replay_report_ranks(tide_report *report, const tide_replay_runs *runs);
/* Fills the report. */
void tide_replay_report(tide_report *report, const tide_replay_runs *runs, const char *path);

#endif
