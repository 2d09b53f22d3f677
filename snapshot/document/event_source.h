/* event_source.h - the events of a recording one after another, whether a document holds them or
 * they are read from a log piece by piece. Who reads them so needs memory for what is alive at
 * once, not for the events.
 *
 * A source is read from the first event to the last, by one thread. Who has to know the end before
 * it can judge an event reads it again.
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

/* Some events in a row. Valid until the next call of the source. */
typedef struct tide_event_rows {
    const tide_event *events;
    const uint8_t *certainty; /* tide_certainty of each; NULL: not known of any */
    size_t n_events;          /* 0: there are no more */
} tide_event_rows;

typedef struct tide_event_source {
    /* Borrowed: names, stacks, devices and the state before the first event. Its events, its scopes
     * and its end are not read: the calls below give them. */
    const tide_snapshot *document;
    uint64_t n_scopes;
    tide_status (*next)(void *ctx, tide_event_rows *ret_rows, tide_error *error);
    /* Scope `number`, which is below n_scopes. Its parent has a smaller number. */
    tide_status (*scope)(void *ctx, uint32_t number, tide_scope_row *ret_row, tide_error *error);
    /* The next call of `next` gives the first events again. */
    tide_status (*restart)(void *ctx, tide_error *error);
    void *ctx;     /* borrowed; the calls' first */
    bool is_whole; /* the document has the events and the scopes, too, and they may be read */
} tide_event_source;

enum { TIDE_DOCUMENT_ROWS = 128 }; /* that a document hands out together: few enough for a stack */

/* The events of a document, whose columns become rows a few at a time. */
typedef struct tide_document_events {
    const tide_snapshot *snapshot; /* borrowed */
    size_t n_read;                 /* events that were handed out */
    tide_event rows[TIDE_DOCUMENT_ROWS];
} tide_document_events;

/* `state` and the snapshot must outlive the source. */
tide_event_source tide_event_source_of(const tide_snapshot *snapshot, tide_document_events *state);

#ifdef __cplusplus
}
#endif

#endif
