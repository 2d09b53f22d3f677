/* Puts the times of a forecast into a snapshot: its clock becomes the forecast's. */
#include <math.h>
#include <string.h>

#include "programs/launch/time.h"

enum { KERNEL_BYTES = 512 };

/* The same instant on both clocks. */
typedef struct point {
    int64_t recorded_ns, forecast_ns;
} point;

typedef struct builder {
    tide_snapshot *snapshot;
    const tide_time_model *model;
    const tide_time_ranges *ranges;
    const tide_time_forecast *forecast;
    tide_time_place *places; /* by row of the log; owned */
    tide_scope_row *scopes;  /* in the arena */
    size_t *ranges_of;       /* by scope: its range, counted from 1 on; 0 if it has none; owned */
    point *points;           /* owned; both times ascend */
    size_t n_points;
} builder;

static int64_t ns_of(double us) {
    return (int64_t)llround(us * 1e3);
}

static const tide_time_range *range_of(const builder *of, size_t scope) {
    size_t number = of->ranges_of[scope];
    if (number == 0) {
        return NULL;
    }
    return of->scopes[scope].kind == TIDE_SCOPE_STEP ? &of->ranges->steps[number - 1]
                                                     : &of->ranges->phases[number - 1];
}

/* ---- matching scopes to ranges of the log ---- */

/* Phases of a step have the same order in both; the document lacks phases without events. */
static size_t next_phase(const builder *of, size_t from, size_t step, const char *name) {
    for (size_t i = from; i < of->ranges->n_phases; i++) {
        const tide_time_range *range = &of->ranges->phases[i];
        if (range->step == step && strcmp(tide_time_phase_name(range->phase), name) == 0) {
            return i;
        }
    }
    return of->ranges->n_phases;
}

/* The step of the log that a scope is; below 0 if none. Our own runs number the steps of their
 * warm-up separately. */
static int64_t step_of(const builder *of, const tide_scope_row *scope) {
    const tide_snapshot *snapshot = of->snapshot;
    bool is_warmup = strcmp(tide_snapshot_text(snapshot, scope->name), "warmup") == 0;
    int64_t n_before =
        is_warmup || snapshot->timing.warmup_steps < 0 ? 0 : snapshot->timing.warmup_steps;
    return scope->index < 0 || scope->duration_ns < 0 ? -1 : scope->index + n_before;
}

static void pair_scopes(builder *of) {
    const tide_snapshot *snapshot = of->snapshot;
    size_t phase = 0;
    for (size_t i = 0; i < snapshot->n_scopes; i++) {
        const tide_scope_row *scope = &of->scopes[i];
        int64_t step = scope->kind == TIDE_SCOPE_STEP ? step_of(of, scope) : -1;
        if (step >= 0 && (size_t)step < of->ranges->n_steps && !of->ranges->is_whole) {
            of->ranges_of[i] = (size_t)step + 1;
        } else if (scope->kind == TIDE_SCOPE_PHASE && scope->parent != TIDE_NONE &&
                   of->ranges_of[scope->parent] > 0 &&
                   of->scopes[scope->parent].kind == TIDE_SCOPE_STEP) {
            size_t found = next_phase(of, phase, of->ranges_of[scope->parent] - 1,
                                      tide_snapshot_text(snapshot, scope->name));
            of->ranges_of[i] = found < of->ranges->n_phases ? found + 1 : 0;
            phase = found < of->ranges->n_phases ? found + 1 : phase;
        }
    }
}

/* ---- from one clock to the other ---- */

static void add_point(builder *of, int64_t recorded_ns, int64_t forecast_ns) {
    const point *last = &of->points[of->n_points - 1];
    if (recorded_ns > last->recorded_ns && forecast_ns >= last->forecast_ns) {
        of->points[of->n_points++] = (point){recorded_ns, forecast_ns};
    }
}

static int64_t host_ns(const builder *of, size_t row) {
    size_t n = of->model->log->n_rows;
    return ns_of(of->places[row < n ? row : n - 1].host_us);
}

/* The begins of all ranges, and the end of the last one. Scopes are ordered by their begins.
 */
static void collect_points(builder *of) {
    const tide_scope_row *last = NULL;
    size_t last_row = 0;
    of->points[of->n_points++] = (point){0, 0};
    for (size_t i = 0; i < of->snapshot->n_scopes; i++) {
        const tide_time_range *range = range_of(of, i);
        if (range == NULL) {
            continue;
        }
        add_point(of, of->scopes[i].begin_ns, host_ns(of, range->first));
        if (range->phase == TIDE_TIME_N_PHASES) {
            last = &of->scopes[i];
            last_row = range->last;
        }
    }
    if (last != NULL) {
        add_point(of, last->begin_ns + last->duration_ns, host_ns(of, last_row));
    }
}

/* Linear between two points; after the last point, as between the last two. */
static int64_t convert(const builder *of, int64_t recorded_ns) {
    size_t low = 0;
    size_t high = of->n_points;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (of->points[middle].recorded_ns <= recorded_ns) {
            low = middle;
        } else {
            high = middle;
        }
    }
    size_t next = low + 1 < of->n_points ? low + 1 : low;
    size_t from = next > low ? low : low - 1;
    const point *a = &of->points[from];
    const point *b = &of->points[next];
    double slope =
        (double)(b->forecast_ns - a->forecast_ns) / (double)(b->recorded_ns - a->recorded_ns);
    return of->points[low].forecast_ns +
           (int64_t)llround(slope * (double)(recorded_ns - of->points[low].recorded_ns));
}

/* When the card executes the launches of the range. */
static void set_device_times(const builder *of, const tide_time_range *range,
                             tide_scope_row *scope) {
    double begin = INFINITY;
    double end = -INFINITY;
    for (size_t i = range->first; i < range->last; i++) {
        if (of->model->work[i].us > 0.0) {
            begin = fmin(begin, of->places[i].begin_us);
            end = fmax(end, of->places[i].end_us);
        }
    }
    if (end >= begin) {
        scope->device_begin_ns = ns_of(begin);
        scope->device_duration_ns = ns_of(end) - ns_of(begin);
    }
}

static void convert_scopes(builder *of) {
    for (size_t i = 0; i < of->snapshot->n_scopes; i++) {
        tide_scope_row *scope = &of->scopes[i];
        int64_t begin_ns = convert(of, scope->begin_ns);
        if (scope->duration_ns > 0) {
            scope->duration_ns = convert(of, scope->begin_ns + scope->duration_ns) - begin_ns;
        }
        scope->begin_ns = begin_ns;
        const tide_time_range *range = range_of(of, i);
        if (range != NULL) {
            set_device_times(of, range, scope);
        }
    }
}

static tide_status convert_clock(builder *of) {
    tide_snapshot *snapshot = of->snapshot;
    int64_t *time_ns = tide_arena_copy(&snapshot->arena, snapshot->events.time_ns,
                                       snapshot->n_events, sizeof(*time_ns));
    if (time_ns == NULL) {
        return TIDE_NO_MEMORY;
    }
    collect_points(of);
    if (of->n_points < 2) {
        return TIDE_OK; /* no step is complete: keep the recording's own clock */
    }
    for (size_t i = 0; i < snapshot->n_events; i++) {
        time_ns[i] = convert(of, time_ns[i]);
    }
    convert_scopes(of);
    snapshot->events.time_ns = time_ns;
    snapshot->scopes = of->scopes;
    snapshot->clock_source = TIDE_CLOCK_FORECAST;
    return TIDE_OK;
}

/* ---- samples of steps, kernels, and the answer itself ---- */

/* Samples of a phase, or of the whole step (TIDE_TIME_N_PHASES), for the steps after the first. */
static tide_status sample(const builder *of, tide_time_phase phase, double *samples, size_t n) {
    const tide_time_factors factors = {of->forecast->host.factor, TIDE_TIME_LIKELY, false};
    bool is_step = phase == TIDE_TIME_N_PHASES;
    const tide_time_range *ranges = is_step ? of->ranges->steps : of->ranges->phases;
    size_t n_ranges = is_step ? of->ranges->n_steps : of->ranges->n_phases;
    size_t first = of->ranges->n_steps - n;
    for (size_t i = 0; i < n_ranges; i++) {
        tide_time_totals totals;
        size_t step = is_step ? i : ranges[i].step;
        if (ranges[i].phase != phase || step < first) {
            continue;
        }
        TIDE_TRY(
            tide_time_replay(of->model, &factors, ranges[i].first, ranges[i].last, NULL, &totals));
        samples[step - first] = fmax(0.0, samples[step - first]) + totals.total_us * 1e-3;
    }
    return TIDE_OK;
}

/* The number of steps after the warm-up. A program has no declared warm-up, but its first step is
 * like one, as are all steps before the replays of a captured one. */
static size_t n_samples(const builder *of) {
    size_t n_steps = of->ranges->n_steps;
    int64_t warmup = of->snapshot->timing.warmup_steps;
    size_t n_before = warmup > 0                 ? (size_t)warmup
                      : of->ranges->n_before > 0 ? of->ranges->n_before
                                                 : 1;
    return n_steps > n_before ? n_steps - n_before : n_steps;
}

static tide_status set_samples(builder *of) {
    static const tide_time_phase PHASES[] = {TIDE_TIME_FORWARD, TIDE_TIME_BACKWARD,
                                             TIDE_TIME_OPTIMIZER, TIDE_TIME_N_PHASES};
    enum { N = sizeof(PHASES) / sizeof(PHASES[0]) };
    tide_snapshot *snapshot = of->snapshot;
    size_t n = n_samples(of);
    tide_snapshot_phase *rows = tide_arena_alloc(&snapshot->arena, N, sizeof(*rows));
    size_t n_rows = 0;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < N; i++) {
        bool is_step = PHASES[i] == TIDE_TIME_N_PHASES;
        double *samples = tide_arena_alloc(&snapshot->arena, n, sizeof(*samples));
        double *none = tide_arena_alloc(&snapshot->arena, n, sizeof(*none));
        if (samples == NULL || none == NULL) {
            return TIDE_NO_MEMORY;
        }
        for (size_t k = 0; k < n; k++) {
            samples[k] = -1.0;
            none[k] = -1.0; /* not measured on the host */
        }
        if (is_step || of->forecast->phase_us[PHASES[i]] > 0.0) {
            TIDE_TRY(sample(of, PHASES[i], samples, n));
            rows[n_rows++] =
                (tide_snapshot_phase){.name = is_step ? "step" : tide_time_phase_name(PHASES[i]),
                                      .n_samples = n,
                                      .host_ms = none,
                                      .device_ms = samples};
        }
    }
    snapshot->timing.phases = rows;
    snapshot->timing.n_phases = n_rows;
    snapshot->timing.measured_steps = (int64_t)n;
    snapshot->timing.warmup_steps = (int64_t)(of->ranges->n_steps - n);
    snapshot->timing.flops = of->forecast->flops;
    return TIDE_OK;
}

/* Appends one text to the texts of the document. */
static tide_status add_string(tide_snapshot *snapshot, const char *text, uint32_t *ret_string) {
    for (size_t i = 0; i < snapshot->n_strings; i++) {
        if (strcmp(snapshot->strings[i], text) == 0) {
            *ret_string = (uint32_t)i;
            return TIDE_OK;
        }
    }
    const char **strings =
        tide_arena_alloc(&snapshot->arena, snapshot->n_strings + 1, sizeof(*strings));
    const char *copy = tide_arena_text(&snapshot->arena, text);
    if (strings == NULL || copy == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (snapshot->n_strings > 0) {
        memcpy(strings, snapshot->strings, snapshot->n_strings * sizeof(*strings));
    }
    strings[snapshot->n_strings] = copy;
    *ret_string = (uint32_t)snapshot->n_strings++;
    snapshot->strings = strings;
    return TIDE_OK;
}

/* Appends the kernels of a range. */
static tide_status add_kernels(tide_snapshot *snapshot, const tide_time_kernels *kernels,
                               const char *phase) {
    size_t n = snapshot->n_kernels;
    tide_kernel_row *rows = tide_arena_alloc(&snapshot->arena, n + kernels->n + 1, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (n > 0) {
        memcpy(rows, snapshot->kernels, n * sizeof(*rows));
    }
    for (size_t i = 0; i < kernels->n; i++) {
        char name[KERNEL_BYTES];
        const tide_time_kernel *from = &kernels->rows[i];
        tide_kernel_row *row = &rows[n + i];
        *row = (tide_kernel_row){.n_launches = from->n_launches,
                                 .total_ns = ns_of(from->us),
                                 .min_ns = ns_of(from->min_us),
                                 .max_ns = ns_of(from->max_us)};
        tide_time_kernel_name(from, name, sizeof(name));
        TIDE_TRY(add_string(snapshot, name, &row->name));
        TIDE_TRY(add_string(snapshot, phase, &row->phase));
        TIDE_TRY(add_string(snapshot, phase, &row->path));
    }
    snapshot->kernels = rows;
    snapshot->n_kernels = n + kernels->n;
    return TIDE_OK;
}

static tide_status add_kernels_of(builder *of, const tide_time_range *range, const char *phase) {
    const tide_hostmem *mem = of->model->log->mem;
    tide_time_kernels kernels = {.n = 0};
    tide_status status = tide_time_kernels_of(of->model, range, &kernels);
    if (status == TIDE_OK) {
        status = add_kernels(of->snapshot, &kernels, phase);
    }
    mem->release(mem->ctx, kernels.rows);
    return status;
}

/* The kernels of the answer's step, by phase. The replay of a captured step has no phases. */
static tide_status set_kernels(builder *of) {
    bool has_phases = false;
    of->snapshot->kernels = NULL;
    of->snapshot->n_kernels = 0;
    for (size_t i = 0; i < of->ranges->n_phases; i++) {
        const tide_time_range *range = &of->ranges->phases[i];
        if (range->step == of->forecast->step) {
            has_phases = true;
            TIDE_TRY(add_kernels_of(of, range, tide_time_phase_name(range->phase)));
        }
    }
    return has_phases ? TIDE_OK
                      : add_kernels_of(of, &of->ranges->steps[of->forecast->step], "step");
}

static tide_status set_answer(builder *of) {
    tide_snapshot *snapshot = of->snapshot;
    const tide_time_forecast *from = of->forecast;
    bool is_known = !from->is_lower_bound;
    snapshot->forecast =
        (tide_snapshot_forecast){.card = tide_arena_text(&snapshot->arena, from->card->card->name),
                                 .bound = tide_time_limit_name(from->limit),
                                 .step_ms = is_known ? from->likely.total_us * 1e-3 : -1.0,
                                 .low_ms = from->low.total_us * 1e-3,
                                 .high_ms = is_known ? from->high.total_us * 1e-3 : -1.0,
                                 .gpu_ms = is_known ? from->likely.busy_us * 1e-3 : -1.0,
                                 .host_ms = is_known ? from->likely.host_us * 1e-3 : -1.0,
                                 .utilisation = is_known ? from->utilisation : -1.0,
                                 .guessed_share = from->guessed_share,
                                 .uncompared_share = from->uncompared_share,
                                 .host_factor = from->host.factor,
                                 .is_calibrated = tide_time_is_calibrated(from),
                                 .n_steps = (int64_t)from->n_steps,
                                 .step = (int64_t)from->step};
    return snapshot->forecast.card != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status add(builder *of) {
    const tide_time_factors factors = {of->forecast->host.factor, TIDE_TIME_LIKELY, false};
    tide_time_totals totals;
    TIDE_TRY(set_answer(of));
    if (of->forecast->is_lower_bound || of->ranges->is_whole) {
        return TIDE_OK; /* an unknown time is not drawn */
    }
    TIDE_TRY(tide_time_replay(of->model, &factors, 0, of->model->log->n_rows, of->places, &totals));
    pair_scopes(of);
    TIDE_TRY(convert_clock(of));
    TIDE_TRY(set_samples(of));
    return set_kernels(of);
}

tide_status tide_launch_add_time(tide_snapshot *snapshot, const tide_time_model *model,
                                 const tide_time_ranges *ranges,
                                 const tide_time_forecast *forecast) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n_scopes = snapshot->n_scopes;
    builder of = {.snapshot = snapshot, .model = model, .ranges = ranges, .forecast = forecast};
    of.places = tide_hostmem_zeroed(mem, model->log->n_rows + 1, sizeof(*of.places));
    of.ranges_of = tide_hostmem_zeroed(mem, n_scopes + 1, sizeof(*of.ranges_of));
    of.points = tide_hostmem_zeroed(mem, n_scopes + 2, sizeof(*of.points));
    of.scopes = tide_arena_copy(&snapshot->arena, snapshot->scopes, n_scopes, sizeof(*of.scopes));
    tide_status status =
        of.places != NULL && of.ranges_of != NULL && of.points != NULL && of.scopes != NULL
            ? add(&of)
            : TIDE_NO_MEMORY;
    mem->release(mem->ctx, of.places);
    mem->release(mem->ctx, of.ranges_of);
    mem->release(mem->ctx, of.points);
    return status;
}
