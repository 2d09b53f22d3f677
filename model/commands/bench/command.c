/* tidemark bench: measures the parts that cost a run time, and reports which stated bounds hold. */
#include <stdio.h>
#include <string.h>

#include "model/commands/commands.h"
#include "model/bench/bench.h"
#include "model/commands/bench/calibrate.h"
#include "model/commands/bench/internal.h"
#include "cli/cli.h"
#include "cli/files.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "model/commands/record_file.h"
#include "cli/options/report_options.h"
#include "model/commands/options/model_choices.h"
#include "model/commands/options/model_options.h"
#include "common/text/nearest.h"
#include "common/text/plural.h"
#include "model/workload/timing.h"

typedef struct bench_options {
    tide_bench_settings settings;         /* the measurement */
    tide_option_list sizes, dtypes, vary; /* copied to the settings, which borrow the texts */
    tide_report_options report;           /* how the report is printed */
    const char *record_path;              /* of the CSV file; NULL: none */
    const char *python;                   /* of calibrate; NULL: the default one */
    const char *output;                   /* of calibrate: its file; NULL: that of this machine */
    uint64_t rounds;
    bool samples;
    bool gate;
} bench_options;

static const char *dtype_at(size_t i) {
    static const char *const NAMES[] = {"fp32", "tf32", "bf16", "int8"};
    return i < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[i] : NULL;
}

static const char *vary_at(size_t i) {
    static const char *const NAMES[] = {"steps", "layers", "batch", "dim"};
    return i < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[i] : NULL;
}

#define AT(member) offsetof(bench_options, member)

static const tide_option OPTIONS[] = {
    TIDE_REPORT_ROWS(AT(report)),
    TIDE_OPTION(
        COUNT, "rounds", "N", AT(rounds),
        "number of samples of each variant, 1 to 101; default 15, of mlp and mlp-scaling 3"),
    TIDE_OPTION(FLAG, "samples", NULL, AT(samples), "print every sample, too"),
    TIDE_OPTION(FLAG, "gate", NULL, AT(gate),
                "end with exit status 4 if allocator, recorder or symbols misses a target"),
    TIDE_OPTION(
        FLAG, "brief", NULL, AT(settings.is_brief),
        "do little work in each sample, only to see that it runs; the figures mean nothing"),
    {.kind = TIDE_OPTION_HEADING, .help = "Benchmarks of a device"},
    TIDE_OPTION_OF(TEXT, "device", "auto|cuda[:N]|cpu", tide_choice_device, AT(settings.device),
                   "device to measure; default auto, the best real one"),
    TIDE_OPTION(COUNTS, "sizes", "N", AT(sizes),
                "n or D of each row; default: the sizes listed above"),
    {TIDE_OPTION_CHOICES, "dtype", NULL, NULL,
     "types of the numbers; int8 is for weights only, which are cast where they are used", NULL,
     "bf16-true=bf16 bfloat16=bf16 float32=fp32", dtype_at, AT(dtypes), NULL, NULL},
    {TIDE_OPTION_COUNT, "batch", NULL, "N", "number of rows of the input", "batch-size", NULL, NULL,
     AT(settings.batch), NULL, NULL},
    {TIDE_OPTION_COUNT, "dim", NULL, "N", "mlp, mlp-scaling: width of the layers; default 256",
     "d-model", NULL, NULL, AT(settings.dim), NULL, NULL},
    {TIDE_OPTION_COUNT, "layers", NULL, "N", "mlp, mlp-scaling: number of layers; default 4",
     "num-layers", NULL, NULL, AT(settings.layers), NULL, NULL},
    TIDE_OPTION(COUNT, "steps", "N", AT(settings.steps),
                "mlp, mlp-scaling: number of forward and backward passes in a run; default 2"),
    TIDE_OPTION_OF(CHOICES, "vary", NULL, vary_at, AT(vary),
                   "mlp-scaling: what is made 2 to 5 times as much; default each of them"),
    TIDE_OPTION(COUNT, "warmup", "N", AT(settings.warmup),
                "number of calls before the first sample; default 3, of mlp and mlp-scaling 1"),
    TIDE_OPTION(
        COUNT, "calls", "N", AT(settings.calls),
        "number of calls in a sample, whose time is divided by N: best us is then the best of "
        "--rounds repeats of N calls; default 1"),
    TIDE_OPTION(
        FLAG, "no-flush", NULL, AT(settings.no_flush),
        "leave the caches as they are between samples; by default a buffer of twice the size of "
        "the "
        "last cache is written before each sample of mlp-norm, layernorm, gemv, gather-gemv and "
        "copy"),
    TIDE_OPTION(POSITIVE, "peak-tflops", "X", AT(settings.peak_tflops),
                "mlp-norm: peak rate of which the share is computed; default: the rate that the "
                "card's vendor "
                "states"),
    TIDE_OPTION(
        POSITIVE, "target", "X", AT(settings.target),
        "end with exit status 4 if the figure, or its mean over several sizes, does not reach X"),
    TIDE_OPTION(TEXT, "record", "FILE.csv", AT(record_path),
                "append the figures to this file as experiment records, adding columns where they "
                "are needed; folders that do not exist are made"),
    {.kind = TIDE_OPTION_HEADING, .help = "calibrate"},
    TIDE_OPTION(TEXT, "python", "PYTHON", AT(python),
                "the Python with your PyTorch; default that of $VIRTUAL_ENV, or else python3"),
    {.kind = TIDE_OPTION_TEXT,
     .letter = "o",
     .value = "FILE.json",
     .help =
         "the calibration; default ~/.config/tidemark/calibration.json, which forecasts of time "
         "use by themselves",
     .offset = AT(output)},
};

static const tide_option_table TABLE = {
    .command = "bench",
    .operands = "NAME",
    .intro =
        "Measures on this machine, each beside a lower bound that is measured in the same rounds:\n"
        "  allocator    an allocation and its release, without recording\n"
        "  recorder     the same with recording, without and with call stacks, on one and two "
        "threads\n"
        "  symbols      looking up addresses of this program in its debug information\n"
        "The project states targets for these, on an otherwise idle machine;\n"
        "docs/internals/allocator.md lists them.\n"
        "Measures on a device, cpu or cuda (docs/model/benchmarks.md):\n"
        "  matmul       square products: TFLOP/s; n 1024 to 16384, on the cpu to 2048\n"
        "  mlp          linear layers with GELU, forward and backward: 256 wide, 4 layers, batch\n"
        "               256, 2 steps; and 128 wide, 16 layers, batch 128, 5 steps\n"
        "  mlp-scaling  the first of these with 2 to 5 times the steps, layers, batch or width: "
        "ratios\n"
        "               of times, and the exponent that fits them\n"
        "  mlp-norm     linear, layer norm, linear, layer norm of a vector, D -> 14336 -> D:\n"
        "               FLOP / time / peak\n"
        "  layernorm    4096 rows of D 1024 to 16384: GB/s\n"
        "  gemv         D x D matrix times vector, weights bf16 and int8: GB/s\n"
        "  gather-gemv  the same with two of eight matrices, chosen by number\n"
        "  layer-forward, layer-backward\n"
        "               the matrix products of one layer of the transformer, of C channels and "
        "2048\n"
        "               rows: TFLOP/s that a step's products can reach\n"
        "  copy         copies of 64 MiB to 4 GiB within device memory: GB/s, which no operator "
        "that is\n"
        "               bound by memory exceeds\n"
        "  suite        mlp-norm, layernorm, gather-gemv and gemv, one after the other; one that "
        "fails\n"
        "               does not stop the others\n"
        "Measures what forecasts of time need to know of a machine (docs/guide/virtual-time.md):\n"
        "  calibrate    the host's time for a launch of PyTorch's, and the rates of the GPU, if "
        "there is\n"
        "               one; one to two minutes\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 1,
    .max_operands = 1,
    .notes =
        "Benchmarks of one thread (allocator, recorder, symbols) use the thread's own time, so "
        "that\n"
        "other programs matter little; two threads are timed by the clock. Targets are compared\n"
        "with min, the fastest sample; ratios are medians over the rounds.\n"
        "\n"
        "Times on a device are measured between two device events, after a warm-up; figures use\n"
        "the median. The standard deviation is the sample's.\n"
        "\n"
        "A size for which the device has no memory has a row that says so, and the others are "
        "still\n"
        "measured: exit status 3. A missed target gives exit status 4. If a benchmark of the suite "
        "fails,\n"
        "the exit status is 1.\n",
};

/* Options that only some benchmarks take. */
typedef struct taken_option {
    const char *name;
    unsigned taken; /* TIDE_BENCH_TAKES_... */
} taken_option;

static const taken_option TAKEN[] = {
    {"gate", TIDE_BENCH_TAKES_GATE},        {"device", TIDE_BENCH_TAKES_DEVICE},
    {"sizes", TIDE_BENCH_TAKES_SIZES},      {"dtype", TIDE_BENCH_TAKES_DTYPE},
    {"batch", TIDE_BENCH_TAKES_BATCH},      {"dim", TIDE_BENCH_TAKES_MODEL},
    {"layers", TIDE_BENCH_TAKES_MODEL},     {"steps", TIDE_BENCH_TAKES_MODEL},
    {"vary", TIDE_BENCH_TAKES_VARY},        {"warmup", TIDE_BENCH_TAKES_DEVICE},
    {"calls", TIDE_BENCH_TAKES_DEVICE},     {"no-flush", TIDE_BENCH_TAKES_FLUSH},
    {"peak-tflops", TIDE_BENCH_TAKES_PEAK}, {"target", TIDE_BENCH_TAKES_TARGET},
    {"record", TIDE_BENCH_TAKES_DEVICE},
};

/* Refuses an option that the benchmark does not use. False if a message was printed. */
static bool check_taken(const tide_bench *bench, const tide_operands *operands) {
    if (bench->parts != NULL && tide_options_is_given(&TABLE, operands, "samples")) {
        tide_cli_note("bench",
                      "--samples has no effect on %s: measure one of its benchmarks, as %s",
                      bench->name, bench->parts[0]->name);
        return false;
    }
    for (size_t i = 0; i < sizeof(TAKEN) / sizeof(TAKEN[0]); i++) {
        if ((tide_bench_takes(bench) & TAKEN[i].taken) != 0 ||
            !tide_options_is_given(&TABLE, operands, TAKEN[i].name)) {
            continue;
        }
        char takers[256] = "";
        for (size_t k = 0; tide_bench_at(k) != NULL; k++) {
            size_t n = strlen(takers);
            if ((tide_bench_takes(tide_bench_at(k)) & TAKEN[i].taken) != 0) {
                (void)snprintf(takers + n, sizeof(takers) - n, "%s%s", n > 0 ? ", " : "",
                               tide_bench_at(k)->name);
            }
        }
        tide_cli_note("bench", "--%s has no effect on %s: it applies to %s", TAKEN[i].name,
                      bench->name, takers);
        return false;
    }
    return true;
}

/* Checks the numbers and sets those that were not given. False if a message was printed. */
static bool check_numbers(const tide_bench *bench, bench_options *options) {
    tide_bench_settings *is = &options->settings;
    options->rounds = options->rounds != TIDE_BENCH_NOT_GIVEN ? options->rounds
                      : bench->n_rounds > 0                   ? bench->n_rounds
                                                              : TIDE_BENCH_ROUNDS;
    if (options->rounds == 0 || options->rounds > TIDE_BENCH_MAX_ROUNDS) {
        tide_cli_note("bench", "--rounds must be between 1 and %d", (int)TIDE_BENCH_MAX_ROUNDS);
        return false;
    }
    is->warmup = is->warmup != TIDE_BENCH_NOT_GIVEN ? is->warmup
                 : bench->n_warmup > 0              ? bench->n_warmup
                                                    : TIDE_BENCH_WARMUP;
    is->calls = is->calls != TIDE_BENCH_NOT_GIVEN ? is->calls : 1;
    if (is->calls == 0 || is->calls > TIDE_TIMING_MAX_CALLS || is->warmup > TIDE_TIMING_MAX_CALLS) {
        tide_cli_note("bench", "--calls must be between 1 and %d, --warmup between 0 and %d",
                      (int)TIDE_TIMING_MAX_CALLS, (int)TIDE_TIMING_MAX_CALLS);
        return false;
    }
    if (is->calls > 1 && (tide_bench_takes(bench) & TIDE_BENCH_TAKES_FLUSH) != 0 && !is->no_flush) {
        tide_cli_note(
            "bench",
            "--calls %llu: only the first call of a sample would find empty caches: add --no-flush",
            (unsigned long long)is->calls);
        return false;
    }
    return true;
}

static const char *bench_at(const void *ctx, size_t i) {
    (void)ctx;
    const tide_bench *bench = tide_bench_at(i);
    return bench != NULL                           ? bench->name
           : i > 0 && tide_bench_at(i - 1) != NULL ? TIDE_BENCH_CALIBRATE
                                                   : NULL;
}

/* The benchmark of that name. NULL, with a message printed, if there is none. */
static const tide_bench *find(const char *name) {
    for (size_t i = 0; tide_bench_at(i) != NULL; i++) {
        if (strcmp(tide_bench_at(i)->name, name) == 0) {
            return tide_bench_at(i);
        }
    }
    const tide_words benches = {.word_at = bench_at};
    char text[TIDE_NEAREST_TEXT];
    tide_cli_note("bench", "unknown benchmark %s", tide_unknown_word(&benches, name, text));
    return NULL;
}

/* The results that decide the exit status. */
typedef struct verdicts {
    bool bound_is_missed;  /* that the project states */
    bool target_is_missed; /* of --target */
    bool some_do_not_fit;  /* cases without figures */
} verdicts;

/* Shows the case immediately, because the line on the terminal is still about a finished one. */
static void show_case(void *ctx, const char *text) {
    tide_progress *progress = ctx;
    progress->next_ns = 0;
    tide_progress_say(progress, "%s", text);
}

static tide_status report_run(const tide_bench *bench, const bench_options *options,
                              const tide_bench_run *run, const verdicts *found, tide_error *error) {
    tide_report report;
    tide_report_init(&report, "bench");
    const size_t n_rounds = run->settings->n_rounds;
    const bool is_missed = found->bound_is_missed || found->target_is_missed;
    tide_report_say(&report, "bench", "%s: %s; %zu round%s%s", bench->name, bench->summary,
                    n_rounds, tide_plural(n_rounds, "", "s"),
                    run->settings->is_brief ? ", brief: the figures mean nothing"
                                            : "; best on a machine with nothing else to do");
    tide_bench_report_results(&report, run, options->samples);
    if (run->settings->target > 0.0 || options->record_path != NULL) {
        tide_bench_report_records(&report, &run, 1);
    }
    if (run->n_records > 0 || run->n_unfit > 0) {
        tide_bench_report_environment(&report, run);
    }
    tide_report_figure_count(&report, "rounds", (int64_t)n_rounds);
    tide_report_figure_text(&report, "targets_met", is_missed ? "no" : "yes");
    tide_report_figure_count(&report, "unfit_cases", (int64_t)run->n_unfit);
    return tide_report_end(&report, TIDE_OK, tide_format_chosen(&options->report), error);
}

tide_status tide_bench_measure_shown(const tide_bench *bench, tide_bench_settings *settings,
                                     tide_bench_run **ret_run, tide_error *error) {
    tide_progress progress;
    settings->show = show_case;
    settings->show_ctx = &progress;
    if (tide_bench_run_create(tide_hostmem_default(), settings, ret_run) != TIDE_OK) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the results");
    }
    tide_progress_begin(&progress, bench->name);
    tide_status status = tide_bench_run_measure(*ret_run, bench, error);
    tide_progress_end(&progress);
    return status;
}

/* Measures, prints the report regardless of the targets, and keeps the records. */
static tide_status measure(const tide_bench *bench, bench_options *options, verdicts *ret,
                           tide_error *error) {
    tide_bench_run *run = NULL;
    tide_status status = tide_bench_measure_shown(bench, &options->settings, &run, error);
    if (status == TIDE_OK) {
        *ret = (verdicts){.bound_is_missed = tide_bench_some_target_is_missed(run),
                          .target_is_missed = tide_bench_some_record_is_missed(run),
                          .some_do_not_fit = run->n_unfit > 0};
        status = report_run(bench, options, run, ret, error);
    }
    if (status == TIDE_OK && options->record_path != NULL) {
        status = tide_bench_save_records(run, options->record_path, error);
    }
    tide_bench_run_destroy(run);
    return status;
}

/* Passes the lists of the command line to the settings. */
static void complete_settings(bench_options *options) {
    _Static_assert((int)TIDE_OPTION_LIST_ITEMS <= (int)TIDE_BENCH_MAX_SIZES, "every size has room");
    tide_bench_settings *settings = &options->settings;
    settings->n_rounds = (size_t)options->rounds;
    settings->n_sizes = options->sizes.n;
    for (size_t i = 0; i < options->sizes.n; i++) {
        settings->sizes[i] = options->sizes.counts[i];
    }
    settings->n_dtypes = options->dtypes.n;
    for (size_t i = 0; i < options->dtypes.n; i++) { /* has room: there are four, none twice */
        settings->dtypes[i] = options->dtypes.texts[i];
    }
    settings->n_vary = options->vary.n;
    for (size_t i = 0; i < options->vary.n; i++) { /* the same */
        settings->vary[i] = options->vary.texts[i];
    }
}

/* Checks the device and the file for records before anything is measured. */
static tide_status prepare(const tide_bench *bench, bench_options *options, char device[64],
                           tide_error *error) {
    tide_device_kind kind = TIDE_DEVICE_CPU;
    if ((tide_bench_takes(bench) & TIDE_BENCH_TAKES_DEVICE) == 0) {
        return TIDE_OK;
    }
    if (options->record_path != NULL) {
        const tide_output records = {.path = options->record_path, .content = TIDE_CONTENT_CSV};
        TIDE_TRY(tide_output_check_name(&records, error));
        TIDE_TRY(tide_file_make_parents(options->record_path, error));
        TIDE_TRY(tide_record_check(options->record_path, error));
    }
    const char *asked = options->settings.device != NULL ? options->settings.device : "auto";
    TIDE_TRY(tide_pick_device("bench", asked, device, &kind, error));
    options->settings.device = device;
    return TIDE_OK;
}

static int run_one(const tide_bench *bench, bench_options *options) {
    tide_error error = {""};
    verdicts found = {false, false, false};
    const tide_status status = measure(bench, options, &found, &error);
    if (status != TIDE_OK) {
        return tide_cli_fail("bench", status, &error);
    }
    if ((options->gate && found.bound_is_missed) || found.target_is_missed) {
        tide_cli_note("bench", "a target was missed");
        return tide_cli_finish("bench", TIDE_EXIT_GATE);
    }
    return tide_cli_finish("bench",
                           found.some_do_not_fit ? TIDE_EXIT_DEVICE_OOM : TIDE_EXIT_SUCCESS);
}

static int run_parts(const tide_bench *bench, bench_options *options) {
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    const tide_status status =
        tide_bench_measure_parts(bench, &options->settings, options->record_path,
                                 tide_format_chosen(&options->report), &exit_status, &error);
    return tide_cli_end("bench", status, &error, exit_status);
}

static int calibrate(const bench_options *options, const tide_operands *operands) {
    tide_error error = {""};
    const tide_option *unused =
        tide_options_find_unused(&TABLE, operands, "python o " TIDE_REPORT_OPTIONS);
    if (unused != NULL) {
        tide_cli_note("bench", "--%s has no effect on " TIDE_BENCH_CALIBRATE, unused->name);
        return TIDE_EXIT_USAGE;
    }
    tide_status status = tide_bench_calibrate(options->python, options->output,
                                              tide_format_chosen(&options->report), &error);
    return tide_cli_end("bench", status, &error, TIDE_EXIT_SUCCESS);
}

static int run_command(int argc, char **argv) {
    bench_options options = {.rounds = TIDE_BENCH_NOT_GIVEN,
                             .settings = {.batch = TIDE_BENCH_NOT_GIVEN,
                                          .dim = TIDE_BENCH_NOT_GIVEN,
                                          .layers = TIDE_BENCH_NOT_GIVEN,
                                          .steps = TIDE_BENCH_NOT_GIVEN,
                                          .warmup = TIDE_BENCH_NOT_GIVEN,
                                          .calls = TIDE_BENCH_NOT_GIVEN}};
    tide_operands operands = {.n = 0};
    int exit_status = TIDE_EXIT_SUCCESS;
    char device[64] = "";
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    if (strcmp(operands.texts[0], TIDE_BENCH_CALIBRATE) == 0) {
        return calibrate(&options, &operands);
    }
    if (options.python != NULL || options.output != NULL) {
        tide_cli_note("bench", "%s has no effect on %s: it applies to " TIDE_BENCH_CALIBRATE,
                      options.python != NULL ? "--python" : "-o", operands.texts[0]);
        return TIDE_EXIT_USAGE;
    }
    const tide_bench *bench = find(operands.texts[0]);
    if (bench == NULL || !check_taken(bench, &operands) || !check_numbers(bench, &options)) {
        return TIDE_EXIT_USAGE;
    }
    tide_error error = {""};
    complete_settings(&options);
    tide_status status = prepare(bench, &options, device, &error);
    if (status != TIDE_OK) {
        return tide_cli_fail("bench", status, &error);
    }
    return bench->parts != NULL ? run_parts(bench, &options) : run_one(bench, &options);
}

const tide_command tide_command_bench = {
    .name = "bench",
    .summary = "what allocator, recorder, operators and small models take on this machine",
    .options = &TABLE,
    .run = run_command,
};
