#include "step_time/replay.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/map.h"
#include "step_time/forecast.h"
#include "step_time/work_internal.h"

/* ---- the model: each row's time, and dense numbers for streams and events ---- */

static bool is_of_event(const tide_run_launch *row) {
    return row->kind == TIDE_RUN_RECORD || row->kind == TIDE_RUN_STREAM_WAIT ||
           row->kind == TIDE_RUN_WAIT_EVENT;
}

/* The number of a key, which is new the first time. */
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
        uint64_t stream = tide_hash_u64(row->stream) ^ row->device;
        TIDE_TRY(number_of(streams, stream, &model->n_lanes, &model->streams[i]));
        model->lanes[i] = model->streams[i];
        if (is_of_event(row)) {
            TIDE_TRY(number_of(events, row->bytes, &model->n_events, &model->lanes[i]));
        }
    }
    return TIDE_OK;
}

/* A graph, while its rows are added up. */
typedef struct graph_sum {
    tide_work_time work;
    double us[TIDE_TIME_N_BASES]; /* of it, by how well it is known */
} graph_sum;

static void add_to_graph(graph_sum *sum, const tide_work_time *work) {
    sum->work.us += work->us;
    sum->work.flops += work->flops;
    sum->us[work->basis] += work->us;
    sum->work.bound = TIDE_TIME_BY_MEMORY;
}

/* As well known as all but the part that a forecast may have of worse. */
static tide_work_time whole_graph(const graph_sum *sum) {
    tide_work_time whole = sum->work;
    double most = TIDE_TIME_MOST_GUESSED * whole.us;
    double guessed = sum->us[TIDE_TIME_GUESSED];
    whole.basis = guessed > most                                   ? TIDE_TIME_GUESSED
                  : guessed + sum->us[TIDE_TIME_UNCOMPARED] > most ? TIDE_TIME_UNCOMPARED
                                                                   : TIDE_TIME_COMPARED;
    return whole;
}

/* What a graph does when it is launched: the sum of what was captured under its number. The
 * times of its kernels are their own; a graph's kernels follow each other without the host. */
static tide_status time_graphs(tide_time_model *model) {
    const tide_time_log *log = model->log;
    tide_map numbers;
    size_t n_graphs = 0;
    tide_map_init(&numbers, log->mem);
    graph_sum *sums = tide_hostmem_zeroed(log->mem, log->n_rows + 1, sizeof(*sums));
    tide_status status = sums != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    for (size_t i = 0; i < log->n_rows && status == TIDE_OK; i++) {
        const tide_run_launch *row = &log->rows[i];
        uint32_t graph = 0;
        if (row->graph == 0) {
            continue;
        }
        status = number_of(&numbers, row->graph, &n_graphs, &graph);
        if (status != TIDE_OK) {
            break;
        }
        tide_work_time *work = &model->work[i];
        if (row->kind == TIDE_RUN_GRAPH_LAUNCH) {
            *work = whole_graph(&sums[graph]);
        } else if ((row->flags & TIDE_RUN_CAPTURED) != 0) {
            add_to_graph(&sums[graph], work);
            *work = (tide_work_time){.us = 0.0};
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
    double *streams; /* when each is done with what it was given; owned */
    double *events;  /* when the stream had come so far; owned */
    tide_time_place *places;
    double host_us, worked_us;
    double last_us; /* the latest end of any stream */
} clocks;

static bool is_launched(const tide_run_launch *row) {
    return (row->kind >= TIDE_RUN_KERNEL && row->kind <= TIDE_RUN_GRAPH_LAUNCH) &&
           (row->flags & TIDE_RUN_CAPTURED) == 0;
}

static double scaled_us(const clocks *at, const tide_work_time *work) {
    return work->us *
           (work->basis == TIDE_TIME_COMPARED ? at->factors->compared : at->factors->uncompared);
}

static void wait_until(clocks *at, double us) {
    at->host_us = fmax(at->host_us, us);
}

static void do_row(clocks *at, size_t i, tide_time_place *place) {
    const tide_run_launch *row = &at->model->log->rows[i];
    const tide_work_time *work = &at->model->work[i];
    double *stream = &at->streams[at->model->streams[i]];
    if (is_launched(row)) {
        double launch = at->model->constants->launch_us * at->factors->host;
        at->host_us += launch;
        at->worked_us += launch;
    }
    *place = (tide_time_place){at->host_us, at->host_us, at->host_us};
    if (work->us > 0.0) {
        place->begin_us = fmax(*stream, at->host_us);
        place->end_us = place->begin_us + scaled_us(at, work);
        *stream = place->end_us;
        at->last_us = fmax(at->last_us, *stream);
    }
    switch (row->kind) {
    case TIDE_RUN_RECORD:
        at->events[at->model->lanes[i]] = fmax(*stream, at->host_us);
        break;
    case TIDE_RUN_STREAM_WAIT:
        *stream = fmax(*stream, at->events[at->model->lanes[i]]);
        break;
    case TIDE_RUN_WAIT_EVENT:
        wait_until(at, at->events[at->model->lanes[i]]);
        break;
    case TIDE_RUN_WAIT_STREAM:
        wait_until(at, *stream);
        break;
    case TIDE_RUN_WAIT_DEVICE:
        wait_until(at, at->last_us);
        break;
    default:
        if ((row->flags & TIDE_RUN_WAITS) != 0) {
            wait_until(at, *stream);
        }
    }
}

static int by_begin(const void *a, const void *b) {
    const tide_time_place *one = a;
    const tide_time_place *other = b;
    return (one->begin_us > other->begin_us) - (one->begin_us < other->begin_us);
}

/* How long some stream had work: the intervals of all streams are put in order and joined. The
 * places are changed. With one stream they are in order. */
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

static void run(clocks *at, size_t first, size_t last) {
    const tide_run_launch *rows = at->model->log->rows;
    for (size_t i = first; i < last; i++) {
        double passed = i > first ? (double)(rows[i].host_ns - rows[i - 1].host_ns) * 1e-3 : 0.0;
        double worked = fmax(0.0, passed) * at->factors->host;
        at->host_us += worked;
        at->worked_us += worked;
        do_row(at, i, &at->places[i - first]);
    }
    if (last < at->model->log->n_rows && last > first) { /* the host goes on to the next mark */
        double passed = (double)(rows[last].host_ns - rows[last - 1].host_ns) * 1e-3;
        at->host_us += fmax(0.0, passed) * at->factors->host;
        at->worked_us += fmax(0.0, passed) * at->factors->host;
    }
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
    if (at.places != NULL && at.streams != NULL && at.events != NULL) {
        run(&at, first, last);
        for (size_t i = 0; ret_places != NULL && i < last - first; i++) {
            ret_places[i] = at.places[i];
        }
        *ret_totals = (tide_time_totals){.total_us = fmax(at.host_us, at.last_us),
                                         .busy_us = joined_us(at.places, last - first),
                                         .host_us = at.worked_us};
        status = TIDE_OK;
    }
    mem->release(mem->ctx, at.places);
    mem->release(mem->ctx, at.streams);
    mem->release(mem->ctx, at.events);
    return status;
}
