#include "snapshot/document/event_source.h"

static tide_status next_of_document(void *ctx, tide_event_rows *ret_rows, tide_error *error) {
    tide_document_events *state = ctx;
    const tide_snapshot *snapshot = state->snapshot;
    (void)error;
    *ret_rows = (tide_event_rows){.events = snapshot->events,
                                  .certainty = snapshot->event_certainty,
                                  .n_events = state->is_read ? 0 : snapshot->n_events};
    state->is_read = true;
    return TIDE_OK;
}

static tide_status scope_of_document(void *ctx, uint32_t number, tide_scope_row *ret_row,
                                     tide_error *error) {
    const tide_document_events *state = ctx;
    (void)error;
    *ret_row = state->snapshot->scopes[number];
    return TIDE_OK;
}

static tide_status restart_document(void *ctx, tide_error *error) {
    tide_document_events *state = ctx;
    (void)error;
    state->is_read = false;
    return TIDE_OK;
}

tide_event_source tide_event_source_of(const tide_snapshot *snapshot, tide_document_events *state) {
    *state = (tide_document_events){.snapshot = snapshot};
    return (tide_event_source){.document = snapshot,
                               .n_scopes = snapshot->n_scopes,
                               .next = next_of_document,
                               .scope = scope_of_document,
                               .restart = restart_document,
                               .ctx = state,
                               .is_whole = true};
}

tide_status tide_event_source_step(const tide_event_source *source, uint32_t scope,
                                   bool *ret_is_found, uint32_t *ret_step, tide_scope_row *ret_row,
                                   tide_error *error) {
    *ret_is_found = false;
    while (scope != TIDE_NONE) {
        tide_scope_row row;
        TIDE_TRY(source->scope(source->ctx, scope, &row, error));
        if (row.kind == TIDE_SCOPE_STEP) {
            *ret_is_found = true;
            *ret_step = scope;
            *ret_row = row;
            return TIDE_OK;
        }
        scope = row.parent;
    }
    return TIDE_OK;
}
