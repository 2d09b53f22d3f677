/* clock.h - time in nanoseconds. */
#ifndef TIDE_COMMON_CLOCK_H
#define TIDE_COMMON_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CLOCK_MONOTONIC in ns. It never goes back and has no meaning as a date. Any thread. */
int64_t tide_clock_now_ns(void);

/* The processor time of the calling thread in ns: time that other programs take does not count. */
int64_t tide_clock_thread_ns(void);

/* Microseconds since 1970-01-01 UTC. */
int64_t tide_clock_unix_us(void);

/* Waits that long, which is less than a second, or until a signal comes. errno stays. May be called
 * in handlers of signals. */
void tide_clock_pause_ns(int64_t pause_ns);

#ifdef __cplusplus
}
#endif

#endif
