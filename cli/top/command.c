/* tidemark top: a live table of the memory of running programs. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/top/internal.h"
#include "common/clock.h"
#include "common/hostmem.h"
#include "report/terminal.h"

enum { LINE_BYTES = 256 };

#define AT(member) offsetof(tide_top_options, member)
#define MIN_SECONDS 0.1
#define MAX_SECONDS 3600.0

static const tide_option OPTIONS[] = {
    TIDE_OPTION(COUNT, "pid", "PID", AT(pid), "the process with this number, of whichever run"),
    TIDE_OPTION(REAL, "interval", "SECONDS", AT(interval),
                "time between two tables, 0.1 to 3600; default 2"),
    TIDE_OPTION(
        FLAG, "once", NULL, AT(once),
        "print the table once and end; so do other formats, and output that is no terminal"),
    TIDE_OPTION(COUNT, "top", "N", AT(top), "modules that are shown; default 10"),
    TIDE_REPORT_ROWS(AT(report)),
};

static const tide_option_table TABLE = {
    .command = TIDE_COMMAND_TOP,
    .operands = "[LOG]",
    .intro =
        "Shows what a program that tidemark run records holds now: allocated and reserved bytes\n"
        "with their peaks, categories, modules, and by how much it grows with each pass of a "
        "loop.\n"
        "All of it is read from the log that the program writes; the program does not notice.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 0,
    .max_operands = 1,
    .notes = "Without LOG it shows the processes of the run that began last. q or Ctrl-C ends it.\n"
             "Where reading takes long, it reads less often, and says how old the table is.\n",
};

typedef struct session {
    const tide_top_options *options;
    tide_top_source source;
    tide_top_view view;
    tide_report report; /* of the view */
} session;

/* ---- reading ---- */

static tide_status read_again(session *of, tide_error *error) {
    tide_top_view *view = &of->view;
    tide_top_view next = {.n_processes = 0};
    TIDE_TRY(tide_top_read(&of->source, &next, error));
    tide_top_view_fini(view);
    tide_report_fini(&of->report);
    *view = next;
    tide_report_init(&of->report, TIDE_COMMAND_TOP);
    tide_top_say(view, of->options, &of->report);
    return TIDE_OK;
}

/* The logs are gone, or no longer written: the last view stays. */
static void note_end(session *of) {
    for (size_t i = 0; i < of->view.n_processes; i++) {
        of->view.processes[i].is_running = false;
        of->view.processes[i].silent_seconds = -1;
    }
    tide_report_fini(&of->report);
    tide_report_init(&of->report, TIDE_COMMAND_TOP);
    tide_top_say(&of->view, of->options, &of->report);
}

/* ---- the screen ---- */

static tide_status show(const session *of, tide_error *error) {
    char line[LINE_BYTES];
    double age = (double)(tide_clock_now_ns() - of->view.read_ns) / 1e9;
    double took = (double)of->view.took_ns / 1e9;
    snprintf(line, sizeof(line), "tidemark top, %.0f s old%s; q ends it", age,
             took > 1 ? ", because reading the log takes long" : "");
    return tide_screen_show(line, &of->report, tide_format_chosen(&of->options->report), error);
}

/* Until the user or the program ends it. A missing log means that its program has ended. */
static tide_status follow(session *of, tide_error *error) {
    int64_t interval_ns = (int64_t)(of->options->interval * 1e9);
    bool wants_end = false;
    tide_screen screen;
    tide_status status = TIDE_OK;
    tide_interrupt_begin(NULL);
    tide_screen_begin(&screen);
    while (status == TIDE_OK && !wants_end && tide_interrupt_signal() == 0 &&
           tide_top_is_running(&of->view)) {
        status = show(of, error);
        wants_end = status != TIDE_OK || tide_screen_wait(&screen, interval_ns);
        int64_t next_ns = of->view.read_ns + tide_top_pause_ns(interval_ns, of->view.took_ns);
        if (!wants_end && tide_interrupt_signal() == 0 && tide_clock_now_ns() >= next_ns) {
            tide_status read = read_again(of, error);
            if (read == TIDE_NO_MEMORY) {
                status = read;
            } else if (read != TIDE_OK) {
                note_end(of);
            }
        }
    }
    tide_screen_end(&screen);
    return status;
}

/* ---- the command ---- */

static tide_status check(const tide_top_options *options, const tide_operands *operands,
                         tide_error *error) {
    if (!(options->interval >= MIN_SECONDS && options->interval <= MAX_SECONDS)) {
        return tide_fail(error, TIDE_INVALID, "--interval must be between 0.1 and 3600 seconds");
    }
    return options->pid > 0 && operands->n > 0
               ? tide_fail(error, TIDE_INVALID, "name either a log or --pid")
               : TIDE_OK;
}

static tide_status show_all(session *of, tide_error *error) {
    tide_format format = tide_format_chosen(&of->options->report);
    TIDE_TRY(read_again(of, error));
    if (!of->options->once && format.kind == TIDE_FORMAT_TEXT && format.table == NULL &&
        tide_terminal_is_one(stdout)) {
        TIDE_TRY(follow(of, error));
    }
    return tide_report_print(&of->report, format, stdout, stderr, error); /* the last table stays */
}

static int run(int argc, char **argv) {
    tide_top_options options = {.interval = 2, .top = TIDE_DEFAULT_TOP};
    tide_operands operands = {.n = 0};
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    if (!tide_cli_check_top(TIDE_COMMAND_TOP, options.top)) {
        return TIDE_EXIT_USAGE;
    }
    tide_status status = check(&options, &operands, &error);
    const tide_hostmem *mem = tide_hostmem_default();
    session *of = tide_hostmem_zeroed(mem, 1, sizeof(*of));
    if (status != TIDE_OK || of == NULL) {
        mem->release(mem->ctx, of);
        return tide_cli_fail(TIDE_COMMAND_TOP, status != TIDE_OK ? status : TIDE_NO_MEMORY, &error);
    }
    of->options = &options;
    of->source.path = operands.n > 0 ? operands.texts[0] : NULL;
    of->source.pid = options.pid > 0 ? (int64_t)options.pid : -1;
    tide_report_init(&of->report, TIDE_COMMAND_TOP);
    status = show_all(of, &error);
    tide_report_fini(&of->report);
    tide_top_view_fini(&of->view);
    mem->release(mem->ctx, of);
    int number = tide_interrupt_signal();
    exit_status = number != 0 && number != SIGINT ? TIDE_EXIT_SIGNAL + number : TIDE_EXIT_SUCCESS;
    return tide_cli_end(TIDE_COMMAND_TOP, status, &error, exit_status);
}

const tide_command tide_command_top = {
    .name = TIDE_COMMAND_TOP,
    .summary = "what a running program holds, in a table that is refreshed",
    .options = &TABLE,
    .run = run,
};
