/* fuzz_snapshot.c - loading any bytes yields a document or an error message, and every document
 * that loads can be summarised and exported. The build makes one target for each kind of file:
 * JSON, gzip and pickle.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "snapshot/export/export.h"
#include "snapshot/analysis/live_walk.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/summary.h"

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

static tide_status pass_block(void *ctx, const tide_walk_block *block) {
    (void)ctx;
    if (block->born > block->freed || block->freed > block->completed) {
        abort();
    }
    return TIDE_OK;
}

static tide_status pass_segment(void *ctx, const tide_walk_segment *segment) {
    (void)ctx;
    if (segment->born > segment->gone) {
        abort();
    }
    return TIDE_OK;
}

/* The walk that keeps only live blocks finds the figures of the summary. */
static void walk(const tide_snapshot *snapshot, const tide_summary *summary) {
    const tide_walk_sink sink = {pass_block, pass_segment, NULL};
    tide_live_walk *walk = NULL;
    tide_error error = {""};
    int64_t block = 0;
    tide_status status =
        tide_live_walk_create(snapshot, &sink, tide_hostmem_default(), &walk, &error);
    for (size_t i = 0; i < snapshot->n_events && status == TIDE_OK; i++) {
        const tide_event event = tide_event_at(snapshot, i);
        status = tide_live_walk_event(walk, &event, 0, &block, &error);
    }
    if (status != TIDE_OK || tide_live_walk_finish(walk) != TIDE_OK) {
        abort(); /* the summary could be made */
    }
    for (size_t i = 0; i < snapshot->n_devices; i++) {
        const tide_walk_device *of = tide_live_walk_device(walk, i);
        const tide_summary_device *stated = &summary->devices[i];
        if (memcmp(&of->now, &stated->end, sizeof(of->now)) != 0 ||
            memcmp(&of->at_peak, &stated->peak.totals, sizeof(of->at_peak)) != 0 ||
            memcmp(of->max, stated->max, sizeof(of->max)) != 0 ||
            memcmp(of->counts, stated->counts, sizeof(of->counts)) != 0 ||
            of->n_unmatched != stated->n_unmatched || of->peak_ns != stated->peak.time_ns) {
            abort();
        }
    }
    tide_live_walk_destroy(walk);
}

static void use(const tide_snapshot *snapshot) {
    size_t n_written = 0;
    const tide_export_sink sink = {swallow, &n_written};
    tide_summary *summary = NULL;
    tide_error error = {""};
    tide_status status = tide_summary_create(snapshot, &summary, &error);
    expect_message(status, &error);
    if (status == TIDE_OK) {
        walk(snapshot, summary);
    }
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
