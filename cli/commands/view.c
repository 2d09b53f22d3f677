/* tidemark view: one self-contained HTML file with the viewer and the data. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/files.h"
#include "common/files/file_name.h"
#include "cli/html_report.h"
#include "cli/load.h"
#include "cli/outputs.h"
#include "common/hostmem.h"
#include "common/files/output_file.h"
#include "snapshot/ranks/digest.h"
#include "viewer/report.h"

enum { MAX_FILES = 64 }; /* in one page */

typedef struct view_options {
    const char *output; /* NULL: report.html, FILE.html for a single snapshot, or viewer.html for
                           none, in this folder */
    bool strip_private;
    bool open_browser;
    tide_load_options load; /* how the files are read */
} view_options;

/* The state of the command. */
typedef struct view_work {
    size_t n;
    tide_html_run runs[MAX_FILES];
    tide_report_input inputs[MAX_FILES]; /* if the files are digests */
    tide_snapshot *snapshots[MAX_FILES]; /* owned */
    tide_output_file made[MAX_FILES];    /* snapshots written here, to be removed */
    bool is_made[MAX_FILES];             /* whether there is one */
} view_work;

#define AT(member) offsetof(view_options, member)

static const tide_option OPTIONS[] = {
    {TIDE_OPTION_TEXT, NULL, "o", "REPORT.html",
     "file of the report; default FILE.html for one snapshot, report.html for several, viewer.html "
     "for none, in the current folder",
     "output", NULL, NULL, AT(output), NULL, NULL},
    TIDE_OPTION(FLAG, "strip-private", NULL, AT(strip_private),
                "leave out command lines, host names and folders of absolute paths"),
    TIDE_OPTION(FLAG, "open", NULL, AT(open_browser), "open the report in a browser"),
    TIDE_LOAD_ROWS(AT(load)),
};

static const tide_option_table TABLE = {
    .command = "view",
    .operands = "[FILE...]",
    .intro = "Writes one HTML file that holds the viewer and the snapshots. It opens without a\n"
             "network and without this program; the first snapshot is the base of the comparison.\n"
             "Without FILE it opens the page without data in the browser: drop files on it.\n",
    .notes = "Without -o it replaces only a page that tidemark wrote before, and no other file.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .max_operands = MAX_FILES,
};

/* FOLDER/FILE.json.gz, FILE.pickle -> FILE.html */
static tide_status name_report(const char *snapshot, char path[TIDE_PATH_BYTES],
                               tide_error *error) {
    const char *slash = strrchr(snapshot, '/');
    const char *name = slash != NULL ? slash + 1 : snapshot;
    size_t n = tide_file_stem_bytes(name);
    int n_written = snprintf(path, TIDE_PATH_BYTES, "%.*s.html", (int)n, name);
    if (n_written < 0 || n_written >= TIDE_PATH_BYTES) {
        return tide_fail(error, TIDE_LIMIT,
                         "the default name of the report is too long: choose one with -o");
    }
    return TIDE_OK;
}

/* The file's name without its folders, which are private; with them if two files would have the
 * same name. */
static const char *label_of(const tide_operands *files, size_t i, bool strips) {
    const char *slash = strrchr(files->texts[i], '/');
    const char *name = slash != NULL ? slash + 1 : files->texts[i];
    for (size_t k = 0; k < files->n && !strips; k++) {
        const char *other_slash = strrchr(files->texts[k], '/');
        const char *other = other_slash != NULL ? other_slash + 1 : files->texts[k];
        if (k != i && strcmp(name, other) == 0) {
            return files->texts[i];
        }
    }
    return name;
}

/* Writes the snapshot as read to a file next to the report, and uses that instead of the original:
 * the page then contains only data that this program understood. */
static tide_status write_again(view_work *work, size_t i, const char *report, tide_error *error) {
    TIDE_TRY(tide_output_file_open(report, &work->made[i], error));
    work->is_made[i] = true;
    work->runs[i].path = work->made[i].temporary.path;
    return tide_snapshot_save(work->snapshots[i], work->runs[i].path, error);
}

static size_t count_digests(const tide_operands *files) {
    size_t n = 0;
    for (size_t i = 0; i < files->n; i++) {
        n += tide_digest_is(files->texts[i]);
    }
    return n;
}

/* Digests go into the page unchanged: the page reads and checks them. */
static tide_status take_digests(const tide_operands *files, bool strips, view_work *work,
                                tide_error *error) {
    if (strips) {
        return tide_fail(error, TIDE_INVALID,
                         "--strip-private does not change digests: leave it out, or make the "
                         "digests of stripped snapshots");
    }
    for (size_t i = 0; i < files->n; i++) {
        if (!tide_digest_is(files->texts[i])) {
            return tide_fail(error, TIDE_INVALID,
                             "%s is no digest, as the other files are: a page shows either digests "
                             "or snapshots",
                             files->texts[i]);
        }
        work->inputs[i] =
            (tide_report_input){.label = label_of(files, i, false), .path = files->texts[i]};
    }
    return TIDE_OK;
}

static tide_status load(const tide_operands *files, const view_options *options, const char *report,
                        view_work *work, tide_error *error) {
    bool strips = options->strip_private;
    work->n = files->n;
    for (size_t i = 0; i < files->n; i++) {
        TIDE_TRY(tide_cli_load(files->texts[i], &options->load, &work->snapshots[i], error));
        work->runs[i] = (tide_html_run){.label = label_of(files, i, strips),
                                        .path = files->texts[i],
                                        .snapshot = work->snapshots[i]};
        if (strips) {
            TIDE_TRY(tide_snapshot_strip_private(work->snapshots[i]));
        }
        TIDE_TRY(write_again(work, i, report, error));
    }
    return TIDE_OK;
}

static void clean_up(view_work *work) {
    for (size_t i = 0; i < work->n; i++) {
        tide_snapshot_destroy(work->snapshots[i]);
        if (work->is_made[i]) {
            tide_output_file_abandon(&work->made[i]);
        }
    }
}

/* The page without data. It is already written if no browser can be opened, so that is not a
 * failure. */
static tide_status view_nothing(const char *path, tide_error *error) {
    tide_error no_browser = {""};
    TIDE_TRY(tide_report_write(path, NULL, 0, NULL, error));
    tide_cli_print(stdout, "page: %s: drop snapshots on it\n", path);
    if (tide_browser_open(path, &no_browser) != TIDE_OK) {
        tide_cli_note("view", "%s", no_browser.message);
    }
    return TIDE_OK;
}

static tide_status view(const tide_operands *files, const view_options *options, view_work *work,
                        tide_error *error) {
    char path[TIDE_PATH_BYTES] = "report.html";
    if (options->output != NULL) {
        int n = snprintf(path, sizeof(path), "%s", options->output);
        if (n < 0 || n >= TIDE_PATH_BYTES) {
            return tide_fail(error, TIDE_LIMIT, "-o: the path is longer than the limit of %d bytes",
                             (int)TIDE_PATH_BYTES);
        }
    } else if (files->n == 0) {
        (void)snprintf(path, sizeof(path), "viewer.html");
    } else if (files->n == 1) {
        TIDE_TRY(name_report(files->texts[0], path, error));
    }
    const tide_output output = {.path = path,
                                .content = TIDE_CONTENT_PAGE,
                                .name =
                                    options->output != NULL ? TIDE_OUTPUT_NAMED : TIDE_OUTPUT_AGAIN,
                                .inputs = files->texts,
                                .n_inputs = files->n};
    TIDE_TRY(tide_output_check(&output, error));
    if (files->n == 0) {
        return view_nothing(path, error);
    }
    if (count_digests(files) > 0) {
        TIDE_TRY(take_digests(files, options->strip_private, work, error));
        TIDE_TRY(tide_report_write(path, work->inputs, files->n, NULL, error));
    } else {
        TIDE_TRY(load(files, options, path, work, error));
        TIDE_TRY(tide_html_report_write(path, work->runs, work->n, error));
    }
    tide_cli_print(stdout, "report: %s\n", path);
    return options->open_browser ? tide_browser_open(path, error) : TIDE_OK;
}

static int run(int argc, char **argv) {
    view_options options = {.output = NULL};
    tide_operands files;
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &files, &exit_status)) {
        return exit_status;
    }
    const tide_hostmem *mem = tide_hostmem_default();
    view_work *work = tide_hostmem_zeroed(mem, 1, sizeof(*work));
    if (work == NULL) {
        return tide_cli_fail("view", TIDE_NO_MEMORY, NULL);
    }
    tide_error error = {""};
    tide_status status = view(&files, &options, work, &error);
    clean_up(work);
    mem->release(mem->ctx, work);
    return tide_cli_end("view", status, &error, TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_view = {
    .name = "view",
    .summary = "one self-contained HTML file: viewer and data",
    .options = &TABLE,
    .run = run,
};
