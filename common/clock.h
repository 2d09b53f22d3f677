/* clock.h - time in nanoseconds. */
#ifndef TIDE_COMMON_CLOCK_H
#define TIDE_COMMON_CLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CLOCK_MONOTONIC in ns. It never goes back and has no meaning as a date. Any thread. */
int64_t tide_clock_now_ns(void);

/* The processor time of the calling thread in ns: time spent in other programs does not count. */
int64_t tide_clock_thread_ns(void);

/* Microseconds since 1970-01-01 UTC. */
int64_t tide_clock_unix_us(void);

/* Waits for that time, which is less than a second, or until a signal arrives. Leaves errno
 * unchanged. Safe in signal handlers. */
void tide_clock_pause_ns(int64_t pause_ns);

#ifdef __cplusplus
}
#endif

#endif
