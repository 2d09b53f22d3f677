/* live_notes.c - the data of another program's log besides its events. Places in the log become
 * places among the remaining events. */
#include <string.h>

#include "capture/live_internal.h"
#include "common/assert.h"

typedef struct notes_maker {
    const tide_log_contents *contents; /* borrowed */
    const tide_log_tables *tables;     /* borrowed */
    const size_t *kept;                /* for each remaining event, its index as read */
    size_t n_events;
    tide_snapshot *snapshot; /* borrowed; the arena */
} notes_maker;

/* The number of remaining events that were among the first `n` as read. */
static size_t count_left(const notes_maker *of, size_t n) {
    size_t low = 0;
    size_t high = of->n_events;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (of->kept[middle] < n) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static uint32_t string_of(const notes_maker *of, uint32_t number) {
    uint64_t found = TIDE_NONE;
    (void)tide_map_find(&of->tables->string_of, number, &found);
    return (uint32_t)found;
}

/* The text of a number of the log; "" if there is none. The snapshot keeps it. */
static const char *text_of(const notes_maker *of, uint32_t number) {
    return tide_snapshot_text(of->snapshot, string_of(of, number));
}

static tide_status make_extras(const notes_maker *of, tide_recover_notes *to) {
    tide_recover_extra *extras =
        tide_arena_alloc(&of->snapshot->arena, of->n_events, sizeof(*extras));
    if (extras == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < of->n_events; i++) {
        const tide_live_extra *from = &of->contents->extras[of->kept[i]];
        extras[i] = (tide_recover_extra){
            .sequence = from->sequence,
            .node = string_of(of, from->node),
            .module = string_of(of, from->module),
            .pool = from->pool,
            .thread = from->thread,
            .mode = from->mode < TIDE_N_AUTOGRAD_MODES ? from->mode : TIDE_AUTOGRAD_UNKNOWN};
    }
    to->extras = extras;
    return TIDE_OK;
}

static tide_status tell_modes(const notes_maker *of, const tide_recover_notes *notes) {
    uint8_t *modes = tide_arena_alloc(&of->snapshot->arena, of->n_events, sizeof(*modes));
    bool is_known = false;
    if (modes == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < of->n_events; i++) {
        modes[i] = notes->extras[i].mode;
        is_known = is_known || modes[i] != TIDE_AUTOGRAD_UNKNOWN;
    }
    of->snapshot->event_mode = is_known ? modes : NULL;
    return TIDE_OK;
}

static tide_recover_call call_of(const notes_maker *of, const tide_live_note *note) {
    TIDE_ASSERT(note->row.action >= TIDE_LOG_DRIVER_FIRST);
    return (tide_recover_call){.n_before = count_left(of, note->n_before),
                               .row = note->row,
                               .action = note->row.action - TIDE_LOG_DRIVER_FIRST,
                               .function = text_of(of, note->row.name),
                               .owner = text_of(of, note->extra.node)};
}

static tide_recover_label label_of(const notes_maker *of, const tide_live_note *note) {
    return (tide_recover_label){.n_before = count_left(of, note->n_before),
                                .address = note->row.address,
                                .category = text_of(of, note->extra.node),
                                .name = text_of(of, note->row.name),
                                .certainty = note->row.category};
}

static tide_recover_mark mark_of(const notes_maker *of, const tide_live_note *note) {
    return (tide_recover_mark){.n_before = count_left(of, note->n_before),
                               .time_ns = note->row.time_ns,
                               .name = text_of(of, note->row.name),
                               .number = note->row.requested_bytes};
}

static tide_status make_notes(const notes_maker *of, tide_recover_notes *to) {
    const tide_log_contents *from = of->contents;
    tide_arena *arena = &of->snapshot->arena;
    size_t n_all = from->n_base_notes + from->n_notes;
    tide_recover_mark *marks = tide_arena_alloc(arena, n_all, sizeof(*marks));
    tide_recover_label *labels = tide_arena_alloc(arena, n_all, sizeof(*labels));
    tide_recover_call *calls = tide_arena_alloc(arena, n_all, sizeof(*calls));
    if (marks == NULL || labels == NULL || calls == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n_all; i++) {
        const tide_live_note *note =
            i < from->n_base_notes ? &from->base_notes[i] : &from->notes[i - from->n_base_notes];
        if (note->row.action == TIDE_LOG_LABEL_ACTION) {
            labels[to->n_labels++] = label_of(of, note);
        } else if (note->row.action == TIDE_ACTION_MARK) {
            marks[to->n_marks++] = mark_of(of, note);
        } else {
            calls[to->n_calls++] = call_of(of, note);
        }
    }
    to->marks = marks;
    to->labels = labels;
    to->calls = calls;
    return TIDE_OK;
}

static tide_status make_tables(const notes_maker *of, tide_recover_notes *to) {
    const tide_log_tables *from = of->tables;
    tide_arena *arena = &of->snapshot->arena;
    uint64_t(*pools)[2] = tide_arena_copy(arena, from->pools, from->n_pools, sizeof(*pools));
    tide_recover_text *texts = tide_arena_alloc(arena, from->n_texts, sizeof(*texts));
    if (pools == NULL || texts == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < from->n_texts; i++) {
        texts[i] = (tide_recover_text){.key = tide_arena_text(arena, from->texts[i].key),
                                       .value = tide_arena_text(arena, from->texts[i].value)};
        if (texts[i].key == NULL || texts[i].value == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    to->pools = (const uint64_t(*)[2])pools;
    to->n_pools = from->n_pools;
    to->texts = texts;
    to->n_texts = from->n_texts;
    return TIDE_OK;
}

tide_status tide_live_hand_over(const tide_log_contents *contents, const tide_log_tables *tables,
                                const tide_boundary_fit *fit, tide_snapshot *snapshot,
                                tide_recover_notes *ret_notes) {
    size_t *kept = tide_arena_alloc(&snapshot->arena, snapshot->n_events, sizeof(*kept));
    if (kept == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        kept[i] = contents->order[fit->kept[i]];
        TIDE_ASSERT(i == 0 || kept[i - 1] < kept[i]); /* count_left searches them */
    }
    notes_maker of = {.contents = contents,
                      .tables = tables,
                      .kept = kept,
                      .n_events = snapshot->n_events,
                      .snapshot = snapshot};
    tide_recover_notes notes = {.extras = NULL};
    notes.is_of_pytorch = contents->is_of_pytorch;
    notes.pinned_device = contents->pinned_device;
    TIDE_TRY(make_extras(&of, &notes));
    TIDE_TRY(make_notes(&of, &notes));
    TIDE_TRY(make_tables(&of, &notes));
    TIDE_TRY(tell_modes(&of, &notes));
    TIDE_TRY(tide_live_tell_pools(&notes, contents, fit, snapshot));
    *ret_notes = notes;
    return TIDE_OK;
}
