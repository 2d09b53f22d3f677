/* Steps and phases. The marks of a process are in order, and each begins or ends an interval; an
 * event belongs to the last mark that is not after it. */
#include <stdlib.h>
#include <string.h>

#include "common/hostmem.h"
#include "programs/launch/document/document_internal.h"

/* A step or phase, as indices of marks. */
typedef struct interval {
    size_t first, last; /* it begins with mark `first` and ends with mark `last` */
    bool is_open;       /* nothing ended it */
    bool is_rest;       /* a phase that begins because another ended */
    uint32_t parent;    /* TIDE_NONE for a step */
    int32_t step;       /* number of the step */
    const char *name;
} interval;

typedef struct builder {
    tide_document *document;
    interval *all; /* in scratch; ordered by their begins */
    size_t n;
    uint32_t *after;  /* in scratch; for each mark, the innermost interval after it; or TIDE_NONE */
    int64_t *time_ns; /* in scratch; for each mark, the first event after it */
    uint32_t *within; /* in scratch; for each scope of the file, the interval around it; TIDE_NONE:
                       * not known yet, or none */
    uint32_t step, phase;
    int32_t n_steps;
    bool has_backward;    /* some mark is of a backward pass */
    bool is_by_call;      /* nothing is optimised: steps are calls */
    bool is_in_optimizer; /* its step has begun and not ended */
} builder;

static uint32_t begin(builder *to, size_t mark, uint32_t parent, const char *name) {
    to->all[to->n] = (interval){.first = mark,
                                .last = mark,
                                .is_open = true,
                                .parent = parent,
                                .step = to->n_steps,
                                .name = name};
    return (uint32_t)to->n++;
}

static void end(builder *to, size_t mark, uint32_t *which) {
    if (*which != TIDE_NONE) {
        to->all[*which].last = mark;
        to->all[*which].is_open = false;
        *which = TIDE_NONE;
    }
}

static void enter(builder *to, size_t mark, const char *phase) {
    end(to, mark, &to->phase);
    to->phase = to->step != TIDE_NONE ? begin(to, mark, to->step, phase) : TIDE_NONE;
}

/* A backward pass or a step of an optimizer is over. The forward pass of the next micro-batch
 * follows, unless an optimizer comes first. If the optimizer called the backward pass, as
 * `step(closure)` does, the optimizer continues. */
static void leave(builder *to, size_t mark) {
    enter(to, mark, to->is_in_optimizer ? "optimizer" : "forward");
    if (to->phase != TIDE_NONE) {
        to->all[to->phase].is_rest = true;
    }
}

/* An optimizer that calls the closure of its step has done nothing before: the interval since its
 * step began is the closure's forward pass. A backward pass inside another leaves the outer one
 * unchanged. */
static void begin_backward(builder *to, size_t mark) {
    interval *phase = to->phase != TIDE_NONE ? &to->all[to->phase] : NULL;
    if (phase != NULL && !phase->is_rest && strcmp(phase->name, "optimizer") == 0) {
        phase->name = "forward";
    }
    enter(to, mark, "backward");
}

/* If nothing is optimised, a step lasts from one call of the outermost module to the next. */
static void begin_call(builder *to, size_t mark) {
    if (to->step != TIDE_NONE) {
        end(to, mark, &to->phase);
        end(to, mark, &to->step);
        to->n_steps++;
    }
    to->is_by_call = true;
    to->step = begin(to, mark, TIDE_NONE, "step");
    if (to->has_backward) {
        enter(to, mark, "forward");
    }
}

static void take_mark(builder *to, size_t mark) {
    const char *name = to->document->left->marks[mark].name;
    if (strcmp(name, "step begins") == 0) {
        to->step = begin(to, mark, TIDE_NONE, "step");
        enter(to, mark, "forward");
    } else if (strcmp(name, "call begins") == 0) {
        begin_call(to, mark);
    } else if (strcmp(name, "backward begins") == 0) {
        begin_backward(to, mark);
    } else if (strcmp(name, "optimizer begins") == 0) {
        to->is_in_optimizer = true;
        enter(to, mark, "optimizer");
    } else if (strcmp(name, "backward ends") == 0) {
        leave(to, mark);
    } else if (strcmp(name, "optimizer ends") == 0) {
        to->is_in_optimizer = false; /* one whose step ends a step has "step ends" instead */
        leave(to, mark);
    } else if (strcmp(name, "step ends") == 0 ||
               (strcmp(name, "program ends") == 0 && to->is_by_call &&
                !to->document->left->is_out_of_memory)) {
        end(to, mark, &to->phase);
        end(to, mark, &to->step);
        to->n_steps++;
        to->is_in_optimizer = false;
    }
    to->after[mark] = to->phase != TIDE_NONE ? to->phase : to->step;
}

/* Between backward and optimizer there is no forward pass: work there, such as clipping, belongs
 * only to the step. The interval after the last step is not a step, unless memory ran out in it or
 * the program was killed. */
static void drop_empty(builder *of) {
    bool keeps_open = of->document->left->is_out_of_memory || of->document->left->was_cut;
    for (size_t i = 0; i < of->document->left->n_marks; i++) {
        uint32_t which = of->after[i];
        if (which == TIDE_NONE) {
            continue;
        }
        interval *phase = &of->all[which];
        interval *step = phase->parent != TIDE_NONE ? &of->all[phase->parent] : phase;
        bool is_gap = which + 1 < of->n && phase->is_rest && strcmp(phase->name, "forward") == 0 &&
                      strcmp(of->all[which + 1].name, "optimizer") == 0;
        if (step->is_open && !keeps_open) {
            of->after[i] = TIDE_NONE;
        } else if (is_gap) {
            of->after[i] = phase->parent;
        }
    }
}

/* A named interval of the program goes into a step or phase if it begins there. Otherwise it spans
 * several of them, and its events belong to them, because steps matter more. `earliest_ns`: the
 * last event before `ours`. Returns the scope of the event. */
static uint32_t nest(builder *of, uint32_t scope, uint32_t ours, int64_t earliest_ns,
                     int64_t *ret_begin_ns) {
    const tide_snapshot *snapshot = of->document->snapshot;
    uint32_t root = scope;
    while (snapshot->scopes[root].parent != TIDE_NONE) {
        root = snapshot->scopes[root].parent;
    }
    int64_t begin_ns = snapshot->scopes[root].begin_ns;
    if (of->within[root] == TIDE_NONE && ours != TIDE_NONE && begin_ns >= earliest_ns) {
        of->within[root] = ours;
        *ret_begin_ns = begin_ns < *ret_begin_ns ? begin_ns : *ret_begin_ns;
    }
    return ours == TIDE_NONE || of->within[root] == ours ? scope + (uint32_t)of->n : ours;
}

/* Gives each event its interval, and each mark its time. */
static void place_device(builder *of, size_t device) {
    const tide_left *left = of->document->left;
    tide_snapshot *snapshot = of->document->snapshot;
    int64_t row = tide_document_first_row(of->document, device);
    int64_t earliest_ns = 0; /* for the current interval: the last event before it */
    int64_t last_ns = 0;
    size_t n_passed = 0; /* marks */
    for (size_t i = 0; i < snapshot->n_events; i++) {
        const tide_event_table *events = &snapshot->events;
        uint32_t *scope = &of->document->scope[i];
        if (events->device[i] != device) {
            continue;
        }
        size_t first = n_passed;
        while (n_passed < left->n_marks && left->marks[n_passed].rows[device] <= row) {
            n_passed++;
        }
        earliest_ns = n_passed > first ? last_ns : earliest_ns;
        last_ns = events->time_ns[i];
        int64_t begin_ns = last_ns;
        uint32_t ours = n_passed > 0 ? of->after[n_passed - 1] : TIDE_NONE;
        *scope = *scope == TIDE_NONE ? ours : nest(of, *scope, ours, earliest_ns, &begin_ns);
        for (size_t m = first; m < n_passed; m++) {
            of->time_ns[m] =
                of->time_ns[m] < 0 || begin_ns < of->time_ns[m] ? begin_ns : of->time_ns[m];
        }
        row += tide_document_is_row(events->action[i]);
    }
}

/* Marks after the last event get its time; times never decrease from mark to mark. */
static void order_times(builder *of) {
    const tide_snapshot *snapshot = of->document->snapshot;
    int64_t latest_ns =
        snapshot->n_events > 0 ? snapshot->events.time_ns[snapshot->n_events - 1] : 0;
    for (size_t i = of->document->left->n_marks; i > 0; i--) {
        int64_t *time_ns = &of->time_ns[i - 1];
        *time_ns = *time_ns < 0 || *time_ns > latest_ns ? latest_ns : *time_ns;
        latest_ns = *time_ns;
    }
}

static tide_status make_row(const builder *of, const interval *from, tide_scope_row *ret) {
    int64_t begin_ns = of->time_ns[from->first];
    *ret = (tide_scope_row){.begin_ns = begin_ns,
                            .duration_ns = from->is_open ? -1 : of->time_ns[from->last] - begin_ns,
                            .device_begin_ns = -1,
                            .device_duration_ns = -1,
                            .parent = from->parent,
                            .index = from->parent == TIDE_NONE ? from->step : -1,
                            .kind = from->parent == TIDE_NONE ? TIDE_SCOPE_STEP : TIDE_SCOPE_PHASE};
    return tide_document_string(of->document, from->name, &ret->name);
}

/* Sorts the file's own scopes and ours by their begins; on ties ours come first, because they
 * enclose. */
static tide_status merge(const builder *of, const uint32_t *is_used) {
    tide_snapshot *snapshot = of->document->snapshot;
    size_t n_all = of->n + snapshot->n_scopes;
    tide_scope_row *rows = tide_arena_alloc(&snapshot->arena, n_all, sizeof(*rows));
    uint32_t *new_of = tide_arena_alloc(&snapshot->arena, n_all, sizeof(*new_of));
    size_t n = 0;
    size_t at = 0; /* of the file's own */
    if (rows == NULL || new_of == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i <= of->n; i++) {
        tide_scope_row ours = {.begin_ns = INT64_MAX};
        if (i < of->n) {
            TIDE_TRY(make_row(of, &of->all[i], &ours));
        }
        for (; at < snapshot->n_scopes && snapshot->scopes[at].begin_ns < ours.begin_ns; at++) {
            rows[n] = snapshot->scopes[at];
            rows[n].parent = rows[n].parent != TIDE_NONE   ? new_of[of->n + rows[n].parent]
                             : of->within[at] != TIDE_NONE ? new_of[of->within[at]]
                                                           : TIDE_NONE;
            new_of[of->n + at] = (uint32_t)n++;
        }
        if (i < of->n && is_used[i] != 0) {
            ours.parent = ours.parent == TIDE_NONE ? TIDE_NONE : new_of[ours.parent];
            rows[n] = ours;
            new_of[i] = (uint32_t)n++;
        }
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        uint32_t *scope = &of->document->scope[i];
        *scope = *scope == TIDE_NONE ? TIDE_NONE : new_of[*scope];
    }
    snapshot->scopes = rows;
    snapshot->n_scopes = n;
    return TIDE_OK;
}

/* Drops steps and phases without events, but keeps complete steps. */
static tide_status use(builder *of) {
    tide_snapshot *snapshot = of->document->snapshot;
    uint32_t *is_used = tide_arena_alloc(&snapshot->arena, of->n + 1, sizeof(*is_used));
    if (is_used == NULL) {
        return TIDE_NO_MEMORY;
    }
    memset(is_used, 0, (of->n + 1) * sizeof(*is_used));
    for (size_t i = 0; i < of->document->left->n_marks; i++) {
        for (uint32_t at = of->after[i]; at != TIDE_NONE; at = of->all[at].parent) {
            is_used[at] = 1;
        }
    }
    /* Scopes of the file are numbered after ours until both are merged. */
    for (size_t i = 0; i < snapshot->n_devices && i < of->document->left->n_devices; i++) {
        place_device(of, i);
    }
    order_times(of);
    return merge(of, is_used);
}

/* The number of the first step in the log: a full log may have dropped earlier ones. */
static int32_t first_step(const tide_left *left) {
    for (size_t i = 0; i < left->n_marks; i++) {
        const tide_left_mark *mark = &left->marks[i];
        bool is_begin =
            strcmp(mark->name, "step begins") == 0 || strcmp(mark->name, "call begins") == 0;
        if (is_begin && mark->number < INT32_MAX / 2) {
            return (int32_t)mark->number;
        }
    }
    return 0;
}

tide_status tide_document_add_steps(tide_document *document) {
    size_t n = document->left->n_marks;
    tide_arena *arena = &document->snapshot->arena;
    builder to = {.document = document, .step = TIDE_NONE, .phase = TIDE_NONE};
    if (n == 0) {
        return TIDE_OK;
    }
    to.all = tide_arena_alloc(arena, 2 * n, sizeof(*to.all));
    to.after = tide_arena_alloc(arena, n, sizeof(*to.after));
    to.time_ns = tide_arena_alloc(arena, n, sizeof(*to.time_ns));
    to.within = tide_arena_alloc(arena, document->snapshot->n_scopes, sizeof(*to.within));
    if (to.all == NULL || to.after == NULL || to.time_ns == NULL || to.within == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < document->snapshot->n_scopes; i++) {
        to.within[i] = TIDE_NONE;
    }
    for (size_t i = 0; i < n; i++) {
        const char *name = document->left->marks[i].name;
        to.has_backward = to.has_backward || strcmp(name, "backward begins") == 0;
    }
    to.n_steps = first_step(document->left);
    for (size_t i = 0; i < n; i++) {
        to.time_ns[i] = -1;
        take_mark(&to, i);
    }
    drop_empty(&to);
    return use(&to);
}
