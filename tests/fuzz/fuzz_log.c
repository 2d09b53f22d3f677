/* fuzz_log.c - recovering any bytes as a log file yields a valid document or an error message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/log_source.h"
#include "capture/recover.h"
#include "fuzz/fuzz.h"
#include "snapshot/ranks/digest.h"
#include "snapshot/analysis/summary.h"
#include "snapshot/document/validate.h"

/* Read piece by piece, the log gives the same events, and every scope. */
static void stream(const char *path, const tide_snapshot *whole,
                   const tide_recover_report *report) {
    tide_log_source *log = NULL;
    tide_error error = {""};
    tide_status status = tide_log_source_open(path, NULL, &log, &error);
    if (status == TIDE_UNSUPPORTED && error.message[0] == '\0') {
        return; /* only as a whole */
    }
    if (status != TIDE_OK) {
        abort();
    }
    const tide_event_source source = tide_log_source_events(log);
    tide_event_rows rows = {.n_events = 0};
    size_t n = 0;
    do {
        if (source.next(source.ctx, &rows, &error) != TIDE_OK ||
            n + rows.n_events > whole->n_events) {
            abort();
        }
        for (size_t i = 0; i < rows.n_events; i++) {
            const tide_event *event = &rows.events[i];
            const tide_event same = tide_event_at(whole, n++);
            if (memcmp(event, &same, offsetof(tide_event, stack)) != 0 ||
                (event->stack != TIDE_NONE && event->stack >= source.document->n_stacks) ||
                (event->scope != TIDE_NONE && event->scope >= source.n_scopes)) {
                abort();
            }
        }
    } while (rows.n_events > 0);
    for (uint32_t i = 0; i < source.n_scopes; i++) {
        tide_scope_row row;
        if (source.scope(source.ctx, i, &row, &error) != TIDE_OK ||
            (row.parent != TIDE_NONE && row.parent >= i) ||
            row.name >= source.document->n_strings) {
            abort();
        }
    }
    const tide_recover_report *found = tide_log_source_report(log);
    if (n != whole->n_events || source.n_scopes != whole->n_scopes ||
        source.document->n_dropped != whole->n_dropped || found->n_events != report->n_events ||
        found->n_damaged != report->n_damaged || found->n_unfit != report->n_unfit ||
        found->n_missing != report->n_missing || found->n_dropped != report->n_dropped) {
        abort();
    }
    tide_log_source_close(log);
}

/* Its digest is that of the snapshot's events read piece by piece, unless scopes are damaged: then
 * their begins may differ. Read as a whole, the snapshot has one as well, with causes. */
static void digest(const char *path, const tide_snapshot *whole,
                   const tide_recover_report *report) {
    const tide_digest_source named = {.path = "a.log", .rank = -1};
    tide_log_source *log = NULL;
    tide_digest *made[3] = {NULL, NULL, NULL};
    tide_document_events state;
    tide_event_source pieces = tide_event_source_of(whole, &state);
    pieces.is_whole = false;
    const char *texts[2] = {"", ""};
    size_t n_bytes[2] = {0, 0};
    tide_arena arena;
    tide_error error = {""};
    if (tide_log_source_open(path, NULL, &log, &error) != TIDE_OK) {
        return; /* only as a whole */
    }
    tide_arena_init(&arena, tide_hostmem_default());
    const tide_event_source source = tide_log_source_events(log);
    tide_status status = tide_digest_make_of_events(&source, &named, &arena, &made[0], &error);
    if (status == TIDE_OK &&
        (tide_digest_make(whole, &named, &arena, &made[2], &error) != TIDE_OK ||
         tide_digest_make_of_events(&pieces, &named, &arena, &made[1], &error) != TIDE_OK ||
         tide_digest_text(made[0], &arena, &texts[0], &n_bytes[0]) != TIDE_OK ||
         tide_digest_text(made[1], &arena, &texts[1], &n_bytes[1]) != TIDE_OK)) {
        abort();
    }
    if (n_bytes[0] != n_bytes[1] || memcmp(texts[0], texts[1], n_bytes[0]) != 0) {
        if (report->n_scopes_damaged == 0) {
            abort();
        }
    }
    tide_arena_fini(&arena);
    tide_log_source_close(log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    char path[32];
    char place[TIDE_PLACE_BYTES];
    tide_snapshot *snapshot = NULL;
    tide_summary *summary = NULL;
    tide_recover_report report;
    tide_error error = {""};
    const int file = memfd_create("log", 0);
    if (file < 0 || write(file, data, n_bytes) != (ssize_t)n_bytes) {
        abort();
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    tide_status status = tide_recover(path, NULL, &snapshot, &report, &error);
    if (status == TIDE_OK) {
        if (tide_snapshot_validate(snapshot, place, &error) != TIDE_OK) {
            abort();
        }
        stream(path, snapshot, &report);
        digest(path, snapshot, &report);
        status = tide_summary_create(snapshot, &summary, &error);
        tide_summary_destroy(summary);
        tide_snapshot_destroy(snapshot);
    }
    if (status != TIDE_OK && error.message[0] == '\0') {
        abort();
    }
    (void)close(file);
    return 0;
}
