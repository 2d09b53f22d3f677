/* real_time.h - the calls of the system by which common/ reads the time and waits.
 *
 * In a program to which the virtual card shows a forecast's clock, the C library's functions read
 * and wait by that clock. Recordings and locks are about real time, so an object that is loaded
 * into such a program sets calls that bypass the forecast. Every object has its own copy of these
 * calls; by default they are the C library's.
 */
#ifndef TIDE_COMMON_REAL_TIME_H
#define TIDE_COMMON_REAL_TIME_H

#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All are safe in signal handlers and take no lock. */
typedef struct tide_real_time {
    /* As clock_gettime. */
    int (*read)(int clock, struct timespec *ret);
    /* Waits for a span, or until a signal arrives. May change errno. */
    int (*pause)(const struct timespec *span);
    /* Sleeps while the futex `word` is `value`, for at most that span. May change errno. */
    long (*sleep_on)(void *word, unsigned value, const struct timespec *most);
} tide_real_time;

/* The calls in use. Any thread. */
const tide_real_time *tide_real_time_calls(void);

/* Replaces the calls. `calls` is borrowed for the rest of the process. Whoever sets them does so
 * before the C library's functions leave the real time: until then both give the same. Any thread.
 */
void tide_real_time_set(const tide_real_time *calls);

#ifdef __cplusplus
}
#endif

#endif
