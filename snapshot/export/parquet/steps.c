/* steps.c - the steps of each device, during the walk of the events. A step lasts from its first
 * event to its last (snapshot/analysis/steps.h), so amounts between two events of a step count only
 * when the second event comes. */
#include <string.h>

#include "snapshot/export/parquet/tables_internal.h"

enum { MAX_OPEN = 8 }; /* interleaved steps of different threads on one device */

typedef struct step_row {
    uint32_t scope;
    uint8_t device;
    uint16_t thread;
    int64_t index; /* -1: none */
    int64_t first, last, n_events;
    int64_t begin_ns, end_ns;
    int64_t peak_bytes, peak_reserved_bytes;     /* up to the last event */
    int64_t coming_bytes, coming_reserved_bytes; /* highest since then */
    int64_t end_bytes, end_reserved_bytes, end_blocks;
} step_row;

/* The steps of a device that may get more events, oldest first. */
typedef struct open_steps {
    step_row rows[MAX_OPEN];
    size_t n;
} open_steps;

struct tide_pq_steps {
    const tide_hostmem *mem;         /* borrowed */
    const tide_event_source *source; /* borrowed */
    tide_parquet_file *file;         /* borrowed; gets the steps that have ended */
    open_steps *open;                /* owned; one per device */
};

tide_status tide_pq_steps_create(const tide_event_source *source, tide_parquet_file *file,
                                 const tide_hostmem *mem, tide_pq_steps **ret_steps) {
    tide_pq_steps *steps = tide_hostmem_zeroed(mem, 1, sizeof(*steps));
    if (steps == NULL) {
        return TIDE_NO_MEMORY;
    }
    steps->mem = mem;
    steps->source = source;
    steps->file = file;
    steps->open = tide_hostmem_zeroed(mem, source->document->n_devices, sizeof(*steps->open));
    if (steps->open == NULL) {
        tide_pq_steps_destroy(steps);
        return TIDE_NO_MEMORY;
    }
    *ret_steps = steps;
    return TIDE_OK;
}

void tide_pq_steps_destroy(tide_pq_steps *steps) {
    if (steps != NULL) {
        steps->mem->release(steps->mem->ctx, steps->open);
        steps->mem->release(steps->mem->ctx, steps);
    }
}

/* ---- rows ---- */

static tide_status put_step(const tide_pq_steps *steps, const step_row *step, tide_error *error) {
    tide_parquet_file *file = steps->file;
    tide_scope_row scope;
    TIDE_TRY(steps->source->scope(steps->source->ctx, step->scope, &scope, error));
    const char *name = tide_snapshot_text(steps->source->document, scope.name);
    tide_pq_put_unless(file, STEP_STEP, step->index, -1);
    tide_parquet_put_text(file, STEP_NAME, name);
    tide_parquet_put_integer(file, STEP_SCOPE, step->scope);
    tide_parquet_put_integer(file, STEP_DEVICE, step->device);
    tide_parquet_put_integer(file, STEP_IS_WARMUP, strcmp(name, "warmup") == 0);
    tide_parquet_put_integer(file, STEP_IS_OPEN, scope.duration_ns == TIDE_SCOPE_OPEN);
    tide_parquet_put_integer(file, STEP_FIRST_EVENT, step->first);
    tide_parquet_put_integer(file, STEP_LAST_EVENT, step->last);
    tide_parquet_put_integer(file, STEP_BEGIN_NS, step->begin_ns);
    tide_parquet_put_integer(file, STEP_END_NS, step->end_ns);
    tide_parquet_put_integer(file, STEP_N_EVENTS, step->n_events);
    tide_parquet_put_integer(file, STEP_PEAK_ALLOCATED_BYTES, step->peak_bytes);
    tide_parquet_put_integer(file, STEP_PEAK_RESERVED_BYTES, step->peak_reserved_bytes);
    tide_parquet_put_integer(file, STEP_END_ALLOCATED_BYTES, step->end_bytes);
    tide_parquet_put_integer(file, STEP_END_RESERVED_BYTES, step->end_reserved_bytes);
    tide_parquet_put_integer(file, STEP_END_BLOCKS, step->end_blocks);
    return tide_parquet_end_row(file);
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* The next step of a thread ends its previous one; with too many threads, the oldest step ends. */
static tide_status begin_step(tide_pq_steps *steps, const tide_event *event,
                              const tide_pq_place *place, tide_error *error) {
    open_steps *open = &steps->open[event->device];
    size_t n_kept = 0;
    for (size_t i = 0; i < open->n; i++) {
        bool is_over = open->rows[i].thread == place->thread || (i == 0 && open->n == MAX_OPEN);
        if (is_over) {
            TIDE_TRY(put_step(steps, &open->rows[i], error));
        } else {
            open->rows[n_kept++] = open->rows[i];
        }
    }
    open->rows[n_kept] = (step_row){.scope = place->step,
                                    .device = event->device,
                                    .thread = place->thread,
                                    .index = place->step_index,
                                    .first = -1,
                                    .begin_ns = event->time_ns};
    open->n = n_kept + 1;
    return TIDE_OK;
}

static step_row *find_open(open_steps *open, uint32_t scope) {
    for (size_t i = open->n; i > 0; i--) {
        if (open->rows[i - 1].scope == scope) {
            return &open->rows[i - 1];
        }
    }
    return NULL;
}

tide_status tide_pq_steps_event(tide_pq_steps *steps, const tide_pq_moment *moment,
                                const tide_pq_place *place, tide_error *error) {
    const tide_event *event = moment->event;
    const tide_totals *now = moment->now;
    open_steps *open = &steps->open[event->device];
    bool is_within = place->step != TIDE_NONE;
    if (is_within && find_open(open, place->step) == NULL) {
        TIDE_TRY(begin_step(steps, event, place, error));
    }
    for (size_t i = 0; i < open->n; i++) {
        step_row *step = &open->rows[i];
        step->coming_bytes = larger(step->coming_bytes, now->allocated_bytes);
        step->coming_reserved_bytes = larger(step->coming_reserved_bytes, now->reserved_bytes);
    }
    step_row *step = is_within ? find_open(open, place->step) : NULL;
    if (step == NULL) {
        return TIDE_OK;
    }
    step->first = step->first < 0 ? moment->row : step->first;
    step->last = moment->row;
    step->end_ns = event->time_ns;
    step->n_events++;
    step->peak_bytes = larger(step->peak_bytes, step->coming_bytes);
    step->peak_reserved_bytes = larger(step->peak_reserved_bytes, step->coming_reserved_bytes);
    step->coming_bytes = 0;
    step->coming_reserved_bytes = 0;
    step->end_bytes = now->allocated_bytes;
    step->end_reserved_bytes = now->reserved_bytes;
    step->end_blocks = now->n_blocks;
    return TIDE_OK;
}

tide_status tide_pq_steps_finish(tide_pq_steps *steps, tide_error *error) {
    for (size_t d = 0; d < steps->source->document->n_devices; d++) {
        for (size_t i = 0; i < steps->open[d].n; i++) {
            TIDE_TRY(put_step(steps, &steps->open[d].rows[i], error));
        }
        steps->open[d].n = 0;
    }
    return TIDE_OK;
}
