/* The options of `tidemark sweep` in a build without our own model. */
#include "cli/options/report_options.h"
#include "cli/own_model.h"
#include "cli/sweep/internal.h"

enum { GRID = offsetof(tide_sweep_options, grid) };

static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_HEADING, .help = "A command of yours, after the options"},
    TIDE_SWEEP_ROWS_COMMAND,
    TIDE_OPTION_ROW_DEVICE(GRID, "virtual cards on which each value runs; tidemark devices lists "
                                 "them"),
    TIDE_OPTION_ROW_MEMORY_LIMIT(GRID, ""),
    TIDE_OPTION_ROW_SPILL(GRID),
    TIDE_OPTION(COUNT, "steps", "N", offsetof(tide_sweep_options, grid.steps),
                "number of steps of each run; default 3"),
    {.kind = TIDE_OPTION_HEADING, .help = "Output"},
    TIDE_SWEEP_ROWS_OUTPUT,
    TIDE_REPORT_ROWS(offsetof(tide_sweep_options, grid.report)),
};

static const tide_option_table TABLE = {
    .command = "sweep",
    .operands = TIDE_SWEEP_OPERANDS,
    .intro = "Runs a command once for each cell of a grid, each in its own process, and prints a\n"
             "table of peaks of memory and forecast times.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .max_operands = TIDE_MAX_OPERANDS,
    .notes = TIDE_SWEEP_NOTES,
    .unneeded = TIDE_OWN_MODEL_OPTIONS,
};

const tide_option_table *tide_sweep_table(void) {
    return tide_own_model_here != NULL ? tide_own_model_here->sweep_table : &TABLE;
}

const tide_command tide_command_sweep = {
    .name = "sweep",
    .summary = "run a command with each value of a grid and print one table",
    .options = &TABLE,
    .run = tide_sweep_main,
};
