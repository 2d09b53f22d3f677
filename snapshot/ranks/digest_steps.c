/* Steps and the timeline. */
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "snapshot/ranks/digest_internal.h"

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* ---- before the second reading ---- */

/* Row at which a step begins to be measured. One that ends before it begins is measured at its end
 * alone: steps of several threads that are known by their ends can be so. */
static size_t entry_of(const tide_step *step) {
    return step->first < step->last ? step->first : step->last;
}

typedef struct entry {
    size_t row, step;
} entry;

static int by_row(const void *left, const void *right) {
    const entry *a = left;
    const entry *b = right;
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    return a->step < b->step ? -1 : a->step > b->step;
}

tide_status tide_digest_begin_steps(tide_digest_parts *of, tide_digest_work *work) {
    size_t n = work->steps.n_steps;
    entry *entries = tide_hostmem_zeroed(of->mem, n, sizeof(*entries));
    work->measured = tide_hostmem_zeroed(of->mem, n, sizeof(*work->measured));
    if (entries == NULL || work->measured == NULL) {
        of->mem->release(of->mem->ctx, entries);
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        entries[i] = (entry){entry_of(&work->steps.steps[i]), i};
    }
    if (n > 0) {
        qsort(entries, n, sizeof(*entries), by_row);
    }
    for (size_t i = 0; i < n; i++) {
        work->measured[i].enters = entries[i].step;
    }
    of->mem->release(of->mem->ctx, entries);
    return TIDE_OK;
}

tide_status tide_digest_begin_timeline(tide_digest_parts *of, tide_digest_device *device) {
    size_t n_points = (size_t)device->n_events < TIDE_DIGEST_POINTS ? (size_t)device->n_events
                                                                    : TIDE_DIGEST_POINTS;
    device->points = tide_arena_alloc(of->arena, n_points, sizeof(*device->points));
    device->n_points = n_points;
    device->timeline_begin_unix_us = of->snapshot->run.started_unix_us;
    return device->points != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

/* ---- while the events pass ---- */

void tide_digest_note_timeline(const tide_digest_parts *of, tide_digest_work *work,
                               const tide_event *event) {
    tide_digest_device *device = &work->made;
    const tide_totals *now = &tide_live_walk_device(of->walk, (size_t)device->index)->now;
    if ((int64_t)work->n_seen >= device->n_events) {
        return; /* the file has changed since the first reading */
    }
    tide_digest_point *to =
        &device->points[work->n_seen * device->n_points / (size_t)device->n_events];
    to->time_ns = event->time_ns;
    to->allocated_bytes = most(to->allocated_bytes, now->allocated_bytes);
    to->reserved_bytes = most(to->reserved_bytes, now->reserved_bytes);
    work->n_seen++;
}

static tide_status enter_steps(const tide_digest_parts *of, tide_digest_work *work, int64_t row) {
    const tide_steps *steps = &work->steps;
    while (work->n_entered < steps->n_steps) {
        size_t step = work->measured[work->n_entered].enters;
        TIDE_ASSERT((int64_t)entry_of(&steps->steps[step]) >= row); /* none was passed over */
        if ((int64_t)entry_of(&steps->steps[step]) != row) {
            break;
        }
        size_t *grown = tide_hostmem_grow(of->mem, work->within, &work->within_capacity,
                                          work->n_within + 1, sizeof(*grown));
        if (grown == NULL) {
            return TIDE_NO_MEMORY;
        }
        work->within = grown;
        work->within[work->n_within++] = step;
        work->n_entered++;
    }
    return TIDE_OK;
}

tide_status tide_digest_note_steps(tide_digest_parts *of, tide_digest_work *work,
                                   const tide_event *event, int64_t row) {
    const tide_totals *now = &tide_live_walk_device(of->walk, (size_t)work->made.index)->now;
    size_t n_left = 0;
    TIDE_TRY(enter_steps(of, work, row));
    for (size_t i = 0; i < work->n_within; i++) {
        tide_step *step = &work->steps.steps[work->within[i]];
        tide_digest_measured *measured = &work->measured[work->within[i]];
        if (step->first <= step->last) {
            step->peak_bytes = most(step->peak_bytes, now->allocated_bytes);
        }
        if (event->device == work->made.index && step->first <= step->last) {
            measured->reserved_peak_bytes =
                most(measured->reserved_peak_bytes, now->reserved_bytes);
        }
        if ((int64_t)step->last == row) {
            step->end_bytes = now->allocated_bytes;
            measured->last_ns = event->time_ns;
        } else {
            work->within[n_left++] = work->within[i];
        }
    }
    work->n_within = n_left;
    return TIDE_OK;
}

/* ---- at the end ---- */

/* The interval of a step is that of its scope, or that of its events. */
static tide_status describe(const tide_digest_parts *of, const tide_digest_work *work, size_t i,
                            tide_digest_step *ret_step) {
    const tide_step *step = &work->steps.steps[i];
    tide_step_source source = work->steps.source;
    *ret_step = (tide_digest_step){.index = step->number,
                                   .n_steps = 1,
                                   .name = "step",
                                   .end_ns = work->measured[i].last_ns,
                                   .allocated_peak_bytes = step->peak_bytes,
                                   .reserved_peak_bytes = work->measured[i].reserved_peak_bytes,
                                   .end_bytes = step->end_bytes};
    if (source != TIDE_STEPS_RECORDED && source != TIDE_STEPS_PROFILER) {
        ret_step->begin_ns = of->snapshot->events.time_ns[step->first]; /* only of a document */
        return TIDE_OK;
    }
    tide_scope_row scope;
    TIDE_TRY(of->events->scope(of->events->ctx, step->scope, &scope, of->error));
    ret_step->begin_ns = scope.begin_ns;
    if (scope.duration_ns >= 0) {
        ret_step->end_ns = scope.begin_ns + scope.duration_ns;
    }
    if (source == TIDE_STEPS_RECORDED) {
        ret_step->name = tide_snapshot_text(of->snapshot, scope.name);
    }
    return TIDE_OK;
}

tide_status tide_digest_end_steps(tide_digest_parts *of, tide_digest_work *work) {
    size_t n_steps = work->steps.n_steps;
    size_t each = n_steps > 0 ? 1 + (n_steps - 1) / TIDE_DIGEST_STEPS : 1;
    tide_digest_step *rows =
        tide_arena_alloc(of->arena, (n_steps + each - 1) / each, sizeof(*rows));
    size_t n_rows = 0;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < n_steps; i++) {
        tide_digest_step step;
        TIDE_TRY(describe(of, work, i, &step));
        if (i % each == 0) {
            rows[n_rows++] = step;
            continue;
        }
        tide_digest_step *to = &rows[n_rows - 1];
        to->n_steps++;
        to->end_ns = most(to->end_ns, step.end_ns);
        to->allocated_peak_bytes = most(to->allocated_peak_bytes, step.allocated_peak_bytes);
        to->reserved_peak_bytes = most(to->reserved_peak_bytes, step.reserved_peak_bytes);
        to->end_bytes = step.end_bytes;
    }
    work->made.steps = rows;
    work->made.n_steps = n_rows;
    return TIDE_OK;
}

void tide_digest_fini_steps(const tide_digest_parts *of, tide_digest_work *work) {
    tide_steps_fini(&work->steps);
    of->mem->release(of->mem->ctx, work->measured);
    of->mem->release(of->mem->ctx, work->within);
}
