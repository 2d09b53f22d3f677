/* tidemark summary: a report on one run. */
#include <stdbool.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/load.h"
#include "cli/options/report_options.h"
#include "cli/summary/report.h"
#include "report/table.h"
#include "snapshot/document/snapshot.h"

typedef struct summary_options {
    tide_report_options report; /* how the report is printed */
    uint64_t top;               /* rows of the tables of scopes, stacks and blocks */
    tide_summary_choice choice; /* the device and the instant */
    tide_load_options load;     /* how the file is read */
    tide_option_list tree;      /* keys of tide_tree_key_name; none: no tree */
    bool fragmentation;         /* the part about it */
    bool steps;                 /* the part about them */
    bool leaks;                 /* the part about them */
} summary_options;

#define AT(member) offsetof(summary_options, member)

static const tide_option OPTIONS[] = {
    TIDE_OPTION(TEXT, "at", "INSTANT", AT(choice.at),
                "show what is alive at an event (1234), at a time (12.5ms), where a scope is "
                "highest ('step[2] > backward'), or at the start, peak, end or oom; default peak"),
    TIDE_REPORT_ROWS(AT(report)),
    TIDE_OPTION(COUNT, "device", "N", AT(choice.device),
                "number of the device; default the one with the highest peak"),
    TIDE_OPTION_OF(CHOICES, "tree", "KEYS", tide_tree_key_name, AT(tree),
                   "show what is alive as a tree by these keys, comma-separated, outermost first: "
                   "category, phase, scope, name, stack"),
    TIDE_OPTION(
        FLAG, "fragmentation", NULL, AT(fragmentation),
        "show why bytes are cached, which blocks hold them and which requests they could serve"),
    TIDE_OPTION(
        FLAG, "steps", NULL, AT(steps),
        "show whether each step repeats the one before it, and what grows from step to step"),
    TIDE_OPTION(FLAG, "leaks", NULL, AT(leaks),
                "show what was allocated after warm-up and never released, by name and call stack"),
    TIDE_OPTION(
        COUNT, "top", "N", AT(top),
        "number of rows in the tables of scopes, call stacks, blocks and the like; default 10"),
    TIDE_LOAD_ROWS(AT(load)),
};

static const tide_option_table TABLE = {
    .command = "summary",
    .operands = "FILE",
    .intro = "Shows what happened in a run: the peak, what was alive then by category, scope and\n"
             "call stack, and how long the phases took.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 1,
    .max_operands = 1,
};

static tide_tree_plan tree_plan(const summary_options *options) {
    tide_tree_plan plan = {.n_keys = options->tree.n, .top = (size_t)options->top};
    for (size_t i = 0; i < plan.n_keys && i < TIDE_N_TREE_KEYS; i++) {
        for (size_t key = 0; key < TIDE_N_TREE_KEYS; key++) {
            if (strcmp(options->tree.texts[i], tide_tree_key_name(key)) == 0) {
                plan.keys[i] = (tide_tree_key)key;
            }
        }
    }
    return plan;
}

static tide_status report_on(const tide_snapshot *snapshot, const char *path,
                             const summary_options *options, tide_error *error) {
    tide_report report;
    tide_summary_view view;
    tide_report_init(&report, "summary");
    tide_format format = tide_format_chosen(&options->report);
    const tide_summary_plan plan = {
        .path = path,
        .rules = options->load.rules,
        .choice = options->choice,
        .tree = tree_plan(options),
        .top = (size_t)options->top,
        .fragmentation = options->fragmentation,
        .steps = options->steps,
        .leaks = options->leaks,
        .is_text = format.kind == TIDE_FORMAT_TEXT,
        .is_for_programs = tide_format_is_for_programs(format),
    };
    tide_status status = tide_summary_fill(&view, &report, snapshot, &plan, error);
    status = tide_report_end(&report, status, format, error);
    tide_summary_view_fini(&view);
    return status;
}

static int run(int argc, char **argv) {
    summary_options options = {.top = TIDE_DEFAULT_TOP, .choice = {.device = TIDE_ANY_DEVICE}};
    tide_operands operands = {.n = 0};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    if (!tide_cli_check_top("summary", options.top)) {
        return TIDE_EXIT_USAGE;
    }
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    tide_status status = tide_cli_load(operands.texts[0], &options.load, &snapshot, &error);
    if (status == TIDE_OK) {
        status = report_on(snapshot, operands.texts[0], &options, &error);
    }
    tide_snapshot_destroy(snapshot);
    return tide_cli_end("summary", status, &error, TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_summary = {
    .name = "summary",
    .summary = "what happened: the peak, what is alive then, timing",
    .options = &TABLE,
    .run = run,
};
