/* tick_clock_friend.h - CLOCK_MONOTONIC read from the processor's time stamp counter, which takes
 * half as long, where the kernel itself keeps its time by that counter.
 *
 * Between two anchors, at which the real clock is read, time is the last anchor's and the ticks
 * since; how long a tick is follows from the first anchor and the last one. Where there is no such
 * counter, and until it is known how long a tick is, the real clock is read each time.
 *
 * Any thread may read; one at a time may read and anchor.
 */
#ifndef TIDE_COMMON_TICK_CLOCK_FRIEND_H
#define TIDE_COMMON_TICK_CLOCK_FRIEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct tide_tick_clock {
    bool has_ticks;       /* the counter is there and can be trusted */
    uint64_t first_ticks; /* of the first anchor */
    int64_t first_ns;

    /* The last anchor; who anchors changes it, and makes `version` odd meanwhile. */
    _Atomic(uint32_t) version;
    _Atomic(uint64_t) ticks;
    _Atomic(int64_t) ns;
    _Atomic(uint64_t) tick_ns; /* length of a tick in 2^-32 ns; 0: not known yet */
} tide_tick_clock;

void tide_tick_clock_init(tide_tick_clock *clock);

/* ns of CLOCK_MONOTONIC, within the time that reading it takes. */
int64_t tide_tick_clock_read(const tide_tick_clock *clock);

/* The same by the one thread that may anchor, which it does about once in a millisecond. */
int64_t tide_tick_clock_read_and_anchor(tide_tick_clock *clock);

/* "tsc" where ticks are counted, else "monotonic"; a static text. */
const char *tide_tick_clock_source(const tide_tick_clock *clock);

#endif
