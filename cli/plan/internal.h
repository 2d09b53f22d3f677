/* internal.h - the parts of `tidemark plan`. */
#ifndef TIDE_CLI_PLAN_INTERNAL_H
#define TIDE_CLI_PLAN_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options/program_options.h"
#include "cli/options/report_options.h"
#include "programs/plan/plan.h"

/* The command line as it was written; texts are borrowed from it. */
typedef struct tide_plan_command {
    const char *device;
    uint64_t room_bytes;     /* TIDE_RUN_UNLIMITED: all of the card */
    const char *allow;       /* words, separated by commas; NULL: none */
    tide_option_texts named; /* of --try */
    const char *varied;      /* "batch=1..64"; NULL: not given, as the next two */
    const char *accumulate;  /* "accum" */
    const char *patch;       /* path */
    uint64_t n_runs, n_jobs, n_steps;
    const char *output; /* a folder; NULL: none */
    tide_program_options program;
    tide_report_options report;
} tide_plan_command;

/* folder.c: where the snapshots of the runs are. */
typedef struct tide_plan_folder {
    char path[TIDE_PATH_BYTES];
    bool is_own; /* temporary: removed with its snapshots at the end */
} tide_plan_folder;

/* The named folder, which must be empty or not exist, or a temporary one (`output` NULL). */
TIDE_NODISCARD tide_status tide_plan_folder_init(tide_plan_folder *folder, const char *output,
                                                 tide_error *error);
void tide_plan_folder_fini(tide_plan_folder *folder);

/* What a report needs besides the plan. */
typedef struct tide_plan_report_input {
    const tide_plan *plan;
    const char *card;    /* "virtual:rtx4090" */
    const char *program; /* "train.py" */
    const char *allow;   /* NULL: nothing */
    double seconds;      /* that the plan took */
    bool keeps_files;    /* the folder remains */
    const char *folder;
} tide_plan_report_input;

/* front.c: writes the picture of all runs into the folder. */
#define TIDE_PLAN_FRONT "front.svg"
TIDE_NODISCARD tide_status tide_plan_save_front(const tide_plan_report_input *input,
                                                tide_error *error);

/* report.c: the sentences. */
void tide_plan_report_answer(const tide_plan_report_input *input, tide_report *report);
/* left_out.c: what was not run, and why. */
void tide_plan_report_left_out(const tide_plan_report_input *input, tide_report *report);
/* tables.c: figures, each change alone, and all runs, if wanted or if --try named them. */
void tide_plan_report_tables(const tide_plan_report_input *input, bool wants_runs,
                             tide_report *report);

#endif
