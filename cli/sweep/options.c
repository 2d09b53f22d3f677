/* The options of `tidemark sweep`. */
#include "cli/run_options.h"
#include "cli/report_options.h"
#include "cli/sweep/internal.h"

enum { GRID = offsetof(tide_sweep_options, grid) };

#define AT(member) offsetof(tide_sweep_options, member)

static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_HEADING, .help = "Grid: comma lists, a cell for each combination"},
    TIDE_RUN_SIZE(GRID, "; default small"),
    TIDE_RUN_MODE(GRID, "; default train"),
    TIDE_RUN_CONTEXT(GRID, "; default 128"),
    TIDE_RUN_BATCH(GRID, "; default 4"),
    TIDE_RUN_PRECISION(GRID, "default fp32; bf16 means bf16-mixed"),
    TIDE_RUN_ATTENTION(GRID, "default flash; with --emulate pytorch naive"),
    TIDE_RUN_RECOMPUTE(GRID, "keep only the input of a block for backward; default none"),
    {.kind = TIDE_OPTION_HEADING, .help = "Every cell"},
    TIDE_RUN_WORKLOAD(GRID),
    TIDE_RUN_DIMENSIONS(GRID),
    TIDE_RUN_KEEP_GRAPH(GRID),
    TIDE_RUN_EMULATE(GRID),
    TIDE_RUN_EDITION(GRID, "; with --emulate pytorch"),
    TIDE_RUN_DEVICE(GRID, "default auto: the best real one; tidemark devices lists them"),
    TIDE_RUN_MEMORY_LIMIT(GRID, ""),
    TIDE_RUN_ALLOC_CONF(GRID),
    TIDE_RUN_CLIP(GRID),
    TIDE_RUN_SEED(GRID),
    TIDE_RUN_WARMUP(GRID, "; default 5"),
    TIDE_RUN_STEPS(GRID, "; default 10"),
    {.kind = TIDE_OPTION_HEADING, .help = "Output"},
    {TIDE_OPTION_TEXT, NULL, "o", "FILE.jsonl",
     "a line for each finished row; default sweep.jsonl, of a part sweep-I-of-N.jsonl", "output",
     NULL, NULL, AT(grid.output)},
    {TIDE_OPTION_FLAG, "resume", NULL, NULL, "go on with that file: run the cells without a row",
     NULL, NULL, NULL, AT(resumes)},
    {TIDE_OPTION_FLAG, "retry", NULL, NULL,
     "with --resume: run cells that failed or crashed once more", NULL, NULL, NULL, AT(retries)},
    {TIDE_OPTION_TEXT, "shard", NULL, "I/N", "run part I of N of the grid: 1/4 to 4/4", NULL, NULL,
     NULL, AT(shard)},
    {TIDE_OPTION_FLAG, "merge", NULL, NULL, "join the files of parts; nothing is run", NULL, NULL,
     NULL, AT(merges)},
    {TIDE_OPTION_TEXT, "snapshots", NULL, "FOLDER",
     "record every cell and keep its snapshot there; recording takes time", NULL, NULL, NULL,
     AT(snapshots)},
    {TIDE_OPTION_FLAG, "strip-private", NULL, NULL,
     "leave out host name, and from snapshots command line and folders of absolute paths", NULL,
     NULL, NULL, AT(grid.strip_private)},
    TIDE_REPORT_ROWS(AT(grid.report)),
};

const tide_option_table tide_sweep_option_table = {
    .command = "sweep",
    .operands = "[--merge FILE.jsonl...]",
    .intro =
        "Runs the transformer, or the MLP, once for each cell of a grid, each in a process of\n"
        "its own, and prints a table: times, peaks of memory, tokens and FLOP a second, and by\n"
        "what they were measured.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .max_operands = TIDE_MAX_OPERANDS,
    .notes =
        "A cell that does not fit or is not supported is a row that says why. Finished rows are "
        "on\n"
        "disk at once: after Ctrl-C or a crash --resume goes on where it ended.\n"
        "\n"
        "With --merge no cell is run: the files of parts are joined in the order of the grid, and\n"
        "-o keeps the joined rows.\n"
        "\n"
        "Exit status: 0 when every cell of the part has a row, whether it fits or not; 1 when\n"
        "cells failed or crashed, or when --merge finds cells without a row.\n",
};
