/* Our own format, for a document that may have been read from another one. */
#include "snapshot/export/export_friend.h"

static tide_status export_tidemark(const tide_snapshot *snapshot,
                                   const tide_export_options *options, const tide_export_sink *sink,
                                   tide_error *error) {
    (void)options; /* the whole recording */
    tide_status status = tide_snapshot_write_to(snapshot, sink->write, sink->ctx, error);
    return status == TIDE_NO_MEMORY
               ? tide_fail(error, status, "no host memory to export the snapshot")
               : status;
}

const tide_exporter tide_exporter_tidemark = {
    .name = "tidemark",
    .what = "our own format, of any file that can be read",
    .write = export_tidemark,
};
