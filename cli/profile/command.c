/* tidemark profile: run the transformer, time it, record it, write a snapshot; lists of runs
 * compare themselves. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/html_report.h"
#include "cli/interrupt.h"
#include "cli/profile/internal.h"

enum { COMMAND_BYTES = 2048 };

/* Appends a letter unless the text is full. */
static void put(char text[COMMAND_BYTES], size_t *n, char letter) {
    if (*n + 1 < COMMAND_BYTES) {
        text[(*n)++] = letter;
        text[*n] = '\0';
    }
}

/* The command line as it could be typed again; cut at the end of the buffer. */
static void join_command(int argc, char **argv, char text[COMMAND_BYTES]) {
    size_t n = (size_t)snprintf(text, COMMAND_BYTES, "tidemark");
    for (int i = 0; i < argc; i++) {
        bool is_plain =
            argv[i][0] != '\0' && argv[i][strcspn(argv[i], " \t\n\"'\\$`*?[]{}()<>|&;#~!")] == '\0';
        put(text, &n, ' ');
        if (!is_plain) {
            put(text, &n, '\'');
        }
        for (const char *at = argv[i]; *at != '\0'; at++) {
            /* A quote inside quotes: end them, quote it, begin again. */
            for (const char *piece = *at == '\'' ? "'\\'" : ""; *piece != '\0'; piece++) {
                put(text, &n, *piece);
            }
            put(text, &n, *at);
        }
        if (!is_plain) {
            put(text, &n, '\'');
        }
    }
}

/* Runs that did not complete, on stderr, as they happen. */
static void tell(const tide_profile_run *run) {
    switch (run->outcome) {
    case TIDE_RUN_COMPLETED:
    case TIDE_RUN_STOPPED:
        return;
    case TIDE_RUN_OOM:
        tide_profile_print_oom(run);
        return;
    case TIDE_RUN_NO_HOST:
        tide_cli_note("profile", "%s: %s", run->name, run->error.message);
        return;
    case TIDE_RUN_FAILED:
        tide_cli_fail("profile", run->status, &run->error);
        return;
    }
}

/* 0 when all completed, 3 when one did not fit, 1 when one failed for another reason; 128 and the
 * signal's number after an interruption. */
static int exit_status_of(const tide_profile_plan *plan) {
    int status = TIDE_EXIT_SUCCESS;
    if (tide_interrupt_signal() != 0) {
        return TIDE_EXIT_SIGNAL + tide_interrupt_signal();
    }
    for (size_t i = 0; i < plan->n_runs; i++) {
        const tide_profile_run *run = &plan->runs[i];
        if (run->outcome == TIDE_RUN_FAILED) {
            return run->status == TIDE_INVALID ? TIDE_EXIT_USAGE : TIDE_EXIT_FAILURE;
        }
        if (run->outcome == TIDE_RUN_OOM || run->outcome == TIDE_RUN_NO_HOST) {
            status = TIDE_EXIT_DEVICE_OOM;
        }
    }
    return status;
}

static tide_status write_report(const tide_profile_plan *plan, tide_error *error) {
    tide_html_run runs[TIDE_PROFILE_MAX_RUNS];
    size_t n = 0;
    for (size_t i = 0; i < plan->n_runs; i++) {
        const tide_profile_run *run = &plan->runs[i];
        if (run->is_saved) {
            runs[n++] =
                (tide_html_run){.label = run->name, .path = run->path, .snapshot = run->snapshot};
        }
    }
    if (plan->report_path[0] == '\0' || n == 0) {
        return TIDE_OK;
    }
    return tide_html_report_write(plan->report_path, runs, n, error);
}

static tide_status print_results(const tide_profile_plan *plan, tide_error *error) {
    if (plan->is_list) {
        return tide_profile_print_list(plan, error);
    }
    return plan->runs[0].snapshot != NULL ? tide_profile_print_single(plan, error) : TIDE_OK;
}

/* The HTML report and what is printed: a failure of the one does not keep the other back. */
static tide_status report(tide_profile_plan *plan, tide_error *error) {
    tide_status html = write_report(plan, error);
    if (html != TIDE_OK) {
        plan->report_path[0] = '\0'; /* not to be named as if it were there */
        TIDE_TRY(print_results(plan, NULL));
        return html;
    }
    TIDE_TRY(print_results(plan, error));
    bool opens = plan->options->open_browser && plan->report_path[0] != '\0';
    return opens ? tide_browser_open(plan->report_path, error) : TIDE_OK;
}

static int profile(const tide_profile_options *options, const char *command) {
    tide_profile_plan plan;
    tide_error error = {""};
    tide_status status = tide_profile_plan_init(&plan, options, command, &error);
    if (status != TIDE_OK) {
        tide_profile_plan_fini(&plan);
        return tide_cli_refuse("profile", status, &error);
    }
    tide_interrupt_begin("tidemark profile: stopping after this step; Ctrl-C again ends at once\n");
    tide_profile_dumps_hold_signal(&plan);
    for (size_t i = 0; i < plan.n_runs; i++) {
        if (tide_interrupt_signal() != 0) {
            tide_cli_note("profile", "%zu of %zu runs were not started", plan.n_runs - i,
                          plan.n_runs);
            plan.n_runs = i;
            break;
        }
        tide_profile_execute(&plan, &plan.runs[i]);
        if (i == 0 && plan.stacks_limited[0] != '\0') {
            tide_cli_note("profile", "%s", plan.stacks_limited);
        }
        tell(&plan.runs[i]);
    }
    status = report(&plan, &error);
    int exit_status = exit_status_of(&plan);
    if (status != TIDE_OK) {
        int report_status = tide_cli_fail("profile", status, &error);
        exit_status = exit_status == TIDE_EXIT_SUCCESS ? report_status : exit_status;
    }
    tide_profile_plan_fini(&plan);
    return tide_cli_finish("profile", exit_status);
}

static int run(int argc, char **argv) {
    tide_profile_options options;
    int exit_status = TIDE_EXIT_SUCCESS;
    tide_profile_options_init(&options);
    if (!tide_cli_parse(&tide_profile_option_table, argc, argv, &options, NULL, &exit_status)) {
        return exit_status;
    }
    char command[COMMAND_BYTES];
    join_command(argc, argv, command);
    return profile(&options, command);
}

const tide_command tide_command_profile = {
    .name = "profile",
    .summary = "run the transformer, time it, record it, write a snapshot",
    .options = &tide_profile_option_table,
    .run = run,
};
