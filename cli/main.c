/* The program `tidemark`: finds the command and ends the process with its exit status. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/options/manual.h"
#include "common/text/nearest.h"
#include "run/run.h"

static const tide_command *const COMMANDS[] = {
    &tide_command_run,
    &tide_command_top,
    &tide_command_explain,
    &tide_command_summary,
    &tide_command_view,
    &tide_command_compare,
    &tide_command_fit,
    &tide_command_sweep,
    &tide_command_time,
    &tide_command_replay,
    &tide_command_digest,
    &tide_command_ranks,
    &tide_command_picture,
    &tide_command_dump,
    &tide_command_export,
    &tide_command_recover,
    &tide_command_devices,
    /* tidemark's own transformer */
    &tide_command_profile,
    &tide_command_forecast,
    &tide_command_study,
    &tide_command_bench,
    &tide_command_check_reference,
};

enum { N_COMMANDS = sizeof(COMMANDS) / sizeof(COMMANDS[0]), N_OF_MODEL = 5 };

static const tide_command_group GROUPS[] = {
    {"Programs and snapshots", N_COMMANDS - N_OF_MODEL},
    {"tidemark's own transformer", N_OF_MODEL},
};

enum { N_GROUPS = sizeof(GROUPS) / sizeof(GROUPS[0]) };

static const char *command_at(const void *ctx, size_t i) {
    (void)ctx;
    return i < N_COMMANDS ? COMMANDS[i]->name : NULL;
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
    {"TIDEMARK_CUBLAS", "path of cuBLAS, for the cuda device; by default tidemark searches for it"},
    {"TIDEMARK_CUPTI", "path of CUPTI, which traces kernels; default libcupti.so.13 or .12"},
    {"CUDA_HOME", "folder of a CUDA toolkit, in which tidemark also looks for cuBLAS and CUPTI"},
    {"CUDA_PATH", "the same"},
    {"TIDEMARK_CPU_KERNELS",
     "kernels of the cpu device: avx512, avx2 or generic; default the best that runs here"},
    {"CUDA_VISIBLE_DEVICES", "the CUDA driver's list of GPUs that this program sees; empty: none"},
    {"COLUMNS", "width that tables keep within; default: the width of the terminal"},
    {"OMP_NUM_THREADS", "threads of the cpu device; default all cores"},
    {"OMP_WAIT_POLICY", "passive: idle threads sleep, for a machine that also does other work"},
    {NULL, NULL},
};

static const tide_program_item FILES[] = {
    {"SIZE-MODE-cCONTEXT-bBATCH-PRECISION.json.gz",
     "the snapshot that profile writes without -o; docs/reference/snapshot-format.md describes the "
     "format"},
    {"FILE.old",
     "the event log that a crash left in the file of --log, kept when another run uses that file"},
    {"sweep.jsonl",
     "the rows that sweep writes without -o; for a part sweep-I-of-N.jsonl (docs/guide/sweep.md)"},
    {"report.html", "the report of a list of runs, or of several snapshots given to view"},
    {"FILE.html", "the report that view makes of the snapshot FILE alone"},
    {NULL, NULL},
};

static const tide_program_item EXAMPLES[] = {
    {"tidemark profile --size small --device cpu --warmup 1 --steps 2 -o small.json.gz",
     "Two training steps of the small model on the cpu, recorded"},
    {"tidemark explain small.json.gz", "What fills the memory, what grows, and what would help"},
    {"tidemark summary small.json.gz", "What filled the memory at the peak"},
    {"tidemark profile --size 2.7B --device virtual:h100-80 --warmup 0 --steps 2",
     "Whether a model fits a card that this machine does not have"},
    {"tidemark fit --size 2.7B --context 512 --device virtual:h100-80",
     "The largest batch that fits that card"},
    {"tidemark study memory", "Peaks of a 2.7B model at three contexts, and its largest tensors"},
    {"tidemark forecast --size 2.7B --context 512 --precision bf16 --device virtual:h100-80",
     "Whether the same model run by PyTorch fits it, and what would make it fit"},
    {"tidemark profile --size small --device cpu --log run.log",
     "A run whose recording outlives it; after a crash: tidemark recover run.log"},
    {"tidemark profile --precision fp32,bf16-mixed --device virtual --warmup 0 --steps 2",
     "Two precisions side by side, with a report"},
    {"tidemark sweep --size small,medium --context 128,512 --device virtual --warmup 0 --steps 2",
     "A grid of runs as one table"},
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
    .environment = ENVIRONMENT,
    .files = FILES,
    .examples = EXAMPLES,
    .commands = COMMANDS,
    .n_commands = N_COMMANDS,
    .groups = GROUPS,
    .n_groups = N_GROUPS,
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

static void print_help(FILE *out) {
    fprintf(out, "usage: tidemark COMMAND [options]\n\n%s", PROGRAM.intro);
    const tide_command *const *command = COMMANDS;
    for (size_t g = 0; g < N_GROUPS; g++) {
        fprintf(out, "\n%s\n", GROUPS[g].title);
        for (size_t i = 0; i < GROUPS[g].n_commands; i++, command++) {
            fprintf(out, "  %-16s %s\n", (*command)->name, (*command)->summary);
        }
    }
    fprintf(out,
            "\ntidemark help COMMAND, or tidemark COMMAND --help, lists a command's options, and\n"
            "tidemark version prints the version. tidemark --manual prints the manual page,\n"
            "tidemark --completion the completion for bash.\n\n%s\nEnvironment\n",
            PROGRAM.syntax);
    for (const tide_program_item *item = ENVIRONMENT; item->name != NULL; item++) {
        fprintf(out, "  %-20s  %s\n", item->name, item->text);
    }
    fprintf(out, "\nExit status: %s", PROGRAM.exit_statuses);
}

static int unknown_command(const char *name) {
    const tide_words commands = {.word_at = command_at};
    char text[TIDE_NEAREST_TEXT];
    tide_cli_note(NULL, "unknown command %s", tide_unknown_word(&commands, name, text));
    return TIDE_EXIT_USAGE;
}

/* The command that a subprocess of this program runs (run/run.h); it is not for users. */
static int run_config(int argc, char **argv) {
    tide_error error = {""};
    if (argc != 2) {
        tide_cli_note(TIDE_RUN_SUBPROCESS_COMMAND, "it takes one configuration as JSON");
        return TIDE_EXIT_USAGE;
    }
    tide_status status = tide_run_subprocess_main(argv[1], &error);
    return status == TIDE_OK ? TIDE_EXIT_SUCCESS
                             : tide_cli_fail(TIDE_RUN_SUBPROCESS_COMMAND, status, &error);
}

static int run_command(int argc, char **argv) {
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(COMMANDS[i]->name, argv[0]) == 0) {
            int exit_status = COMMANDS[i]->run(argc, argv);
            if (exit_status > TIDE_EXIT_SIGNAL) {
                /* End by the signal after all, so a script that runs this program also stops. */
                (void)raise(exit_status - TIDE_EXIT_SIGNAL);
            }
            return exit_status;
        }
    }
    return unknown_command(argv[0]);
}

/* `tidemark help`, `tidemark help run`. */
static int help(int argc, char **argv) {
    static char option[] = "--help";
    if (argc > 1 && argv[1][0] != '-' && strcmp(argv[1], "help") != 0 &&
        strcmp(argv[1], "version") != 0) {
        char *words[] = {argv[1], option, NULL};
        return run_command(2, words);
    }
    print_help(stdout);
    return tide_cli_finish(NULL, TIDE_EXIT_SUCCESS);
}

static bool is_word(const char *given, const char *word, const char *other) {
    return strcmp(given, word) == 0 || strcmp(given, other) == 0;
}

int main(int argc, char **argv) {
    tide_interrupt_clean_up();
    if (argc < 2) {
        print_help(stderr);
        return TIDE_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (is_word(name, "--help", "-h") || strcmp(name, "help") == 0) {
        return help(argc - 1, argv + 1);
    }
    if (is_word(name, "--version", "version")) {
        tide_cli_print(stdout, "tidemark %s\n", TIDEMARK_VERSION);
        return tide_cli_finish(NULL, TIDE_EXIT_SUCCESS);
    }
    if (strcmp(name, "--manual") == 0) {
        tide_manual_print(&PROGRAM, stdout);
        return tide_cli_finish(NULL, TIDE_EXIT_SUCCESS);
    }
    if (strcmp(name, "--completion") == 0) {
        tide_completion_print(&PROGRAM, stdout);
        return tide_cli_finish(NULL, TIDE_EXIT_SUCCESS);
    }
    if (strcmp(name, TIDE_RUN_SUBPROCESS_COMMAND) == 0) {
        return run_config(argc - 1, argv + 1);
    }
    return run_command(argc - 1, argv + 1);
}
