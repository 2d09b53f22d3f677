/* Steps, what grows from one to the next, and the timeline. */
#include "snapshot/digest_internal.h"
#include "snapshot/steps.h"

/* The interval of a scope that is the step, or that of its events. */
static int64_t begin_of(const tide_snapshot *snapshot, const tide_steps *steps,
                        const tide_step *step) {
    bool is_scope = steps->source == TIDE_STEPS_RECORDED || steps->source == TIDE_STEPS_PROFILER;
    return is_scope ? snapshot->scopes[step->scope].begin_ns
                    : snapshot->events[step->first].time_ns;
}

static int64_t end_of(const tide_snapshot *snapshot, const tide_steps *steps,
                      const tide_step *step) {
    bool is_scope = steps->source == TIDE_STEPS_RECORDED || steps->source == TIDE_STEPS_PROFILER;
    const tide_scope_row *scope = is_scope ? &snapshot->scopes[step->scope] : NULL;
    return scope != NULL && scope->duration_ns >= 0 ? scope->begin_ns + scope->duration_ns
                                                    : snapshot->events[step->last].time_ns;
}

static const char *name_of(const tide_snapshot *snapshot, const tide_steps *steps,
                           const tide_step *step) {
    return steps->source == TIDE_STEPS_RECORDED
               ? tide_snapshot_text(snapshot, snapshot->scopes[step->scope].name)
               : "step";
}

static tide_digest_step describe(const tide_digest_parts *of, const tide_steps *steps,
                                 const tide_digest_device *device, const tide_step *step) {
    const tide_snapshot *snapshot = of->snapshot;
    int64_t reserved_bytes = 0;
    for (size_t row = step->first; row <= step->last; row++) {
        if ((int64_t)snapshot->events[row].device == device->index &&
            of->series->after[row].reserved_bytes > reserved_bytes) {
            reserved_bytes = of->series->after[row].reserved_bytes;
        }
    }
    return (tide_digest_step){.index = step->number,
                              .n_steps = 1,
                              .name = name_of(snapshot, steps, step),
                              .begin_ns = begin_of(snapshot, steps, step),
                              .end_ns = end_of(snapshot, steps, step),
                              .allocated_peak_bytes = step->peak_bytes,
                              .reserved_peak_bytes = reserved_bytes,
                              .end_bytes = step->end_bytes};
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static tide_status keep_steps(const tide_digest_parts *of, const tide_steps *steps,
                              tide_digest_device *device) {
    size_t each = steps->n_steps > 0 ? 1 + (steps->n_steps - 1) / TIDE_DIGEST_STEPS : 1;
    tide_digest_step *rows =
        tide_arena_alloc(of->arena, (steps->n_steps + each - 1) / each, sizeof(*rows));
    size_t n_rows = 0;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < steps->n_steps; i++) {
        tide_digest_step step = describe(of, steps, device, &steps->steps[i]);
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
    device->steps = rows;
    device->n_steps = n_rows;
    return TIDE_OK;
}

/* The mean growth of what is allocated at the ends of the measured steps. */
static tide_status add_growth(const tide_digest_parts *of, const tide_steps *steps,
                              tide_digest_device *device) {
    const tide_step *last = NULL;
    int64_t n_measured = 0;
    for (size_t i = steps->first_measured; i < steps->n_steps; i++) {
        if (!steps->steps[i].is_warmup && !steps->steps[i].is_open) {
            last = &steps->steps[i];
            n_measured++;
        }
    }
    if (n_measured < 2) {
        return TIDE_OK;
    }
    const tide_step *first = &steps->steps[steps->first_measured];
    tide_kept_list list;
    device->growth.is_known = true;
    device->growth.since_step = first->number;
    device->growth.bytes_per_step = (last->end_bytes - first->end_bytes) / (n_measured - 1);
    TIDE_TRY(
        tide_steps_growth(steps, of->lifetimes, (int64_t)first->last, (int64_t)last->last, &list));
    if (list.n_items > 0 && list.items[0].bytes > list.items[0].before_bytes &&
        device->growth.bytes_per_step > 0) {
        device->growth.line = tide_digest_line(of, list.items[0].stack);
    }
    tide_kept_list_fini(&list);
    return device->growth.line != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

tide_status tide_digest_add_steps(const tide_digest_parts *of, tide_digest_device *device) {
    tide_steps steps;
    TIDE_TRY(tide_steps_init(&steps, of->snapshot, of->lifetimes, (size_t)device->index));
    tide_status status = keep_steps(of, &steps, device);
    if (status == TIDE_OK) {
        status = add_growth(of, &steps, device);
    }
    tide_steps_fini(&steps);
    return status;
}

tide_status tide_digest_add_timeline(const tide_digest_parts *of, tide_digest_device *device) {
    const tide_snapshot *snapshot = of->snapshot;
    size_t n_points = (size_t)device->n_events < TIDE_DIGEST_POINTS ? (size_t)device->n_events
                                                                    : TIDE_DIGEST_POINTS;
    tide_digest_point *points = tide_arena_alloc(of->arena, n_points, sizeof(*points));
    size_t n_seen = 0;
    if (points == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < snapshot->n_events && n_points > 0; i++) {
        if ((int64_t)snapshot->events[i].device != device->index) {
            continue;
        }
        tide_digest_point *to = &points[n_seen * n_points / (size_t)device->n_events];
        to->time_ns = (int64_t)snapshot->events[i].time_ns;
        to->allocated_bytes = most(to->allocated_bytes, of->series->after[i].allocated_bytes);
        to->reserved_bytes = most(to->reserved_bytes, of->series->after[i].reserved_bytes);
        n_seen++;
    }
    device->points = points;
    device->n_points = n_points;
    device->timeline_begin_unix_us = snapshot->run.started_unix_us;
    return TIDE_OK;
}
