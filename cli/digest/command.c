/* tidemark digest: the figures of a recording that a report of many ranks needs, in a small file.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/log_source.h"
#include "cli/cli.h"
#include "cli/files.h"
#include "cli/load.h"
#include "cli/outputs.h"
#include "cli/words/recovery_words.h"
#include "programs/launch/document/document.h"
#include "snapshot/ranks/digest.h"

#define NOT_GIVEN UINT64_MAX
#define MOST_RANK ((uint64_t)1 << 40)
#define WHOLE_LOG_BYTES (INT64_C(64) << 20) /* a larger log is read piece by piece if it can be */

typedef struct digest_options {
    const char *output; /* NULL: FILE.digest.json.gz */
    uint64_t rank;      /* NOT_GIVEN */
    bool strip_private;
} digest_options;

#define AT(member) offsetof(digest_options, member)

static const tide_option OPTIONS[] = {
    {TIDE_OPTION_TEXT, NULL, "o", "FILE.digest.json.gz",
     "file of the digest, of a single FILE; default FILE.digest.json.gz beside it", "output", NULL,
     NULL, AT(output), NULL, NULL},
    TIDE_OPTION(COUNT, "rank", "N", AT(rank),
                "rank of the process, of a single FILE; default what the recording or else the "
                "name of the file says"),
    TIDE_OPTION(FLAG, "strip-private", NULL, AT(strip_private),
                "leave out command line, host name and folders of absolute paths"),
};

static const tide_option_table TABLE = {
    .command = "digest",
    .operands = "FILE...",
    .intro =
        "Writes what a report of many ranks needs of each snapshot or log, in at most 50 KB.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 1,
    .max_operands = TIDE_MAX_OPERANDS,
    .notes =
        "A digest has the figures of the peak by line of the program, category and scope, peaks\n"
        "by step, the answer of tidemark explain, settings and a short timeline: see\n"
        "docs/reference/digest.md. File names that show a rank: rank7, rank_7, rank=7, -r7 and\n"
        ".7. before the ending. A log above 64 MiB is read piece by piece, in little memory; its\n"
        "digest has no causes and no growth.\n",
};

static bool ends_with(const char *text, const char *ending) {
    size_t n = strlen(text), n_ending = strlen(ending);
    return n > n_ending && strcmp(text + n - n_ending, ending) == 0;
}

/* run.json.gz -> run.digest.json.gz */
static tide_status name_digest(const char *path, char ret_path[TIDE_PATH_BYTES],
                               tide_error *error) {
    static const char *const ENDINGS[] = {".json.gz", ".json", ".pickle", ".pkl", ".log"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof(ENDINGS) / sizeof(ENDINGS[0]); i++) {
        if (ends_with(path, ENDINGS[i])) {
            n -= strlen(ENDINGS[i]);
            break;
        }
    }
    int n_written = snprintf(ret_path, TIDE_PATH_BYTES, "%.*s.digest.json.gz", (int)n, path);
    return n_written > 0 && n_written < TIDE_PATH_BYTES
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID,
                           "the default name of the digest is too long: choose one with -o");
}

static tide_status write_digest(const tide_event_source *events, const tide_digest_source *source,
                                const char *path, tide_error *error) {
    tide_arena arena;
    tide_digest *digest = NULL;
    tide_arena_init(&arena, tide_hostmem_default());
    tide_status status = tide_digest_make_of_events(events, source, &arena, &digest, error);
    if (status == TIDE_OK) {
        status = tide_digest_save(digest, path, error);
    }
    if (status == TIDE_OK && digest->rank.rank >= 0) {
        tide_cli_print(stdout, "%s: rank %lld (%s)\n", path, (long long)digest->rank.rank,
                       digest->from);
    } else if (status == TIDE_OK) {
        tide_cli_print(stdout, "%s: no rank is known: name it with --rank\n", path);
    }
    tide_arena_fini(&arena);
    return status;
}

static tide_status digest_snapshot(const digest_options *options, const tide_digest_source *source,
                                   tide_snapshot *snapshot, const char *output, tide_error *error) {
    tide_document_events state;
    const tide_event_source events = tide_event_source_of(snapshot, &state);
    if (options->strip_private) {
        TIDE_TRY(tide_snapshot_strip_private(snapshot));
    }
    return write_digest(&events, source, output, error);
}

static tide_status digest_whole_log(const digest_options *options, const tide_digest_source *source,
                                    const char *output, tide_error *error) {
    tide_snapshot *snapshot = NULL;
    tide_recover_report report;
    TIDE_TRY(tide_launch_recover(source->path, &snapshot, &report, error));
    tide_status status = digest_snapshot(options, source, snapshot, output, error);
    if (status == TIDE_OK) {
        tide_cli_tell_recovery("digest", &report);
    }
    tide_snapshot_destroy(snapshot);
    return status;
}

/* Piece by piece. TIDE_UNSUPPORTED without a message if it must be read as a whole. */
static tide_status digest_events(const digest_options *options, const tide_digest_source *source,
                                 const char *output, tide_error *error) {
    tide_log_source *log = NULL;
    TIDE_TRY(tide_log_source_open(source->path, NULL, &log, error));
    tide_snapshot *document = tide_log_source_document(log);
    const tide_event_source events = tide_log_source_events(log);
    tide_status status = options->strip_private ? tide_snapshot_strip_private(document) : TIDE_OK;
    if (status == TIDE_OK) {
        status = write_digest(&events, source, output, error);
    }
    if (status == TIDE_OK) {
        tide_cli_tell_recovery("digest", tide_log_source_report(log));
    }
    tide_log_source_close(log);
    return status;
}

/* The causes need all events at the same time. */
static bool is_small(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && info.st_size <= WHOLE_LOG_BYTES;
}

static tide_status digest_log(const digest_options *options, const tide_digest_source *source,
                              const char *output, tide_error *error) {
    if (is_small(source->path)) {
        return digest_whole_log(options, source, output, error);
    }
    tide_status status = digest_events(options, source, output, error);
    return status == TIDE_UNSUPPORTED && error->message[0] == '\0'
               ? digest_whole_log(options, source, output, error)
               : status;
}

static tide_status digest_of(const digest_options *options, const char *path, tide_error *error) {
    char name[TIDE_PATH_BYTES];
    tide_snapshot *snapshot = NULL;
    const tide_digest_source source = {
        .path = path, .rank = options->rank == NOT_GIVEN ? -1 : (int64_t)options->rank};
    if (options->output == NULL) {
        TIDE_TRY(name_digest(path, name, error));
    }
    const tide_output output = {.path = options->output != NULL ? options->output : name,
                                .content = TIDE_CONTENT_JSON,
                                .name =
                                    options->output != NULL ? TIDE_OUTPUT_NAMED : TIDE_OUTPUT_AGAIN,
                                .inputs = &path,
                                .n_inputs = 1};
    TIDE_TRY(tide_output_check(&output, error));
    if (tide_log_source_is_log(path)) {
        return digest_log(options, &source, output.path, error);
    }
    TIDE_TRY(tide_cli_load(path, NULL, &snapshot, error));
    tide_status status = digest_snapshot(options, &source, snapshot, output.path, error);
    tide_snapshot_destroy(snapshot);
    return status;
}

static int run(int argc, char **argv) {
    digest_options options = {.rank = NOT_GIVEN};
    tide_operands operands = {.n = 0};
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    tide_status status = TIDE_OK;
    if (operands.n > 1 && (options.output != NULL || options.rank != NOT_GIVEN)) {
        status = tide_fail(&error, TIDE_INVALID, "-o and --rank are for a single FILE");
    } else if (options.rank != NOT_GIVEN && options.rank > MOST_RANK) {
        status = tide_fail(&error, TIDE_INVALID, "--rank: the number is too large");
    }
    for (size_t i = 0; i < operands.n && status == TIDE_OK; i++) {
        status = digest_of(&options, operands.texts[i], &error);
    }
    return tide_cli_end("digest", status, &error, TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_digest = {
    .name = "digest",
    .summary = "the figures of a recording that a report of many ranks needs, in a small file",
    .options = &TABLE,
    .run = run,
};
