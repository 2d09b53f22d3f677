/* tick_clock_friend.h - CLOCK_MONOTONIC computed from the processor's time stamp counter. That
 * takes half as long as a call of the system. The counter is used only if the kernel keeps its own
 * time by it.
 *
 * About once in a millisecond the real clock is read: that is an anchor. In between, the time is
 * that of the last anchor plus the ticks since. The length of a tick follows from the first anchor
 * and the last one. Without such a counter, and until the length of a tick is known, the real clock
 * is read each time.
 *
 * Any thread may read. One thread at a time may read and anchor.
 */
#ifndef TIDE_COMMON_TICK_CLOCK_FRIEND_H
#define TIDE_COMMON_TICK_CLOCK_FRIEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct tide_tick_clock {
    bool has_ticks;       /* the counter exists and can be trusted */
    uint64_t first_ticks; /* of the first anchor */
    int64_t first_ns;

    /* The last anchor. While a thread changes it, `version` is odd. */
    _Atomic(uint32_t) version;
    _Atomic(uint64_t) ticks;
    _Atomic(int64_t) ns;
    _Atomic(uint64_t) tick_ns; /* length of a tick in 2^-32 ns; 0: unknown so far */
} tide_tick_clock;

void tide_tick_clock_init(tide_tick_clock *clock);

/* ns of CLOCK_MONOTONIC, accurate to the time that reading it takes. */
int64_t tide_tick_clock_read(const tide_tick_clock *clock);

/* The same, and sets an anchor when one is due. Only for the one thread that may anchor. */
int64_t tide_tick_clock_read_and_anchor(tide_tick_clock *clock);

/* "tsc" if ticks are counted, otherwise "monotonic". A static text. */
const char *tide_tick_clock_source(const tide_tick_clock *clock);

#endif
