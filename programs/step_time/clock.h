/* clock.h - the clocks of host and streams, row by row. A replay of a launch log and the virtual
 * card of a running program (programs/virtual_cuda/launches/card_clock.c) advance them by the same
 * functions.
 *
 * The host's clock advances by the host's real time between two calls, plus the further host time
 * of a launch, both multiplied by one factor. Work begins when the host has launched it and its
 * stream is free. A stream holds at most TIDE_TIME_QUEUE launches that have not begun; the host
 * waits before it adds another, as a driver makes it wait. Streams that share the card are assumed
 * to overlap wholly, or not at all (is_serial). The truth is in between, because they share its
 * units and its bandwidth.
 */
#ifndef TIDE_STEP_TIME_CLOCK_H
#define TIDE_STEP_TIME_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "programs/step_time/work.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The host's speed, the end of the card's interval, and how streams share a card. */
typedef struct tide_time_factors {
    double host;       /* factor of the host's time */
    tide_time_end end; /* of the times of all kernels: one card's errors go in one direction */
    bool is_serial;    /* kernels of a card's streams run one after the other, in the order of their
                        * launches; used only by tide_time_replay; false: streams overlap */
} tide_time_factors;

/* The place of a row on the clocks, in microseconds since the first row. */
typedef struct tide_time_place {
    double host_us;          /* the end of the host's call */
    double begin_us, end_us; /* on the card; equal: it takes no time there */
} tide_time_place;

/* The launches that a driver queues for a stream before a further launch blocks: about 1,024, the
 * entries of a channel's queue. The number is not documented. */
enum { TIDE_TIME_QUEUE = 1024 };

/* A stream's work, in microseconds since the beginning. All zero at first, but the queue. */
typedef struct tide_time_stream {
    double done_us;   /* when all of it is done */
    double *queue_us; /* when the last TIDE_TIME_QUEUE launches begin, a ring, owned by the caller;
                       * NULL: the queue has no end */
    uint64_t n_launches; /* so far; modulo TIDE_TIME_QUEUE the place of the next */
} tide_time_stream;

/* Microseconds since the beginning. */
typedef struct tide_time_clock {
    double host_us;
    double worked_us; /* the host's working time, without waiting for the card */
    double last_us;   /* the latest end of any stream */
    int64_t seen_ns;  /* the host's real time that the clock has reached */
} tide_time_clock;

static inline tide_time_clock tide_time_clock_at(int64_t host_ns) {
    tide_time_clock clock = {0.0, 0.0, 0.0, host_ns};
    return clock;
}

/* The host works until `host_ns` of its own time. A past time adds nothing: rows of several threads
 * may go back a little. */
void tide_time_clock_work(tide_time_clock *clock, const tide_time_factors *factors,
                          int64_t host_ns);

/* That much of the host's real time does not count. */
static inline void tide_time_clock_skip(tide_time_clock *clock, int64_t n_ns) {
    clock->seen_ns += n_ns;
}

/* Executes a row at the clock's current time. `launch_us`: the host's time for a launch, before its
 * factor. `stream`: of the row; `event`: when the row's event is complete, 0 at first, NULL if the
 * row has none. The caller keeps both. */
tide_time_place tide_time_clock_do(tide_time_clock *clock, const tide_time_factors *factors,
                                   double launch_us, const tide_run_launch *row,
                                   const tide_work_time *work, tide_time_stream *stream,
                                   double *event);

/* Whether the host launches the row's work. The work of a graph is launched with the graph. */
bool tide_time_is_launched(const tide_run_launch *row);

/* Whether `bytes` of the row is the number of an event. */
bool tide_time_is_of_event(const tide_run_launch *row);

/* A key of the row's stream: each device has its own. */
uint64_t tide_time_stream_key(const tide_run_launch *row);

#ifdef __cplusplus
}
#endif

#endif
