/* tidemark view: one self-contained HTML file with the viewer and the data. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/files.h"
#include "cli/html_report.h"

typedef struct view_options {
    const char *output; /* NULL: report.html, or FILE.html for a single snapshot */
    bool open_browser;
} view_options;

static const tide_option OPTIONS[] = {
    {TIDE_OPTION_TEXT, NULL, "o", "REPORT.html",
     "default: FILE.html beside a single snapshot, report.html here for several", "output", NULL,
     NULL, offsetof(view_options, output)},
    {TIDE_OPTION_FLAG, "open", NULL, NULL, "open it in a browser", NULL, NULL, NULL,
     offsetof(view_options, open_browser)},
};

static const tide_option_table TABLE = {
    .command = "view",
    .operands = "FILE...",
    .intro =
        "Writes one HTML file that holds the viewer and the snapshots. It opens without a\n"
        "network and without this program; the first snapshot is the base of the comparison.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 1,
    .max_operands = TIDE_MAX_OPERANDS,
};

/* FILE.json.gz -> FILE.html */
static tide_status name_report(const char *snapshot, char path[TIDE_PATH_BYTES],
                               tide_error *error) {
    static const char *const ENDINGS[] = {".json.gz", ".json"};
    size_t n = strlen(snapshot);
    for (size_t i = 0; i < sizeof(ENDINGS) / sizeof(ENDINGS[0]); i++) {
        size_t n_ending = strlen(ENDINGS[i]);
        if (n > n_ending && strcmp(snapshot + n - n_ending, ENDINGS[i]) == 0) {
            n -= n_ending;
            break;
        }
    }
    int n_written = snprintf(path, TIDE_PATH_BYTES, "%.*s.html", (int)n, snapshot);
    if (n_written < 0 || n_written >= TIDE_PATH_BYTES) {
        return tide_fail(error, TIDE_LIMIT, "the name of the report is too long: name it with -o");
    }
    return TIDE_OK;
}

static tide_status load(const tide_operands *files, tide_snapshot **snapshots, tide_html_run *runs,
                        tide_error *error) {
    for (size_t i = 0; i < files->n; i++) {
        TIDE_TRY(tide_snapshot_load(files->texts[i], NULL, &snapshots[i], error));
        runs[i] = (tide_html_run){.path = files->texts[i], .snapshot = snapshots[i]};
    }
    return TIDE_OK;
}

static tide_status view(const tide_operands *files, const view_options *options,
                        tide_snapshot **snapshots, tide_error *error) {
    char path[TIDE_PATH_BYTES] = "report.html";
    if (options->output != NULL) {
        snprintf(path, sizeof(path), "%s", options->output);
    } else if (files->n == 1) {
        TIDE_TRY(name_report(files->texts[0], path, error));
    }
    TIDE_TRY(tide_file_check_writable(path, error));
    tide_html_run runs[TIDE_MAX_OPERANDS];
    TIDE_TRY(load(files, snapshots, runs, error));
    TIDE_TRY(tide_html_report_write(path, runs, files->n, error));
    printf("report: %s\n", path);
    return options->open_browser ? tide_browser_open(path, error) : TIDE_OK;
}

static int run(int argc, char **argv) {
    view_options options = {NULL, false};
    tide_operands files;
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &files, &exit_status)) {
        return exit_status;
    }
    tide_error error = {""};
    tide_snapshot *snapshots[TIDE_MAX_OPERANDS] = {NULL};
    tide_status status = view(&files, &options, snapshots, &error);
    for (size_t i = 0; i < TIDE_MAX_OPERANDS; i++) {
        tide_snapshot_destroy(snapshots[i]);
    }
    if (status != TIDE_OK) {
        return tide_cli_fail("view", status, &error);
    }
    return tide_cli_finish("view", TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_view = {
    .name = "view",
    .summary = "one self-contained HTML file: viewer and data",
    .options = &TABLE,
    .run = run,
};
