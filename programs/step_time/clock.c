#include "programs/step_time/clock.h"

#include <math.h>
#include <stddef.h>

#include "common/map.h"

bool tide_time_is_of_event(const tide_run_launch *row) {
    return row->kind == TIDE_RUN_RECORD || row->kind == TIDE_RUN_STREAM_WAIT ||
           row->kind == TIDE_RUN_WAIT_EVENT;
}

uint64_t tide_time_stream_key(const tide_run_launch *row) {
    return tide_hash_u64(row->stream) ^ row->device;
}

static void work_us(tide_time_clock *clock, double us) {
    clock->host_us += us;
    clock->worked_us += us;
}

void tide_time_clock_work(tide_time_clock *clock, const tide_time_factors *factors,
                          int64_t host_ns) {
    if (host_ns > clock->seen_ns) {
        work_us(clock, (double)(host_ns - clock->seen_ns) * 1e-3 * factors->host);
        clock->seen_ns = host_ns;
    }
}

bool tide_time_is_launched(const tide_run_launch *row) {
    bool continues = row->kind == TIDE_RUN_GRAPH_LAUNCH && (row->flags & TIDE_RUN_CONTINUES) != 0;
    return !continues && (row->kind >= TIDE_RUN_KERNEL && row->kind <= TIDE_RUN_GRAPH_LAUNCH) &&
           (row->flags & TIDE_RUN_CAPTURED) == 0;
}

static void wait_until(tide_time_clock *clock, double us) {
    clock->host_us = fmax(clock->host_us, us);
}

/* The host can launch only once the launch TIDE_TIME_QUEUE before this one has begun. */
static void wait_for_queue(tide_time_clock *clock, const tide_time_stream *stream) {
    if (stream->queue_us != NULL && stream->n_launches >= TIDE_TIME_QUEUE) {
        wait_until(clock, stream->queue_us[stream->n_launches % TIDE_TIME_QUEUE]);
    }
}

static tide_time_place execute(tide_time_clock *clock, const tide_time_factors *factors,
                               const tide_work_time *work, tide_time_stream *stream) {
    tide_time_place place = {.host_us = clock->host_us,
                             .begin_us = fmax(stream->done_us, clock->host_us)};
    place.end_us = place.begin_us + work->us_at[factors->end];
    if (stream->queue_us != NULL) {
        stream->queue_us[stream->n_launches % TIDE_TIME_QUEUE] = place.begin_us;
    }
    stream->n_launches++;
    stream->done_us = place.end_us;
    clock->last_us = fmax(clock->last_us, place.end_us);
    return place;
}

tide_time_place tide_time_clock_do(tide_time_clock *clock, const tide_time_factors *factors,
                                   double launch_us, const tide_run_launch *row,
                                   const tide_work_time *work, tide_time_stream *stream,
                                   double *event) {
    if (tide_time_is_launched(row)) {
        work_us(clock, launch_us * factors->host);
    }
    tide_time_place place = {clock->host_us, clock->host_us, clock->host_us};
    if (work->us > 0.0) {
        wait_for_queue(clock, stream);
        place = execute(clock, factors, work, stream);
    }
    switch (row->kind) {
    case TIDE_RUN_RECORD:
        *event = fmax(stream->done_us, clock->host_us);
        break;
    case TIDE_RUN_STREAM_WAIT:
        stream->done_us = fmax(stream->done_us, *event);
        break;
    case TIDE_RUN_WAIT_EVENT:
        wait_until(clock, *event);
        break;
    case TIDE_RUN_WAIT_STREAM:
        wait_until(clock, stream->done_us);
        break;
    case TIDE_RUN_WAIT_DEVICE:
        wait_until(clock, clock->last_us);
        break;
    default:
        if ((row->flags & TIDE_RUN_WAITS) != 0) {
            wait_until(clock, stream->done_us);
        }
    }
    return place;
}
