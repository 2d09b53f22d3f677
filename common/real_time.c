#define _DEFAULT_SOURCE /* syscall */
#include "common/real_time.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static int read_system(int clock, struct timespec *ret) {
    return clock_gettime(clock, ret);
}

static int pause_in_system(const struct timespec *span) {
    return nanosleep(span, NULL);
}

static long sleep_in_system(void *word, unsigned value, const struct timespec *most) {
    return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, most, NULL, 0);
}

static const tide_real_time SYSTEM = {
    .read = read_system, .pause = pause_in_system, .sleep_on = sleep_in_system};

/* Initialised at load, because constructors of libraries may already read the time. */
static const tide_real_time *_Atomic calls_in_use = &SYSTEM;

const tide_real_time *tide_real_time_calls(void) {
    return atomic_load_explicit(&calls_in_use, memory_order_acquire);
}

void tide_real_time_set(const tide_real_time *calls) {
    atomic_store_explicit(&calls_in_use, calls, memory_order_release);
}
