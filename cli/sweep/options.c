/* The options of `tidemark sweep`. */
#include "cli/options/run_options.h"
#include "cli/options/report_options.h"
#include "cli/sweep/internal.h"

enum { GRID = offsetof(tide_sweep_options, grid) };

#define AT(member) offsetof(tide_sweep_options, member)

static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_HEADING, .help = "Grid: comma lists, a cell for each combination"},
    TIDE_OPTION_ROW_SIZE(GRID, "; default small"),
    TIDE_OPTION_ROW_MODE(GRID, "; default train"),
    TIDE_OPTION_ROW_ONLY_FORWARD(GRID),
    TIDE_OPTION_ROW_CONTEXT(GRID, "; default 128"),
    TIDE_OPTION_ROW_BATCH(GRID, "; default 4"),
    TIDE_OPTION_ROW_PRECISION(
        GRID, "types of the numbers; bf16 means bf16-mixed, fp16 means fp16-mixed; default fp32"),
    TIDE_OPTION_ROW_MIXED_PRECISION(GRID),
    TIDE_OPTION_ROW_ATTENTION(GRID,
                              "attention operator; default flash, with --emulate pytorch naive"),
    TIDE_OPTION_ROW_RECOMPUTE(
        GRID, "block keeps only the input of each block for backward; default none"),
    {.kind = TIDE_OPTION_HEADING, .help = "Every cell"},
    TIDE_OPTION_ROW_WORKLOAD(GRID),
    TIDE_OPTION_ROW_DECODE(GRID),
    TIDE_OPTION_ROW_DIMENSIONS(GRID),
    TIDE_OPTION_ROW_KEEP_GRAPH(GRID),
    TIDE_OPTION_ROW_EMULATE(GRID),
    TIDE_OPTION_ROW_EDITION(GRID, "; with --emulate pytorch"),
    TIDE_OPTION_ROW_DEVICE(
        GRID, "device to run on; tidemark devices lists them; default auto, the best real one"),
    TIDE_OPTION_ROW_MEMORY_LIMIT(GRID, ""),
    TIDE_OPTION_ROW_SPILL(GRID),
    TIDE_OPTION_ROW_ALLOC_CONF(GRID),
    TIDE_OPTION_ROW_CLIP(GRID),
    TIDE_OPTION_ROW_SEED(GRID),
    TIDE_OPTION_ROW_WARMUP(GRID, "; default 5"),
    TIDE_OPTION_ROW_STEPS(GRID, "; default 10"),
    {.kind = TIDE_OPTION_HEADING, .help = "A command of yours, after the options"},
    TIDE_OPTION(TEXTS, "set", "NAME=V,V", AT(sets),
                "values of {NAME} in its arguments; may be given several times, and --device may "
                "be a list of virtual cards; 3 steps unless --steps says otherwise"),
    TIDE_PROGRAM_ROW_CALLS(AT(behind)),
    TIDE_PROGRAM_ROW_VALUES(AT(behind)),
    TIDE_PROGRAM_ROW_STREAMS(AT(behind), tide_choice_streams, "or when the host waits"),
    TIDE_PROGRAM_ROW_WRITES(AT(behind)),
    TIDE_PROGRAM_ROW_TIME(AT(behind)),
    TIDE_PROGRAM_ROWS_HOST(AT(behind)),
    {.kind = TIDE_OPTION_HEADING, .help = "Output"},
    {TIDE_OPTION_TEXT, NULL, "o", "FILE.jsonl",
     "file with a line for each finished row; default sweep.jsonl, for a part sweep-I-of-N.jsonl",
     "output", NULL, NULL, AT(grid.output), NULL, NULL},
    TIDE_OPTION(FLAG, "resume", NULL, AT(resumes),
                "continue with that file: run the cells that have no row yet"),
    TIDE_OPTION(FLAG, "retry", NULL, AT(retries),
                "with --resume, run cells that failed or crashed once more"),
    TIDE_OPTION(COUNT, "jobs", "N", AT(n_jobs),
                "run N cells at once, on virtual devices only; default 1"),
    TIDE_OPTION(COUNT, "repeat", "R", AT(n_repeats),
                "run the grid R times, with a row for each repeat of a cell and one for their "
                "average; with --merge, rows of one cell in several files are its repeats; "
                "default 1"),
    TIDE_OPTION(TEXT, "shard", "I/N", AT(shard), "run part I of N of the grid: 1/4 to 4/4"),
    TIDE_OPTION(TEXT, "cell", "K", AT(cell),
                "run only the cell of that number, from 0; its file is sweep-cell-K.jsonl"),
    TIDE_OPTION(FLAG, "list", NULL, AT(lists),
                "print number and name of each cell, and run nothing; with --resume or --merge "
                "of each cell without a row"),
    TIDE_OPTION(FLAG, "merge", NULL, AT(merges),
                "join the files of parts, or all .jsonl files of a folder, and run nothing"),
    TIDE_OPTION(TEXT, "snapshots", "FOLDER", AT(snapshots),
                "record every cell and keep its snapshot there; recording takes time"),
    TIDE_OPTION(FLAG, "strip-private", NULL, AT(grid.strip_private),
                "leave out the host name, and in snapshots the command line and the folders of "
                "absolute paths"),
    TIDE_REPORT_ROWS(AT(grid.report)),
};

const tide_option_table tide_sweep_option_table = {
    .command = "sweep",
    .operands = "[--merge FILE.jsonl|FOLDER... | [--] COMMAND [ARGUMENT...]]",
    .intro =
        "Runs a model once for each cell of a grid, each in its own process, and prints a\n"
        "table: times, peaks of memory, tokens and FLOP per second, and how they were measured.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .max_operands = TIDE_MAX_OPERANDS,
    .notes =
        "A cell that does not fit or is not supported has a row that says why. Finished rows are "
        "on\n"
        "disk at once: after Ctrl-C or a crash --resume continues where the sweep ended.\n"
        "\n"
        "--merge runs no cell: it joins the files of parts in the order of the grid, and -o keeps\n"
        "the joined rows. Of rows of a cell that agree one is kept, and --list names the cells\n"
        "without a row. With --repeat R the rows of a cell are its repeats, R at most.\n"
        "\n"
        "With COMMAND each cell is a run of that command on a virtual card, as tidemark run\n"
        "makes it: --set batch=8,16 python train.py --batch {batch}. Only declared names in\n"
        "braces are replaced. If the first cell fails, no other is tried.\n"
        "\n"
        "Exit status: 0 when every cell of the part has a row, whether it fits or not; 1 when\n"
        "cells failed or crashed, or when --merge finds cells without a row.\n",
};
