/* The options of `tidemark sweep` in a build that has our own model. */
#include "cli/options/report_options.h"
#include "model/commands/commands.h"
#include "model/commands/options/model_options.h"

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
    TIDE_SWEEP_ROWS_COMMAND,
    {.kind = TIDE_OPTION_HEADING, .help = "Output"},
    TIDE_SWEEP_ROWS_OUTPUT,
    TIDE_REPORT_ROWS(AT(grid.report)),
};

const tide_option_table tide_model_sweep_table = {
    .command = "sweep",
    .operands = TIDE_SWEEP_OPERANDS,
    .intro =
        "Runs a model once for each cell of a grid, each in its own process, and prints a\n"
        "table: times, peaks of memory, tokens and FLOP per second, and how they were measured.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .max_operands = TIDE_MAX_OPERANDS,
    .notes = TIDE_SWEEP_NOTES,
};
