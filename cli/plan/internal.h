/* internal.h - the parts of `tidemark plan`. */
#ifndef TIDE_CLI_PLAN_INTERNAL_H
#define TIDE_CLI_PLAN_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options/program_options.h"
#include "cli/options/report_options.h"
#include "common/text/text.h"
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
    uint64_t world;     /* ranks of the job; 0: no ranks */
    const char *ranks;  /* those that run; NULL: "0" */
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
    bool is_brief;  /* for people: reasons are cut, and a second answer has one line */
    size_t n_paste; /* most lines to paste of an answer */
    size_t n_rows;  /* most rows of the table of single changes */
} tide_plan_report_input;

/* brief.c: the whole report. For people it has at most TIDE_PLAN_LINES lines, as long as the
 * sentences leave room for lines to paste; `is_whole` prints everything. */
enum { TIDE_PLAN_LINES = 20 };
void tide_plan_report(const tide_plan_report_input *input, bool is_whole, tide_report *report);

/* page.c: FOLDER/plan.html, which has everything of a plan and needs no other file but the
 * snapshots that it links. */
#define TIDE_PLAN_PAGE "plan.html"
TIDE_NODISCARD tide_status tide_plan_save_page(const tide_plan_report_input *input,
                                               tide_error *error);

/* paste.c: the lines that made the changes of an answer. */
typedef struct tide_plan_paste_row {
    const char *name;          /* of the change */
    const char *lines, *place; /* of the snapshot; place "": unknown */
    size_t n_lines;            /* with that of the place */
} tide_plan_paste_row;

typedef struct tide_plan_paste {
    tide_snapshot *snapshot; /* owned; NULL: it could not be read */
    tide_plan_paste_row rows[TIDE_PLAN_CHANGES];
    size_t n, n_lines;
} tide_plan_paste;

/* Without a snapshot there are no lines. The caller calls fini. */
void tide_plan_paste_init(tide_plan_paste *paste, const tide_plan *plan,
                          const tide_plan_answer *answer);
void tide_plan_paste_fini(tide_plan_paste *paste);
/* The lines of the changes that fit into `input->n_paste`, and one line about the others. */
void tide_plan_report_paste(const tide_plan_report_input *input, const tide_plan_paste *paste,
                            tide_report *report);
/* Adds the lines of a change, each after `indent`. */
void tide_plan_paste_row_add(const tide_plan_paste_row *row, const char *indent, tide_text *to);

/* seen.c: what the run showed and no change replaces. */
void tide_plan_report_seen(const tide_plan *plan, tide_report *report);

/* front.c: writes the picture of all runs into the folder. */
bool tide_plan_is_point(const tide_plan_run *run); /* whether it is one of them */
#define TIDE_PLAN_FRONT "front.svg"
TIDE_NODISCARD tide_status tide_plan_save_front(const tide_plan_report_input *input,
                                                tide_error *error);

/* report.c: the sentences. */
void tide_plan_report_answer(const tide_plan_report_input *input, tide_report *report);
/* left_out.c: what was not run, and why. */
void tide_plan_report_left_out(const tide_plan_report_input *input, tide_report *report);
/* tables.c: figures, each change alone, and all runs, if wanted or if --try named them. */
size_t tide_plan_count_alone(const tide_plan *plan); /* rows of all changes alone */
void tide_plan_report_tables(const tide_plan_report_input *input, bool wants_runs,
                             tide_report *report);

#endif
