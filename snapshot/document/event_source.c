#include "snapshot/document/event_source.h"

#include "common/assert.h"

static tide_status next_of_document(void *ctx, tide_event_rows *ret_rows, tide_error *error) {
    tide_document_events *state = ctx;
    const tide_snapshot *snapshot = state->snapshot;
    TIDE_ASSERT(state->n_read <= snapshot->n_events);
    size_t n_left = snapshot->n_events - state->n_read;
    size_t n_rows = n_left < TIDE_DOCUMENT_ROWS ? n_left : TIDE_DOCUMENT_ROWS;
    const uint8_t *certainty = snapshot->event_certainty;
    (void)error;
    for (size_t i = 0; i < n_rows; i++) {
        state->rows[i] = tide_event_at(snapshot, state->n_read + i);
    }
    *ret_rows = (tide_event_rows){.events = state->rows,
                                  .certainty = certainty != NULL ? certainty + state->n_read : NULL,
                                  .n_events = n_rows};
    state->n_read += n_rows;
    return TIDE_OK;
}

static tide_status scope_of_document(void *ctx, uint32_t number, tide_scope_row *ret_row,
                                     tide_error *error) {
    const tide_document_events *state = ctx;
    (void)error;
    TIDE_ASSERT(number < state->snapshot->n_scopes);
    *ret_row = state->snapshot->scopes[number];
    return TIDE_OK;
}

static tide_status restart_document(void *ctx, tide_error *error) {
    tide_document_events *state = ctx;
    (void)error;
    state->n_read = 0;
    return TIDE_OK;
}

tide_event_source tide_event_source_of(const tide_snapshot *snapshot, tide_document_events *state) {
    state->snapshot = snapshot;
    state->n_read = 0;
    return (tide_event_source){.document = snapshot,
                               .n_scopes = snapshot->n_scopes,
                               .next = next_of_document,
                               .scope = scope_of_document,
                               .restart = restart_document,
                               .ctx = state,
                               .is_whole = true};
}
