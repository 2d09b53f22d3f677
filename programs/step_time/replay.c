#include "programs/step_time/replay.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/map.h"
#include "programs/step_time/captured.h"
#include "programs/step_time/work_internal.h"

/* ---- the model: each row's time, and dense numbers for streams and events ---- */

/* The number of a key; a new key gets the next number. */
static tide_status number_of(tide_map *map, uint64_t key, size_t *n, uint32_t *ret_number) {
    uint64_t number = *n;
    if (!tide_map_find(map, key, &number)) {
        TIDE_TRY(tide_map_put(map, key, number));
        (*n)++;
    }
    *ret_number = (uint32_t)number;
    return TIDE_OK;
}

static tide_status number_rows(tide_time_model *model, tide_map *streams, tide_map *events) {
    const tide_time_log *log = model->log;
    for (size_t i = 0; i < log->n_rows; i++) {
        const tide_run_launch *row = &log->rows[i];
        TIDE_TRY(
            number_of(streams, tide_time_stream_key(row), &model->n_lanes, &model->streams[i]));
        model->lanes[i] = model->streams[i];
        if (tide_time_is_of_event(row)) {
            TIDE_TRY(number_of(events, row->bytes, &model->n_events, &model->lanes[i]));
        }
    }
    return TIDE_OK;
}

/* A captured row adds to the sum of its graph and takes no time itself; a launch takes the sum. */
static tide_status time_row_of_graph(const tide_run_launch *row, tide_map *numbers,
                                     size_t *n_graphs, tide_work_time *sums, tide_work_time *work) {
    bool is_captured = (row->flags & TIDE_RUN_CAPTURED) != 0;
    bool is_launch = row->kind == TIDE_RUN_GRAPH_LAUNCH;
    uint32_t graph = 0;
    uint32_t inner = 0;
    TIDE_TRY(number_of(numbers, row->graph, n_graphs, &graph));
    if (is_captured && is_launch) {
        TIDE_TRY(number_of(numbers, row->m, n_graphs, &inner));
        tide_time_captured_add(&sums[graph], &sums[inner]);
    } else if (is_captured) {
        tide_time_captured_add(&sums[graph], work);
    } else if (is_launch) {
        *work = tide_time_captured_launch(&sums[graph]);
    }
    if (is_captured) {
        *work = tide_time_captured_row(work);
    }
    return TIDE_OK;
}

/* Launches of graphs get the sum of the work captured under their number. */
static tide_status time_graphs(tide_time_model *model) {
    const tide_time_log *log = model->log;
    tide_map numbers;
    size_t n_graphs = 0;
    tide_map_init(&numbers, log->mem);
    size_t room = 2 * log->n_rows + 1; /* a row names at most two graphs */
    tide_work_time *sums = tide_hostmem_zeroed(log->mem, room, sizeof(*sums));
    tide_status status = sums != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    for (size_t i = 0; i < log->n_rows && status == TIDE_OK; i++) {
        const tide_run_launch *row = &log->rows[i];
        if (row->graph != 0) {
            status = time_row_of_graph(row, &numbers, &n_graphs, sums, &model->work[i]);
        }
    }
    log->mem->release(log->mem->ctx, sums);
    tide_map_fini(&numbers);
    return status;
}

tide_status tide_time_model_init(const tide_time_log *log, const tide_time_constants *constants,
                                 const tide_time_card *card, tide_time_model *ret_model) {
    const tide_hostmem *mem = log->mem;
    size_t n = log->n_rows + 1;
    *ret_model = (tide_time_model){.log = log, .constants = constants, .card = card};
    ret_model->work = tide_hostmem_zeroed(mem, n, sizeof(*ret_model->work));
    ret_model->lanes = tide_hostmem_zeroed(mem, n, sizeof(*ret_model->lanes));
    ret_model->streams = tide_hostmem_zeroed(mem, n, sizeof(*ret_model->streams));
    if (ret_model->work == NULL || ret_model->lanes == NULL || ret_model->streams == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < log->n_rows; i++) {
        ret_model->work[i] = tide_work_time_of(constants, card, &log->rows[i]);
    }
    tide_time_collectives_place(log, ret_model->work);
    tide_map streams;
    tide_map events;
    tide_map_init(&streams, mem);
    tide_map_init(&events, mem);
    tide_status status = number_rows(ret_model, &streams, &events);
    tide_map_fini(&streams);
    tide_map_fini(&events);
    return status == TIDE_OK ? time_graphs(ret_model) : status;
}

void tide_time_model_fini(tide_time_model *model) {
    if (model->log != NULL) {
        const tide_hostmem *mem = model->log->mem;
        mem->release(mem->ctx, model->work);
        mem->release(mem->ctx, model->lanes);
        mem->release(mem->ctx, model->streams);
    }
    *model = (tide_time_model){.log = NULL};
}

/* ---- the clocks ---- */

typedef struct clocks {
    const tide_time_model *model;
    const tide_time_factors *factors;
    tide_time_clock clock;
    tide_time_stream *streams;     /* owned */
    double *events;                /* when the stream reached each event; owned */
    double kernels[UINT8_MAX + 1]; /* by device: when all kernels so far are done */
    tide_time_place *places;
} clocks;

static int by_begin(const void *a, const void *b) {
    const tide_time_place *one = a;
    const tide_time_place *other = b;
    return (one->begin_us > other->begin_us) - (one->begin_us < other->begin_us);
}

/* The time during which some stream had work: the intervals of all streams, sorted and joined.
 * Changes the places. With one stream they are already sorted. */
static double joined_us(tide_time_place *places, size_t n) {
    double busy = 0.0;
    double until = 0.0;
    bool is_ordered = true;
    for (size_t i = 1; i < n && is_ordered; i++) {
        is_ordered = places[i - 1].begin_us <= places[i].begin_us;
    }
    if (!is_ordered) {
        qsort(places, n, sizeof(*places), by_begin);
    }
    for (size_t i = 0; i < n; i++) {
        double begin = fmax(places[i].begin_us, until);
        busy += fmax(0.0, places[i].end_us - begin);
        until = fmax(until, places[i].end_us);
    }
    return busy;
}

/* Copies and collectives do not count as kernels here: they have their own engines and links, or
 * use few of the card's units. */
static bool is_of_kernels(const tide_run_launch *row) {
    return row->kind == TIDE_RUN_KERNEL || row->kind == TIDE_RUN_PRODUCT ||
           row->kind == TIDE_RUN_ATTENTION || row->kind == TIDE_RUN_CONVOLUTION ||
           row->kind == TIDE_RUN_GRAPH_LAUNCH;
}

static tide_time_place run_row(clocks *at, size_t i) {
    const tide_time_model *model = at->model;
    const tide_run_launch *row = &model->log->rows[i];
    bool is_serial = at->factors->is_serial && is_of_kernels(row) && model->work[i].us > 0.0;
    tide_time_stream *stream = &at->streams[model->streams[i]];
    double *event = tide_time_is_of_event(row) ? &at->events[model->lanes[i]] : NULL;
    double *kernels = &at->kernels[row->device];
    stream->done_us = is_serial ? fmax(stream->done_us, *kernels) : stream->done_us;
    tide_time_place place = tide_time_clock_do(&at->clock, at->factors, model->constants->launch_us,
                                               row, &model->work[i], stream, event);
    *kernels = is_serial ? place.end_us : *kernels;
    return place;
}

static void run(clocks *at, size_t first, size_t last) {
    const tide_time_model *model = at->model;
    const tide_run_launch *rows = model->log->rows;
    at->clock = tide_time_clock_at(first < last ? rows[first].host_ns : 0);
    for (size_t i = first; i < last; i++) {
        tide_time_clock_work(&at->clock, at->factors, rows[i].host_ns);
        at->places[i - first] = run_row(at, i);
    }
    if (last < model->log->n_rows && last > first) { /* the host continues to the next mark */
        tide_time_clock_work(&at->clock, at->factors, rows[last].host_ns);
    }
}

/* Gives a queue to each stream that may fill it; others need none. */
static tide_status make_queues(clocks *at, size_t first, size_t last) {
    const tide_time_model *model = at->model;
    const tide_hostmem *mem = model->log->mem;
    for (size_t i = first; i < last; i++) {
        at->streams[model->streams[i]].n_launches += model->work[i].us > 0.0;
    }
    for (size_t i = 0; i < model->n_lanes; i++) {
        tide_time_stream *stream = &at->streams[i];
        if (stream->n_launches > TIDE_TIME_QUEUE) {
            stream->queue_us = tide_hostmem_zeroed(mem, TIDE_TIME_QUEUE, sizeof(*stream->queue_us));
            if (stream->queue_us == NULL) {
                return TIDE_NO_MEMORY;
            }
        }
        stream->n_launches = 0;
    }
    return TIDE_OK;
}

static void release(clocks *at) {
    const tide_hostmem *mem = at->model->log->mem;
    for (size_t i = 0; at->streams != NULL && i < at->model->n_lanes; i++) {
        mem->release(mem->ctx, at->streams[i].queue_us);
    }
    mem->release(mem->ctx, at->places);
    mem->release(mem->ctx, at->streams);
    mem->release(mem->ctx, at->events);
}

tide_status tide_time_replay(const tide_time_model *model, const tide_time_factors *factors,
                             size_t first, size_t last, tide_time_place *ret_places,
                             tide_time_totals *ret_totals) {
    const tide_hostmem *mem = model->log->mem;
    tide_status status = TIDE_NO_MEMORY;
    clocks at = {.model = model, .factors = factors};
    at.places = tide_hostmem_zeroed(mem, last - first + 1, sizeof(*at.places));
    at.streams = tide_hostmem_zeroed(mem, model->n_lanes + 1, sizeof(*at.streams));
    at.events = tide_hostmem_zeroed(mem, model->n_events + 1, sizeof(*at.events));
    bool has_room = at.places != NULL && at.streams != NULL && at.events != NULL;
    if (has_room && make_queues(&at, first, last) == TIDE_OK) {
        run(&at, first, last);
        for (size_t i = 0; ret_places != NULL && i < last - first; i++) {
            ret_places[i] = at.places[i];
        }
        *ret_totals = (tide_time_totals){.total_us = fmax(at.clock.host_us, at.clock.last_us),
                                         .busy_us = joined_us(at.places, last - first),
                                         .host_us = at.clock.worked_us};
        status = TIDE_OK;
    }
    release(&at);
    return status;
}
