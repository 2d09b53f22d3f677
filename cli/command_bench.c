/* tidemark bench: measures the parts that a run pays for, and says which stated bounds hold. */
#include <stdio.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/cli.h"

enum { DEFAULT_ROUNDS = 15 };

static const tide_bench *const BENCHES[] = {&tide_bench_allocator, &tide_bench_recorder,
                                            &tide_bench_symbols};
enum { N_BENCHES = sizeof(BENCHES) / sizeof(BENCHES[0]) };

typedef struct bench_options {
    const char *format; /* one of tide_format_name */
    uint64_t rounds;
    bool samples;
    bool gate;
    bool brief;
} bench_options;

static const tide_option OPTIONS[] = {
    {TIDE_OPTION_CHOICE, "format", NULL, NULL, "of the report; default text", NULL, NULL,
     tide_format_name, offsetof(bench_options, format)},
    {TIDE_OPTION_COUNT, "rounds", NULL, "N", "samples of each variant, 1 to 101; default 15", NULL,
     NULL, NULL, offsetof(bench_options, rounds)},
    {TIDE_OPTION_FLAG, "samples", NULL, NULL, "every sample, too", NULL, NULL, NULL,
     offsetof(bench_options, samples)},
    {TIDE_OPTION_FLAG, "gate", NULL, NULL, "a missed target is exit status 4", NULL, NULL, NULL,
     offsetof(bench_options, gate)},
    {TIDE_OPTION_FLAG, "brief", NULL, NULL,
     "little work in each sample: shows that it runs, the figures mean nothing", NULL, NULL, NULL,
     offsetof(bench_options, brief)},
};

static const tide_option_table TABLE = {
    .command = "bench",
    .operands = "NAME",
    .intro =
        "Measures on this machine, beside a floor that is measured in the same rounds:\n"
        "  allocator  an allocation and its release, not recorded\n"
        "  recorder   the same recorded, without and with call stacks, on one and two threads\n"
        "  symbols    addresses of this program looked up in its debug information\n"
        "Targets are bounds that the project states for a machine with nothing else to do;\n"
        "docs/allocator.md has them.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 1,
    .max_operands = 1,
    .notes =
        "Times are the thread's own where one thread works, so that other programs count\n"
        "little; two threads are timed by the clock. min is the machine at its fastest, which\n"
        "targets are compared with; ratios are medians over the rounds.\n",
};

static const char *bench_at(const void *ctx, size_t i) {
    (void)ctx;
    return i < N_BENCHES ? BENCHES[i]->name : NULL;
}

/* NULL, after a message: there is none of that name. */
static const tide_bench *find(const char *name) {
    char valid[256] = "";
    for (size_t i = 0; i < N_BENCHES; i++) {
        if (strcmp(BENCHES[i]->name, name) == 0) {
            return BENCHES[i];
        }
        size_t n = strlen(valid);
        snprintf(valid + n, sizeof(valid) - n, "%s%s", i == 0 ? "" : ", ", BENCHES[i]->name);
    }
    const char *nearest = tide_nearest_word(name, bench_at, NULL);
    tide_cli_note("bench", "unknown benchmark '%.64s'%s%s%s (valid: %s)", name,
                  nearest != NULL ? ": did you mean " : "", nearest != NULL ? nearest : "",
                  nearest != NULL ? "?" : "", valid);
    return NULL;
}

/* The report is printed whatever the targets say. */
static tide_status measure(const tide_bench *bench, const bench_options *options, bool *ret_missed,
                           tide_error *error) {
    static tide_bench_run run;
    tide_report report;
    tide_report_init(&report);
    run = (tide_bench_run){.report = &report,
                           .n_rounds = (size_t)options->rounds,
                           .with_samples = options->samples,
                           .is_brief = options->brief};
    tide_report_say(&report, "bench", "%s: %s; %zu rounds%s", bench->name, bench->summary,
                    run.n_rounds,
                    options->brief ? ", brief: the figures mean nothing"
                                   : "; best on a machine with nothing else to do");
    tide_status status = bench->run(&run, error);
    if (status == TIDE_OK) {
        *ret_missed = tide_bench_report_targets(&run);
        status =
            tide_report_print(&report, (tide_format)tide_format_from_name(options->format), stdout);
    }
    tide_report_fini(&report);
    return status;
}

static int run_command(int argc, char **argv) {
    bench_options options = {.format = "text", .rounds = DEFAULT_ROUNDS};
    tide_operands operands = {.n = 0};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    if (options.rounds == 0 || options.rounds > TIDE_BENCH_MAX_ROUNDS) {
        tide_cli_note("bench", "--rounds must be 1 to %d", (int)TIDE_BENCH_MAX_ROUNDS);
        return TIDE_EXIT_USAGE;
    }
    const tide_bench *bench = find(operands.texts[0]);
    if (bench == NULL) {
        return TIDE_EXIT_USAGE;
    }
    tide_error error = {""};
    bool is_missed = false;
    tide_status status = measure(bench, &options, &is_missed, &error);
    if (status != TIDE_OK) {
        return tide_cli_fail("bench", status, &error);
    }
    if (options.gate && is_missed) {
        tide_cli_note("bench", "a target was missed");
        return tide_cli_finish("bench", TIDE_EXIT_GATE);
    }
    return tide_cli_finish("bench", TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_bench = {
    .name = "bench",
    .summary = "what the allocator and the recorder cost on this machine, and their targets",
    .options = &TABLE,
    .run = run_command,
};
