/* The program `tidemark`: finds the command and ends the process with its exit status. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/options/manual.h"
#include "cli/own_model.h"
#include "common/text/nearest.h"
#include "programs/runs/run.h"

static const tide_command *const COMMANDS[] = {
    &tide_command_run,     &tide_command_top,     &tide_command_explain, &tide_command_summary,
    &tide_command_view,    &tide_command_compare, &tide_command_fit,     &tide_command_plan,
    &tide_command_sweep,   &tide_command_time,    &tide_command_replay,  &tide_command_digest,
    &tide_command_ranks,   &tide_command_picture, &tide_command_dump,    &tide_command_export,
    &tide_command_recover, &tide_command_env,     &tide_command_devices, &tide_command_mcp,
};

enum {
    N_COMMANDS = sizeof(COMMANDS) / sizeof(COMMANDS[0]),
    MAX_COMMANDS = N_COMMANDS + 8, /* with those of the model */
    MAX_ITEMS = 32                 /* of the lists below, with the model's and the end */
};

/* What this build has: the lists below, and the model's after them. */
typedef struct build {
    const tide_command *commands[MAX_COMMANDS];
    tide_command_group groups[2];
    tide_program_item environment[MAX_ITEMS], files[MAX_ITEMS], examples[MAX_ITEMS];
    tide_program program; /* its lists are those above */
} build;

static const char *command_at(const void *ctx, size_t i) {
    const build *of = ctx;
    return i < of->program.n_commands ? of->commands[i]->name : NULL;
}

static const tide_option OPTIONS[] = {
    {.kind = TIDE_OPTION_FLAG, .name = "version", .help = "the version"},
    {.kind = TIDE_OPTION_FLAG,
     .name = "manual",
     .help = "print this text and the options of every command, as the source of a manual page"},
    {.kind = TIDE_OPTION_FLAG,
     .name = "completion",
     .help = "the completion for bash: "
             "source <(tidemark --completion)"},
};

static const tide_program_item ENVIRONMENT[] = {
    {"TIDEMARK_ALLOC_CONF",
     "allocator settings in PyTorch's names; those of --alloc-conf take precedence"},
    {"TIDEMARK_UNWINDER",
     "what walks call stacks: memo (default), libunwind, or check, which compares both"},
    {"TIDEMARK_LOG",
     "file in which a recorder keeps its event log; %p in it becomes the process ID"},
    {"TIDEMARK_LIBUNWIND", "path of libunwind, for call stacks; default libunwind.so.8"},
    {"XDG_CONFIG_HOME", "folder of tidemark/calibration.json, which `bench calibrate` writes"},
    {"HOME", "its .config takes the place of XDG_CONFIG_HOME where that is not set"},
    {"TIDEMARK_CUPTI", "path of CUPTI, which traces kernels; default libcupti.so.13 or .12"},
    {"CUDA_HOME", "folder of a CUDA toolkit, in which tidemark also looks for cuBLAS and CUPTI"},
    {"CUDA_PATH", "the same"},
    {"CUDA_VISIBLE_DEVICES", "the CUDA driver's list of GPUs that this program sees; empty: none"},
    {"PYTHONPATH", "folders of modules for the Python of mcp, after that of the package"},
    {"TMPDIR", "folder in which plan keeps the snapshots of its runs while it works; default /tmp"},
    {"COLUMNS", "width that tables keep within; default: the width of the terminal"},
    {NULL, NULL},
};

static const tide_program_item FILES[] = {
    {"FILE.old",
     "the event log that a crash left in the file of --log, kept when another run uses that file"},
    {"sweep.jsonl",
     "the rows that sweep writes without -o; for a part sweep-I-of-N.jsonl (docs/guide/sweep.md)"},
    {"report.html", "the report of a list of runs, or of several snapshots given to view"},
    {"FILE.html", "the report that view makes of the snapshot FILE alone"},
    {NULL, NULL},
};

static const tide_program_item EXAMPLES[] = {
    {"tidemark devices", "The devices and virtual cards on which a program can run"},
    {NULL, NULL},
};

static const tide_program PROGRAM = {
    .version = TIDEMARK_VERSION,
    .title = "memory profiler for training on GPUs",
    .intro = "Shows where the device memory of a training run went at its peak, what would change\n"
             "it, and what that costs in time.\n",
    .syntax =
        "Options and operands may be in any order; the last occurrence of an option wins. A\n"
        "program follows the options, and two dashes may be before it: tidemark run python\n"
        "train.py. Sizes are binary in every unit: 24G, 24GB and 24GiB are the same number of\n"
        "bytes, 25769803776.\n",
    .exit_statuses =
        "0 success, 1 failure, 2 wrong usage, 3 out of device memory (the snapshot is\n"
        "still written), 4 a stated bound was missed, 128 + N ended by signal N.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

/* Appends a list of items and its end. Items beyond the room are left out. */
static void add_items(tide_program_item to[MAX_ITEMS], const tide_program_item *from) {
    size_t n = 0;
    while (to[n].name != NULL) {
        n++;
    }
    for (; from->name != NULL && n < MAX_ITEMS - 1; from++) {
        to[n++] = *from;
    }
    to[n] = (tide_program_item){NULL, NULL};
}

static void add_commands(build *to, const char *title, const tide_command *const *commands,
                         size_t n) {
    tide_program *program = &to->program;
    to->groups[program->n_groups++] = (tide_command_group){title, n};
    for (size_t i = 0; i < n && program->n_commands < MAX_COMMANDS; i++) {
        to->commands[program->n_commands++] = commands[i];
    }
}

static void init_build(build *to) {
    const tide_own_model *own = tide_own_model_here;
    *to = (build){.program = PROGRAM};
    to->program.commands = to->commands;
    to->program.groups = to->groups;
    to->program.environment = to->environment;
    to->program.files = to->files;
    to->program.examples = to->examples;
    add_commands(to, "Programs and snapshots", COMMANDS, N_COMMANDS);
    add_items(to->environment, ENVIRONMENT);
    add_items(to->files, FILES);
    add_items(to->examples, EXAMPLES);
    for (size_t i = 0; own != NULL && i < N_COMMANDS; i++) {
        for (size_t k = 0; k < own->n_shared; k++) {
            if (strcmp(own->shared[k]->name, to->commands[i]->name) == 0) {
                to->commands[i] = own->shared[k];
            }
        }
    }
    if (own != NULL) {
        add_commands(to, "tidemark's own transformer", own->commands, own->n_commands);
        add_items(to->environment, own->environment);
        add_items(to->files, own->files);
        add_items(to->examples, own->examples);
    }
}

static void print_help(const build *of, FILE *out) {
    const tide_program *program = &of->program;
    fprintf(out, "usage: tidemark COMMAND [options]\n\n%s", program->intro);
    const tide_command *const *command = of->commands;
    for (size_t g = 0; g < program->n_groups; g++) {
        fprintf(out, "\n%s\n", of->groups[g].title);
        for (size_t i = 0; i < of->groups[g].n_commands; i++, command++) {
            fprintf(out, "  %-16s %s\n", (*command)->name, (*command)->summary);
        }
    }
    fprintf(out,
            "\ntidemark help COMMAND, or tidemark COMMAND --help, lists a command's options, and\n"
            "tidemark version prints the version. tidemark --manual prints the manual page,\n"
            "tidemark --completion the completion for bash.\n\n%s\nEnvironment\n",
            program->syntax);
    for (const tide_program_item *item = of->environment; item->name != NULL; item++) {
        fprintf(out, "  %-20s  %s\n", item->name, item->text);
    }
    fprintf(out, "\nExit status: %s", program->exit_statuses);
}

/* The commands of the model, which a build without it does not have. */
static bool is_of_model(const char *name) {
    static const char *const NAMES[] = {"profile", "forecast", "study", "bench", "check-reference"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        if (strcmp(NAMES[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static int unknown_command(const build *of, const char *name) {
    const tide_words commands = {.ctx = of, .word_at = command_at};
    if (tide_own_model_here == NULL && is_of_model(name)) {
        tide_cli_note(name, "%s", TIDE_NO_OWN_MODEL);
        return TIDE_EXIT_USAGE;
    }
    char text[TIDE_NEAREST_TEXT];
    tide_cli_note(NULL, "unknown command %s", tide_unknown_word(&commands, name, text));
    return TIDE_EXIT_USAGE;
}

/* The command that a subprocess of this program runs (programs/runs/run.h); it is not for users. */
static int run_config(int argc, char **argv) {
    tide_error error = {""};
    if (argc != 2) {
        tide_cli_note(TIDE_RUN_SUBPROCESS_COMMAND, "it takes one configuration as JSON");
        return TIDE_EXIT_USAGE;
    }
    tide_status status = tide_run_subprocess_main(
        argv[1], tide_own_model_here != NULL ? tide_own_model_here->kind : NULL, &error);
    return status == TIDE_OK ? TIDE_EXIT_SUCCESS
                             : tide_cli_fail(TIDE_RUN_SUBPROCESS_COMMAND, status, &error);
}

#if defined(__x86_64__)
static bool needs_other_machine(int argc, char **argv) {
    (void)argc;
    (void)argv;
    return false;
}
#else
/* The commands that start programs: programs/virtual_cuda and programs/live are x86-64 only. Their
 * help, and the merging of rows of a sweep, need no program. */
static bool needs_other_machine(int argc, char **argv) {
    static const char *const STARTERS[] = {"run", "fit", "plan", "sweep"};
    bool is_starter = false;
    for (size_t i = 0; i < sizeof(STARTERS) / sizeof(STARTERS[0]); i++) {
        is_starter = is_starter || strcmp(argv[0], STARTERS[i]) == 0;
    }
    for (int i = 1; i < argc && is_starter && strcmp(argv[i], "--") != 0; i++) {
        is_starter = strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0 &&
                     strcmp(argv[i], "--merge") != 0;
    }
    return is_starter;
}
#endif

static int run_command(const build *of, int argc, char **argv) {
    if (needs_other_machine(argc, argv)) {
        tide_cli_note(argv[0], "it starts programs, and the virtual card and the recorder are for "
                               "x86-64 only; the commands that read files work on this machine");
        return TIDE_EXIT_USAGE;
    }
    for (size_t i = 0; i < of->program.n_commands; i++) {
        if (strcmp(of->commands[i]->name, argv[0]) == 0) {
            int exit_status = of->commands[i]->run(argc, argv);
            if (exit_status > TIDE_EXIT_SIGNAL) {
                /* End by the signal after all, so a script that runs this program also stops. */
                (void)raise(exit_status - TIDE_EXIT_SIGNAL);
            }
            return exit_status;
        }
    }
    return unknown_command(of, argv[0]);
}

/* `tidemark help`, `tidemark help run`. */
static int help(const build *of, int argc, char **argv) {
    static char option[] = "--help";
    if (argc > 1 && argv[1][0] != '-' && strcmp(argv[1], "help") != 0 &&
        strcmp(argv[1], "version") != 0) {
        char *words[] = {argv[1], option, NULL};
        return run_command(of, 2, words);
    }
    print_help(of, stdout);
    return tide_cli_finish(NULL, TIDE_EXIT_SUCCESS);
}

static bool is_word(const char *given, const char *word, const char *other) {
    return strcmp(given, word) == 0 || strcmp(given, other) == 0;
}

int main(int argc, char **argv) {
    build of;
    tide_interrupt_clean_up();
    init_build(&of);
    if (argc < 2) {
        print_help(&of, stderr);
        return TIDE_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (is_word(name, "--help", "-h") || strcmp(name, "help") == 0) {
        return help(&of, argc - 1, argv + 1);
    }
    if (is_word(name, "--version", "version")) {
        tide_cli_print(stdout, "tidemark %s\n", TIDEMARK_VERSION);
        return tide_cli_finish(NULL, TIDE_EXIT_SUCCESS);
    }
    if (strcmp(name, "--manual") == 0) {
        tide_manual_print(&of.program, stdout);
        return tide_cli_finish(NULL, TIDE_EXIT_SUCCESS);
    }
    if (strcmp(name, "--completion") == 0) {
        tide_completion_print(&of.program, stdout);
        return tide_cli_finish(NULL, TIDE_EXIT_SUCCESS);
    }
    if (strcmp(name, TIDE_RUN_SUBPROCESS_COMMAND) == 0) {
        return run_config(argc - 1, argv + 1);
    }
    return run_command(&of, argc - 1, argv + 1);
}
