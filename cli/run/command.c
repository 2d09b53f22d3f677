/* tidemark run: a user's program, recorded on a GPU or on a virtual card. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/words/program_words.h"
#include "cli/run/internal.h"
#include "cli/options/run_choices.h"
#include "common/assert.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "programs/launch/logs/logs_left.h"
#include "programs/launch/writes/writes.h"

enum { EXIT_NOT_STARTED = 125 };

#define NO_LIMIT (UINT64_C(1) << 42) /* bytes of a card that has room for everything */

#define AT(member) offsetof(tide_run_command_options, member)

static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_HEADING, .help = "Card"},
    TIDE_OPTION_OF(TEXT, "device", "virtual:CARD[xN]", tide_choice_virtual_device, AT(device),
                   "cuda: the GPUs of this machine, the default; or a virtual card in place of "
                   "this machine's GPUs; virtual:h100-80x8 is eight of "
                   "a kind, virtual:h100-80+a100-40 two different ones"),
    TIDE_OPTION(SIZE, "memory-limit", "SIZE", AT(memory_limit_bytes),
                "bytes of each virtual card, such as 24GiB; default what the card has"),
    TIDE_OPTION(SIZE, "spill", "SIZE", AT(spill_bytes),
                "bytes that each virtual card gives out beyond its own, out of the host's memory, "
                "as Windows' driver does it; default 0"),
    {.kind = TIDE_OPTION_HEADING, .help = "Ranks"},
    TIDE_OPTION(COUNT, "world", "N", AT(world),
                "run some ranks of a job of N, one process each; the others are answered for"),
    TIDE_OPTION(TEXT, "ranks", "LIST", AT(ranks),
                "those that run, such as 0,7,500-511; auto: rank 0, then those that its process "
                "groups show to differ"),
    TIDE_OPTION(SIZE, "nccl-bytes", "SIZE", AT(nccl_bytes),
                "bytes of its card that each communicator of NCCL is charged, instead of the model "
                "of its buffers (docs/guide/ranks.md)"),
    {.kind = TIDE_OPTION_HEADING, .help = "Program"},
    TIDE_OPTION(COUNT, "steps", "N", AT(n_steps),
                "end the program with status 0 after N steps of its first optimizer"),
    TIDE_PROGRAM_ROW_CALLS(AT(program)),
    TIDE_PROGRAM_ROW_VALUES(AT(program)),
    TIDE_PROGRAM_ROW_STREAMS(AT(program), tide_choice_streams_or_both,
                             "when the host waits, or both, one run each"),
    TIDE_OPTION(TEXT, "apply", "CHANGES", AT(changes),
                "apply changes of `tidemark plan`, such as checkpoint:Block,fused, to the program, "
                "which stays as it is"),
    TIDE_PROGRAM_ROW_WRITES(AT(program)),
    TIDE_OPTION(TEXT, "keep-writes", "FOLDER", AT(keep_writes),
                "keep the files that the program wrote in this new folder, by their paths from the "
                "current one; files of other folders are in FOLDER/elsewhere"),
    {.kind = TIDE_OPTION_HEADING, .help = "Time (a forecast, on virtual cards)"},
    TIDE_OPTION(FLAG, "time", NULL, AT(wants_time),
                "forecast how long a step takes on the card, and what it is bound by"),
    TIDE_OPTION(TEXT, "launch-log", "FILE", AT(launch_log),
                "keep the log of all launches, from which `tidemark time FILE` forecasts for other "
                "cards; with several processes the rank or process id is added to its name"),
    TIDE_OPTION_OF(CHOICE, "clock", NULL, tide_choice_clock, AT(clock),
                   "the clock that the program sees, in its own timings too: virtual is the "
                   "forecast's (docs/guide/virtual-time.md); default real"),
    TIDE_HOST_ROWS(AT(host)),
    {.kind = TIDE_OPTION_HEADING, .help = "Recording"},
    TIDE_LIVE_ROWS(AT(live)),
    {.kind = TIDE_OPTION_HEADING, .help = "Output"},
    {.kind = TIDE_OPTION_TEXT,
     .name = "output",
     .letter = "o",
     .value = "FILE.json.gz",
     .help = "the snapshot; default PROGRAM-CARD.json.gz",
     .offset = AT(output)},
    TIDE_OPTION(TEXT, "html", "REPORT.html", AT(page),
                "the report; default beside the snapshot; none: no report"),
    TIDE_OPTION(TEXT, "log-to", "TRACKER[,...]", AT(log_to),
                "log the peaks, the answer, the report and the snapshot to wandb, mlflow or "
                "tensorboard after the end of the program, with its own packages "
                "(docs/guide/trackers.md)"),
    TIDE_OPTION(FLAG, "verify", NULL, AT(wants_verify),
                "if the answer of explain names a setting of the allocator, run the program again "
                "with it on the virtual card, and report the outcome"),
    TIDE_OPTION(FLAG, "need", NULL, AT(wants_need),
                "when it does not fit, run it again without a limit, and name the smallest card "
                "that would do"),
};

static const tide_option_table TABLE = {
    .command = TIDE_COMMAND_RUN,
    .operands = "[--] COMMAND [ARGUMENT...]",
    .intro =
        "Runs a program, unchanged, and reports what fills the memory of its GPUs, with the line "
        "of\n"
        "the program and the module that each block belongs to. On a virtual card it needs no "
        "GPU:\n"
        "PyTorch's own allocator and autograd run, but no kernel does, so that losses and results\n"
        "are not real.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .notes =
        "The program's output, input and exit status are its own; 125: it could not be started.\n"
        "Several processes write a snapshot each, named by rank or process id, and one report.\n"
        "COMMAND begins at the first word that is no option. A Python file that is not executable, "
        "as\n"
        "in tidemark run train.py, is run by the python of PATH.\n"
        "docs/guide/live.md says what is recorded; docs/guide/virtual-cuda.md, what is exact on\n"
        "a virtual card.\n",
};

/* ---- the command ---- */

/* Whether an option of tidemark may be among those of the program. */
static bool names_virtual_card(char *const *arguments) {
    bool is_there = false;
    for (size_t i = 0; !is_there && arguments[i] != NULL; i++) {
        is_there = strncmp(arguments[i], "virtual:", strlen("virtual:")) == 0 ||
                   strncmp(arguments[i], "--device=virtual:", strlen("--device=virtual:")) == 0;
    }
    return is_there;
}

/* Without --device the program uses the GPUs of this machine. */
static tide_status check_real(const tide_run_command_options *options, char *const *arguments,
                              tide_error *error) {
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver == NULL) {
        bool is_late = names_virtual_card(arguments);
        return tide_fail(error, TIDE_INVALID,
                         "this machine has no NVIDIA driver: %s: "
                         "tidemark run --device virtual:h100-80 COMMAND",
                         is_late ? "write tidemark's options before the program, whose own are all "
                                   "that follow it"
                                 : "name a virtual card for the program");
    }
    (void)dlclose(driver);
    bool needs_virtual =
        options->memory_limit_bytes > 0 || options->spill_bytes > 0 || options->wants_need ||
        options->wants_verify || options->keep_writes != NULL || options->wants_time ||
        options->launch_log != NULL || strcmp(options->program.streams, "now") != 0 ||
        strcmp(options->program.values, "auto") != 0;
    return needs_virtual
               ? tide_fail(error, TIDE_INVALID,
                           "--memory-limit, --spill, --need, --verify, --time, --launch-log, "
                           "--keep-writes, --streams and --values are for virtual cards: add "
                           "--device virtual:CARD")
               : TIDE_OK;
}

static tide_status check_options(const tide_run_command_options *options, char *const *arguments,
                                 tide_error *error) {
    TIDE_TRY(tide_run_check_ranks(options, arguments, error));
    TIDE_TRY(tide_run_check_clock(options, error));
    TIDE_TRY(tide_run_check_log_to(options, error));
    if (options->device != NULL && strncmp(options->device, "cuda:", strlen("cuda:")) == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--device %.64s: the program itself chooses among the GPUs that it sees: "
                         "write CUDA_VISIBLE_DEVICES=%.32s tidemark run --device cuda COMMAND",
                         options->device, options->device + strlen("cuda:"));
    }
    if (options->device == NULL) {
        TIDE_TRY(check_real(options, arguments, error));
    }
    TIDE_TRY(tide_program_options_check(&options->program, options->n_steps, error));
    if (options->changes != NULL && strcmp(options->live.method, "history") == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--apply reports in the log of the running program what it changes, and "
                         "--method history keeps none");
    }
    if (options->keep_writes != NULL && strcmp(options->program.writes, "allow") == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--keep-writes needs --writes scratch: with allow nothing is kept away");
    }
    if (options->wants_verify && strcmp(options->program.writes, "allow") == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--verify needs --writes scratch: the program may run twice, and with "
                         "allow both runs would write to your files");
    }
    return options->keep_writes == NULL ? TIDE_OK
                                        : tide_writes_check_target(options->keep_writes, error);
}

/* Runs the program again, quietly, only for its figures. */
static tide_status run_again(const tide_run_command_options *options, tide_launch_config config,
                             tide_run_figures *ret_figures, tide_error *error) {
    tide_launch launch;
    config.output = "/dev/null";
    config.watch = NULL;
    config.asked_by = 0;
    config.tells_failures = false;
    config.asks_at_failure = false;
    config.notes_trackers = false;
    config.log = NULL; /* that name is for the log of the first run */
    tide_status status = tide_launch_run(&config, &launch, error);
    if (status == TIDE_OK) {
        status = tide_run_report(options, &config, &launch, NULL, ret_figures, error);
    }
    tide_launch_close(&launch);
    return status;
}

/* Further runs that the options request. */
static tide_status run_more(const tide_run_command_options *options, tide_launch_config config,
                            tide_run_figures *first, tide_error *error) {
    tide_run_figures other = {.fits = true};
    tide_status status = TIDE_OK;
    if (strcmp(options->program.streams, "both") == 0) {
        config.streams = "late";
        TIDE_TRY(run_again(options, config, &other, error));
        tide_run_tell_range(first, &other);
        status = tide_run_keep_range(first, &other, error);
        tide_run_figures_fini(&other);
        config.streams = "now";
    }
    if (status == TIDE_OK && options->wants_verify && first->remedy.settings[0] == '\0') {
        tide_run_say_unverified(first);
    } else if (status == TIDE_OK && options->wants_verify) {
        config.allocator_settings = first->remedy.settings;
        TIDE_TRY(run_again(options, config, &other, error));
        tide_run_say_verified(first, &other);
        tide_run_figures_fini(&other);
        config.allocator_settings = NULL;
    }
    if (status == TIDE_OK && options->wants_need && !first->fits) {
        config.memory_bytes = NO_LIMIT;
        config.spill_bytes = 0;
        TIDE_TRY(run_again(options, config, &other, error));
        tide_run_tell_need(options, &other);
        tide_run_figures_fini(&other);
    }
    return status;
}

/* Reports logs of killed runs: they keep their full size, and the user may not know of them. */
static void tell_left(void) {
    enum { MANY = 8 };
    const uint64_t much_bytes = UINT64_C(2) << 30;
    char bytes[TIDE_BYTES_TEXT];
    tide_logs_left left;
    if (tide_logs_left_init(&left, NULL) != TIDE_OK) {
        return;
    }
    if (left.n_left >= MANY || left.n_bytes >= much_bytes) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "logs of %zu earlier %s take %s of %s: tidemark recover --list shows them, "
                      "recover --remove removes them",
                      left.n_left, tide_plural(left.n_left, "run", "runs"),
                      tide_bytes_format((int64_t)left.n_bytes, bytes), left.folder);
    }
    tide_logs_left_fini(&left);
}

/* The exit status of the program, or its signal, by which this process also ends. */
static int end_as(const tide_launch *launch) {
    if (launch->signal_number != 0) {
        (void)fflush(NULL);
        (void)signal(launch->signal_number, SIG_DFL);
        (void)raise(launch->signal_number);
        return TIDE_EXIT_SIGNAL + launch->signal_number; /* the signal does not end a process */
    }
    return launch->exit_status;
}

/* `cards`: storage for the cards of a device. */
static void configure(const tide_run_command_options *options, char *const *arguments,
                      const char *cards, tide_launch_config *config) {
    tide_launch_config_init(config);
    config->arguments = arguments;
    config->cards = options->device != NULL ? cards : NULL;
    config->memory_bytes = options->memory_limit_bytes;
    config->spill_bytes = options->spill_bytes;
    config->n_steps = options->n_steps;
    config->n_calls = options->program.n_calls;
    config->world = (int64_t)options->world;
    config->nccl_bytes = options->nccl_bytes;
    config->values = options->program.values;
    config->streams =
        strcmp(options->program.streams, "both") == 0 ? "now" : options->program.streams;
    config->changes = options->changes;
    config->asks_at_failure = true;
    config->notes_trackers = options->log_to != NULL;
    config->logs_launches = options->wants_time || options->launch_log != NULL;
    config->writes_are_real =
        options->device == NULL || strcmp(options->program.writes, "allow") == 0;
}

static int run_program(const tide_run_command_options *options, char *const *arguments) {
    tide_error error = {""};
    tide_run_files files;
    char cards[TIDE_LAUNCH_CARDS_BYTES];
    char clock[TIDE_TIME_PACE_TEXT];
    tide_launch launch = {.cleaner = -1};
    tide_launch_config config;
    tide_run_watch watch = {.options = options, .config = &config, .files = &files};
    tide_run_figures figures = {.fits = true};
    tide_ranks ranks = {.n = 0};
    configure(options, arguments, cards, &config);
    config.watch = tide_run_look;
    config.ctx = &watch;
    tide_status status = check_options(options, arguments, &error);
    if (status == TIDE_OK) {
        status = tide_live_options_apply(&options->live, &config, &error);
    }
    if (status == TIDE_OK && options->device != NULL) {
        status = tide_launch_cards(options->device, cards, &error);
    }
    if (status == TIDE_OK) {
        status = tide_run_check_time(options, config.cards, &error);
    }
    if (status == TIDE_OK) {
        status = tide_run_set_clock(options, clock, &config, &error);
    }
    if (status == TIDE_OK) {
        status = tide_run_name_files(options, arguments, &files, &error);
    }
    if (status == TIDE_OK && options->world > 0) {
        status = tide_run_find_ranks(options, &config, &ranks, &error);
        config.ranks = &ranks;
    }
    if (status == TIDE_OK) {
        status = tide_launch_run(&config, &launch, &error);
    }
    if (status != TIDE_OK) {
        (void)tide_cli_fail(TIDE_COMMAND_RUN, status, &error);
        tide_launch_close(&launch);
        return EXIT_NOT_STARTED;
    }
    tide_run_end_watch(&watch);
    status = tide_run_report(options, &config, &launch, &files, &figures, &error);
    launch.keeps_logs = status != TIDE_OK && launch.logs[0] != '\0';
    if (launch.keeps_logs) {
        tide_cli_note(TIDE_COMMAND_RUN, "the log is kept: tidemark recover --last reads it");
    }
    tide_launch_close(&launch);
    if (status == TIDE_OK) {
        status = run_more(options, config, &figures, &error);
    }
    tide_run_log_send(figures.log);
    tide_run_figures_fini(&figures);
    if (status != TIDE_OK) {
        (void)tide_cli_fail(TIDE_COMMAND_RUN, status, &error);
    }
    tell_left();
    return end_as(&launch);
}

static int run(int argc, char **argv) {
    tide_run_command_options options = {.clock = "real",
                                        .nccl_bytes = TIDE_LAUNCH_NCCL_MODEL,
                                        .program = TIDE_PROGRAM_OPTIONS_DEFAULT,
                                        .live = TIDE_LIVE_OPTIONS_DEFAULT};
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    tide_program_words words = tide_program_words_find(&TABLE, argc, argv);
    tide_operands operands;
    if (!tide_cli_parse(&TABLE, words.n_own, argv, &options, &operands, &exit_status)) {
        return exit_status == TIDE_EXIT_USAGE ? EXIT_NOT_STARTED : exit_status;
    }
    tide_status status =
        words.program != NULL && words.program[0] != NULL
            ? tide_program_words_interpret(&words, argv, &error)
            : tide_fail(&error, TIDE_INVALID,
                        "no program is given: write it after the options: tidemark "
                        "run --device virtual:h100-80 python train.py");
    if (status != TIDE_OK) {
        (void)tide_cli_fail(TIDE_COMMAND_RUN, status, &error);
        return EXIT_NOT_STARTED;
    }
    TIDE_ASSERT(words.program != NULL);
    if (options.device != NULL && strcmp(options.device, "cuda") == 0) {
        options.device = NULL; /* the GPUs of this machine, as without --device */
    }
    return run_program(&options, words.program);
}

const tide_command tide_command_run = {
    .name = TIDE_COMMAND_RUN,
    .summary = "run a program on a GPU or a virtual card, and report what fills its memory",
    .options = &TABLE,
    .run = run,
};
