#define _POSIX_C_SOURCE 200809L
#include "common/clock.h"

#include <errno.h>
#include <time.h>

#include "common/real_time.h"

static int64_t read_ns(clockid_t clock) {
    struct timespec now = {0, 0};
    (void)tide_real_time_calls()->read(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + (int64_t)now.tv_nsec;
}

int64_t tide_clock_now_ns(void) {
    return read_ns(CLOCK_MONOTONIC);
}

int64_t tide_clock_thread_ns(void) {
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t tide_clock_unix_us(void) {
    return read_ns(CLOCK_REALTIME) / 1000;
}

void tide_clock_pause_ns(int64_t pause_ns) {
    const struct timespec pause = {.tv_nsec = (long)pause_ns};
    int error_number = errno;
    (void)tide_real_time_calls()->pause(&pause);
    errno = error_number;
}
