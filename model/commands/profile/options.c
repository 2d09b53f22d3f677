/* The options of `tidemark profile`. */
#include "model/commands/profile/internal.h"
#include "cli/options/report_options.h"
#include "report/table.h"

/* The common signals for --snapshot-signal. */
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

enum { RUN = offsetof(tide_profile_options, run) };

#define AT(member) offsetof(tide_profile_options, member)

static const tide_option OPTIONS[] = {
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
    TIDE_OPTION_ROW_PRECISION(RUN, "types of the numbers; bf16 means bf16-mixed, fp16 means "
                                   "fp16-mixed; the cpu device has no tf32; default fp32"),
    TIDE_OPTION_ROW_MIXED_PRECISION(RUN),
    TIDE_OPTION_ROW_ATTENTION(RUN,
                              "attention operator; default flash, with --emulate pytorch naive, as "
                              "in the assignment's code"),
    TIDE_OPTION_ROW_RECOMPUTE(
        RUN, "block keeps only the input of each block for backward; default none"),
    TIDE_OPTION_ROW_EMULATE(RUN),
    TIDE_OPTION_ROW_EDITION(RUN, "; with --emulate pytorch"),
    TIDE_OPTION_ROW_DEVICE(
        RUN, "device to run on; tidemark devices lists them; default auto, the best real one"),
    TIDE_OPTION_ROW_MEMORY_LIMIT(RUN, ""),
    TIDE_OPTION_ROW_SPILL(RUN),
    TIDE_OPTION_ROW_ALLOC_CONF(RUN),
    TIDE_OPTION_ROW_CLIP(RUN),
    TIDE_OPTION_ROW_SEED(RUN),
    TIDE_OPTION_ROW_WARMUP(RUN, "; default 5"),
    TIDE_OPTION_ROW_STEPS(RUN, "; default 10"),
    TIDE_OPTION(
        COUNT, "overhead-pairs", "N", AT(overhead_pairs),
        "number of extra pairs of steps, one recorded and one not, that measure what recording "
        "costs; default: as many as fit in half the time of the steps, at most 30; none in a list"),
    TIDE_OPTION(FLAG, "no-record", NULL, AT(no_record),
                "time the steps without recording allocations"),
    TIDE_OPTION(
        TEXT, "log", "FILE", AT(log_path),
        "keep the event log in this file, which survives a crash of the program: tidemark recover "
        "makes a snapshot of it; in a list each run replaces it; default $TIDEMARK_LOG"),
    TIDE_OPTION(SIZE, "log-bytes", "SIZE", AT(log_bytes),
                "largest size of the event log, which takes 48 bytes an event; with --log the size "
                "of the whole file, which is reserved at once; default 256MiB"),
    TIDE_OPTION_OF(CHOICE, "log-full", NULL, full_policy_at, AT(log_full),
                   "what happens when the event log is full: keep-newest drops the oldest events, "
                   "stop drops the new ones; default keep-newest"),
    TIDE_OPTION_OF(TEXT, "snapshot-signal", "NAME", signal_at, AT(snapshot_signal),
                   "write a snapshot of the running program on this signal: USR2 for kill -USR2"),
    TIDE_OPTION(COUNT, "snapshot-every", "K", AT(snapshot_every),
                "write a snapshot after every K-th step, warm-up included"),
    TIDE_OPTION_OF(CHOICE, "device-times", NULL, device_times_at, AT(device_times),
                   "which scopes of the measured steps are timed on a cuda device: all, or with "
                   "auto only as many as take at most 0.5 % of a step to time; default auto"),
    TIDE_OPTION(FLAG, "profiler-range", NULL, AT(profiler_range),
                "start and stop the CUDA profiler around the measured steps, for nsys profile "
                "--capture-range=cudaProfilerApi"),
    TIDE_OPTION(
        FLAG, "cuda-graph", NULL, AT(cuda_graph),
        "after the warm-up, capture one step in a private pool and replay it for the "
        "measured steps: on cuda as a CUDA graph; cpu and virtual, which have none, call the "
        "operators again with its addresses"),
    TIDE_OPTION(FLAG, "sync-phases", NULL, AT(sync_phases),
                "wait for the device after each phase, as scripts with torch.cuda.synchronize() "
                "do, and show its wall clock beside the device's time and the sum of its kernels"),
    TIDE_OPTION(FLAG, "kernels", NULL, AT(kernels),
                "count and time the kernels of the measured steps by CUPTI, which slows them down"),
    {.kind = TIDE_OPTION_HEADING, .help = "Output"},
    {TIDE_OPTION_TEXT, NULL, "o", "FILE.json.gz",
     "file of the snapshot, or a folder in which snapshots get their default names; a list of runs "
     "needs a folder",
     "output", NULL, NULL, AT(run.output), NULL, NULL},
    TIDE_REPORT_ROWS(AT(run.report)),
    TIDE_OPTION(FLAG, "strip-private", NULL, AT(run.strip_private),
                "leave out command line, host name and folders of absolute paths"),
    TIDE_OPTION(FLAG, "open", NULL, AT(open_browser),
                "write the HTML report and open it in a browser"),
};

const tide_option_table tide_profile_option_table = {
    .command = "profile",
    .intro = "Runs a model, times it, records every allocation and writes a snapshot.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .unneeded = TIDE_RUN_UNNEEDED_OPTIONS,
    .notes =
        "--size, --batch, --context, --mode, --precision, --attention and --recompute take comma\n"
        "lists: the runs go one after another, each writes its own snapshot\n"
        "(small-train-c128-b4-fp32.json.gz ...), and a table and report.html compare them.\n"
        "\n"
        "Exit status 3: a run ran out of device memory. Its snapshot is written all the same, and\n"
        "the other runs of a list go on. A run that could not fit the host's free memory is not\n"
        "started and has no snapshot; the status is 3, too.\n"
        "\n"
        "On virtual:CARD nothing is computed, and the time of a step is forecast: a model's "
        "answer\n"
        "with its range (docs/guide/virtual-time.md).\n"
        "\n"
        "Ctrl-C, SIGTERM and SIGHUP (a lost connection) end the run after the current step. The\n"
        "snapshot of what was measured is written, and runs that have not begun are left out. A\n"
        "second signal ends the program at once.\n"
        "\n"
        "Snapshots of the running program lie beside its final one and are never overwritten:\n"
        "run.usr2-1.json.gz, run.step-20.json.gz. The run waits only while the tables are copied.\n"
        "If something exits or aborts mid-run, run.exit-1.json.gz or run.abort-1.json.gz is "
        "written.\n",
};

void tide_profile_options_init(tide_profile_options *options) {
    *options = (tide_profile_options){
        .device_times = "auto",
        .overhead_pairs = TIDE_NOT_GIVEN,
        .log_bytes = TIDE_NOT_GIVEN,
        .snapshot_every = TIDE_NOT_GIVEN,
    };
    tide_model_options_init(&options->run);
}
