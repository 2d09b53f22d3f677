/* syscall, by which programs ask the kernel for the time, and wait until one. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "virtual_cuda/export.h"
#include "virtual_cuda/program_clock.h"
#include "virtual_cuda/real_function.h"

static void *pointer(long argument) {
    return (void *)(uintptr_t)argument; // NOLINT(performance-no-int-to-ptr)
}

/* The C++ library and Rust's wait for a time by the system call. */
static bool waits_until(long number, long operation) {
    return number == SYS_futex && (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}

/* Writes the program's time where the kernel has written the real one. The kernel goes first, so
 * that it says which addresses and clocks are wrong. `result` is what the kernel returned. */
static long tell_program_time(long number, const long *is, long result) {
    if (result == -1 || !tide_vc_clock_is_virtual()) {
        return result;
    }
    switch (number) {
    case SYS_clock_gettime:
        return tide_vc_clock_read((int)is[0], pointer(is[1]));
    case SYS_gettimeofday: /* the zone stays the kernel's */
        return is[0] == 0 ? result : gettimeofday(pointer(is[0]), NULL);
#ifdef SYS_time /* newer kinds of processors have none */
    case SYS_time:
        return time(pointer(is[0]));
#endif
    default:
        return result;
    }
}

/* It reads as many arguments as a system call can have, also where fewer were given, which
 * AddressSanitizer takes for a mistake. */
__attribute__((no_sanitize_address)) TIDE_VC_EXPORT long syscall(long number, ...) {
    TIDE_VC_REAL(tide_vc_no_function(), long, syscall, long, ...)
    long is[6];
    struct timespec room;
    va_list arguments;
    va_start(arguments, number);
    for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++) { /* what was not given is not used */
        is[i] = va_arg(arguments, long);
    }
    va_end(arguments);
    if (waits_until(number, is[1]) && is[3] != 0) {
        clockid_t clock = (is[1] & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
        is[3] = (long)(uintptr_t)tide_vc_clock_real_until(clock, pointer(is[3]), &room);
    }
    return tell_program_time(number, is, real(number, is[0], is[1], is[2], is[3], is[4], is[5]));
}
