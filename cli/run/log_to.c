/* --log-to: after the end of the program, a separate process logs the facts to experiment trackers,
 * with the program's own Python and packages (python/tidemark/trackers/). It starts with the
 * environment of this process, so it writes real files. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/run/internal.h"
#include "common/arena.h"
#include "common/files/text_file.h"
#include "common/hostmem.h"
#include "programs/launch/ask.h"

extern char **environ;

/* Notes: lines that the program's processes wrote about their runs. The last ones count. */
enum { WAIT_MS = 600000, MOST_NOTES = 64, NOTES_BYTES = 1 << 20, ANSWER_BYTES = 1 << 14 };
enum { N_OPTIONS = 16, NUMBER_BYTES = 16 };

struct tide_run_log {
    tide_arena arena;
    char **arguments; /* in the arena; NULL-terminated */
    size_t n_arguments;
    bool no_memory;
};

static const char *const TRACKERS[] = {"wandb", "mlflow", "tensorboard"};

static bool is_tracker(const char *name, size_t n_bytes) {
    bool is_known = false;
    for (size_t i = 0; i < sizeof(TRACKERS) / sizeof(TRACKERS[0]); i++) {
        is_known = is_known ||
                   (strlen(TRACKERS[i]) == n_bytes && strncmp(TRACKERS[i], name, n_bytes) == 0);
    }
    return is_known;
}

tide_status tide_run_check_log_to(const tide_run_command_options *options, tide_error *error) {
    const char *at = options->log_to;
    while (at != NULL) {
        size_t n = strcspn(at, ",");
        if (!is_tracker(at, n)) {
            return tide_fail(error, TIDE_INVALID,
                             "--log-to: unknown tracker '%.*s': it is wandb, mlflow or "
                             "tensorboard, or several with commas",
                             (int)(n < 64 ? n : 64), at);
        }
        at = at[n] == ',' ? at + n + 1 : NULL;
    }
    return TIDE_OK;
}

/* ---- the command of that process ---- */

static void add(tide_run_log *to, const char *text, size_t n_bytes) {
    char *copy = tide_arena_text_n(&to->arena, text, n_bytes);
    to->no_memory = to->no_memory || copy == NULL;
    to->arguments[to->n_arguments++] = copy;
}

static void add_option(tide_run_log *to, const char *name, const char *value) {
    add(to, name, strlen(name));
    add(to, value, strlen(value));
}

/* The interpreter that the program used first; else the one that its command names, or python3. */
static void add_python(const tide_run_answer *of, tide_run_log *to) {
    char path[2 * TIDE_LAUNCH_PATH_BYTES];
    char *text = NULL;
    const char *command = of->config->arguments[0];
    const char *slash = strrchr(command, '/');
    const char *base = slash != NULL ? slash + 1 : command;
    (void)snprintf(path, sizeof(path), "%s/trackers-python", of->launch->folder);
    tide_status status = tide_text_file_read(path, TIDE_LAUNCH_PATH_BYTES, &text, NULL, NULL);
    bool is_known = status == TIDE_OK && text[0] != '\0';
    bool is_python = strncmp(base, "python", strlen("python")) == 0;
    const char *python = is_known ? text : is_python ? command : "python3";
    add(to, python, strlen(python));
    if (status == TIDE_OK) {
        tide_hostmem_default()->release(tide_hostmem_default()->ctx, text);
    }
}

/* The text after the first n line ends. */
static const char *skip_lines(const char *text, size_t n) {
    const char *end = NULL;
    for (size_t i = 0; i < n && (end = strchr(text, '\n')) != NULL; i++) {
        text = end + 1;
    }
    return text;
}

static void add_notes(const tide_run_answer *of, tide_run_log *to) {
    char path[2 * TIDE_LAUNCH_PATH_BYTES];
    char *text = NULL;
    size_t n_lines = 0;
    (void)snprintf(path, sizeof(path), "%s/trackers", of->launch->folder);
    if (tide_text_file_read(path, NOTES_BYTES, &text, NULL, NULL) != TIDE_OK) {
        return; /* the program made no run of a tracker */
    }
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) {
        n_lines++;
    }
    const char *end = NULL;
    for (const char *at = skip_lines(text, n_lines > MOST_NOTES ? n_lines - MOST_NOTES : 0);
         (end = strchr(at, '\n')) != NULL; at = end + 1) {
        add(to, "--note", strlen("--note"));
        add(to, at, (size_t)(end - at));
    }
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, text);
}

/* The snapshot of the fullest process first, because its facts are logged. */
static void add_snapshots(const tide_run_answer *of, tide_run_log *to) {
    size_t first = tide_run_fullest(of).process;
    add(to, "--", 2);
    add(to, of->processes[first].path, strlen(of->processes[first].path));
    for (size_t i = 0; i < of->list->n_processes; i++) {
        if (i != first && of->processes[i].snapshot != NULL) {
            add(to, of->processes[i].path, strlen(of->processes[i].path));
        }
    }
}

static tide_status fill(const tide_run_answer *of, tide_run_log *to, tide_error *error) {
    char python[TIDE_LAUNCH_PATH_BYTES];
    char path[2 * TIDE_LAUNCH_PATH_BYTES];
    char status[NUMBER_BYTES];
    char name[TIDE_PATH_BYTES];
    const tide_launch *launch = of->launch;
    size_t n = N_OPTIONS + (size_t)2 * MOST_NOTES + of->list->n_processes + 2;
    TIDE_TRY(tide_launch_find_python(python, error));
    to->arguments = tide_arena_alloc(&to->arena, n, sizeof(*to->arguments));
    if (to->arguments == NULL) {
        return TIDE_NO_MEMORY;
    }
    (void)snprintf(path, sizeof(path), "%s/tidemark/trackers/__main__.py", python);
    (void)snprintf(status, sizeof(status), "%d",
                   launch->signal_number != 0 ? TIDE_EXIT_SIGNAL + launch->signal_number
                                              : launch->exit_status);
    tide_run_name_program(of->config->arguments, name, sizeof(name));
    add_python(of, to);
    add_option(to, "-B", path);
    add_option(to, "--tidemark", launch->program);
    add_option(to, "--to", of->options->log_to);
    add_option(to, "--device", tide_run_card_name(of, tide_run_fullest(of)));
    add_option(to, "--name", name);
    add_option(to, "--status", status);
    if (of->has_page) {
        add_option(to, "--page", of->files->page);
    }
    add_notes(of, to);
    add_snapshots(of, to);
    return to->no_memory ? TIDE_NO_MEMORY : TIDE_OK;
}

tide_run_log *tide_run_log_create(const tide_run_answer *of) {
    const tide_hostmem *mem = tide_hostmem_default();
    tide_error error = {""};
    if (of->list->n_processes == 0 ||
        of->processes[tide_run_fullest(of).process].snapshot == NULL) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "--log-to: nothing is logged, because there is no snapshot");
        return NULL;
    }
    tide_run_log *log = tide_hostmem_zeroed(mem, 1, sizeof(*log));
    if (log == NULL) {
        return NULL;
    }
    tide_arena_init(&log->arena, mem);
    tide_status status = fill(of, log, &error);
    if (status == TIDE_OK) {
        return log;
    }
    (void)tide_cli_fail(TIDE_COMMAND_RUN, status, &error);
    tide_run_log_destroy(log);
    return NULL;
}

void tide_run_log_destroy(tide_run_log *log) {
    if (log != NULL) {
        tide_arena_fini(&log->arena);
        tide_hostmem_default()->release(tide_hostmem_default()->ctx, log);
    }
}

/* Prints the lines of the process, without those of others in it. False: it has none. */
static bool print_answer(const char *answer) {
    static const char PREFIX[] = "log-to: ";
    const char *end = NULL;
    bool has_line = false;
    for (const char *at = answer; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        if (strncmp(at, PREFIX, strlen(PREFIX)) == 0) {
            at += strlen(PREFIX);
            tide_cli_note(TIDE_COMMAND_RUN, "%.*s", (int)(end - at), at);
            has_line = true;
        }
    }
    return has_line;
}

void tide_run_log_send(const tide_run_log *log) {
    char answer[ANSWER_BYTES];
    if (log == NULL) {
        return;
    }
    const tide_ask asked = {
        .arguments = log->arguments, .environment = environ, .wait_ms = WAIT_MS};
    int failed = tide_ask_program(&asked, answer, sizeof(answer));
    if (failed != 0) {
        tide_cli_note(TIDE_COMMAND_RUN, "--log-to: nothing is logged: %s cannot be started: %s",
                      log->arguments[0], strerror(failed));
    } else if (!print_answer(answer)) {
        tide_cli_note(TIDE_COMMAND_RUN,
                      "--log-to: the process that logs ended without an answer: %s %s",
                      log->arguments[0], log->arguments[2]);
    }
}
