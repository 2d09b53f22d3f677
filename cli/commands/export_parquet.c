/* tidemark export --to parquet: tables in a folder, of a snapshot or of a log. */
#include "capture/log_source.h"
#include "cli/commands/export_internal.h"
#include "cli/load.h"
#include "cli/words/recovery_words.h"
#include "programs/launch/document/document.h"
#include "snapshot/export/parquet/export.h"

static tide_status export_document(const tide_export_folder *of, tide_snapshot *snapshot,
                                   tide_error *error) {
    tide_document_events state;
    if (of->strip_private) {
        TIDE_TRY(tide_snapshot_strip_private(snapshot));
    }
    const tide_event_source source = tide_event_source_of(snapshot, &state);
    return tide_parquet_export(&source, of->output, NULL, error);
}

/* The rows of a recorded program get their sizes and steps from one another, so its log is read as
 * a whole, and so is the log of a running process. */
static tide_status export_whole_log(const tide_export_folder *of, tide_error *error) {
    tide_snapshot *snapshot = NULL;
    tide_recover_report report;
    TIDE_TRY(tide_launch_recover(of->input, &snapshot, &report, error));
    tide_status status = export_document(of, snapshot, error);
    if (status == TIDE_OK) {
        tide_cli_tell_recovery("export", &report);
    }
    tide_snapshot_destroy(snapshot);
    return status;
}

static tide_status export_log(const tide_export_folder *of, tide_error *error) {
    tide_log_source *log = NULL;
    tide_status status = tide_log_source_open(of->input, NULL, &log, error);
    if (status == TIDE_UNSUPPORTED && error->message[0] == '\0') {
        return export_whole_log(of, error);
    }
    TIDE_TRY(status);
    status =
        of->strip_private ? tide_snapshot_strip_private(tide_log_source_document(log)) : status;
    if (status == TIDE_OK) {
        const tide_event_source source = tide_log_source_events(log);
        status = tide_parquet_export(&source, of->output, NULL, error);
    }
    if (status == TIDE_OK) {
        tide_cli_tell_recovery("export", tide_log_source_report(log));
    }
    tide_log_source_close(log);
    return status;
}

tide_status tide_export_to_folder(const tide_export_folder *of, tide_error *error) {
    if (of->output == NULL) {
        return tide_fail(error, TIDE_INVALID, "parquet is a folder of tables: name it with -o");
    }
    if (of->is_part) {
        return tide_fail(error, TIDE_INVALID,
                         "parquet holds the whole recording: an event or a device cannot be "
                         "chosen");
    }
    TIDE_TRY(tide_parquet_export_check(of->output, error));
    if (tide_log_source_is_log(of->input)) {
        if (of->load->rules != NULL || of->load->user_path != NULL) {
            return tide_fail(error, TIDE_INVALID,
                             "--rules and --user-path do not apply to a log: `tidemark recover` "
                             "makes a snapshot of it first");
        }
        return export_log(of, error);
    }
    tide_snapshot *snapshot = NULL;
    TIDE_TRY(tide_cli_load(of->input, of->load, &snapshot, error));
    tide_status status = export_document(of, snapshot, error);
    tide_snapshot_destroy(snapshot);
    return status;
}
