#include "capture/recover.h"

#include <inttypes.h>
#include <string.h>

#include "capture/live_internal.h"
#include "capture/recover_internal.h"
#include "common/assert.h"

#define MAX_TIME_NS (INT64_MAX / 4)

/* ---- rows with impossible contents ---- */

/* Whether the place and the bytes of a row about a block or segment are possible. */
static bool is_place(const tide_event *row) {
    return row->block_bytes > 0 && row->block_bytes <= TIDE_MAX_BLOCK_BYTES &&
           row->requested_bytes <= row->block_bytes &&
           row->address <= (uint64_t)INT64_MAX - TIDE_MAX_BLOCK_BYTES;
}

bool tide_recovery_is_plausible(const tide_recovery *of, const tide_event *row) {
    if (row->device > 0 && !of->contents.is_of_live) { /* our own logs have one device */
        return false;
    }
    if (row->action >= TIDE_N_ACTIONS || row->category >= TIDE_N_CATEGORIES || row->time_ns < 0 ||
        row->time_ns > MAX_TIME_NS) {
        return false;
    }
    if (tide_action_has_address(row->action)) {
        return is_place(row);
    }
    return row->requested_bytes <= (uint64_t)INT64_MAX && row->block_bytes <= (uint64_t)INT64_MAX;
}

/* Drops impossible rows, and rows whose time is later than that of rows after them or earlier than
 * that of rows before them. */
static void drop_damaged(tide_recovery *of) {
    tide_event *rows = of->contents.events;
    size_t n_kept = 0;
    int64_t last_ns = 0;
    for (size_t i = 0; i < of->contents.n_events; i++) {
        bool is_early = rows[i].time_ns < last_ns;
        bool is_late = i + 1 < of->contents.n_events && rows[i].time_ns > rows[i + 1].time_ns &&
                       rows[i + 1].time_ns >= last_ns;
        if (tide_recovery_is_plausible(of, &rows[i]) && !is_early && !is_late) {
            last_ns = rows[i].time_ns;
            if (of->contents.order != NULL) {
                of->contents.order[n_kept] = of->contents.order[i];
            }
            rows[n_kept++] = rows[i];
        }
    }
    of->report->n_damaged += of->contents.n_events - n_kept;
    of->contents.n_events = n_kept;
}

tide_status tide_recovery_take_base(tide_recovery *of) {
    tide_event *base =
        tide_arena_alloc(&of->snapshot->arena, of->contents.n_base, sizeof(*of->base));
    if (base == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < of->contents.n_base; i++) {
        const tide_event *row = &of->contents.base[i];
        bool is_alive =
            row->action == TIDE_ACTION_ALLOC || row->action == TIDE_ACTION_FREE_REQUESTED ||
            row->action == TIDE_ACTION_SEGMENT_ALLOC || row->action == TIDE_ACTION_SEGMENT_MAP;
        if (is_alive && tide_recovery_is_plausible(of, row)) {
            base[of->n_base++] = *row;
        } else if (row->action != 0xff) { /* TIDE_BASE_UNUSED */
            of->report->n_damaged++;
        }
    }
    of->base = base;
    return TIDE_OK;
}

/* ---- the row that was being overwritten ---- */

/* Whether no part of the row's memory is mapped. */
static bool is_unmapped(const tide_recovery *of, const tide_event *row) {
    for (size_t i = 0; i < of->n_base; i++) {
        const tide_event *piece = &of->base[i];
        if (piece->action == TIDE_ACTION_SEGMENT_MAP &&
            piece->address < row->address + row->block_bytes &&
            row->address < piece->address + piece->block_bytes) {
            return false;
        }
    }
    return true;
}

/* Whether the base already holds the effect of the oldest row. A full log folds its oldest row into
 * the base before it overwrites the row, and the process may have ended between the two. */
bool tide_recovery_is_folded(const tide_recovery *of, const tide_event *row) {
    bool is_segment = row->action >= TIDE_ACTION_SEGMENT_ALLOC;
    const tide_event *there = NULL;
    for (size_t i = 0; i < of->n_base && there == NULL; i++) {
        bool same_kind = (of->base[i].action >= TIDE_ACTION_SEGMENT_ALLOC) == is_segment;
        there = same_kind && of->base[i].address == row->address ? &of->base[i] : NULL;
    }
    switch (row->action) {
    case TIDE_ACTION_ALLOC:
    case TIDE_ACTION_SEGMENT_ALLOC:
    case TIDE_ACTION_SEGMENT_MAP:
        return there != NULL && there->time_ns == row->time_ns;
    case TIDE_ACTION_FREE_REQUESTED:
        return there != NULL && there->action == TIDE_ACTION_FREE_REQUESTED;
    case TIDE_ACTION_SEGMENT_UNMAP:
        return is_unmapped(of, row);
    case TIDE_ACTION_OOM:
    case TIDE_ACTION_MARK:
        return false;
    default:
        return there == NULL;
    }
}

bool tide_recovery_may_be_folded(const tide_recovery *of) {
    const tide_log_contents *contents = &of->contents;
    TIDE_ASSERT(contents->fill.n_folded <= contents->fill.n_written);
    uint64_t n_kept = contents->fill.n_written - contents->fill.n_folded;
    uint64_t max_events = contents->header.layout.max_events;
    return !of->report->is_closed && n_kept + tide_log_fold_rows(max_events) > max_events &&
           contents->header.layout.max_base > 0;
}

static void drop_folded(tide_recovery *of) {
    tide_log_contents *contents = &of->contents;
    if (contents->n_events == 0 || !tide_recovery_may_be_folded(of) ||
        !tide_recovery_is_folded(of, &contents->events[0])) {
        return;
    }
    memmove(contents->events, contents->events + 1,
            --contents->n_events * sizeof(*contents->events));
    if (contents->order != NULL) {
        memmove(contents->order, contents->order + 1,
                contents->n_events * sizeof(*contents->order));
    }
    of->report->n_dropped++;
}

/* ---- references of rows ---- */

/* The document's number for a number in a row. If the journal lacks it, counts that and returns
 * TIDE_NONE. */
static uint32_t look_up(tide_recovery *of, const tide_map *map, uint32_t number) {
    uint64_t found = 0;
    if (number == TIDE_NONE) {
        return TIDE_NONE;
    }
    if (!tide_map_find(map, number, &found)) {
        of->report->n_references_lost++;
        return TIDE_NONE;
    }
    return (uint32_t)found;
}

void tide_recovery_refer(tide_recovery *of, tide_event *row) {
    row->stack = look_up(of, &of->tables.stack_of, row->stack);
    row->name = look_up(of, &of->tables.string_of, row->name);
    if (row->scope != TIDE_NONE && row->scope >= of->contents.n_scopes) {
        of->report->n_references_lost++;
        row->scope = TIDE_NONE;
    }
    if (row->stream >= of->n_streams) {
        of->report->n_references_lost += row->stream >= of->tables.n_streams && row->stream > 0;
        of->n_streams = (size_t)row->stream + 1;
    }
}

/* Repairs a scope with impossible values. `last_ns`: the start of the scope before it. */
void tide_recovery_repair_scope(tide_recovery *of, tide_scope_row *row, size_t i, uint32_t no_name,
                                int64_t *last_ns) {
    tide_scope_row good = *row;
    good.parent = row->parent != TIDE_NONE && row->parent >= i ? TIDE_NONE : row->parent;
    good.begin_ns =
        row->begin_ns < *last_ns || row->begin_ns > MAX_TIME_NS ? *last_ns : row->begin_ns;
    good.duration_ns =
        row->duration_ns < 0 || row->duration_ns > MAX_TIME_NS ? -1 : row->duration_ns;
    bool has_device = row->device_begin_ns >= 0 && row->device_begin_ns <= MAX_TIME_NS &&
                      row->device_duration_ns >= 0 && row->device_duration_ns <= MAX_TIME_NS;
    good.device_begin_ns = has_device ? row->device_begin_ns : -1;
    good.device_duration_ns = has_device ? row->device_duration_ns : -1;
    good.index = row->index < 0 ? -1 : row->index;
    good.kind = row->kind < TIDE_N_SCOPE_KINDS ? row->kind : TIDE_SCOPE_USER;
    if (memcmp(&good, row, offsetof(tide_scope_row, name)) != 0 || good.index != row->index ||
        good.kind != row->kind) {
        of->report->n_scopes_damaged++;
    }
    *last_ns = good.begin_ns;
    good.name = look_up(of, &of->tables.string_of, row->name);
    good.name = good.name == TIDE_NONE ? no_name : good.name;
    TIDE_ASSERT(good.parent == TIDE_NONE || good.parent < i);
    *row = good;
}

static tide_status repair_scopes(tide_recovery *of) {
    uint32_t no_name = 0;
    int64_t last_ns = 0;
    if (of->contents.n_scopes > 0) {
        TIDE_TRY(tide_strings_intern(&of->tables.strings, "?", &no_name));
    }
    for (size_t i = 0; i < of->contents.n_scopes; i++) {
        tide_recovery_repair_scope(of, &of->contents.scopes[i], i, no_name, &last_ns);
    }
    return TIDE_OK;
}

/* ---- the document ---- */

static void *keep(tide_arena *arena, const void *rows, size_t n_rows, size_t row_bytes) {
    void *copy = tide_arena_alloc(arena, n_rows, row_bytes);
    if (copy != NULL && n_rows > 0) {
        memcpy(copy, rows, n_rows * row_bytes);
    }
    return copy;
}

/* Makes the recording that tide_recorder_copy would have made, in the document's arena. */
tide_status tide_recovery_build_recording(tide_recovery *of) {
    tide_arena *arena = &of->snapshot->arena;
    const tide_log_contents *contents = &of->contents;
    const tide_log_tables *tables = &of->tables;
    size_t n_streams = of->n_streams > tables->n_streams ? of->n_streams : tables->n_streams;
    n_streams = n_streams > 0 ? n_streams : 1;
    size_t n_strings = tables->strings.n_texts;
    tide_recording *to = &of->recording;
    to->events = keep(arena, contents->events, contents->n_events, sizeof(tide_event));
    to->scopes = keep(arena, contents->scopes, contents->n_scopes, sizeof(tide_scope_row));
    to->streams = keep(arena, tables->streams, n_streams, sizeof(tide_stream_row));
    to->strings = tide_arena_alloc(arena, n_strings, sizeof(char *));
    if (to->events == NULL || to->scopes == NULL || to->streams == NULL || to->strings == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n_strings; i++) {
        to->strings[i] = tide_arena_text(arena, tables->strings.texts[i]);
        if (to->strings[i] == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    to->n_events = contents->n_events;
    to->n_scopes = contents->n_scopes;
    to->n_streams = n_streams;
    to->n_strings = n_strings;
    to->pcs = tables->pcs;
    to->stack_first = tables->stack_first;
    to->n_stacks = tables->n_stacks;
    to->full_policy = contents->header.layout.full_policy == TIDE_FULL_STOP ? TIDE_FULL_STOP
                                                                            : TIDE_FULL_KEEP_NEWEST;
    return TIDE_OK;
}

tide_status tide_recovery_describe(tide_recovery *of) {
    tide_snapshot *snapshot = of->snapshot;
    const tide_log_layout *layout = &of->contents.header.layout;
    TIDE_TRY(tide_log_texts_apply(&of->tables, snapshot));
    if (of->contents.is_of_live) {
        TIDE_TRY(tide_live_set_settings(&of->tables, snapshot));
    }
    snapshot->tool_version = TIDEMARK_VERSION;
    snapshot->tool_build = TIDEMARK_BUILD;
    snapshot->clock_source = "monotonic";
    snapshot->run.outcome = of->report->is_closed ? ""
                            : of->report->is_live ? TIDE_SNAPSHOT_RUNNING
                                                  : TIDE_SNAPSHOT_CRASHED;
    if (snapshot->n_dropped > of->report->n_dropped) {
        snapshot->full_policy = ""; /* events were lost for other reasons than a full log */
    }
    snapshot->run.started_unix_us = layout->created_unix_us > 0 ? layout->created_unix_us : -1;
    return TIDE_OK;
}

/* Our own logs have one device. */
void tide_recovery_repair_streams(tide_recovery *of) {
    for (size_t i = 0; i < of->tables.n_streams && !of->contents.is_of_live; i++) {
        of->report->n_records_damaged += of->tables.streams[i].device > 0;
        of->tables.streams[i].device = 0;
    }
}

/* The rows of programs/live/ lack the sizes of blocks. */
static tide_status size_blocks(tide_recovery *of) {
    const tide_live_tables rows = {.base = of->base,
                                   .n_base = of->n_base,
                                   .events = of->contents.events,
                                   .n_events = of->contents.n_events};
    return of->contents.is_of_live ? tide_live_size_blocks(&rows, &of->contents, &of->tables)
                                   : TIDE_OK;
}

/* A wrong counter hides the number of lost events, but at least one was. */
void tide_recovery_count_losses(tide_recovery *of) {
    const tide_recover_report *report = of->report;
    of->recording.n_dropped = report->n_dropped + report->n_missing + report->n_damaged +
                              report->n_unfit + report->n_event_counters_damaged;
    of->recording.n_scopes_dropped =
        report->n_scopes_refused + report->n_scopes_missing + report->n_scope_counters_damaged;
}

static tide_status build(tide_recovery *of) {
    tide_boundary_fit fit;
    TIDE_TRY(tide_log_tables_read(of->contents.journal, of->contents.n_journal_bytes, &of->tables,
                                  of->report));
    if (of->contents.is_of_live) {
        TIDE_TRY(tide_live_cut(&of->contents, &of->tables, of->report));
        TIDE_TRY(tide_live_split(&of->contents, &of->tables));
        TIDE_TRY(tide_live_take_calls(&of->contents, &of->tables));
    }
    TIDE_TRY(tide_recovery_take_base(of));
    drop_damaged(of);
    drop_folded(of);
    TIDE_TRY(size_blocks(of));
    TIDE_TRY(repair_scopes(of));
    tide_recovery_repair_streams(of);
    for (size_t i = 0; i < of->contents.n_events; i++) {
        tide_recovery_refer(of, &of->contents.events[i]);
    }
    for (size_t i = 0; i < of->n_base; i++) {
        tide_recovery_refer(of, &of->base[i]);
    }
    TIDE_TRY(tide_recovery_build_recording(of));
    TIDE_TRY(tide_boundary_make_fit(of->base, of->n_base, of->recording.events,
                                    &of->recording.n_events, &of->snapshot->arena, &fit));
    of->report->n_unfit = fit.n_unfit;
    of->report->n_events = of->recording.n_events;
    tide_recovery_count_losses(of);
    tide_capture_set_boundaries(&fit.start, &fit.end, of->snapshot);
    tide_capture_modules modules = {.modules = of->tables.modules,
                                    .n_modules = of->tables.n_modules,
                                    .python = of->tables.python,
                                    .n_python = of->tables.n_python};
    TIDE_TRY(tide_capture_tables(&of->recording, (tide_boundary *[2]){&fit.start, &fit.end},
                                 &modules, of->snapshot));
    /* The document has columns now. */
    tide_arena_release(&of->snapshot->arena, of->recording.events,
                       of->contents.n_events * sizeof(tide_event));
    of->recording.events = NULL;
    of->report->n_modules = modules.n_used;
    of->report->n_modules_absent = modules.n_absent;
    TIDE_TRY(tide_recovery_describe(of));
    return of->notes != NULL && of->contents.is_of_live
               ? tide_live_hand_over(&of->contents, &of->tables, &fit, of->snapshot, of->notes)
               : TIDE_OK;
}

tide_status tide_recover(const char *path, const tide_hostmem *mem, tide_snapshot **ret_snapshot,
                         tide_recover_report *ret_report, tide_error *error) {
    return tide_recover_with_notes(path, mem, ret_snapshot, ret_report, NULL, error);
}

tide_status tide_recover_with_notes(const char *path, const tide_hostmem *mem,
                                    tide_snapshot **ret_snapshot, tide_recover_report *ret_report,
                                    tide_recover_notes *ret_notes, tide_error *error) {
    tide_recover_report report = {.is_closed = false};
    mem = mem != NULL ? mem : tide_hostmem_default();
    tide_recovery of = {.mem = mem, .report = &report, .notes = ret_notes};
    if (ret_notes != NULL) {
        *ret_notes = (tide_recover_notes){.extras = NULL};
    }
    TIDE_TRY(tide_log_contents_read(path, mem, &of.contents, &report, error));
    tide_log_tables_init(&of.tables, mem);
    tide_status status = tide_snapshot_create(mem, &of.snapshot);
    if (status == TIDE_OK) {
        status = build(&of);
    }
    if (status != TIDE_OK) {
        tide_fail(error, status, "%s: no host memory for the log", path);
    } else if (ret_notes == NULL && report.n_events == 0 && of.snapshot->n_start_segments == 0) {
        status = tide_fail(error, TIDE_FORMAT,
                           "%s: no event of process %" PRIu64 " can be recovered: %" PRIu64
                           " were dropped, %" PRIu64 " are missing, %" PRIu64 " are damaged",
                           path, report.process_id, report.n_dropped, report.n_missing,
                           report.n_damaged + report.n_unfit);
    }
    tide_log_tables_fini(&of.tables);
    tide_log_contents_fini(&of.contents);
    if (status != TIDE_OK) {
        tide_snapshot_destroy(of.snapshot);
        return status;
    }
    *ret_snapshot = of.snapshot;
    *ret_report = report;
    return TIDE_OK;
}
