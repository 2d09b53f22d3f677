/* tidemark export: a snapshot in the format of another tool. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands/export_internal.h"
#include "cli/load.h"
#include "cli/outputs.h"
#include "report/harmless.h"
#include "snapshot/export/export.h"
#include "snapshot/format/gzip_file.h"
#include "snapshot/document/snapshot.h"

#define NOT_GIVEN UINT64_MAX
#define PARQUET "parquet"

typedef struct export_options {
    const char *format;     /* name of an exporter; NULL: not given */
    const char *output;     /* NULL: stdout */
    const char *event;      /* as written: a row, -1 or "peak"; NULL: the peak */
    uint64_t device;        /* NOT_GIVEN: the one with the highest peak */
    bool strip_private;     /* of command line, host name and folders */
    tide_load_options load; /* how the file is read */
} export_options;

/* The exporters' formats, and the one that is a folder. */
static const char *format_at(size_t i) {
    const tide_exporter *exporter = tide_exporter_at(i);
    bool is_next = exporter == NULL && (i == 0 || tide_exporter_at(i - 1) != NULL);
    return exporter != NULL ? exporter->name : is_next ? PARQUET : NULL;
}

#define AT(member) offsetof(export_options, member)

static const tide_option OPTIONS[] = {
    TIDE_OPTION_OF(CHOICE, "to", NULL, format_at, AT(format), "format of the output; see below"),
    {.kind = TIDE_OPTION_TEXT,
     .name = "output",
     .letter = "o",
     .value = "OUT",
     .help =
         "file of the output, compressed if its name ends in .gz; default stdout; with parquet, "
         "a folder",
     .offset = AT(output)},
    TIDE_OPTION(TEXT, "at", "EVENT", AT(event),
                "with folded, show the state after this event, or with -1 before the first one; "
                "default peak"),
    TIDE_OPTION(
        COUNT, "device", "N", AT(device),
        "with folded, show the state of this device; default the one with the highest peak"),
    TIDE_OPTION(FLAG, "strip-private", NULL, AT(strip_private),
                "leave out command line, host name and folders of absolute paths"),
    TIDE_LOAD_ROWS(AT(load)),
};

static const tide_option_table TABLE = {
    .command = "export",
    .operands = "FILE",
    .intro = "Writes a snapshot in the format of another tool.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
    .min_operands = 1,
    .max_operands = 1,
    .notes =
        "perfetto: scopes by thread, allocated and reserved bytes, peaks and out of memory over\n"
        "time, as trace event JSON for ui.perfetto.dev and chrome://tracing.\n"
        "folded: bytes alive by call stack at the peak, for flamegraph.pl and speedscope.\n"
        "csv: one event per row, with the totals of its device after it.\n"
        "pytorch: a pickle for PyTorch's memory_viz and its tools; pytorch-json: the same as "
        "JSON,\n"
        "for the memory_viz of 2026. docs/reference/pytorch-snapshots.md says what they hold.\n"
        "tidemark: our own format, of any file that can be read: name it FILE.json.gz.\n"
        "parquet: typed tables of events, blocks, segments, scopes, steps, stacks, frames, groups\n"
        "and devices in the folder OUT, which is made, for DuckDB, Spark, ClickHouse and Polars.\n"
        "docs/reference/engines.md says what they hold. FILE may also be an event log\n"
        "(profile --log).\n",
};

static const tide_exporter *find(const char *name) {
    size_t i = 0;
    while (tide_exporter_at(i) != NULL && strcmp(tide_exporter_at(i)->name, name) != 0) {
        i++;
    }
    return tide_exporter_at(i);
}

/* The content implied by the ending of a format's files. */
static tide_content content_of(const char *format) {
    return strcmp(format, "folded") == 0     ? TIDE_CONTENT_STACKS
           : strcmp(format, "csv") == 0      ? TIDE_CONTENT_CSV
           : strcmp(format, "pytorch") == 0  ? TIDE_CONTENT_PICKLE
           : strcmp(format, "tidemark") == 0 ? TIDE_CONTENT_SNAPSHOT
                                             : TIDE_CONTENT_JSON;
}

static tide_status to_stdout(void *ctx, const char *bytes, size_t n_bytes) {
    tide_harmless_write(ctx, bytes, n_bytes);
    return ferror(stdout) ? TIDE_IO : TIDE_OK;
}

static tide_status to_file(void *ctx, const char *bytes, size_t n_bytes) {
    return tide_gzip_writer_write(ctx, bytes, n_bytes);
}

static tide_status write_file(const tide_exporter *exporter, const tide_snapshot *snapshot,
                              const tide_export_options *chosen, const char *path,
                              tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n = strlen(path);
    bool is_compressed = n > 3 && strcmp(path + n - 3, ".gz") == 0;
    tide_gzip_writer *file = NULL;
    TIDE_TRY(is_compressed ? tide_gzip_writer_open(path, mem, &file, error)
                           : tide_gzip_writer_open_plain(path, mem, &file, error));
    const tide_export_sink sink = {.write = to_file, .ctx = file};
    tide_status status = tide_export(exporter, snapshot, chosen, &sink, error);
    if (status != TIDE_OK && status != TIDE_IO) {
        tide_gzip_writer_abandon(file);
        return status;
    }
    /* The writer remembers a failed write and its reason, and reports them here. */
    return tide_gzip_writer_commit(file, error);
}

/* "peak" or a number. */
static tide_status read_event(const char *text, int64_t *ret_event, tide_error *error) {
    long long event = 0;
    char rest = 0;
    *ret_event = TIDE_EXPORT_PEAK;
    if (text == NULL || strcmp(text, "peak") == 0) {
        return TIDE_OK;
    }
    if (strlen(text) > 18 || sscanf(text, "%lld%c", &event, &rest) != 1) {
        return tide_fail(error, TIDE_INVALID, "--at: '%.32s' is not the number of an event or peak",
                         text);
    }
    *ret_event = event;
    return TIDE_OK;
}

static tide_status export_file(const export_options *options, const char *path, tide_error *error) {
    tide_export_options chosen;
    if (options->format == NULL) {
        return tide_fail(error, TIDE_INVALID, "--to is missing: name the format to write");
    }
    if (strcmp(options->format, PARQUET) == 0) {
        const tide_export_folder folder = {.input = path,
                                           .output = options->output,
                                           .is_part = options->event != NULL ||
                                                      options->device != NOT_GIVEN,
                                           .strip_private = options->strip_private,
                                           .load = &options->load};
        return tide_export_to_folder(&folder, error);
    }
    const tide_exporter *exporter = find(options->format);
    TIDE_TRY(read_event(options->event, &chosen.at_event, error));
    chosen.device = options->device == NOT_GIVEN ? -1
                    : options->device > 255      ? 256
                                                 : (int64_t)options->device;
    if (exporter->is_binary && options->output == NULL && isatty(STDOUT_FILENO) == 1) {
        return tide_fail(error, TIDE_INVALID,
                         "%s cannot be shown in a terminal: name a file with -o", exporter->name);
    }
    if (options->output != NULL) {
        const tide_output output = {.path = options->output,
                                    .content = content_of(exporter->name),
                                    .inputs = &path,
                                    .n_inputs = 1};
        TIDE_TRY(tide_output_check(&output, error));
    }
    tide_snapshot *snapshot = NULL;
    TIDE_TRY(tide_cli_load(path, &options->load, &snapshot, error));
    tide_harmless harmless;
    const tide_export_sink out = {.write = to_stdout, .ctx = &harmless};
    tide_harmless_begin(&harmless, stdout);
    tide_status status = options->strip_private ? tide_snapshot_strip_private(snapshot) : TIDE_OK;
    if (status == TIDE_OK) {
        status = options->output != NULL
                     ? write_file(exporter, snapshot, &chosen, options->output, error)
                     : tide_export(exporter, snapshot, &chosen, &out, error);
        tide_harmless_end(&harmless);
    }
    tide_snapshot_destroy(snapshot);
    return status;
}

static int run(int argc, char **argv) {
    export_options options = {.device = NOT_GIVEN};
    tide_operands operands = {.n = 0};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, &operands, &exit_status)) {
        return exit_status;
    }
    tide_error error = {""};
    errno = 0;
    tide_status status = export_file(&options, operands.texts[0], &error);
    if (options.output == NULL && errno == EPIPE && (ferror(stdout) || status == TIDE_IO)) {
        return TIDE_EXIT_SUCCESS; /* the reader has closed the pipe */
    }
    if (options.output == NULL && ferror(stdout)) {
        return tide_cli_finish("export", TIDE_EXIT_FAILURE);
    }
    return tide_cli_end("export", status, &error, TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_export = {
    .name = "export",
    .summary = "a snapshot in the format of another tool: perfetto, folded, csv, pytorch, parquet",
    .options = &TABLE,
    .run = run,
};
