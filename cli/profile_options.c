/* The options of `tidemark profile`. */
#include "cli/profile_internal.h"
#include "cli/run_choices.h"
#include "cli/table.h"

/* The usual ones for --snapshot-signal. */
static const char *signal_at(size_t i) {
    static const char *const NAMES[] = {"USR1", "USR2"};
    return i < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[i] : NULL;
}

static const char *device_times_at(size_t i) {
    static const char *const NAMES[] = {"auto", "all"};
    return i < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[i] : NULL;
}

static const char *full_policy_at(size_t i) {
    static const char *const POLICIES[] = {"keep-newest", "stop"};
    return i < sizeof(POLICIES) / sizeof(POLICIES[0]) ? POLICIES[i] : NULL;
}

#define AT(member) offsetof(tide_profile_options, member)

static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_HEADING, .help = "Model"},
    {TIDE_OPTION_CHOICE, "workload", NULL, NULL,
     "transformer, or linear layers with GELU: --d-model 256, --layers 4 and --batch 256 are its "
     "shape; default transformer",
     NULL, NULL, tide_choice_workload, AT(workload)},
    {TIDE_OPTION_CHOICES, "size", NULL, NULL, "preset; default small", "model-size", NULL,
     tide_choice_size, AT(sizes)},
    {TIDE_OPTION_COUNT, "d-model", NULL, "N",
     "width; with any of these the size is called custom and the rest comes from --size", "dim",
     NULL, NULL, AT(d_model)},
    {TIDE_OPTION_COUNT, "layers", NULL, "N", "number of blocks", "num-layers", NULL, NULL,
     AT(n_layers)},
    {TIDE_OPTION_COUNT, "heads", NULL, "N", "attention heads; they divide the width", "num-heads",
     NULL, NULL, AT(n_heads)},
    {TIDE_OPTION_COUNT, "d-ff", NULL, "N", "hidden width of the feed-forward layers", NULL, NULL,
     NULL, AT(d_ff)},
    {TIDE_OPTION_COUNT, "vocab", NULL, "N", "vocabulary", "vocab-size", NULL, NULL, AT(vocab_size)},
    {TIDE_OPTION_TEXT, "config", NULL, "FILE.json",
     "model from a file with the keys size, d_model, n_layers, n_heads, d_ff, vocab_size, "
     "context_length, batch_size, rope_theta",
     NULL, NULL, NULL, AT(config_path)},
    {.kind = TIDE_OPTION_HEADING, .help = "Run"},
    {TIDE_OPTION_COUNTS, "batch", NULL, "N", "sequences in a batch; default 4", "batch-size", NULL,
     NULL, AT(batches)},
    {TIDE_OPTION_COUNTS, "context", NULL, "N", "tokens in a sequence; default 128",
     "context-length", NULL, NULL, AT(contexts)},
    {TIDE_OPTION_CHOICES, "mode", NULL, NULL, "what a step does; default train", NULL, NULL,
     tide_choice_mode, AT(modes)},
    {TIDE_OPTION_FLAG, "keep-graph", NULL, NULL, "forward mode: keep what backward would need",
     NULL, NULL, NULL, AT(keep_graph)},
    {TIDE_OPTION_CHOICES, "precision", NULL, NULL,
     "default fp32; bf16 means bf16-mixed; no tf32 on the cpu device", NULL, "bf16=bf16-mixed",
     tide_choice_precision, AT(precisions)},
    {TIDE_OPTION_CHOICES, "attention", NULL, NULL,
     "default flash; with --residuals eager naive, as the assignment's code has it", NULL, NULL,
     tide_choice_attention, AT(attentions)},
    {TIDE_OPTION_CHOICES, "recompute", NULL, NULL,
     "keep only the input of a block for backward; default none", NULL, NULL, tide_choice_recompute,
     AT(recomputes)},
    {TIDE_OPTION_CHOICE, "residuals", NULL, NULL,
     "own: tidemark's operators; eager: the allocations of PyTorch for the same model, on the "
     "virtual device; default own",
     NULL, NULL, tide_choice_residuals, AT(residuals)},
    {TIDE_OPTION_CHOICE, "edition", NULL, NULL,
     "of the assignment's code that PyTorch runs; with --residuals eager; default 2026", NULL, NULL,
     tide_choice_edition, AT(edition)},
    {TIDE_OPTION_TEXT, "device", NULL, "auto|cuda[:N]|cpu|virtual[:CARD]",
     "default auto: the best real one; tidemark devices lists them", NULL, NULL, tide_choice_device,
     AT(device)},
    {TIDE_OPTION_SIZE, "memory-limit", NULL, "SIZE", "reserved bytes may not exceed it: 24GiB",
     NULL, NULL, NULL, AT(memory_limit_bytes)},
    {TIDE_OPTION_TEXT, "alloc-conf", NULL, "NAME:VALUE,...",
     "allocator settings, in PyTorch's names; on top of $TIDEMARK_ALLOC_CONF", NULL, NULL, NULL,
     AT(alloc_conf)},
    {TIDE_OPTION_REAL, "clip-grad-norm", NULL, "X", "clip the gradients' global norm", NULL, NULL,
     NULL, AT(clip_grad_norm)},
    {TIDE_OPTION_COUNT, "seed", NULL, "N", "of weights and tokens; default 0", NULL, NULL, NULL,
     AT(seed)},
    {TIDE_OPTION_COUNT, "warmup", NULL, "N", "steps before the measured ones; default 5",
     "warmup-steps", NULL, NULL, AT(warmup_steps)},
    {TIDE_OPTION_COUNT, "steps", NULL, "N", "measured steps; default 10", "measure-steps", NULL,
     NULL, AT(steps)},
    {TIDE_OPTION_COUNT, "overhead-pairs", NULL, "N",
     "pairs of further steps, one recorded and one not, that tell what recording costs; default: "
     "as many as half the time of the steps allows, 30 at most; none in a list",
     NULL, NULL, NULL, AT(overhead_pairs)},
    {TIDE_OPTION_FLAG, "no-record", NULL, NULL, "time it without recording allocations", NULL, NULL,
     NULL, AT(no_record)},
    {TIDE_OPTION_TEXT, "log", NULL, "FILE",
     "keep the event log in this file, which survives a crash of the program: tidemark recover "
     "makes a snapshot of it; in a list each run replaces it; default $TIDEMARK_LOG",
     NULL, NULL, NULL, AT(log_path)},
    {TIDE_OPTION_SIZE, "log-bytes", NULL, "SIZE",
     "bound of the event log, 48 bytes an event; with --log of the whole file, which is reserved "
     "at "
     "once; default 256MiB",
     NULL, NULL, NULL, AT(log_bytes)},
    {TIDE_OPTION_CHOICE, "log-full", NULL, NULL,
     "what a full event log does with further events: drop the oldest ones for them, or drop them; "
     "default keep-newest",
     NULL, NULL, full_policy_at, AT(log_full)},
    {TIDE_OPTION_TEXT, "snapshot-signal", NULL, "NAME",
     "a snapshot of the running program on this signal: USR2 for kill -USR2", NULL, NULL, signal_at,
     AT(snapshot_signal)},
    {TIDE_OPTION_COUNT, "snapshot-every", NULL, "K",
     "a snapshot after every K-th step, warm-up included", NULL, NULL, NULL, AT(snapshot_every)},
    {TIDE_OPTION_CHOICE, "device-times", NULL, NULL,
     "which scopes of measured steps are timed on a cuda device: all, or those whose events "
     "take no more than 0.5 % of a step; default auto",
     NULL, NULL, device_times_at, AT(device_times)},
    {TIDE_OPTION_FLAG, "profiler-range", NULL, NULL,
     "start and stop the CUDA profiler around the measured steps, for nsys profile "
     "--capture-range=cudaProfilerApi",
     NULL, NULL, NULL, AT(profiler_range)},
    {TIDE_OPTION_FLAG, "kernels", NULL, NULL,
     "count and time the kernels of the measured steps by CUPTI, which slows them down", NULL, NULL,
     NULL, AT(kernels)},
    {.kind = TIDE_OPTION_HEADING, .help = "Output"},
    {TIDE_OPTION_TEXT, NULL, "o", "FILE.json.gz",
     "the snapshot; a folder: default names in it, and the one way for lists", "output", NULL, NULL,
     AT(output)},
    {TIDE_OPTION_CHOICE, "format", NULL, NULL, "of the tables; default text", NULL, NULL,
     tide_format_name, AT(format)},
    {TIDE_OPTION_FLAG, "strip-private", NULL, NULL,
     "leave out command line, host name and folders of absolute paths", NULL, NULL, NULL,
     AT(strip_private)},
    {TIDE_OPTION_FLAG, "open", NULL, NULL, "write the HTML report and open it in a browser", NULL,
     NULL, NULL, AT(open_browser)},
};

const tide_option_table tide_profile_option_table = {
    .command = "profile",
    .intro = "Runs the transformer, times it, records every allocation and writes a snapshot.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .notes =
        "--size, --batch, --context, --mode, --precision, --attention and --recompute take comma\n"
        "lists: the runs go one after another, each writes its snapshot\n"
        "(small-train-c128-b4-fp32.json.gz ...), and a table and report.html compare them.\n"
        "\n"
        "Exit status 3: out of device memory; the snapshot is still written, and in a list the\n"
        "other runs go on. A run that could not fit the host's free memory is not started: also "
        "3,\n"
        "and there is no snapshot of it.\n"
        "\n"
        "Ctrl-C (or SIGTERM) ends the run after the step that is under way: the snapshot of what "
        "was\n"
        "measured is written, and runs that have not begun are left out. A second one ends the\n"
        "program at once.\n"
        "\n"
        "Snapshots while the run goes on lie beside its own and are never overwritten:\n"
        "run.usr2-1.json.gz, run.step-20.json.gz. The run waits only while the tables are copied.\n"
        "Where something calls exit or abort in its midst, run.exit-1.json.gz or\n"
        "run.abort-1.json.gz is written.\n",
};

void tide_profile_options_init(tide_profile_options *options) {
    *options = (tide_profile_options){
        .d_model = TIDE_NOT_GIVEN,
        .n_layers = TIDE_NOT_GIVEN,
        .n_heads = TIDE_NOT_GIVEN,
        .d_ff = TIDE_NOT_GIVEN,
        .vocab_size = TIDE_NOT_GIVEN,
        .device = "auto",
        .workload = "transformer",
        .residuals = "own",
        .device_times = "auto",
        .memory_limit_bytes = TIDE_NOT_GIVEN,
        .warmup_steps = 5,
        .steps = 10,
        .overhead_pairs = TIDE_NOT_GIVEN,
        .log_bytes = TIDE_NOT_GIVEN,
        .log_full = "keep-newest",
        .snapshot_every = TIDE_NOT_GIVEN,
        .format = "text",
    };
}
