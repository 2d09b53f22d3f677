/* tidemark forecast: reports whether a run of PyTorch fits a card that this machine need not have,
 * and which change would make it fit. */
#include <string.h>

#include "cli/cli.h"
#include "model/commands/commands.h"
#include "model/commands/forecast/internal.h"
#include "cli/options/report_options.h"
#include "model/commands/options/model_options.h"

/* The command line as it was written. */
typedef struct forecast_options {
    tide_run_options run; /* the options that describe a run and its limits */
    bool details;         /* also the tables in text */
    bool wants_time;      /* of a step */
} forecast_options;

enum { RUN = offsetof(forecast_options, run) };

#define AT(member) offsetof(forecast_options, member)

static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_HEADING, .help = "Model"},
    TIDE_OPTION_ROW_SIZE(RUN, "; default small"),
    TIDE_OPTION_ROW_DIMENSIONS(RUN),
    {.kind = TIDE_OPTION_HEADING, .help = "Run"},
    TIDE_OPTION_ROW_EDITION(RUN, ""),
    TIDE_OPTION_ROW_BATCH(RUN, "; default 4"),
    TIDE_OPTION_ROW_CONTEXT(RUN, "; default 128"),
    TIDE_OPTION_ROW_MODE(RUN, "; default train"),
    TIDE_OPTION_ROW_ONLY_FORWARD(RUN),
    TIDE_OPTION_ROW_KEEP_GRAPH(RUN),
    TIDE_OPTION_ROW_PRECISION(
        RUN, "types of the numbers; bf16 means bf16-mixed, fp16 means fp16-mixed; default fp32"),
    TIDE_OPTION_ROW_MIXED_PRECISION(RUN),
    TIDE_OPTION_ROW_ATTENTION(RUN,
                              "attention operator; flash is scaled_dot_product_attention; default "
                              "naive, as in the assignment's code"),
    TIDE_OPTION_ROW_RECOMPUTE(RUN, "block puts a checkpoint around each block; default none"),
    {.kind = TIDE_OPTION_HEADING, .help = "Card"},
    TIDE_OPTION_OF(TEXT, "device", "virtual[:CARD]", tide_choice_virtual_device, AT(run.device),
                   "card that the step must fit; tidemark devices lists the cards; default "
                   "virtual, which has no limit"),
    TIDE_OPTION_ROW_MEMORY_LIMIT(RUN, "; without a card it is the only limit"),
    TIDE_OPTION_ROW_SPILL(RUN),
    TIDE_OPTION_ROW_ALLOC_CONF(RUN),
    {.kind = TIDE_OPTION_HEADING, .help = "Output"},
    TIDE_OPTION(FLAG, "time", NULL, AT(wants_time),
                "forecast also how long a step takes on the card, by what PyTorch launches"),
    TIDE_OPTION(FLAG, "details", NULL, AT(details),
                "show also the changes that were tried and what is alive at the peak"),
    TIDE_REPORT_ROWS(AT(run.report)),
};

static const tide_option_table TABLE = {
    .command = "forecast",
    .intro =
        "Says in one line whether a step of the model, run by PyTorch, fits a card: the peak\n"
        "of allocated and of reserved bytes, where and why it occurs, and the smallest change\n"
        "that would make it fit. It needs neither a GPU nor PyTorch.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .notes =
        "It runs 15 steps, as many as tidemark profile, because reserved bytes still grow after\n"
        "the second. It tries changes in this order: flash attention, recompute, both, a smaller\n"
        "batch, a shorter context. docs/model/pytorch-forecast.md says how exact the figures are.\n"
        "\n"
        "Exit status 3: the step does not fit.\n",
};

static tide_status check(const forecast_options *options, tide_error *error) {
    const tide_run_options *run = &options->run;
    if (options->wants_time && strcmp(run->device, "virtual") == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--time: only a card has times: name one with --device virtual:CARD");
    }
    if (strcmp(run->device, "virtual") != 0 && strncmp(run->device, "virtual:", 8) != 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--device %.64s: forecast runs on the virtual device only: name a card "
                         "with virtual:CARD",
                         run->device);
    }
    if (tide_run_options_n_runs(run) > 1) {
        return tide_fail(error, TIDE_INVALID,
                         "forecast takes one run at a time: give each option one value; tidemark "
                         "study memory takes lists and also says how much memory PyTorch needs");
    }
    return tide_run_options_check(run, error);
}

/* Forecasts the time of a step; the steps after the first have the same launches, so three are
 * enough. */
static void make_time(const tide_run_config *config, tide_run_result *ret_result) {
    tide_run_config timed = *config;
    tide_run_model_of(&timed.workload)->steps = 3;
    timed.recording = (tide_run_recording){.ns_per_event = -1.0, .forecasts_time = true};
    tide_run_here(&timed, NULL, ret_result);
}

/* The caller finishes both, also after a failure. */
static tide_status make(const forecast_options *options, tide_forecast *ret_forecast,
                        tide_run_result *ret_result, tide_error *error) {
    const tide_run_options *run = &options->run;
    tide_run_config config;
    TIDE_TRY(tide_run_options_configure(run, 0, run->device, &config, error));
    TIDE_TRY(tide_forecast_make(&config, ret_forecast, error));
    if (options->wants_time && ret_forecast->fits) {
        tide_run_result_fini(ret_result);
        make_time(&config, ret_result);
    }
    return TIDE_OK;
}

static int forecast(const forecast_options *options) {
    tide_error error = {""};
    tide_forecast made = {.usable_bytes = 0};
    tide_run_result timed;
    tide_run_result_init(&timed);
    tide_status status = check(options, &error);
    bool fits = true;
    if (status == TIDE_OK) {
        status = make(options, &made, &timed, &error);
        fits = made.fits;
        if (status == TIDE_OK) {
            status = tide_forecast_print(&made, options->wants_time ? &timed : NULL,
                                         tide_format_chosen(&options->run.report), options->details,
                                         &error);
        }
        tide_forecast_fini(&made);
    }
    tide_run_result_fini(&timed);
    if (status != TIDE_OK) {
        return tide_cli_refuse("forecast", status, &error);
    }
    return tide_cli_finish("forecast", fits ? TIDE_EXIT_SUCCESS : TIDE_EXIT_DEVICE_OOM);
}

static int run(int argc, char **argv) {
    forecast_options options = {.details = false};
    int exit_status = TIDE_EXIT_SUCCESS;
    tide_model_options_init(&options.run);
    options.run.device = "virtual";
    options.run.emulate = "pytorch";
    options.run.warmup_steps = 0;
    options.run.steps = TIDE_RUN_FIT_STEPS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, NULL, &exit_status)) {
        return exit_status;
    }
    return forecast(&options);
}

const tide_command tide_command_forecast = {
    .name = "forecast",
    .summary = "whether the same model run by PyTorch fits a card, and what would make it fit",
    .options = &TABLE,
    .run = run,
};
