/* fuzz_snapshot.c - loading any bytes yields a document or an error message, and every document
 * that loads can be summarised and exported. The build makes one target for each kind of file:
 * JSON, gzip and pickle.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "snapshot/export.h"
#include "snapshot/snapshot.h"
#include "snapshot/summary.h"

static tide_status swallow(void *ctx, const char *bytes, size_t n_bytes) {
    size_t *n_written = ctx;
    (void)bytes;
    *n_written += n_bytes;
    return TIDE_OK;
}

/* Every failure must come with a message. */
static void expect_message(tide_status status, const tide_error *error) {
    if (status != TIDE_OK && error->message[0] == '\0') {
        abort();
    }
}

static void use(const tide_snapshot *snapshot) {
    size_t n_written = 0;
    const tide_export_sink sink = {swallow, &n_written};
    tide_summary *summary = NULL;
    tide_error error = {""};
    tide_status status = tide_summary_create(snapshot, &summary, &error);
    expect_message(status, &error);
    tide_summary_destroy(summary);
    for (size_t i = 0; tide_exporter_at(i) != NULL; i++) {
        error = (tide_error){""};
        status = tide_export(tide_exporter_at(i), snapshot, NULL, &sink, &error);
        expect_message(status, &error);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    char path[32];
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    const int file = memfd_create("input", 0);
    if (file < 0 || write(file, data, n_bytes) != (ssize_t)n_bytes) {
        abort();
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    tide_status status = tide_snapshot_load(path, NULL, &snapshot, &error);
    expect_message(status, &error);
    if (status == TIDE_OK) {
        use(snapshot);
        tide_snapshot_destroy(snapshot);
    }
    (void)close(file);
    return 0;
}
