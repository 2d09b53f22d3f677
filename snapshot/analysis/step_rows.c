#include "snapshot/analysis/step_rows.h"

#include <string.h>

#include "common/assert.h"
#include "snapshot/analysis/step_finder.h"

enum { MAX_DEPTH = 1000 }; /* scopes around an event; bounds the time for each event */

tide_status tide_step_rows_init(tide_step_rows *rows, const tide_event_source *source,
                                const tide_hostmem *mem) {
    *rows = (tide_step_rows){
        .mem = mem, .source = source, .last_scope = TIDE_NONE, .last_step = TIDE_NONE};
    rows->devices = tide_hostmem_zeroed(mem, source->document->n_devices, sizeof(*rows->devices));
    return rows->devices != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

void tide_step_rows_fini(tide_step_rows *rows) {
    if (rows->mem == NULL) {
        return;
    }
    for (size_t i = 0; rows->devices != NULL && i < rows->source->document->n_devices; i++) {
        rows->mem->release(rows->mem->ctx, rows->devices[i].spans);
    }
    rows->mem->release(rows->mem->ctx, rows->devices);
    *rows = (tide_step_rows){.mem = NULL};
}

/* The outermost step around the scope; TIDE_NONE. */
static tide_status outermost_step(tide_step_rows *rows, uint32_t scope, uint32_t *ret_step,
                                  tide_error *error) {
    uint32_t step = TIDE_NONE;
    int depth = 0;
    for (uint32_t at = scope; at != TIDE_NONE; depth++) {
        tide_scope_row row;
        if (depth == MAX_DEPTH) {
            return TIDE_UNSUPPORTED;
        }
        TIDE_TRY(rows->source->scope(rows->source->ctx, at, &row, error));
        step = row.kind == TIDE_SCOPE_STEP ? at : step;
        at = row.parent;
    }
    *ret_step = step;
    return TIDE_OK;
}

/* The first span whose scope is not smaller. The last span is the most frequent answer. */
static size_t place_of(const tide_step_spans *of, uint32_t scope) {
    size_t low = 0;
    size_t high = of->n_spans;
    if (high > 0 && of->spans[high - 1].scope <= scope) {
        return of->spans[high - 1].scope == scope ? high - 1 : high;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (of->spans[middle].scope < scope) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Inserts a span by its scope: steps of several threads may come in another order than they began.
 */
static tide_status insert(const tide_step_rows *rows, tide_step_spans *of, size_t place,
                          tide_step_span span) {
    tide_step_span *grown =
        tide_hostmem_grow(rows->mem, of->spans, &of->capacity, of->n_spans + 1, sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    of->spans = grown;
    TIDE_ASSERT(place == 0 || grown[place - 1].scope < span.scope);
    TIDE_ASSERT(place == of->n_spans || span.scope < grown[place].scope);
    memmove(grown + place + 1, grown + place, (of->n_spans - place) * sizeof(*grown));
    grown[place] = span;
    of->n_spans++;
    return TIDE_OK;
}

tide_status tide_step_rows_note(tide_step_rows *rows, const tide_event *event, uint64_t row,
                                tide_error *error) {
    if (event->scope == TIDE_NONE) {
        return TIDE_OK;
    }
    if (event->scope != rows->last_scope) {
        TIDE_TRY(outermost_step(rows, event->scope, &rows->last_step, error));
        rows->last_scope = event->scope;
    }
    if (rows->last_step == TIDE_NONE) {
        return TIDE_OK;
    }
    tide_step_spans *of = &rows->devices[event->device];
    size_t place = place_of(of, rows->last_step);
    if (place == of->n_spans || of->spans[place].scope != rows->last_step) {
        return insert(rows, of, place, (tide_step_span){row, row, rows->last_step});
    }
    TIDE_ASSERT(of->spans[place].last <= row);
    of->spans[place].last = row;
    return TIDE_OK;
}

tide_status tide_step_rows_take(tide_step_rows *rows, tide_steps *steps, tide_error *error) {
    const tide_event_source *source = rows->source;
    tide_step_spans *of = &rows->devices[steps->device];
    size_t capacity = 0;
    steps->source = TIDE_STEPS_RECORDED;
    for (size_t i = 0; i < of->n_spans; i++) {
        tide_scope_row row;
        TIDE_TRY(source->scope(source->ctx, of->spans[i].scope, &row, error));
        const char *name = tide_snapshot_text(source->document, row.name);
        tide_step step = tide_step_of_scope(of->spans[i].scope, &row, name, row.index);
        step.first = (size_t)of->spans[i].first;
        step.last = (size_t)of->spans[i].last;
        TIDE_TRY(tide_steps_add(steps, &capacity, step));
    }
    rows->mem->release(rows->mem->ctx, of->spans);
    *of = (tide_step_spans){.spans = NULL};
    tide_steps_sort(steps);
    return TIDE_OK;
}
