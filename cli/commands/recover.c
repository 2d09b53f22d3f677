/* tidemark recover: makes a snapshot of the log file of a process, which may still be running. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/commands/recover_internal.h"
#include "cli/files.h"
#include "cli/outputs.h"
#include "cli/words/recovery_words.h"
#include "common/text/plural.h"
#include "programs/launch/box/box.h"
#include "programs/launch/document/document.h"
#include "programs/launch/logs/logs.h"

typedef struct recover_options {
    const char *output; /* NULL: LOG.json.gz */
    bool strip_private;
    bool wants_last; /* --last: the newest log that a run has left */
    bool wants_list; /* --list: the logs that runs have left */
    bool removes;    /* --remove */
    bool is_quiet;
    bool watches; /* --watch */
} recover_options;

#define AT(member) offsetof(recover_options, member)

static const tide_option OPTIONS[] = {
    {TIDE_OPTION_TEXT, NULL, "o", "FILE.json.gz",
     "file of the snapshot; default LOG.json.gz beside LOG, which must not exist yet", "output",
     NULL, NULL, AT(output), NULL, NULL},
    TIDE_OPTION(FLAG, "strip-private", NULL, AT(strip_private),
                "leave out command line, host name and folders of absolute paths"),
    TIDE_OPTION(FLAG, "last", NULL, AT(wants_last),
                "the newest log that tidemark run has left, in place of LOG; the snapshot is then "
                "written into this folder"),
    TIDE_OPTION(FLAG, "list", NULL, AT(wants_list),
                "print which runs have left logs, their sizes, ages and commands"),
    TIDE_OPTION(FLAG, "remove", NULL, AT(removes),
                "remove the logs that runs have left, or those of RUN; a run that goes on keeps "
                "its logs"),
    TIDE_OPTION(FLAG, "quiet", NULL, AT(is_quiet), "print nothing but errors"),
    TIDE_OPTION(FLAG, "watch", NULL, AT(watches),
                "wait for the end of the process that writes the ring LOG of a black box, in the "
                "background; the process itself starts this (tidemark env)"),
};

static const tide_option_table TABLE = {
    .command = "recover",
    .operands = "LOG | FOLDER | --last | --list | --remove [RUN]",
    .intro =
        "Makes a snapshot of an event log that profile --log, TIDEMARK_LOG or tidemark run has\n"
        "kept, up to the last event before the process ended, however it ended; of a FOLDER of\n"
        "tidemark env, snapshot and digest of each ring in it, in place of the ring.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 0,
    .max_operands = 1,
    .notes =
        "It says on stderr what cannot be recovered. The exit status is 0 if anything was, 1 if\n"
        "nothing was. The log does not change. Function names come from the programs and "
        "libraries\n"
        "that the process had loaded, if these files are still the same (by their build-id).\n",
};

/* run.log -> run.json.gz */
static tide_status name_snapshot(const char *log, char path[TIDE_PATH_BYTES], tide_error *error) {
    size_t n = strlen(log);
    if (n > 4 && strcmp(log + n - 4, ".log") == 0) {
        n -= 4;
    }
    int n_written = snprintf(path, TIDE_PATH_BYTES, "%.*s.json.gz", (int)n, log);
    if (n_written < 0 || n_written >= TIDE_PATH_BYTES) {
        return tide_fail(error, TIDE_INVALID,
                         "the default name of the snapshot is too long: choose one with -o");
    }
    return TIDE_OK;
}

static tide_status recover(const char *log, const recover_options *options,
                           tide_recover_report *ret_report, const char *path, tide_error *error) {
    tide_snapshot *snapshot = NULL;
    const tide_output output = {.path = path,
                                .name =
                                    options->output != NULL ? TIDE_OUTPUT_NAMED : TIDE_OUTPUT_NEW,
                                .inputs = &log,
                                .n_inputs = 1};
    TIDE_TRY(tide_output_check(&output, error));
    TIDE_TRY(tide_launch_recover(log, &snapshot, ret_report, error));
    tide_status status = TIDE_OK;
    if (options->strip_private) {
        status = tide_snapshot_strip_private(snapshot);
    }
    if (status == TIDE_OK) {
        status = tide_snapshot_save(snapshot, path, error);
    }
    tide_snapshot_destroy(snapshot);
    return status;
}

/* The log that the command line names, and the path of its snapshot. */
static tide_status name_files(const recover_options *options, const tide_operands *operands,
                              char ret_log[TIDE_LAUNCH_PATH_BYTES], char ret_path[TIDE_PATH_BYTES],
                              tide_error *error) {
    if ((operands->n == 1) == options->wants_last) {
        return tide_fail(error, TIDE_INVALID, "name either a log or --last");
    }
    if (options->wants_last) {
        TIDE_TRY(tide_logs_last(ret_log, error));
    } else if (snprintf(ret_log, TIDE_LAUNCH_PATH_BYTES, "%s", operands->texts[0]) >=
               TIDE_LAUNCH_PATH_BYTES) {
        return tide_fail(error, TIDE_INVALID, "the name of the log is too long");
    }
    if (options->output != NULL) {
        snprintf(ret_path, TIDE_PATH_BYTES, "%s", options->output);
        return TIDE_OK;
    }
    const char *slash = options->wants_last ? strrchr(ret_log, '/') : NULL;
    return name_snapshot(slash != NULL ? slash + 1 : ret_log, ret_path, error);
}

static tide_status check_list(const recover_options *options, const tide_operands *operands,
                              tide_error *error) {
    bool is_alone = !options->wants_last && options->output == NULL && !options->strip_private &&
                    !(options->wants_list && (options->removes || operands->n > 0));
    return is_alone ? TIDE_OK
                    : tide_fail(error, TIDE_INVALID,
                                "--list and --remove stand alone: write recover --list, or recover "
                                "--remove [RUN]");
}

static tide_status recover_folder(const char *folder, tide_error *error) {
    tide_box_folder box;
    TIDE_TRY(tide_box_recover(folder, &box, error));
    tide_cli_print(stdout, "%zu of %zu %s recovered, %zu still written\n", box.n_made, box.n_rings,
                   tide_plural(box.n_rings, "ring", "rings"), box.n_running);
    if (box.n_elsewhere > 0) {
        tide_cli_note("recover", "%zu %s not on this machine: %s", box.n_elsewhere,
                      tide_plural(box.n_elsewhere, "ring is", "rings are"), box.elsewhere);
    }
    return box.n_failed == 0 ? TIDE_OK : tide_fail(error, TIDE_FORMAT, "%s", box.message);
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The commands about rings. False: it is another one. */
static bool are_rings(const recover_options *options, const tide_operands *operands,
                      tide_status *ret_status, tide_error *error) {
    if (options->watches && operands->n == 1) {
        *ret_status = tide_box_watch(operands->texts[0], error);
        return true;
    }
    if (operands->n == 1 && !options->removes && is_folder(operands->texts[0])) {
        *ret_status = recover_folder(operands->texts[0], error);
        return true;
    }
    return false;
}

static int run(int argc, char **argv) {
    recover_options options = {.output = NULL};
    tide_operands operands = {.n = 0};
    tide_recover_report report = {.is_closed = false};
    tide_error error = {""};
    char log[TIDE_LAUNCH_PATH_BYTES];
    char path[TIDE_PATH_BYTES];
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    if (options.wants_list || options.removes) {
        tide_status listed = check_list(&options, &operands, &error);
        if (listed == TIDE_OK) {
            listed = tide_recover_list(options.removes, operands.n > 0 ? operands.texts[0] : NULL,
                                       &error);
        }
        return tide_cli_end("recover", listed, &error, TIDE_EXIT_SUCCESS);
    }
    tide_status status = TIDE_OK;
    if (are_rings(&options, &operands, &status, &error)) {
        return tide_cli_end("recover", status, &error, TIDE_EXIT_SUCCESS);
    }
    status = name_files(&options, &operands, log, path, &error);
    if (status == TIDE_OK) {
        status = recover(log, &options, &report, path, &error);
    }
    if (status != TIDE_OK) {
        return tide_cli_fail("recover", status, &error);
    }
    if (!options.is_quiet) {
        tide_cli_tell_recovery("recover", &report);
        tide_cli_print(stdout, "%" PRIu64 " %s recovered\n", report.n_events,
                       tide_plural(report.n_events, "event", "events"));
        tide_cli_print(stdout, "snapshot: %s\n", path);
    }
    return tide_cli_finish("recover", TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_recover = {
    .name = "recover",
    .summary = "a snapshot of what a crashed program's event log holds",
    .options = &TABLE,
    .run = run,
};
