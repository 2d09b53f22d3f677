/* internal.h - the parts of `tidemark study`: the studies, the cells that each runs, and their
 * shared parts.
 *
 * A study is a preset of the grid of tidemark profile: it fills the lists that the command line
 * left empty, each run of the grid is a cell, and after all runs it writes its tables and one
 * sentence made of their numbers (conclusions.h).
 */
#ifndef TIDE_MODEL_COMMANDS_STUDY_INTERNAL_H
#define TIDE_MODEL_COMMANDS_STUDY_INTERNAL_H

#include "model/commands/options/model_options.h"
#include "report/table.h"
#include "programs/runs/run.h"

enum { TIDE_STUDY_MAX_CELLS = 256, TIDE_STUDY_MAX_REPEATS = 64 };

/* The command line as it was written; all texts are borrowed from it. */
typedef struct tide_study_options {
    tide_run_options run;     /* lists that were not given are filled by the study */
    tide_option_list warmups; /* steps of warm-up; one value, except in study warmup */
    uint64_t repeats;         /* how often each cell is run */
} tide_study_options;

/* One run of the grid, and its result. */
typedef struct tide_study_cell {
    tide_run_config config;
    char name[TIDE_RUN_NAME_BYTES]; /* small-train-c128-b4-fp32 */
    tide_run_result result;         /* owned; of all repeats together */
    tide_run_result *repeats;       /* owned, as many as in the options; NULL: it is run once */
    size_t n_repeated;              /* number of repeats that were run */
} tide_study_cell;

typedef struct tide_study tide_study;

/* A study in progress. */
typedef struct tide_study_work {
    const tide_study *study;           /* borrowed */
    const tide_study_options *options; /* borrowed: with the study's values filled in */
    char device[TIDE_RUN_SPEC_BYTES];  /* never "auto"; "" if nothing is run */
    tide_device_kind kind;             /* of that device */
    tide_study_cell *cells;            /* owned, n_cells */
    size_t n_cells;                    /* of the grid */
    size_t n_run;                      /* cells that were run; fewer after an interruption */
    int parts_status;                  /* of the studies of which it consists; 0: none failed */
    tide_report report;                /* tables and sentences */
} tide_study_work;

/* How the cells of a study are run. */
typedef enum tide_study_kind {
    TIDE_STUDY_NOT_RUN = 0, /* the cells are only configurations; nothing is run */
    TIDE_STUDY_SUBPROCESS,  /* each in a subprocess, not recorded: times */
    TIDE_STUDY_RECORDED     /* here, with its snapshot: memory, or times by scope */
} tide_study_kind;

struct tide_study {
    const char *name;       /* "memory" */
    const char *summary;    /* the question, one line */
    const char *device;     /* default of --device */
    tide_study_kind kind;   /* how its cells are run */
    const char *takes;      /* names of the options it uses besides those of the report,
                               space-separated; NULL: all */
    bool takes_warmups;     /* several values of --warmup, each a cell */
    bool takes_workload;    /* also --workload mlp; else the model is a transformer */
    bool traces_kernels;    /* only if the device is a GPU */
    bool needs_backward;    /* no mode forward */
    bool needs_times;       /* no virtual device */
    bool is_made_of_others; /* it has no cells, and its parts fill in the options themselves */
    /* Fills the lists that were not given. */
    void (*fill)(tide_study_options *options);
    /* Writes tables and conclusion into the report, after the cells have been run. */
    tide_status (*report)(tide_study_work *work, tide_error *error);
};

extern const tide_study tide_study_end_to_end;
extern const tide_study tide_study_warmup;
extern const tide_study tide_study_precision;
extern const tide_study tide_study_memory;
extern const tide_study tide_study_kernels;
extern const tide_study tide_study_parameters;
extern const tide_study tide_study_accumulation;
extern const tide_study tide_study_assignment;
extern const tide_study tide_study_residuals;

/* ---- making one ---- */

/* Fills in the values that `options` lacks, runs the cells, and writes the report. `options` must
 * outlive the work. In any case, the caller ends the report and then calls fini. */
TIDE_NODISCARD tide_status tide_study_make(const tide_study *study, tide_study_options *options,
                                           tide_study_work *ret_work, tide_error *error);
void tide_study_work_fini(tide_study_work *work);
/* 1 if a run failed, 3 if one did not fit, 128 and the signal's number after an interruption. A run
 * that the device cannot compute is not a failure. */
int tide_study_exit_status(const tide_study_work *work);

/* ---- for fill ---- */

/* Fills a list that was not given with "128,256,512", counts or names. */
void tide_study_fill(tide_option_list *list, const char *items);
/* Fills in the presets, with `all` including 10B, unless the command line names a model. */
void tide_study_fill_sizes(tide_study_options *options, bool all);
/* Fills in one preset, unless the command line names a model. */
void tide_study_fill_size(tide_study_options *options, const char *size);

/* ---- for report ---- */

/* The model of a cell. Studies are about our own model only. */
const tide_workload_config *tide_study_model(const tide_study_cell *cell);

/* The step that contains a scope, as the index of the step's scope; TIDE_NONE: none. */
uint32_t tide_study_step_of(const tide_snapshot *snapshot, uint32_t scope);

/* The columns that may distinguish the cells of a grid; they precede a table's own. */
typedef enum tide_study_column {
    TIDE_STUDY_SIZE = 0,
    TIDE_STUDY_MODE,
    TIDE_STUDY_CONTEXT,
    TIDE_STUDY_BATCH,
    TIDE_STUDY_PRECISION,
    TIDE_STUDY_ATTENTION,
    TIDE_STUDY_RECOMPUTE,
    TIDE_STUDY_WARMUP,
    TIDE_N_STUDY_COLUMNS
} tide_study_column;

/* A set of them: TIDE_STUDY_SET(TIDE_STUDY_SIZE) | ... */
typedef unsigned tide_study_columns;
#define TIDE_STUDY_SET(column) (1U << (column))

/* The columns whose lists have several values. */
tide_study_columns tide_study_columns_of(const tide_study_work *work);
/* Writes the values of these columns for a cell: "medium, bf16-mixed"; "" for no columns. */
void tide_study_label(tide_study_columns columns, const tide_study_cell *cell, char *ret_text,
                      size_t n_room);

/* A table whose rows begin with the columns that distinguish cells. */
typedef struct tide_study_table {
    tide_table *table;          /* of the report; NULL without memory */
    tide_study_columns columns; /* in front of its own */
} tide_study_table;

/* Its own columns come next. */
tide_study_table tide_study_table_of(tide_study_work *work, tide_study_columns columns,
                                     const char *key, const char *title);
/* Begins a row with the columns that identify the cell; its own cells come next. */
void tide_study_row_begin(const tide_study_table *to, const tide_study_cell *cell);

/* Reports the common values of all cells, and the environment of their runs. */
void tide_study_say_setting(tide_study_work *work);
/* Names the cells that did not complete, each with its reason, and those that used the host's
 * memory (--spill). */
void tide_study_say_failures(tide_study_work *work);

/* ---- repeats of cells (repeats.c) ---- */

/* Makes room for the results of the repeats, if there is more than one. */
TIDE_NODISCARD tide_status tide_study_repeats_init(tide_study_work *work, tide_study_cell *cell,
                                                   tide_error *error);
void tide_study_repeats_fini(const tide_study_work *work, tide_study_cell *cell);
/* Runs the cell until a repeat does not complete, and joins the results. */
void tide_study_run_repeats(const tide_study_work *work, const tide_run_hooks *hooks,
                            tide_study_cell *cell);
/* The table of the repeats, if there is more than one. */
void tide_study_add_repeats(tide_study_work *work);

/* ---- the files of study assignment ---- */

/* A part of the assignment, as shown on its page. All borrowed. */
typedef struct tide_study_answer {
    const char *name;            /* of its files: "end-to-end" */
    const char *asks;            /* the question */
    const char *command;         /* makes the same tables */
    const tide_report *report;   /* NULL: it was not made */
    const char *reason;          /* why it was not made */
    const char *const *pictures; /* names of files in the folder; n_pictures */
    size_t n_pictures;
} tide_study_answer;

/* Makes the folder, or uses an empty one. TIDE_INVALID if it contains files, because a user's files
 * are never overwritten. */
TIDE_NODISCARD tide_status tide_study_folder_open(const char *folder, tide_error *error);
/* Writes NAME.md and NAME.tex with everything, and NAME.TABLE.csv for each table. */
TIDE_NODISCARD tide_status tide_study_write_tables(const char *folder,
                                                   const tide_study_answer *answer,
                                                   tide_error *error);
/* Writes README.md: each question with command, answer and files. */
TIDE_NODISCARD tide_status tide_study_write_page(const char *folder, const char *device,
                                                 const tide_study_answer *answers, size_t n,
                                                 tide_error *error);

#endif
