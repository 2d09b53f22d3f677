/* The columns of a picture: the state that each shows, and its live bytes. */
#include <string.h>

#include "picture/series_internal.h"

/* ---- the curves over all states ---- */

/* Bytes shown in each state: n_events + 1 of them; NULL without memory. */
static int64_t *shown_totals(const tide_snapshot *snapshot, const tide_lifetimes *lifetimes,
                             size_t device, const tide_picture_bands *bands) {
    size_t n_states = snapshot->n_events + 1;
    int64_t *totals = tide_hostmem_zeroed(lifetimes->mem, n_states, sizeof(*totals));
    for (size_t i = 0; totals != NULL && i < lifetimes->n_lifetimes; i++) {
        const tide_lifetime *lifetime = &lifetimes->lifetimes[i];
        if (!tide_picture_counts(lifetime, device) ||
            bands->bands[bands->of_lifetime[i]].is_hidden) {
            continue;
        }
        totals[lifetime->born] += (int64_t)lifetime->block_bytes;
        if (lifetime->freed < n_states) {
            totals[lifetime->freed] -= (int64_t)lifetime->block_bytes;
        }
    }
    for (size_t s = 1; totals != NULL && s < n_states; s++) {
        totals[s] += totals[s - 1];
    }
    return totals;
}

/* Reserved bytes after a row, by the rule of the summary: a row that removes more than exists is
 * ignored. */
static int64_t reserved_after(const tide_event *event, size_t device, int64_t now_bytes) {
    int64_t n_bytes = (int64_t)event->block_bytes;
    if (event->device != device) {
        return now_bytes;
    }
    switch (event->action) {
    case TIDE_ACTION_SEGMENT_ALLOC:
    case TIDE_ACTION_SEGMENT_MAP:
        return now_bytes + n_bytes;
    case TIDE_ACTION_SEGMENT_FREE:
    case TIDE_ACTION_SEGMENT_UNMAP:
        return n_bytes <= now_bytes ? now_bytes - n_bytes : now_bytes;
    default:
        return now_bytes;
    }
}

/* Reserved bytes in each state; NULL without memory. */
static int64_t *reserved_states(const tide_snapshot *snapshot, const tide_hostmem *mem,
                                size_t device) {
    size_t n_states = snapshot->n_events + 1;
    int64_t *reserved = tide_hostmem_zeroed(mem, n_states, sizeof(*reserved));
    if (reserved == NULL) {
        return NULL;
    }
    tide_totals start;
    tide_lifetimes_reserved_at(snapshot, &(tide_instant){.device = device, .event = -1}, &start);
    reserved[0] = start.reserved_bytes;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event event = tide_event_at(snapshot, i);
        reserved[i + 1] = reserved_after(&event, device, reserved[i]);
    }
    return reserved;
}

/* ---- the states of a column ---- */

/* Walks the events once, from column to column. */
typedef struct walker {
    const tide_picture_axis *axis;
    size_t n_columns;
    size_t n_events;
    size_t n_before; /* events before the left edge of the next column */
} walker;

/* An edge of a column, exact: whole units from the axis' begin, and whether a part of one more. */
typedef struct edge {
    int64_t whole;
    bool has_part;
} edge;

static edge left_edge(const walker *walk, size_t column) {
    int64_t span = walk->axis->end - walk->axis->begin;
    int64_t n = (int64_t)walk->n_columns;
    int64_t c = (int64_t)column;
    int64_t rest = (span % n) * c; /* below 8000 * 8000 */
    return (edge){span / n * c + rest / n, rest % n != 0};
}

static bool stands_before(const walker *walk, size_t event, edge at) {
    int64_t place = tide_picture_axis_place(walk->axis, event) - walk->axis->begin;
    return place < at.whole || (place == at.whole && at.has_part);
}

/* The first and last state of the next column: those that hold at any instant from its left edge up
 * to, but not including, its right edge. The first column also has the state before the first
 * event. */
static void next_column(walker *walk, size_t column, size_t *ret_first, size_t *ret_last) {
    edge left = left_edge(walk, column);
    edge right = left_edge(walk, column + 1);
    size_t first = walk->n_before;
    if (column > 0 && first < walk->n_events && !left.has_part &&
        tide_picture_axis_place(walk->axis, first) - walk->axis->begin == left.whole) {
        first++; /* the previous state ends where the column begins */
    }
    while (walk->n_before < walk->n_events && stands_before(walk, walk->n_before, right)) {
        walk->n_before++;
    }
    *ret_first = first;
    *ret_last = walk->n_before > first ? walk->n_before : first;
}

static void choose_states(tide_picture_columns *columns, const tide_picture_axis *axis,
                          const int64_t *totals, const int64_t *reserved) {
    walker walk = {.axis = axis, .n_columns = columns->n, .n_events = axis->snapshot->n_events};
    columns->peak_bytes = -1;
    for (size_t c = 0; c < columns->n; c++) {
        size_t first = 0;
        size_t last = 0;
        next_column(&walk, c, &first, &last);
        if (c + 1 == columns->n) {
            last = walk.n_events; /* events at the very end */
        }
        size_t best = first;
        columns->reserved[c] = reserved[first];
        for (size_t s = first; s <= last; s++) {
            best = totals[s] > totals[best] ? s : best;
            columns->reserved[c] =
                reserved[s] > columns->reserved[c] ? reserved[s] : columns->reserved[c];
        }
        columns->states[c] = (uint32_t)best;
        columns->totals[c] = totals[best];
        if (totals[best] > columns->peak_bytes) {
            columns->peak_bytes = totals[best];
            columns->peak_state = (uint32_t)best;
            columns->peak_column = c;
        }
        columns->most_reserved = columns->reserved[c] > columns->most_reserved
                                     ? columns->reserved[c]
                                     : columns->most_reserved;
    }
}

static void note_ooms(tide_picture_columns *columns, const tide_snapshot *snapshot, size_t device,
                      const int64_t *totals) {
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event event = tide_event_at(snapshot, i);
        if (event.action != TIDE_ACTION_OOM || event.device != device) {
            continue;
        }
        if (columns->n_ooms < TIDE_PICTURE_MAX_OOMS) {
            columns->ooms[columns->n_ooms] =
                (tide_picture_oom){.event = (uint32_t)i,
                                   .total_bytes = totals[i + 1],
                                   .requested_bytes = (int64_t)event.requested_bytes};
        }
        columns->n_ooms++;
    }
}

/* ---- the bands of a column ---- */

/* The first column that shows this state or a later one. */
static size_t column_of(const tide_picture_columns *columns, uint32_t state) {
    size_t low = 0;
    size_t high = columns->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (columns->states[middle] < state) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Each block adds its bytes to the columns of its life: differences first, then their sums. */
static void fill_bands(tide_picture_columns *columns, const tide_lifetimes *lifetimes,
                       size_t device, tide_picture_bands *bands) {
    size_t n_bands = columns->n_bands;
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        const tide_lifetime *lifetime = &lifetimes->lifetimes[i];
        size_t band = bands->of_lifetime[i];
        if (!tide_picture_counts(lifetime, device)) {
            continue;
        }
        if (lifetime->born <= columns->peak_state && columns->peak_state < lifetime->freed) {
            bands->bands[band].peak_bytes += (int64_t)lifetime->block_bytes;
        }
        size_t from = column_of(columns, lifetime->born);
        size_t to = column_of(columns, lifetime->freed);
        if (from < to && !bands->bands[band].is_hidden) {
            columns->bytes[from * n_bands + band] += (int64_t)lifetime->block_bytes;
            if (to < columns->n) {
                columns->bytes[to * n_bands + band] -= (int64_t)lifetime->block_bytes;
            }
        }
    }
    for (size_t k = n_bands; k < columns->n * n_bands; k++) {
        columns->bytes[k] += columns->bytes[k - n_bands];
    }
}

tide_status tide_picture_columns_init(tide_picture_columns *columns, const tide_picture_axis *axis,
                                      const tide_lifetimes *lifetimes, size_t device,
                                      tide_picture_bands *bands, size_t n_columns) {
    const tide_hostmem *mem = lifetimes->mem;
    const tide_snapshot *snapshot = axis->snapshot;
    size_t n_bands = bands->n_bands;
    *columns = (tide_picture_columns){.mem = mem, .n = n_columns, .n_bands = n_bands};
    columns->states = tide_hostmem_zeroed(mem, n_columns, sizeof(*columns->states));
    columns->totals = tide_hostmem_zeroed(mem, n_columns, sizeof(*columns->totals));
    columns->reserved = tide_hostmem_zeroed(mem, n_columns, sizeof(*columns->reserved));
    columns->bytes = tide_hostmem_zeroed(mem, n_columns * n_bands, sizeof(*columns->bytes));
    int64_t *totals = shown_totals(snapshot, lifetimes, device, bands);
    int64_t *reserved = reserved_states(snapshot, mem, device);
    bool is_whole = columns->states != NULL && columns->totals != NULL &&
                    columns->reserved != NULL && columns->bytes != NULL && totals != NULL &&
                    reserved != NULL;
    if (is_whole) {
        choose_states(columns, axis, totals, reserved);
        note_ooms(columns, snapshot, device, totals);
        fill_bands(columns, lifetimes, device, bands);
    }
    mem->release(mem->ctx, totals);
    mem->release(mem->ctx, reserved);
    if (!is_whole) {
        tide_picture_columns_fini(columns);
        return TIDE_NO_MEMORY;
    }
    return TIDE_OK;
}

void tide_picture_columns_fini(tide_picture_columns *columns) {
    if (columns->mem == NULL) {
        return;
    }
    columns->mem->release(columns->mem->ctx, columns->states);
    columns->mem->release(columns->mem->ctx, columns->totals);
    columns->mem->release(columns->mem->ctx, columns->reserved);
    columns->mem->release(columns->mem->ctx, columns->bytes);
    *columns = (tide_picture_columns){.mem = NULL};
}
