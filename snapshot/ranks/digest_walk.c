/* The two readings of the events. */
#include "common/assert.h"
#include "snapshot/ranks/digest_internal.h"
#include "snapshot/analysis/step_finder.h"
#include "snapshot/analysis/step_rows.h"
#include "snapshot/analysis/summary.h"

bool tide_digest_has_memory(const tide_digest_device *device) {
    return device->n_events > 0 || device->max.reserved_bytes > 0;
}

/* Totals and the blocks that are alive are all that is asked for. */
static const tide_walk_sink NOTHING = {.block = NULL};

/* Reads all events; `after` is called after each, when the walk has taken it. */
static tide_status read_events(tide_digest_parts *of,
                               tide_status (*after)(tide_digest_parts *of, void *ctx,
                                                    const tide_event *event, int64_t row),
                               void *ctx) {
    tide_event_rows rows = {.n_events = 0};
    int64_t row = 0;
    do {
        TIDE_TRY(of->events->next(of->events->ctx, &rows, of->error));
        for (size_t i = 0; i < rows.n_events; i++, row++) {
            uint8_t certainty = rows.certainty != NULL ? rows.certainty[i] : TIDE_CERTAINTY_UNKNOWN;
            int64_t block = -1;
            TIDE_TRY(tide_live_walk_event(of->walk, &rows.events[i], certainty, &block, of->error));
            TIDE_TRY(after(of, ctx, &rows.events[i], row));
        }
    } while (rows.n_events > 0);
    bool has_nothing = row == 0 && of->snapshot->n_start_segments == 0;
    return has_nothing && !of->events->is_whole ? TIDE_UNSUPPORTED : TIDE_OK;
}

/* ---- the first reading ---- */

static void note_oom(tide_digest_work *work, const tide_event *event, int64_t row) {
    if (event->action != TIDE_ACTION_OOM || work->made.oom.event >= 0) {
        return;
    }
    work->made.oom.event = row;
    work->made.oom.time_ns = event->time_ns;
    work->made.oom.requested_bytes = (int64_t)event->requested_bytes;
    work->made.oom.free_bytes = tide_oom_free_bytes(event);
    work->oom_stack = event->stack;
}

/* `ctx`: the rows of the steps; NULL: the document has them. */
static tide_status after_first(tide_digest_parts *of, void *ctx, const tide_event *event,
                               int64_t row) {
    TIDE_ASSERT(event->device < of->snapshot->n_devices);
    note_oom(&of->work[event->device], event, row);
    return ctx != NULL ? tide_step_rows_note(ctx, event, (uint64_t)row, of->error) : TIDE_OK;
}

static tide_digest_bytes bytes_of(const tide_totals *totals) {
    return (tide_digest_bytes){totals->requested_bytes, totals->allocated_bytes,
                               totals->active_bytes, totals->reserved_bytes};
}

static void set_figures(const tide_digest_parts *of, size_t index, tide_digest_device *made) {
    const tide_walk_device *from = tide_live_walk_device(of->walk, index);
    const tide_snapshot_device *device = &of->snapshot->devices[index];
    const tide_snapshot_range *range = tide_snapshot_range_of(of->snapshot, index);
    int64_t reserved_bytes = from->max[TIDE_MAX_RESERVED].bytes;
    made->index = (int64_t)index;
    made->kind = device->kind;
    made->name = device->name;
    made->total_bytes = device->total_bytes;
    made->n_dropped = (int64_t)of->snapshot->n_dropped;
    made->peak.event = from->max[TIDE_MAX_ALLOCATED].event;
    made->peak.time_ns = from->peak_ns;
    made->peak.bytes = bytes_of(&from->at_peak);
    made->max = (tide_digest_bytes){from->max[TIDE_MAX_REQUESTED].bytes,
                                    from->max[TIDE_MAX_ALLOCATED].bytes,
                                    from->max[TIDE_MAX_ACTIVE].bytes, reserved_bytes};
    made->end = bytes_of(&from->now);
    made->headroom_bytes = device->total_bytes >= 0 ? device->total_bytes - reserved_bytes : -1;
    made->low_bytes = range != NULL ? range->allocated_low_bytes : -1;
    made->high_bytes = range != NULL ? range->allocated_high_bytes : -1;
    made->reserved_low_bytes = range != NULL ? range->reserved_low_bytes : -1;
    made->reserved_high_bytes = range != NULL ? range->reserved_high_bytes : -1;
    made->explained.failure = (tide_digest_failure){.event = -1, .line = ""};
    for (int i = 0; i < TIDE_N_ACTIONS; i++) {
        made->n_events += from->counts[i];
    }
}

/* The step and the phase that the row of the peak is in. */
static tide_status locate_peak(const tide_digest_parts *of, tide_digest_work *work) {
    bool has_step = false;
    bool has_phase = false;
    work->made.peak.step = -1;
    work->made.peak.phase = "";
    for (uint32_t i = work->peak_scope; i != TIDE_NONE;) {
        tide_scope_row row;
        TIDE_TRY(of->events->scope(of->events->ctx, i, &row, of->error));
        if (row.kind == TIDE_SCOPE_STEP && !has_step) {
            work->made.peak.step = row.index;
            has_step = true;
        }
        if (row.kind == TIDE_SCOPE_PHASE && !has_phase) {
            work->made.peak.phase = tide_snapshot_text(of->snapshot, row.name);
            has_phase = true;
        }
        i = row.parent;
    }
    return TIDE_OK;
}

/* The steps of a document may have to be inferred from what repeats. */
static tide_status find_steps(const tide_digest_parts *of, tide_step_rows *rows,
                              tide_digest_work *work) {
    tide_steps *steps = &work->steps;
    *steps = (tide_steps){.mem = of->mem, .device = (size_t)work->made.index};
    if (!of->events->is_whole) {
        TIDE_TRY(tide_step_rows_take(rows, steps, of->error));
        return steps->n_steps > 0 || work->made.n_events == 0 ? TIDE_OK : TIDE_UNSUPPORTED;
    }
    TIDE_TRY(tide_steps_find_named(steps, of->snapshot));
    if (steps->n_steps > 0) {
        return TIDE_OK;
    }
    tide_lifetimes lifetimes;
    TIDE_TRY(tide_lifetimes_init(&lifetimes, of->snapshot, of->mem, of->error));
    tide_status status = tide_steps_infer(steps, of->snapshot, &lifetimes);
    tide_lifetimes_fini(&lifetimes);
    return status;
}

/* What the first reading found of a device, and the room for what the second one does. */
static tide_status settle(tide_digest_parts *of, tide_step_rows *rows, size_t index) {
    tide_digest_work *work = &of->work[index];
    set_figures(of, index, &work->made);
    work->peak_scope = tide_live_walk_device(of->walk, index)->peak_scope;
    work->made.oom.line = "";
    if (!tide_digest_has_memory(&work->made)) {
        return TIDE_OK;
    }
    TIDE_TRY(locate_peak(of, work));
    if (work->made.oom.event >= 0) {
        work->made.oom.line = tide_digest_line(of, work->oom_stack);
    }
    if (work->made.oom.line == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_TRY(find_steps(of, rows, work));
    TIDE_TRY(tide_digest_begin_steps(of, work));
    return tide_digest_begin_timeline(of, &work->made);
}

static tide_status read_first(tide_digest_parts *of) {
    tide_step_rows rows;
    bool is_whole = of->events->is_whole;
    for (size_t i = 0; i < of->snapshot->n_devices; i++) {
        of->work[i].made.oom.event = -1;
        of->work[i].made.oom.time_ns = -1;
    }
    tide_status status = tide_step_rows_init(&rows, of->events, of->mem);
    if (status == TIDE_OK) {
        status = tide_live_walk_create(of->snapshot, &NOTHING, of->mem, &of->walk, of->error);
    }
    if (status == TIDE_OK) {
        status = read_events(of, after_first, is_whole ? NULL : &rows);
    }
    for (size_t i = 0; status == TIDE_OK && i < of->snapshot->n_devices; i++) {
        status = settle(of, &rows, i);
    }
    tide_step_rows_fini(&rows);
    return status;
}

/* ---- the second reading ---- */

static tide_status after_second(tide_digest_parts *of, void *ctx, const tide_event *event,
                                int64_t row) {
    (void)ctx;
    tide_digest_work *own = &of->work[event->device];
    tide_digest_note_timeline(of, own, event);
    if (row == own->made.peak.event) {
        TIDE_TRY(tide_digest_add_rows(of, &own->made));
    }
    for (size_t i = 0; i < of->snapshot->n_devices; i++) {
        if (of->work[i].steps.n_steps > 0) {
            TIDE_TRY(tide_digest_note_steps(of, &of->work[i], event, row));
        }
    }
    return TIDE_OK;
}

static tide_status read_second(tide_digest_parts *of) {
    tide_live_walk_destroy(of->walk);
    of->walk = NULL;
    TIDE_TRY(of->events->restart(of->events->ctx, of->error));
    TIDE_TRY(tide_live_walk_create(of->snapshot, &NOTHING, of->mem, &of->walk, of->error));
    for (size_t i = 0; i < of->snapshot->n_devices; i++) {
        if (of->work[i].made.peak.event < 0 && tide_digest_has_memory(&of->work[i].made)) {
            TIDE_TRY(tide_digest_add_rows(of, &of->work[i].made));
        }
    }
    TIDE_TRY(read_events(of, after_second, NULL));
    for (size_t i = 0; i < of->snapshot->n_devices; i++) {
        if (tide_digest_has_memory(&of->work[i].made)) {
            TIDE_TRY(tide_digest_end_steps(of, &of->work[i]));
        }
    }
    return TIDE_OK;
}

tide_status tide_digest_walk(tide_digest_parts *of) {
    TIDE_TRY(read_first(of));
    TIDE_TRY(read_second(of));
    return of->events->is_whole ? tide_digest_explain(of) : TIDE_OK;
}
