#include <string.h>

#include "capture/live_internal.h"

/* Rows of the log, 64 bytes each, in the contents' room for events. */
static tide_live_row row_at(const tide_event *rows, size_t i) {
    tide_live_row row;
    memcpy(&row, (const unsigned char *)rows + i * sizeof(row), sizeof(row));
    return row;
}

static uint16_t pool_of(const tide_live_row *row) {
    return row->pool & ((1u << TIDE_LOG_POOL_BITS) - 1);
}

static tide_live_extra extra_of(const tide_live_row *row) {
    return (tide_live_extra){.sequence = row->sequence,
                             .node = row->node,
                             .module = row->module,
                             .pool = pool_of(row),
                             .thread = row->thread,
                             .mode = (uint8_t)(row->pool >> TIDE_LOG_POOL_BITS)};
}

/* PyTorch marks dumps and annotations in its own history; all other marks are ours, as are labels
 * and rows of the driver. */
static bool is_event(const tide_live_row *row, const tide_log_tables *tables) {
    uint64_t string = 0;
    if (row->event.action != TIDE_ACTION_MARK) {
        return row->event.action < TIDE_LOG_LABEL_ACTION;
    }
    if (!tide_map_find(&tables->string_of, row->event.name, &string)) {
        return true;
    }
    const char *name = tide_strings_text(&tables->strings, (uint32_t)string);
    return strcmp(name, "snapshot") == 0 || strcmp(name, "annotate") == 0;
}

static tide_status split_events(tide_log_contents *contents, const tide_log_tables *tables) {
    const tide_hostmem *mem = contents->mem;
    tide_event *rows = contents->events;
    size_t n_rows = contents->n_events;
    contents->n_events = 0;
    contents->events = mem->alloc(mem->ctx, (n_rows + 1) * sizeof(*contents->events));
    contents->extras = mem->alloc(mem->ctx, (n_rows + 1) * sizeof(*contents->extras));
    contents->order = mem->alloc(mem->ctx, (n_rows + 1) * sizeof(*contents->order));
    contents->notes = mem->alloc(mem->ctx, (n_rows + 1) * sizeof(*contents->notes));
    bool has_room = contents->events != NULL && contents->extras != NULL &&
                    contents->order != NULL && contents->notes != NULL;
    for (size_t i = 0; has_room && i < n_rows; i++) {
        tide_live_row row = row_at(rows, i);
        if (is_event(&row, tables)) {
            contents->extras[contents->n_events] = extra_of(&row);
            contents->order[contents->n_events] = contents->n_events;
            contents->events[contents->n_events++] = row.event;
        } else {
            contents->notes[contents->n_notes++] = (tide_live_note){
                .row = row.event, .extra = extra_of(&row), .n_before = contents->n_events};
        }
    }
    mem->release(mem->ctx, rows);
    return has_room ? TIDE_OK : TIDE_NO_MEMORY;
}

/* The label of a block whose row the ring has overwritten is in the base. */
static void take_base_label(tide_log_contents *contents, tide_live_row *row) {
    if (row->event.action != UINT8_MAX && row->event.category != TIDE_CERTAINTY_UNKNOWN) {
        tide_live_note label = {.row = row->event, .extra = extra_of(row)};
        label.row.action = TIDE_LOG_LABEL_ACTION;
        contents->base_notes[contents->n_base_notes++] = label;
    }
    row->event.category = TIDE_UNKNOWN;
    row->event.name = TIDE_NONE;
}

static void take_base_pool(tide_log_contents *contents, const tide_live_row *row) {
    bool is_memory = row->event.action == TIDE_ACTION_SEGMENT_ALLOC ||
                     row->event.action == TIDE_ACTION_SEGMENT_MAP;
    if (is_memory && pool_of(row) > 0) {
        contents->base_pools[contents->n_base_pools++] =
            (tide_live_pooled){.address = row->event.address,
                               .n_bytes = row->event.block_bytes,
                               .pool = pool_of(row),
                               .device = row->event.device};
    }
}

static tide_status split_base(tide_log_contents *contents) {
    const tide_hostmem *mem = contents->mem;
    tide_event *rows = contents->base;
    size_t n_rows = contents->n_base;
    contents->n_base = 0;
    contents->base = mem->alloc(mem->ctx, (n_rows + 1) * sizeof(*contents->base));
    contents->base_notes = mem->alloc(mem->ctx, (n_rows + 1) * sizeof(*contents->base_notes));
    contents->base_pools = mem->alloc(mem->ctx, (n_rows + 1) * sizeof(*contents->base_pools));
    bool has_room =
        contents->base != NULL && contents->base_notes != NULL && contents->base_pools != NULL;
    for (size_t i = 0; has_room && i < n_rows; i++) {
        tide_live_row row = row_at(rows, i);
        bool is_unused = row.event.action == UINT8_MAX;
        if (is_unused || row.event.action < TIDE_LOG_DRIVER_FIRST) {
            take_base_label(contents, &row);
            take_base_pool(contents, &row);
            contents->base[contents->n_base++] = row.event;
        } else {
            contents->base_notes[contents->n_base_notes++] =
                (tide_live_note){.row = row.event, .extra = extra_of(&row)};
        }
    }
    mem->release(mem->ctx, rows);
    return has_room ? TIDE_OK : TIDE_NO_MEMORY;
}

tide_status tide_live_split(tide_log_contents *contents, const tide_log_tables *tables) {
    TIDE_TRY(split_events(contents, tables));
    return split_base(contents);
}
