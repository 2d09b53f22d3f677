/* event_rows.h - the events of a document as rows, for tests that define or change them. */
#ifndef TIDE_TESTS_SUPPORT_EVENT_ROWS_H
#define TIDE_TESTS_SUPPORT_EVENT_ROWS_H

#include <stddef.h>
#include <stdlib.h>

#include "snapshot/document/snapshot.h"

/* Replaces the document's events by copies of the rows. Ends the test if there is no memory. */
static inline void event_rows_set(tide_snapshot *snapshot, const tide_event *rows, size_t n_rows) {
    if (tide_event_table_from_rows(&snapshot->arena, rows, n_rows, &snapshot->events) != TIDE_OK) {
        abort();
    }
    snapshot->n_events = n_rows;
}

/* All events; the caller frees them. Ends the test if there is no memory. */
static inline tide_event *event_rows_of(const tide_snapshot *snapshot) {
    tide_event *rows = calloc(snapshot->n_events + 1, sizeof(*rows));
    if (rows == NULL) {
        abort();
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        rows[i] = tide_event_at(snapshot, i);
    }
    return rows;
}

#endif
