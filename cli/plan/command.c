/* tidemark plan: what would make a user's command fit its card, and fastest, by runs of it with
 * changes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/options/run_choices.h"
#include "cli/plan/internal.h"
#include "cli/program_grid.h"
#include "cli/progress.h"
#include "cli/words/program_words.h"
#include "common/clock.h"
#include "programs/launch/ranks.h"
#include "common/text/list.h"

#define AT(member) offsetof(tide_plan_command, member)

enum {
    STEPS = 2, /* the second is the first with optimizer state, and is timed */
    RUNS = 16, /* the default */
    JOBS = 2,
    RUNS_OF_UNCHANGED = 2 /* without the card's limit, and with it */
};

static const tide_option OPTIONS[] = {
    TIDE_OPTION_OF(TEXT, "device", "virtual:CARD", tide_choice_virtual_device, AT(device),
                   "card that the command must fit; tidemark devices lists the cards"),
    TIDE_OPTION(SIZE, "room", "SIZE", AT(room_bytes),
                "memory of the card that the command may use; default all"),
    TIDE_OPTION(TEXT, "allow", "WORDS", AT(allow),
                "also try what changes the numbers: precision, optimizer; and compile, whose runs "
                "take minutes; separated by commas"),
    TIDE_OPTION(TEXTS, "try", "CHANGES", AT(named),
                "run only these changes, together if separated by commas, and search nothing; may "
                "be given several times (docs/guide/plan.md lists them)"),
    TIDE_OPTION(TEXT, "vary", "NAME=LOW..HIGH", AT(varied),
                "the batch is {NAME} in the arguments: HIGH unchanged, and smaller ones are tried "
                "with --accumulate"),
    TIDE_OPTION(TEXT, "accumulate", "NAME", AT(accumulate),
                "the number of batches for a step is {NAME} in the arguments: 1 unchanged"),
    TIDE_OPTION(TEXT, "patch", "FILE", AT(patch),
                "also try this patch (diff -u, applied with patch -p1 in the current folder); your "
                "files stay as they are"),
    TIDE_OPTION(COUNT, "runs", "N", AT(n_runs), "most runs of the command; default 16"),
    TIDE_OPTION(COUNT, "jobs", "N", AT(n_jobs), "runs at a time, 1 to 8; default 2"),
    TIDE_OPTION(COUNT, "steps", "N", AT(n_steps), "number of steps of each run; default 2"),
    TIDE_OPTION(
        COUNT, "world", "N", AT(world),
        "plan a job of N ranks, of which some run; --device virtual:CARDxM has the cards of "
        "a node"),
    TIDE_OPTION(TEXT, "ranks", "LIST", AT(ranks), "ranks that run, such as 0,7; default 0"),
    TIDE_PROGRAM_ROW_VALUES(AT(program)),
    TIDE_PROGRAM_ROW_STREAMS(AT(program), tide_choice_streams, "or when the host waits"),
    TIDE_PROGRAM_ROW_WRITES(AT(program)),
    TIDE_PROGRAM_ROWS_HOST(AT(program)),
    {.kind = TIDE_OPTION_HEADING, .help = "Output"},
    {.kind = TIDE_OPTION_TEXT,
     .name = "output",
     .letter = "o",
     .value = "FOLDER|FILE.diff",
     .help = "keep the snapshot of each run in this folder, for compare and view, with the page "
             "plan.html; or write the best as a patch, and run the patched program",
     .offset = AT(output)},
    TIDE_REPORT_ROWS(AT(report)),
};

static const tide_option_table TABLE = {
    .command = "plan",
    .operands = "[--] COMMAND [ARGUMENT...]",
    .intro =
        "Finds out what would make a training command of PyTorch fit a card, and which way is\n"
        "the fastest: it runs the command, unchanged and with changes, on a virtual card. It\n"
        "needs no GPU.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .notes = "The command stays as it is: the changes are made in its memory, and the lines that\n"
             "are printed are those that ran. Exit status 0: it fits, or something makes it fit;\n"
             "3: nothing that was tried does.\n",
};

/* ---- the command line ---- */

static tide_status check_range(const char *name, uint64_t value, uint64_t most, tide_error *error) {
    return value >= 1 && value <= most ? TIDE_OK
                                       : tide_fail(error, TIDE_INVALID, "--%s must be 1 to %llu",
                                                   name, (unsigned long long)most);
}

static tide_status check_allowed(const char *words, tide_error *error) {
    static const char *const KNOWN[] = {"precision", "optimizer", "compile"};
    for (tide_list_word word; tide_list_next(&words, &word);) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof(KNOWN) / sizeof(KNOWN[0]); i++) {
            is_known = is_known || tide_list_word_is(word, KNOWN[i]);
        }
        if (!is_known) {
            return tide_fail(error, TIDE_INVALID,
                             "--allow %.*s: the words are precision, optimizer and compile",
                             (int)word.n_bytes, word.text);
        }
    }
    return TIDE_OK;
}

static tide_status check_ranks(const tide_plan_command *command, tide_error *error) {
    if (command->ranks != NULL && command->world == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "--ranks names ranks of a job: say how many it has with --world N");
    }
    return command->world <= TIDE_RANKS_MAX_WORLD
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID, "--world: more than %d ranks are not served",
                           (int)TIDE_RANKS_MAX_WORLD);
}

static tide_status check(const tide_plan_command *command, tide_error *error) {
    TIDE_TRY(check_range("runs", command->n_runs, TIDE_PLAN_ROWS, error));
    if (command->n_runs < command->named.n + RUNS_OF_UNCHANGED) {
        return tide_fail(error, TIDE_INVALID,
                         "--runs %llu: the unchanged command takes two runs, and each --try one",
                         (unsigned long long)command->n_runs);
    }
    TIDE_TRY(check_range("jobs", command->n_jobs, TIDE_PLAN_JOBS, error));
    TIDE_TRY(check_range("steps", command->n_steps, INT64_MAX, error));
    TIDE_TRY(check_range("room", command->room_bytes, UINT64_MAX, error));
    TIDE_TRY(check_ranks(command, error));
    return check_allowed(command->allow, error);
}

/* The batch and the accumulation by the program's own options. */
static tide_status read_batch(const tide_plan_command *command, tide_program_grid *grid,
                              tide_plan_own *ret_own, tide_error *error) {
    char set[TIDE_PROGRAM_NAME_BYTES + 4];
    if ((command->varied == NULL) != (command->accumulate == NULL)) {
        return tide_fail(error, TIDE_INVALID,
                         "--vary and --accumulate belong together: --vary batch=1..64 --accumulate "
                         "accum, with {batch} and {accum} in the arguments");
    }
    if (command->varied == NULL) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_program_add_range(grid, command->varied, &ret_own->least_batch, &ret_own->batch,
                                    error));
    (void)snprintf(set, sizeof(set), "%.*s=1", TIDE_PROGRAM_NAME_BYTES, command->accumulate);
    TIDE_TRY(tide_program_add_set(grid, set, error));
    grid->sets[0].values.n = 1; /* the runs have values of their own */
    (void)snprintf(grid->sets[0].values.texts[0], TIDE_OPTION_ITEM_BYTES, "%" PRIu64,
                   ret_own->batch);
    (void)snprintf(ret_own->batch_name, sizeof(ret_own->batch_name), "%s", grid->sets[0].name);
    (void)snprintf(ret_own->accumulate_name, sizeof(ret_own->accumulate_name), "%s",
                   grid->sets[1].name);
    return ret_own->batch >= 1 ? TIDE_OK
                               : tide_fail(error, TIDE_INVALID, "--vary %s: a batch is at least 1",
                                           command->varied);
}

static tide_status read_grid(const tide_plan_command *command, char *const *arguments,
                             tide_program_grid *grid, tide_plan_own *ret_own, tide_error *error) {
    TIDE_TRY(check(command, error));
    TIDE_TRY(tide_program_add_cards(grid, command->device, error));
    if (grid->n_cards > 1) {
        return tide_fail(error, TIDE_INVALID, "--device: a plan is for one card");
    }
    grid->memory_limit_bytes = TIDE_RUN_UNLIMITED;
    tide_program_options program = command->program;
    program.wants_time = true;
    TIDE_TRY(tide_program_take_options(grid, "plan", &program, true, command->n_steps, error));
    TIDE_TRY(read_batch(command, grid, ret_own, error));
    return tide_program_take_command(grid, arguments, "vary", error);
}

/* Whether -o names a patch instead of a folder. */
static bool wants_diff(const tide_plan_command *command) {
    size_t n = command->output != NULL ? strlen(command->output) : 0;
    return n > strlen(".diff") && strcmp(command->output + n - strlen(".diff"), ".diff") == 0;
}

/* A run applies patches to its own view of the files. */
static tide_status check_patches(const tide_plan_command *command, tide_error *error) {
    bool is_real = strcmp(command->program.writes, "allow") == 0;
    if (is_real && (command->patch != NULL || wants_diff(command))) {
        return tide_fail(error, TIDE_INVALID,
                         "%s with --writes allow would patch your files: leave one of them out",
                         command->patch != NULL ? "--patch" : "-o FILE.diff");
    }
    if (wants_diff(command) && command->named.n > 0) {
        return tide_fail(error, TIDE_INVALID,
                         "-o %s: a patch is of the best of a search: leave out --try",
                         command->output);
    }
    return !wants_diff(command) || access(command->output, F_OK) != 0
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID, "-o %s: it is there; name a new file",
                           command->output);
}

/* The path must hold in the run's shell, whose folder is the same. */
static tide_status read_patch(const tide_plan_command *command, char *const *arguments,
                              tide_plan_own *ret_own, tide_error *error) {
    TIDE_TRY(check_patches(command, error));
    return command->patch == NULL
               ? TIDE_OK
               : tide_plan_own_take_patch(ret_own, command->patch, arguments, error);
}

/* ---- the plan ---- */

static bool shall_stop(void *ctx) {
    return tide_interrupt_shall_stop(ctx);
}

static void show(void *ctx, size_t n_begun, const char *changes) {
    tide_progress_say(ctx, "run %zu, %s", n_begun, changes[0] != '\0' ? changes : "unchanged");
}

/* The name for sentences: the script, or the program itself. */
static const char *name_of(char *const *arguments) {
    for (size_t i = 0; arguments[i] != NULL; i++) {
        size_t n = strlen(arguments[i]);
        if (n > 3 && strcmp(arguments[i] + n - 3, ".py") == 0) {
            const char *slash = strrchr(arguments[i], '/');
            return slash != NULL ? slash + 1 : arguments[i];
        }
    }
    return arguments[0];
}

static tide_status print(const tide_plan_report_input *input, const tide_plan_command *command,
                         tide_error *error) {
    tide_report report;
    tide_report_init(&report, "plan");
    const tide_format format = tide_format_chosen(&command->report);
    tide_plan_report(input, tide_format_is_for_programs(format) || format.table != NULL, &report);
    return tide_report_end(&report, TIDE_OK, format, error);
}

static tide_status make(const tide_plan_command *command, char *const *arguments,
                        const tide_program_grid *grid, tide_plan_own *own,
                        const tide_plan_folder *folder, int *ret_exit, tide_error *error) {
    tide_run_config config;
    tide_progress progress;
    tide_plan plan;
    int64_t began_ns = tide_clock_now_ns();
    tide_program_configure(grid, 0, &config);
    config.workload.of.program.world = command->world;
    config.workload.of.program.ranks = command->ranks != NULL ? command->ranks : "0";
    tide_progress_begin(&progress, "plan");
    const tide_plan_options options = {
        .config = &config,
        .own = own,
        .diff_path = wants_diff(command) ? command->output : NULL,
        .allowed = {.own = own,
                    .words = command->allow,
                    .names = command->named.texts,
                    .n_names = command->named.n,
                    .n_ranks = (int64_t)command->world},
        .room_bytes = command->room_bytes != TIDE_RUN_UNLIMITED ? (int64_t)command->room_bytes : -1,
        .folder = folder->path,
        .n_most_runs = command->n_runs,
        .n_jobs = command->n_jobs,
        .hooks = {.ctx = &progress, .shall_stop = shall_stop, .progress = show}};
    tide_status status = tide_plan_init(&plan, &options, error);
    tide_progress_end(&progress);
    if (status == TIDE_OK && !plan.runs.is_stopped) {
        const tide_plan_report_input input = {.plan = &plan,
                                              .card = grid->cards[0],
                                              .program = name_of(arguments),
                                              .allow = command->allow,
                                              .seconds =
                                                  (double)(tide_clock_now_ns() - began_ns) * 1e-9,
                                              .keeps_files = !folder->is_own,
                                              .folder = folder->path};
        status = input.keeps_files ? tide_plan_save_front(&input, error) : TIDE_OK;
        if (status == TIDE_OK && input.keeps_files) {
            status = tide_plan_save_page(&input, error);
        }
        status = status == TIDE_OK ? print(&input, command, error) : status;
        *ret_exit = tide_plan_has_answer(&plan) ? TIDE_EXIT_SUCCESS : TIDE_EXIT_DEVICE_OOM;
    }
    tide_plan_fini(&plan);
    return status;
}

static int run(const tide_plan_command *command, char *const *arguments) {
    tide_program_grid grid = {.n_cards = 0};
    tide_plan_folder folder = {.path = ""};
    tide_plan_own own = {.patch_path = NULL};
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    tide_interrupt_begin("tidemark plan: stopping; Ctrl-C again ends at once\n");
    tide_status status = read_grid(command, arguments, &grid, &own, &error);
    if (status == TIDE_OK) {
        status = read_patch(command, arguments, &own, &error);
    }
    if (status == TIDE_OK) {
        status =
            tide_plan_folder_init(&folder, wants_diff(command) ? NULL : command->output, &error);
    }
    if (status == TIDE_OK) {
        status = make(command, arguments, &grid, &own, &folder, &exit_status, &error);
    }
    tide_plan_folder_fini(&folder);
    tide_plan_own_fini(&own);
    tide_program_grid_fini(&grid);
    if (tide_interrupt_signal() != 0) {
        return TIDE_EXIT_SIGNAL + tide_interrupt_signal();
    }
    return status == TIDE_OK ? tide_cli_finish("plan", exit_status)
                             : tide_cli_refuse("plan", status, &error);
}

static int plan_main(int argc, char **argv) {
    tide_plan_command command = {.room_bytes = TIDE_RUN_UNLIMITED,
                                 .n_runs = RUNS,
                                 .n_jobs = JOBS,
                                 .n_steps = STEPS,
                                 .program = TIDE_PROGRAM_OPTIONS_DEFAULT};
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    tide_program_words words = tide_program_words_find(&TABLE, argc, argv);
    tide_operands operands;
    if (!tide_cli_parse(&TABLE, words.n_own, argv, &command, &operands, &exit_status)) {
        return exit_status;
    }
    if (words.program == NULL) {
        tide_cli_note("plan", "no command follows the options: tidemark plan --device "
                              "virtual:rtx4090 python train.py");
        return TIDE_EXIT_USAGE;
    }
    tide_status status = tide_program_words_interpret(&words, argv, &error);
    return status == TIDE_OK ? run(&command, words.program)
                             : tide_cli_refuse("plan", status, &error);
}

const tide_command tide_command_plan = {
    .name = "plan",
    .summary = "what would make a training command fit a card, and fastest: tried, without a GPU",
    .options = &TABLE,
    .run = plan_main,
};
