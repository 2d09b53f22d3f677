/* event_source.h - the events of a recording one after another, from a document or read piece by
 * piece from a log. A reader then needs memory for what is alive at one time, not for all events.
 *
 * One thread reads a source, from the first event to the last. A reader that must know the end
 * before it can judge an event reads the source twice.
 */
#ifndef TIDE_SNAPSHOT_EVENT_SOURCE_H
#define TIDE_SNAPSHOT_EVENT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Consecutive events. Valid until the next call of the source. */
typedef struct tide_event_rows {
    const tide_event *events;
    const uint8_t *certainty; /* tide_certainty of each; NULL: unknown for all */
    size_t n_events;          /* 0: the end */
} tide_event_rows;

typedef struct tide_event_source {
    /* Borrowed: names, stacks, devices and the state before the first event. Read events and
     * scopes through the calls below, not from this document; its end is not used. */
    const tide_snapshot *document;
    uint64_t n_scopes;
    tide_status (*next)(void *ctx, tide_event_rows *ret_rows, tide_error *error);
    /* Scope `number`, which is below n_scopes. Its parent has a smaller number. */
    tide_status (*scope)(void *ctx, uint32_t number, tide_scope_row *ret_row, tide_error *error);
    /* After this, `next` starts again from the first event. */
    tide_status (*restart)(void *ctx, tide_error *error);
    void *ctx;     /* borrowed; first argument of the calls */
    bool is_whole; /* the document also has the events and the scopes, and they may be read */
} tide_event_source;

enum { TIDE_DOCUMENT_ROWS = 128 }; /* of one answer; few enough for the stack */

/* State of a source that reads a document: turns its columns into rows, a few at a time. */
typedef struct tide_document_events {
    const tide_snapshot *snapshot; /* borrowed */
    size_t n_read;                 /* events returned so far */
    tide_event rows[TIDE_DOCUMENT_ROWS];
} tide_document_events;

/* `state` and the snapshot must outlive the source. */
tide_event_source tide_event_source_of(const tide_snapshot *snapshot, tide_document_events *state);

#ifdef __cplusplus
}
#endif

#endif
