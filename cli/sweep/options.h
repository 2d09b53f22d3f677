/* options.h - the options of `tidemark sweep`, and the parts of its grid that the kinds of cells
 * share: runs of a user's command, and of our own model (model/commands/sweep/).
 */
#ifndef TIDE_CLI_SWEEP_OPTIONS_H
#define TIDE_CLI_SWEEP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "cli/options/run_options.h"
#include "cli/program_grid.h"
#include "common/status.h"

/* The command line as it was written; all texts are borrowed from it. */
typedef struct tide_sweep_options {
    tide_run_options grid;        /* the lists, and the options that apply to every cell */
    bool resumes;                 /* continues a file that has rows */
    bool retries;                 /* with resumes: rows that failed or crashed are run again */
    bool merges;                  /* operands are files of parts; nothing is run */
    bool lists;                   /* cells without a row are named; nothing is run */
    const char *shard;            /* "I/N"; NULL: the whole grid */
    const char *cell;             /* the number of the only cell to run; NULL: the whole grid */
    uint64_t n_jobs;              /* cells that run concurrently */
    uint64_t n_repeats;           /* how often the grid is run; with merges: of the joined sweep */
    const char *snapshots;        /* folder; NULL: nothing is recorded */
    tide_option_texts sets;       /* of a command: "batch=8,16" */
    tide_program_options command; /* of a user's command */
    tide_program_grid program;    /* arguments NULL: our own model */
} tide_sweep_options;

/* The command itself, and its table: that of tide_own_model_here, if this build has our own
 * model. */
int tide_sweep_main(int argc, char **argv);
const tide_option_table *tide_sweep_table(void);

/* The number of cells of the whole grid, without repeats, and with them. */
size_t tide_sweep_n_once(const tide_sweep_options *options);
size_t tide_sweep_n_cells(const tide_sweep_options *options);
/* The name of a cell, with the repeat if there are several. */
void tide_sweep_name_cell(const tide_sweep_options *options, size_t cell,
                          const tide_run_workload *workload, char ret_name[TIDE_RUN_NAME_BYTES]);

/* Adds the number of repeats to the description of a grid, if there are several. False without host
 * memory. */
bool tide_sweep_add_repeats(cJSON *grid, uint64_t n_repeats);

/* The run of a cell, of either kind. */
TIDE_NODISCARD tide_status tide_sweep_configure(const tide_sweep_options *options, size_t cell,
                                                const char *device, tide_run_config *ret_config,
                                                tide_error *error);

/* Rows of the tables of both kinds. */
#define TIDE_SWEEP_ROWS_COMMAND                                                                    \
    TIDE_OPTION(TEXTS, "set", "NAME=V,V", offsetof(tide_sweep_options, sets),                      \
                "values of {NAME} in its arguments; may be given several times, and --device may " \
                "be a list of virtual cards; 3 steps unless --steps says otherwise"),              \
        TIDE_PROGRAM_ROW_CALLS(offsetof(tide_sweep_options, command)),                             \
        TIDE_PROGRAM_ROW_VALUES(offsetof(tide_sweep_options, command)),                            \
        TIDE_PROGRAM_ROW_STREAMS(offsetof(tide_sweep_options, command), tide_choice_streams,       \
                                 "or when the host waits"),                                        \
        TIDE_PROGRAM_ROW_WRITES(offsetof(tide_sweep_options, command)),                            \
        TIDE_PROGRAM_ROW_TIME(offsetof(tide_sweep_options, command)),                              \
        TIDE_PROGRAM_ROWS_HOST(offsetof(tide_sweep_options, command))
#define TIDE_SWEEP_ROWS_OUTPUT                                                                     \
    {.kind = TIDE_OPTION_TEXT,                                                                     \
     .letter = "o",                                                                                \
     .value = "FILE.jsonl",                                                                        \
     .help = "file with a line for each finished row; default sweep.jsonl, for a part "            \
             "sweep-I-of-N.jsonl",                                                                 \
     .aliases = "output",                                                                          \
     .offset = offsetof(tide_sweep_options, grid.output)},                                         \
        TIDE_OPTION(FLAG, "resume", NULL, offsetof(tide_sweep_options, resumes),                   \
                    "continue with that file: run the cells that have no row yet"),                \
        TIDE_OPTION(FLAG, "retry", NULL, offsetof(tide_sweep_options, retries),                    \
                    "with --resume, run cells that failed or crashed once more"),                  \
        TIDE_OPTION(COUNT, "jobs", "N", offsetof(tide_sweep_options, n_jobs),                      \
                    "run N cells at once, on virtual devices only; default 1"),                    \
        TIDE_OPTION(                                                                               \
            COUNT, "repeat", "R", offsetof(tide_sweep_options, n_repeats),                         \
            "run the grid R times, with a row for each repeat of a cell and one for their "        \
            "average; with --merge, rows of one cell in several files are its repeats; "           \
            "default 1"),                                                                          \
        TIDE_OPTION(TEXT, "shard", "I/N", offsetof(tide_sweep_options, shard),                     \
                    "run part I of N of the grid: 1/4 to 4/4"),                                    \
        TIDE_OPTION(TEXT, "cell", "K", offsetof(tide_sweep_options, cell),                         \
                    "run only the cell of that number, from 0; its file is sweep-cell-K.jsonl"),   \
        TIDE_OPTION(                                                                               \
            FLAG, "list", NULL, offsetof(tide_sweep_options, lists),                               \
            "print number and name of each cell, and run nothing; with --resume or --merge "       \
            "of each cell without a row"),                                                         \
        TIDE_OPTION(FLAG, "merge", NULL, offsetof(tide_sweep_options, merges),                     \
                    "join the files of parts, or all .jsonl files of a folder, and run nothing"),  \
        TIDE_OPTION(TEXT, "snapshots", "FOLDER", offsetof(tide_sweep_options, snapshots),          \
                    "record every cell and keep its snapshot there; recording takes time"),        \
        TIDE_OPTION(                                                                               \
            FLAG, "strip-private", NULL, offsetof(tide_sweep_options, grid.strip_private),         \
            "leave out the host name, and in snapshots the command line and the folders of "       \
            "absolute paths")

#define TIDE_SWEEP_OPERANDS "[--merge FILE.jsonl|FOLDER... | [--] COMMAND [ARGUMENT...]]"

/* Lines of --help. */
#define TIDE_SWEEP_NOTES                                                                           \
    "A cell that does not fit or is not supported has a row that says why. Finished rows are "     \
    "on\n"                                                                                         \
    "disk at once: after Ctrl-C or a crash --resume continues where the sweep ended.\n"            \
    "\n"                                                                                           \
    "--merge runs no cell: it joins the files of parts in the order of the grid, and -o keeps\n"   \
    "the joined rows. Of rows of a cell that agree one is kept, and --list names the cells\n"      \
    "without a row. With --repeat R the rows of a cell are its repeats, R at most.\n"              \
    "\n"                                                                                           \
    "With COMMAND each cell is a run of that command on a virtual card, as tidemark run\n"         \
    "makes it: --set batch=8,16 python train.py --batch {batch}. Only declared names in\n"         \
    "braces are replaced. If the first cell fails, no other is tried.\n"                           \
    "\n"                                                                                           \
    "Exit status: 0 when every cell of the part has a row, whether it fits or not; 1 when\n"       \
    "cells failed or crashed, or when --merge finds cells without a row.\n"

#endif
