/* tidemark profile: runs a model, times it, records it and writes a snapshot; compares the runs of
 * a list. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/html_report.h"
#include "cli/interrupt.h"
#include "model/commands/commands.h"
#include "model/commands/profile/internal.h"
#include "cli/progress.h"
#include "common/text/plural.h"

enum { COMMAND_BYTES = 2048 };

/* Appends a letter unless the text is full. */
static void put(char text[COMMAND_BYTES], size_t *n, char letter) {
    if (*n + 1 < COMMAND_BYTES) {
        text[(*n)++] = letter;
        text[*n] = '\0';
    }
}

/* The command line in a form that can be typed again. It is cut at the end of the buffer. */
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
            /* A quote inside quotes: close them, quote it, reopen them. */
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

/* ---- during a run ---- */

/* The state that the hooks of a run share. */
typedef struct listener {
    tide_progress progress;
    const tide_profile_run *run;          /* borrowed */
    tide_run_stage stage;                 /* the stage that the label names */
    char label[TIDE_RUN_NAME_BYTES + 32]; /* of the progress: "NAME (2 of 4)" */
} listener;

static void show_progress(void *ctx, tide_run_stage stage, size_t n_done, size_t n_total) {
    listener *to = ctx;
    if (stage != to->stage) {
        tide_progress_end(&to->progress);
        snprintf(to->label, sizeof(to->label), "%s, recording on and off", to->run->name);
        tide_progress_begin(&to->progress, to->label);
        to->stage = stage;
    }
    tide_progress_update(&to->progress, n_done, n_total);
}

static void note(void *ctx, const char *text) {
    listener *to = ctx;
    tide_progress_end(&to->progress);
    tide_cli_note("profile", "%s: %s", to->run->name, text);
}

/* Prints one line. Wipes the progress line first; the next step shows it again. */
static void note_dump(void *ctx, const tide_dump *dump) {
    const tide_profile_run *run = ((const listener *)ctx)->run;
    tide_progress_wipe();
    if (dump->status != TIDE_OK) {
        tide_cli_note("profile", "%s: a snapshot of the running program failed: %s", run->name,
                      dump->message);
        return;
    }
    tide_cli_note("profile", "%s: %s: %zu %s, copied in %.1f ms; others waited %.3f ms at most",
                  run->name, dump->path, dump->n_events,
                  tide_plural(dump->n_events, "event", "events"), (double)dump->copy_ns * 1e-6,
                  (double)dump->pause_ns * 1e-6);
}

/* Reports a run that did not complete, on stderr, as soon as it has ended. */
static void tell(const tide_profile_run *run) {
    const tide_run_result *result = &run->result;
    switch (result->outcome) {
    case TIDE_OUTCOME_COMPLETED:
        return;
    case TIDE_OUTCOME_STOPPED:
        tide_cli_note("profile", "%s: stopped after %zu of %zu steps, warm-up included", run->name,
                      result->n_steps_done, result->n_steps);
        return;
    case TIDE_OUTCOME_OOM:
        tide_profile_print_oom(run);
        return;
    case TIDE_OUTCOME_NO_HOST:
        tide_cli_note("profile", "%s: %s", run->name, result->error.message);
        return;
    default:
        tide_cli_fail("profile", result->status, &result->error);
        return;
    }
}

static void run_one(tide_profile_plan *plan, size_t number) {
    tide_profile_run *run = &plan->runs[number];
    listener to = {.run = run, .stage = TIDE_RUN_STAGE_STEPS};
    const tide_run_hooks hooks = {.ctx = &to,
                                  .progress = show_progress,
                                  .shall_stop = tide_interrupt_shall_stop,
                                  .note = note,
                                  .on_dump = note_dump};
    if (number > 0) { /* the machine is the same */
        run->config.recording.ns_per_event = plan->runs[0].result.recorder_ns_per_event;
    }
    snprintf(to.label, sizeof(to.label), "%s (%zu of %zu)", run->name, number + 1, plan->n_runs);
    tide_progress_begin(&to.progress, to.label);
    tide_run_here(&run->config, &hooks, &run->result);
    tide_progress_end(&to.progress);
    if (number == 0 && run->result.stacks_limited[0] != '\0') {
        tide_cli_note("profile", "%s", run->result.stacks_limited);
    }
    tell(run);
}

/* Between two runs no handler is installed, so the signal of --snapshot-signal would end the
 * program. */
static void hold_signal(const tide_profile_plan *plan) {
    int number = plan->runs[0].config.recording.snapshot_signal;
    if (number != 0) {
        (void)signal(number, SIG_IGN); /* the signal can be caught, so this cannot fail */
    }
}

/* ---- the results ---- */

/* Returns 0 when all runs completed, 3 when one did not fit, 1 when one failed for another reason,
 * and 128 plus the signal's number after an interruption. */
static int exit_status_of(const tide_profile_plan *plan) {
    int status = TIDE_EXIT_SUCCESS;
    if (tide_interrupt_signal() != 0) {
        return TIDE_EXIT_SIGNAL + tide_interrupt_signal();
    }
    for (size_t i = 0; i < plan->n_runs; i++) {
        const tide_profile_run *run = &plan->runs[i];
        switch (run->result.outcome) {
        case TIDE_OUTCOME_COMPLETED:
        case TIDE_OUTCOME_STOPPED:
            break;
        case TIDE_OUTCOME_OOM:
        case TIDE_OUTCOME_NO_HOST:
            status = TIDE_EXIT_DEVICE_OOM;
            break;
        default:
            return run->result.status == TIDE_INVALID ? TIDE_EXIT_USAGE : TIDE_EXIT_FAILURE;
        }
    }
    return status;
}

static tide_status write_report(const tide_profile_plan *plan, tide_error *error) {
    tide_html_run runs[TIDE_PROFILE_MAX_RUNS];
    size_t n = 0;
    for (size_t i = 0; i < plan->n_runs; i++) {
        const tide_profile_run *run = &plan->runs[i];
        if (run->result.snapshot_path[0] != '\0') {
            runs[n++] = (tide_html_run){
                .label = run->name, .path = run->path, .snapshot = run->result.snapshot};
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
    return plan->runs[0].result.snapshot != NULL ? tide_profile_print_single(plan, error) : TIDE_OK;
}

/* Writes the HTML report and prints the results. If the report fails, the results are still
 * printed. */
static tide_status report(tide_profile_plan *plan, tide_error *error) {
    tide_status html = write_report(plan, error);
    if (html != TIDE_OK) {
        plan->report_path[0] = '\0'; /* so the results do not name a missing file */
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
    hold_signal(&plan);
    for (size_t i = 0; i < plan.n_runs; i++) {
        if (tide_interrupt_signal() != 0) {
            tide_cli_note("profile", "%zu of %zu runs were not started", plan.n_runs - i,
                          plan.n_runs);
            plan.n_runs = i;
            break;
        }
        run_one(&plan, i);
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
