/* syscall(): programs use it to ask the kernel for the time, and to wait until a time. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/program_clock.h"
#include "programs/virtual_cuda/process/real_function.h"
#include "programs/virtual_cuda/process/real_time.h"

static void *pointer(long argument) {
    return (void *)(uintptr_t)argument; // NOLINT(performance-no-int-to-ptr)
}

/* Replaces a futex's limit, a span or a time of one of two clocks, by the real one. The C++
 * library, Rust's and many locks wait by the system call. */
static void find_real_limit(long *is, struct timespec *room) {
    const struct timespec *limit = pointer(is[3]);
    int operation = (int)is[1]; /* as in the kernel: the upper half is undefined */
    clockid_t clock = (operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
        *room = tide_vc_clock_real_span(*limit);
        limit = room;
        break;
    case FUTEX_LOCK_PI:
        limit = tide_vc_clock_real_until(CLOCK_REALTIME, limit, room);
        break;
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
#ifdef FUTEX_LOCK_PI2 /* missing in headers before Linux 5.14 */
    case FUTEX_LOCK_PI2:
#endif
        limit = tide_vc_clock_real_until(clock, limit, room);
        break;
    default: /* no limit: the argument is a number, or not used */
        return;
    }
    is[3] = (long)(uintptr_t)limit;
}

/* Writes the program's time over the real one that the kernel wrote. The kernel goes first, to
 * reject wrong addresses and clocks. `result` is the kernel's result. */
static long tell_program_time(long number, const long *is, long result) {
    if (result == -1 || !tide_vc_clock_is_virtual()) {
        return result;
    }
    switch (number) {
    case SYS_clock_gettime:
        return tide_vc_clock_read((int)is[0], pointer(is[1]));
    case SYS_gettimeofday: /* the zone remains the kernel's */
        return is[0] == 0 ? result : gettimeofday(pointer(is[0]), NULL);
#ifdef SYS_time /* newer processors do not have it */
    case SYS_time:
        return time(pointer(is[0]));
#endif
    default:
        return result;
    }
}

/* Reads as many arguments as a system call can have, even if fewer were passed, which
 * AddressSanitizer takes for a mistake. */
__attribute__((no_sanitize_address)) TIDE_VC_EXPORT long syscall(long number, ...) {
    TIDE_VC_REAL(tide_vc_no_function(), long, syscall, long, ...)
    long is[6];
    struct timespec room;
    va_list arguments;
    va_start(arguments, number);
    for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++) { /* unpassed arguments are not used */
        is[i] = va_arg(arguments, long);
    }
    va_end(arguments);
    if (number == SYS_futex && is[3] != 0 && tide_vc_clock_is_virtual()) {
        find_real_limit(is, &room);
    }
    return tell_program_time(number, is, real(number, is[0], is[1], is[2], is[3], is[4], is[5]));
}

long tide_vc_sleep_on_real(void *word, unsigned value, const struct timespec *most) {
    TIDE_VC_REAL(tide_vc_no_function(), long, syscall, long, ...)
    return real(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, most, NULL, 0);
}

/* Handlers that report a crash ask for a thread's number. */
__attribute__((constructor)) static void look_up(void) {
    (void)syscall(SYS_getpid);
}
