/* Functions of the C library that wait until a time or for a span. A program computes it from the
 * clock that it sees; the C library and the kernel wait by the real one.
 *
 * pthread_cond_timedwait is in nccl/watchdog.c; waits for files are in file_waits.c. */
#define _GNU_SOURCE /* the functions with a clock */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/program_clock.h"
#include "programs/virtual_cuda/process/real_function.h"
#include "programs/virtual_cuda/process/real_time.h"

typedef const struct timespec when;

/* All declare `real`, the C library's function, and `room` for a time. The first is for functions
 * that report an error by errno, the second for those that return its number, the third for C11
 * threads. */
#define REAL_WITH_ERRNO(name, ...)                                                                 \
    TIDE_VC_REAL(tide_vc_no_function(), int, name, __VA_ARGS__)                                    \
    struct timespec room;
#define REAL(name, ...)                                                                            \
    TIDE_VC_REAL(ENOSYS, int, name, __VA_ARGS__)                                                   \
    struct timespec room;
#define REAL_OF_C11(name, ...)                                                                     \
    TIDE_VC_REAL(thrd_error, int, name, __VA_ARGS__)                                               \
    struct timespec room;

TIDE_VC_EXPORT int sem_timedwait(sem_t *restrict semaphore, when *restrict until) {
    REAL_WITH_ERRNO(sem_timedwait, sem_t *, when *)
    return real(semaphore, tide_vc_clock_real_until(CLOCK_REALTIME, until, &room));
}

TIDE_VC_EXPORT int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, when *restrict until) {
    REAL_WITH_ERRNO(sem_clockwait, sem_t *, clockid_t, when *)
    return real(semaphore, clock, tide_vc_clock_real_until(clock, until, &room));
}

TIDE_VC_EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict condition,
                                          pthread_mutex_t *restrict mutex, clockid_t clock,
                                          when *restrict until) {
    REAL(pthread_cond_clockwait, pthread_cond_t *, pthread_mutex_t *, clockid_t, when *)
    return real(condition, mutex, clock, tide_vc_clock_real_until(clock, until, &room));
}

TIDE_VC_EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, when *restrict until) {
    REAL(pthread_mutex_timedlock, pthread_mutex_t *, when *)
    return real(mutex, tide_vc_clock_real_until(CLOCK_REALTIME, until, &room));
}

TIDE_VC_EXPORT int pthread_mutex_clocklock(pthread_mutex_t *restrict mutex, clockid_t clock,
                                           when *restrict until) {
    REAL(pthread_mutex_clocklock, pthread_mutex_t *, clockid_t, when *)
    return real(mutex, clock, tide_vc_clock_real_until(clock, until, &room));
}

TIDE_VC_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict lock,
                                              when *restrict until) {
    REAL(pthread_rwlock_timedrdlock, pthread_rwlock_t *, when *)
    return real(lock, tide_vc_clock_real_until(CLOCK_REALTIME, until, &room));
}

TIDE_VC_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict lock,
                                              when *restrict until) {
    REAL(pthread_rwlock_timedwrlock, pthread_rwlock_t *, when *)
    return real(lock, tide_vc_clock_real_until(CLOCK_REALTIME, until, &room));
}

TIDE_VC_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict lock, clockid_t clock,
                                              when *restrict until) {
    REAL(pthread_rwlock_clockrdlock, pthread_rwlock_t *, clockid_t, when *)
    return real(lock, clock, tide_vc_clock_real_until(clock, until, &room));
}

TIDE_VC_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict lock, clockid_t clock,
                                              when *restrict until) {
    REAL(pthread_rwlock_clockwrlock, pthread_rwlock_t *, clockid_t, when *)
    return real(lock, clock, tide_vc_clock_real_until(clock, until, &room));
}

TIDE_VC_EXPORT int pthread_timedjoin_np(pthread_t thread, void **ret_value, when *until) {
    REAL(pthread_timedjoin_np, pthread_t, void **, when *)
    return real(thread, ret_value, tide_vc_clock_real_until(CLOCK_REALTIME, until, &room));
}

/* C libraries before 2.31 do not declare it. */
// NOLINTNEXTLINE(readability-redundant-declaration)
int pthread_clockjoin_np(pthread_t thread, void **ret_value, clockid_t clock, when *until);
TIDE_VC_EXPORT int pthread_clockjoin_np(pthread_t thread, void **ret_value, clockid_t clock,
                                        when *until) {
    REAL(pthread_clockjoin_np, pthread_t, void **, clockid_t, when *)
    return real(thread, ret_value, clock, tide_vc_clock_real_until(clock, until, &room));
}

/* C11 threads: the C library waits internally, not through the functions above. */

TIDE_VC_EXPORT int mtx_timedlock(mtx_t *restrict mutex, when *restrict until) {
    REAL_OF_C11(mtx_timedlock, mtx_t *, when *)
    return real(mutex, tide_vc_clock_real_until(CLOCK_REALTIME, until, &room));
}

TIDE_VC_EXPORT int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex,
                                 when *restrict until) {
    REAL_OF_C11(cnd_timedwait, cnd_t *, mtx_t *, when *)
    return real(condition, mutex, tide_vc_clock_real_until(CLOCK_REALTIME, until, &room));
}

/* ---- sleeping ---- */

TIDE_VC_EXPORT int clock_nanosleep(clockid_t clock, int flags, when *wanted,
                                   struct timespec *ret_left) {
    REAL(clock_nanosleep, clockid_t, int, when *, struct timespec *)
    if ((flags & TIMER_ABSTIME) != 0) {
        return real(clock, flags, tide_vc_clock_real_until(clock, wanted, &room), ret_left);
    }
    if (!tide_vc_clock_is_of_time(clock) || wanted == NULL) {
        return real(clock, flags, wanted, ret_left);
    }
    room = tide_vc_clock_real_span(*wanted);
    int status = real(clock, flags, &room, ret_left);
    if (status == EINTR && ret_left != NULL) {
        *ret_left = tide_vc_clock_program_span(*ret_left);
    }
    return status;
}

int tide_vc_pause_real(when *span) {
    TIDE_VC_REAL(ENOSYS, int, clock_nanosleep, clockid_t, int, when *, struct timespec *)
    return real(CLOCK_MONOTONIC, 0, span, NULL);
}

TIDE_VC_EXPORT int nanosleep(when *wanted, struct timespec *ret_left) {
    int status = clock_nanosleep(CLOCK_REALTIME, 0, wanted, ret_left);
    if (status != 0) {
        errno = status;
    }
    return status == 0 ? 0 : -1;
}

/* -1: a signal ended it; below: another error. */
TIDE_VC_EXPORT int thrd_sleep(when *wanted, struct timespec *ret_left) {
    int status = clock_nanosleep(CLOCK_REALTIME, 0, wanted, ret_left);
    return status == 0 ? 0 : status == EINTR ? -1 : -2;
}

TIDE_VC_EXPORT int usleep(useconds_t us) {
    struct timespec wanted = {us / 1000000, (long)(us % 1000000) * 1000};
    return nanosleep(&wanted, NULL);
}

TIDE_VC_EXPORT unsigned sleep(unsigned seconds) {
    struct timespec left = {(time_t)seconds, 0};
    return nanosleep(&left, &left) == 0 ? 0 : (unsigned)left.tv_sec;
}

/* ---- timers ---- */

static void tell_program_spans(struct itimerspec *ret) {
    ret->it_value = tide_vc_clock_program_span(ret->it_value);
    ret->it_interval = tide_vc_clock_program_span(ret->it_interval);
}

TIDE_VC_EXPORT int timerfd_settime(int file, int flags, const struct itimerspec *wanted,
                                   struct itimerspec *ret_old) {
    REAL_WITH_ERRNO(timerfd_settime, int, int, const struct itimerspec *, struct itimerspec *)
    struct itimerspec real_wanted;
    if (wanted != NULL) {
        bool is_time = (flags & TFD_TIMER_ABSTIME) != 0 &&
                       (wanted->it_value.tv_sec != 0 || wanted->it_value.tv_nsec != 0);
        real_wanted.it_interval = tide_vc_clock_real_span(wanted->it_interval);
        real_wanted.it_value =
            is_time ? *tide_vc_clock_real_until(tide_vc_clock_of_time(&wanted->it_value),
                                                &wanted->it_value, &room)
                    : tide_vc_clock_real_span(wanted->it_value);
    }
    int status = real(file, flags, wanted != NULL ? &real_wanted : NULL, ret_old);
    if (status == 0 && ret_old != NULL) {
        tell_program_spans(ret_old);
    }
    return status;
}

TIDE_VC_EXPORT int timerfd_gettime(int file, struct itimerspec *ret) {
    TIDE_VC_REAL(tide_vc_no_function(), int, timerfd_gettime, int, struct itimerspec *)
    int status = real(file, ret);
    if (status == 0) {
        tell_program_spans(ret);
    }
    return status;
}

/* Signal handlers may sleep, and ours do when a program aborts. */
__attribute__((constructor)) static void look_up(void) {
    const struct timespec over = {.tv_sec = 0};
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &over, NULL);
    (void)tide_vc_pause_real(&over);
}
