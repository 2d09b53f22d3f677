/* tidemark env: the variables of a recording that is always on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/env/internal.h"
#include "programs/launch/box/box_setup.h"
#include "report/harmless.h"

typedef struct env_options {
    const char *folder; /* NULL: not given */
    const char *ring;   /* NULL: the folder */
    const char *keep;
    const char *stacks;
    const char *format;
    uint64_t log_bytes;
    uint64_t frames; /* 0: all */
} env_options;

#define AT(member) offsetof(env_options, member)

enum { LOG_BYTES = 64 << 20, LEAST_BYTES = 1 << 20 };

static const char *stacks_at(size_t i) {
    static const char *const WORDS[] = {"python", "native", "both", "none"};
    return i < sizeof(WORDS) / sizeof(WORDS[0]) ? WORDS[i] : NULL;
}

static const char *format_at(size_t i) {
    static const char *const WORDS[] = {"shell", "env"};
    return i < sizeof(WORDS) / sizeof(WORDS[0]) ? WORDS[i] : NULL;
}

static const tide_option OPTIONS[] = {
    TIDE_OPTION(
        TEXT, "on-oom", "FOLDER", AT(folder),
        "where snapshot and digest of a process are written at its first failed request, or "
        "when a signal ended it"),
    TIDE_OPTION(TEXT, "keep", "TIME", AT(keep),
                "the time that a snapshot covers at most, such as 90s, 10min or 2h; default 10min"),
    TIDE_OPTION(SIZE, "log-bytes", "SIZE", AT(log_bytes),
                "room for the ring of each process; default 64 MiB"),
    TIDE_OPTION(TEXT, "ring", "FOLDER", AT(ring),
                "where the rings are while processes run, such as /dev/shm; default the folder of "
                "--on-oom"),
    TIDE_OPTION_OF(CHOICE, "stacks", NULL, stacks_at, AT(stacks),
                   "frames recorded with each allocation; default python"),
    TIDE_OPTION(COUNT, "frames", "N", AT(frames),
                "the innermost frames of each stack, at most N; default all"),
    TIDE_OPTION_OF(CHOICE, "format", NULL, format_at, AT(format),
                   "shell: export lines for eval, which keep what LD_PRELOAD has; env: NAME=VALUE "
                   "lines for a template; default shell"),
};

static const tide_option_table TABLE = {
    .command = "env",
    .intro =
        "Prints the variables with which every process that uses CUDA records its last minutes:\n"
        "eval \"$(tidemark env --on-oom /shared/oom --keep 10min)\" in a job script.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .notes =
        "A process that ends by itself without a failed request leaves nothing. tidemark ranks\n"
        "FOLDER names the rank that failed first; it also recovers the rings that processes left\n"
        "when a whole node or container was stopped. docs/guide/black-box.md explains it.\n",
};

tide_status tide_env_seconds(const char *text, uint64_t *ret_seconds, tide_error *error) {
    static const struct {
        const char *unit;
        uint64_t seconds;
    } UNITS[] = {{"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}};
    const uint64_t most = 1000000;
    char *end = NULL;
    bool begins = text[0] >= '0' && text[0] <= '9';
    uint64_t n = begins ? strtoull(text, &end, 10) : 0;
    for (size_t i = 0; begins && i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
        if (strcmp(end, UNITS[i].unit) == 0 && n > 0 && n <= most / UNITS[i].seconds) {
            *ret_seconds = n * UNITS[i].seconds;
            return TIDE_OK;
        }
    }
    return tide_fail(error, TIDE_INVALID,
                     "--keep '%s' is no time: write 90s, 10min or 2h, at most 1000000s", text);
}

enum { LINE_BYTES = 8000 }; /* tide_cli_print prints no longer ones */

/* 'a'\''b' */
static void add_quoted(const char *value, char *to, size_t n_room) {
    size_t n = strlen(to);
    (void)snprintf(to + n, n_room - n, "'");
    for (const char *at = value; *at != '\0'; at++) {
        n = strlen(to);
        (void)snprintf(to + n, n_room - n, *at == '\'' ? "'\\''" : "%c", *at);
    }
    n = strlen(to);
    (void)snprintf(to + n, n_room - n, "'");
}

void tide_env_line(const tide_box_variable *of, bool is_shell, char *ret_line, size_t n_room) {
    (void)snprintf(ret_line, n_room, "%s%s=", is_shell ? "export " : "", of->name);
    size_t n = strlen(ret_line);
    if (!is_shell) {
        (void)snprintf(ret_line + n, n_room - n, "%s", of->value);
        return;
    }
    add_quoted(of->value, ret_line, n_room);
    n = strlen(ret_line);
    if (of->is_joined) {
        (void)snprintf(ret_line + n, n_room - n, "\"${%s:+:$%s}\"", of->name, of->name);
    }
}

/* A path that would be changed on its way to the terminal would name another file. */
static tide_status check_printable(const char *line, tide_error *error) {
    char shown[LINE_BYTES];
    tide_text_harmless(line, shown, sizeof(shown));
    return strcmp(line, shown) == 0 || strchr(line, '\n') != NULL
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID,
                           "a path has characters that cannot be printed: choose another folder");
}

/* A value may have several lines, such as a list of folders. The ends of lines within a text would
 * be printed as escapes. */
static void print_parts(const char *line) {
    for (const char *at = line;; at++) {
        int n = (int)strcspn(at, "\n");
        tide_cli_print(stdout, "%.*s\n", n, at);
        at += n;
        if (*at == '\0') {
            return;
        }
    }
}

static tide_status print_lines(const tide_box_setup *setup, bool is_shell, tide_error *error) {
    char line[LINE_BYTES];
    for (size_t i = 0; i < setup->n; i++) {
        tide_env_line(&setup->variables[i], is_shell, line, sizeof(line));
        TIDE_TRY(check_printable(line, error));
    }
    for (size_t i = 0; i < setup->n; i++) {
        tide_env_line(&setup->variables[i], is_shell, line, sizeof(line));
        print_parts(line);
    }
    return TIDE_OK;
}

static tide_status print(const env_options *options, tide_error *error) {
    tide_box_setup setup;
    uint64_t seconds = 0;
    bool is_shell = strcmp(options->format, "shell") == 0;
    if (options->folder == NULL || options->folder[0] == '\0') {
        return tide_fail(error, TIDE_INVALID, "--on-oom names the folder: give it");
    }
    if (options->log_bytes < LEAST_BYTES) {
        return tide_fail(error, TIDE_INVALID, "--log-bytes is too small: give it 1MiB at least");
    }
    TIDE_TRY(tide_env_seconds(options->keep, &seconds, error));
    const tide_box_config config = {.folder = options->folder,
                                    .ring = options->ring,
                                    .keep_s = seconds,
                                    .log_bytes = options->log_bytes,
                                    .stacks = options->stacks,
                                    .max_frames = options->frames,
                                    .makes_folders = is_shell};
    TIDE_TRY(tide_box_setup_make(&config, &setup, error));
    return print_lines(&setup, is_shell, error);
}

static int run(int argc, char **argv) {
    env_options options = {
        .keep = "10min", .log_bytes = LOG_BYTES, .stacks = "python", .format = "shell"};
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, NULL, &exit_status)) {
        return exit_status;
    }
    return tide_cli_end("env", print(&options, &error), &error, TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_env = {
    .name = "env",
    .summary = "the variables of a recording that is always on: a black box for jobs",
    .options = &TABLE,
    .run = run,
};
