/* The options of `tidemark sweep`. */
#include "cli/run_choices.h"
#include "cli/sweep_internal.h"

#define GRID(member) offsetof(tide_sweep_options, grid.member)
#define AT(member) offsetof(tide_sweep_options, member)

static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_HEADING, .help = "Grid: comma lists, a cell for each combination"},
    {TIDE_OPTION_CHOICES, "size", NULL, NULL, "presets; default small", "model-size", NULL,
     tide_choice_size, GRID(sizes)},
    {TIDE_OPTION_CHOICES, "mode", NULL, NULL, "what a step does; default train", NULL, NULL,
     tide_choice_mode, GRID(modes)},
    {TIDE_OPTION_COUNTS, "context", NULL, "N", "tokens in a sequence; default 128",
     "context-length", NULL, NULL, GRID(contexts)},
    {TIDE_OPTION_COUNTS, "batch", NULL, "N", "sequences in a batch; default 4", "batch-size", NULL,
     NULL, GRID(batches)},
    {TIDE_OPTION_CHOICES, "precision", NULL, NULL, "default fp32; bf16 means bf16-mixed", NULL,
     "bf16=bf16-mixed", tide_choice_precision, GRID(precisions)},
    {TIDE_OPTION_CHOICES, "attention", NULL, NULL, "default flash; with --residuals eager naive",
     NULL, NULL, tide_choice_attention, GRID(attentions)},
    {TIDE_OPTION_CHOICES, "recompute", NULL, NULL,
     "keep only the input of a block for backward; default none", NULL, NULL, tide_choice_recompute,
     GRID(recomputes)},
    {.kind = TIDE_OPTION_HEADING, .help = "Every cell"},
    {TIDE_OPTION_COUNT, "d-model", NULL, "N",
     "width; with any of these the size is called custom and the rest comes from --size", NULL,
     NULL, NULL, GRID(d_model)},
    {TIDE_OPTION_COUNT, "layers", NULL, "N", "number of blocks", "num-layers", NULL, NULL,
     GRID(n_layers)},
    {TIDE_OPTION_COUNT, "heads", NULL, "N", "attention heads; they divide the width", "num-heads",
     NULL, NULL, GRID(n_heads)},
    {TIDE_OPTION_COUNT, "d-ff", NULL, "N", "hidden width of the feed-forward layers", NULL, NULL,
     NULL, GRID(d_ff)},
    {TIDE_OPTION_COUNT, "vocab", NULL, "N", "vocabulary", "vocab-size", NULL, NULL,
     GRID(vocab_size)},
    {TIDE_OPTION_TEXT, "config", NULL, "FILE.json", "model from a file, as in profile", NULL, NULL,
     NULL, GRID(config_path)},
    {TIDE_OPTION_FLAG, "keep-graph", NULL, NULL, "forward mode: keep what backward would need",
     NULL, NULL, NULL, GRID(keep_graph)},
    {TIDE_OPTION_CHOICE, "residuals", NULL, NULL,
     "own: tidemark's operators; eager: the allocations of PyTorch, on the virtual device; default "
     "own",
     NULL, NULL, tide_choice_residuals, GRID(residuals)},
    {TIDE_OPTION_CHOICE, "edition", NULL, NULL,
     "of the assignment's code that PyTorch runs; with --residuals eager; default 2026", NULL, NULL,
     tide_choice_edition, GRID(edition)},
    {TIDE_OPTION_TEXT, "device", NULL, "auto|cuda[:N]|cpu|virtual[:CARD]",
     "default auto: the best real one; tidemark devices lists them", NULL, NULL, tide_choice_device,
     GRID(device)},
    {TIDE_OPTION_SIZE, "memory-limit", NULL, "SIZE", "reserved bytes may not exceed it: 24GiB",
     NULL, NULL, NULL, GRID(memory_limit_bytes)},
    {TIDE_OPTION_TEXT, "alloc-conf", NULL, "NAME:VALUE,...",
     "allocator settings, in PyTorch's names; on top of $TIDEMARK_ALLOC_CONF", NULL, NULL, NULL,
     GRID(alloc_conf)},
    {TIDE_OPTION_REAL, "clip-grad-norm", NULL, "X", "clip the gradients' global norm", NULL, NULL,
     NULL, GRID(clip_grad_norm)},
    {TIDE_OPTION_COUNT, "seed", NULL, "N", "of weights and tokens; default 0", NULL, NULL, NULL,
     GRID(seed)},
    {TIDE_OPTION_COUNT, "warmup", NULL, "N", "steps before the measured ones; default 5",
     "warmup-steps", NULL, NULL, GRID(warmup_steps)},
    {TIDE_OPTION_COUNT, "steps", NULL, "N", "measured steps; default 10", "measure-steps", NULL,
     NULL, GRID(steps)},
    {.kind = TIDE_OPTION_HEADING, .help = "Output"},
    {TIDE_OPTION_TEXT, NULL, "o", "FILE.jsonl",
     "a line for each finished row; default sweep.jsonl, of a part sweep-I-of-N.jsonl", "output",
     NULL, NULL, GRID(output)},
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
     NULL, NULL, GRID(strip_private)},
    {TIDE_OPTION_CHOICE, "format", NULL, NULL, "of the table; default text", NULL, NULL,
     tide_format_name, GRID(format)},
};

const tide_option_table tide_sweep_option_table = {
    .command = "sweep",
    .operands = "[--merge FILE.jsonl...]",
    .intro =
        "Runs the transformer once for each cell of a grid, each in a process of its own, and\n"
        "prints a table: times, peaks of memory, tokens and FLOP a second, and by what they\n"
        "were measured.\n",
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
