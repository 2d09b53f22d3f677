/* Functions of the C library that return the time: the program's clock (program_clock.h). */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/program_clock.h"

/* The C library's headers name these arguments differently, or declare them as never NULL. */
TIDE_VC_EXPORT int clock_gettime(clockid_t clock, struct timespec *ret) {
    return tide_vc_clock_read(clock, ret);
}

/* Not by its name: the header declares that the first argument is never NULL, so a compiler would
 * drop our check. */
int tide_vc_gettimeofday(struct timeval *restrict ret, void *restrict zone) __asm__("gettimeofday");
TIDE_VC_EXPORT int tide_vc_gettimeofday(struct timeval *restrict ret, void *restrict zone) {
    struct timespec now = {0, 0};
    int status = tide_vc_clock_read(CLOCK_REALTIME, &now);
    if (ret != NULL) { /* NULL if the caller wants only the zone */
        ret->tv_sec = now.tv_sec;
        ret->tv_usec = now.tv_nsec / 1000;
    }
    if (zone != NULL) { /* the kernel's zone is obsolete */
        *(struct timezone *)zone = (struct timezone){0, 0};
    }
    return status;
}

TIDE_VC_EXPORT time_t time(time_t *ret) {
    struct timespec now = {0, 0};
    (void)tide_vc_clock_read(CLOCK_REALTIME, &now);
    if (ret != NULL) {
        *ret = now.tv_sec;
    }
    return now.tv_sec;
}

TIDE_VC_EXPORT int timespec_get(struct timespec *ret, int base) {
    return base == TIME_UTC && tide_vc_clock_read(CLOCK_REALTIME, ret) == 0 ? base : 0;
}
