/* The options of `tidemark fit` in a build that has our own model. */
#include "cli/options/report_options.h"
#include "model/commands/commands.h"
#include "model/commands/options/model_options.h"
#include "model/run/fit.h"

enum { RUN = offsetof(tide_fit_options, run) };

#define AT(member) offsetof(tide_fit_options, member)

static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_HEADING, .help = "Question"},
    TIDE_OPTION_OF(
        CHOICE, "find", NULL, tide_fit_quantity_name, AT(find),
        "what to make as large as possible; model finds the largest preset; default batch"),
    TIDE_FIT_ROW_MULTIPLE_OF,
    TIDE_FIT_ROW_DEVICE,
    TIDE_OPTION_ROW_MEMORY_LIMIT(RUN, "; without a card it is the only limit"),
    TIDE_OPTION_ROW_SPILL(RUN),
    TIDE_OPTION_ROW_ALLOC_CONF(RUN),
    {.kind = TIDE_OPTION_HEADING, .help = "Model"},
    TIDE_OPTION_ROW_WORKLOAD(RUN),
    TIDE_OPTION_ROW_DECODE(RUN),
    TIDE_OPTION_ROW_SIZE(RUN, "; default small"),
    TIDE_OPTION_ROW_DIMENSIONS(RUN),
    {.kind = TIDE_OPTION_HEADING, .help = "Run"},
    TIDE_OPTION_ROW_BATCH(RUN, "; default 4"),
    TIDE_OPTION_ROW_CONTEXT(RUN, "; default 128"),
    TIDE_OPTION_ROW_MODE(RUN, "; default train"),
    TIDE_OPTION_ROW_ONLY_FORWARD(RUN),
    TIDE_OPTION_ROW_KEEP_GRAPH(RUN),
    TIDE_OPTION_ROW_PRECISION(
        RUN, "types of the numbers; bf16 means bf16-mixed, fp16 means fp16-mixed; default fp32"),
    TIDE_OPTION_ROW_MIXED_PRECISION(RUN),
    TIDE_OPTION_ROW_ATTENTION(
        RUN, "attention operator; default: both naive and flash for PyTorch, flash "
             "for tidemark's own model"),
    TIDE_OPTION_ROW_RECOMPUTE(
        RUN, "block keeps only the input of each block for backward; default none"),
    TIDE_OPTION_ROW_CLIP(RUN),
    TIDE_OPTION(COUNT, "steps", "N", AT(run.steps),
                "number of steps that each run must complete; default 15, as many as tidemark "
                "profile takes"),
    {.kind = TIDE_OPTION_HEADING, .help = "A command of yours, after the options"},
    TIDE_FIT_ROWS_COMMAND,
    {.kind = TIDE_OPTION_HEADING, .help = "Output"},
    TIDE_REPORT_ROWS(AT(run.report)),
};

const tide_option_table tide_model_fit_table = {
    .command = "fit",
    .operands = TIDE_FIT_OPERANDS,
    .intro = "Finds the largest batch, context, number of layers or preset that fits a card or a\n"
             "limit, by runs on the virtual device. It needs no GPU.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .notes =
        "The named value was run and fits; the next one was run and does not. Both ran through "
        "the\n"
        "allocator that trains, so tidemark profile says the same. Usable memory excludes context\n"
        "and libraries where their size is known; the output says where it is not.\n"
        "\n"
        "The first answers are forecasts of PyTorch, eager (tidemark forecast): with the "
        "attention\n"
        "that --attention names, or else with naive attention, as the assignment's code has it, "
        "and\n"
        "with flash attention (scaled_dot_product_attention). The last answer is about tidemark's\n"
        "own model in C, which may need far less. If you train with PyTorch, use the first ones.\n"
        "\n"
        "Lists (--size, --context, --mode, --precision, ...) and several --device give a row "
        "each.\n"
        "\n" TIDE_FIT_NOTES_COMMAND "\n"
        "Exit status 3: for some question PyTorch's first answer is that nothing fits. If "
        "PyTorch's\n"
        "answer is unknown (bf16-true, clipped gradients), tidemark's own counts.\n",
};
