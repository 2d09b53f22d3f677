/* The paths of the files of `tidemark profile`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/outputs.h"
#include "model/commands/profile/internal.h"

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text);
    return n >= strlen(end) && strcmp(text + n - strlen(end), end) == 0;
}

/* Writes "FOLDER/NAME" ("NAME" without a folder). */
static tide_status join(char *path, const char *folder, const char *name, const char *ending,
                        tide_error *error) {
    bool needs_slash = folder[0] != '\0' && !ends_with(folder, "/");
    int n =
        snprintf(path, TIDE_PATH_BYTES, "%s%s%s%s", folder, needs_slash ? "/" : "", name, ending);
    if (n < 0 || n >= TIDE_PATH_BYTES) {
        return tide_fail(error, TIDE_LIMIT, "-o: the path is longer than the limit of %d bytes",
                         (int)TIDE_PATH_BYTES);
    }
    return TIDE_OK;
}

/* The report of a single run is next to its snapshot: FILE.json.gz -> FILE.html. */
static tide_status name_report_beside(const char *snapshot, char *path, tide_error *error) {
    char stem[TIDE_PATH_BYTES];
    snprintf(stem, sizeof(stem), "%s", snapshot);
    if (ends_with(stem, ".json.gz")) {
        stem[strlen(stem) - strlen(".json.gz")] = '\0';
    }
    return join(path, "", stem, ".html", error);
}

/* Checks a file that is to be written: it must be neither the event log, which it would replace,
 * nor the model. */
static tide_status check_file(const tide_profile_plan *plan, const char *path, tide_content content,
                              bool is_named, tide_error *error) {
    const tide_profile_options *options = plan->options;
    const char *log = options->log_path != NULL ? options->log_path : getenv("TIDEMARK_LOG");
    const char *models[TIDE_OPTION_LIST_ITEMS];
    const tide_output output = {.path = path,
                                .content = content,
                                .name = is_named ? TIDE_OUTPUT_NAMED : TIDE_OUTPUT_AGAIN,
                                .inputs = models,
                                .n_inputs = tide_option_files_list(&options->run.configs, models)};
    if (log != NULL && !options->no_record && tide_file_is_same(path, log)) {
        return tide_fail(error, TIDE_INVALID,
                         "%s is also the event log: name another file with --log or with -o", path);
    }
    return tide_output_check(&output, error);
}

/* Checks the name of the log. Whether an existing file may be replaced is decided when the log is
 * opened. */
static tide_status check_log_name(const tide_profile_options *options, tide_error *error) {
    const char *models[TIDE_OPTION_LIST_ITEMS];
    const tide_output output = {.path = options->log_path != NULL ? options->log_path : "-",
                                .content = TIDE_CONTENT_LOG,
                                .inputs = models,
                                .n_inputs = tide_option_files_list(&options->run.configs, models)};
    return options->log_path != NULL ? tide_output_check_name(&output, error) : TIDE_OK;
}

tide_status tide_profile_name_files(tide_profile_plan *plan, tide_error *error) {
    const tide_profile_options *options = plan->options;
    const char *output = options->run.output;
    bool is_named = false;
    if (!plan->is_list && output != NULL && !ends_with(output, "/") &&
        !tide_file_is_folder(output)) {
        TIDE_TRY(join(plan->runs[0].path, "", output, "", error));
        is_named = true;
    } else {
        const char *folder = output != NULL ? output : "";
        if (ends_with(folder, ".gz") && !tide_file_is_folder(folder)) {
            return tide_fail(error, TIDE_INVALID,
                             "-o %s: %zu runs write %zu snapshots, so name a folder", folder,
                             plan->n_runs, plan->n_runs);
        }
        if (output != NULL) {
            TIDE_TRY(tide_file_make_folder(output, error));
        }
        for (size_t i = 0; i < plan->n_runs; i++) {
            TIDE_TRY(join(plan->runs[i].path, folder, plan->runs[i].name, ".json.gz", error));
        }
        if (plan->is_list) {
            TIDE_TRY(join(plan->report_path, folder, "report", ".html", error));
        }
    }
    if (!plan->is_list && options->open_browser) {
        TIDE_TRY(name_report_beside(plan->runs[0].path, plan->report_path, error));
    }
    for (size_t i = 0; i < plan->n_runs; i++) {
        tide_profile_run *run = &plan->runs[i];
        TIDE_TRY(check_file(plan, run->path, TIDE_CONTENT_SNAPSHOT, is_named, error));
        run->config.recording.snapshot_path = run->path;
    }
    TIDE_TRY(check_log_name(options, error));
    return plan->report_path[0] != '\0'
               ? check_file(plan, plan->report_path, TIDE_CONTENT_PAGE, false, error)
               : TIDE_OK;
}
