/* Functions of the C library that wait for files with a time limit: poll, select and epoll_wait and
 * their variants. The limit is a span of the program's clock, as in a sleep: programs use them to
 * sleep (time.sleep of Python 3.10 is a select without files), and they must not return too early
 * by the clock that the program sees. */
#undef _FORTIFY_SOURCE /* with it the header defines poll */
#define _GNU_SOURCE    /* ppoll */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/program_clock.h"
#include "programs/virtual_cuda/process/real_function.h"

typedef const struct timespec span;

#define REAL(name, ...) TIDE_VC_REAL(tide_vc_no_function(), int, name, __VA_ARGS__)

enum { MS_PER_S = 1000, US_PER_S = 1000000, NS_PER_US = 1000, NS_PER_MS = 1000000 };

/* Rounded up, so no wait is too short. 0 and negative limits have their own meaning and stay as
 * they are. */
static int real_ms(int ms) {
    if (ms <= 0 || !tide_vc_clock_is_virtual()) {
        return ms;
    }
    struct timespec limit = {ms / MS_PER_S, (long)(ms % MS_PER_S) * NS_PER_MS};
    limit = tide_vc_clock_real_span(limit);
    int64_t real = (int64_t)limit.tv_sec * MS_PER_S + (limit.tv_nsec + NS_PER_MS - 1) / NS_PER_MS;
    return real < INT_MAX ? (int)real : INT_MAX;
}

/* Returns room, or NULL if there is no limit. */
static span *real_limit(span *limit, struct timespec *room) {
    if (limit == NULL) {
        return NULL;
    }
    *room = tide_vc_clock_real_span(*limit);
    return room;
}

TIDE_VC_EXPORT int poll(struct pollfd *files, nfds_t n_files, int limit_ms) {
    REAL(poll, struct pollfd *, nfds_t, int)
    return real(files, n_files, real_ms(limit_ms));
}

TIDE_VC_EXPORT int ppoll(struct pollfd *files, nfds_t n_files, span *limit, const sigset_t *mask) {
    REAL(ppoll, struct pollfd *, nfds_t, span *, const sigset_t *)
    struct timespec room;
    return real(files, n_files, real_limit(limit, &room), mask);
}

/* Called by programs that were compiled with _FORTIFY_SOURCE. */
int tide_vc_poll_checked(struct pollfd *files, nfds_t n_files, int limit_ms,
                         size_t n_bytes) __asm__("__poll_chk");
TIDE_VC_EXPORT int tide_vc_poll_checked(struct pollfd *files, nfds_t n_files, int limit_ms,
                                        size_t n_bytes) {
    REAL(__poll_chk, struct pollfd *, nfds_t, int, size_t)
    return real(files, n_files, real_ms(limit_ms), n_bytes);
}

int tide_vc_ppoll_checked(struct pollfd *files, nfds_t n_files, span *limit, const sigset_t *mask,
                          size_t n_bytes) __asm__("__ppoll_chk");
TIDE_VC_EXPORT int tide_vc_ppoll_checked(struct pollfd *files, nfds_t n_files, span *limit,
                                         const sigset_t *mask, size_t n_bytes) {
    REAL(__ppoll_chk, struct pollfd *, nfds_t, span *, const sigset_t *, size_t)
    struct timespec room;
    return real(files, n_files, real_limit(limit, &room), mask, n_bytes);
}

/* Linux writes the remaining time to *limit. */
TIDE_VC_EXPORT int select(int n_files, fd_set *restrict read, fd_set *restrict write,
                          fd_set *restrict except, struct timeval *restrict limit) {
    REAL(select, int, fd_set *, fd_set *, fd_set *, struct timeval *)
    if (limit == NULL || limit->tv_sec < 0 || limit->tv_usec < 0 || !tide_vc_clock_is_virtual()) {
        return real(n_files, read, write, except, limit);
    }
    /* Linux accepts more microseconds than a second has. */
    time_t more = limit->tv_usec / US_PER_S;
    struct timespec wanted = {limit->tv_sec, (limit->tv_usec % US_PER_S) * (long)NS_PER_US};
    wanted.tv_sec += more < INT64_MAX - wanted.tv_sec ? more : 0;
    wanted = tide_vc_clock_real_span(wanted);
    long us = (wanted.tv_nsec + NS_PER_US - 1) / NS_PER_US; /* rounded up, at most 1 s */
    struct timeval left = {wanted.tv_sec + us / US_PER_S, us % US_PER_S};
    int n_ready = real(n_files, read, write, except, &left);
    wanted = (struct timespec){left.tv_sec, (long)left.tv_usec * NS_PER_US};
    wanted = tide_vc_clock_program_span(wanted);
    *limit = (struct timeval){wanted.tv_sec, wanted.tv_nsec / NS_PER_US};
    return n_ready;
}

TIDE_VC_EXPORT int pselect(int n_files, fd_set *restrict read, fd_set *restrict write,
                           fd_set *restrict except, span *restrict limit,
                           const sigset_t *restrict mask) {
    REAL(pselect, int, fd_set *, fd_set *, fd_set *, span *, const sigset_t *)
    struct timespec room;
    return real(n_files, read, write, except, real_limit(limit, &room), mask);
}

TIDE_VC_EXPORT int epoll_wait(int poll_file, struct epoll_event *ret_events, int n_events,
                              int limit_ms) {
    REAL(epoll_wait, int, struct epoll_event *, int, int)
    return real(poll_file, ret_events, n_events, real_ms(limit_ms));
}

TIDE_VC_EXPORT int epoll_pwait(int poll_file, struct epoll_event *ret_events, int n_events,
                               int limit_ms, const sigset_t *mask) {
    REAL(epoll_pwait, int, struct epoll_event *, int, int, const sigset_t *)
    return real(poll_file, ret_events, n_events, real_ms(limit_ms), mask);
}

/* C libraries before 2.35 do not declare it. */
// NOLINTNEXTLINE(readability-redundant-declaration)
int epoll_pwait2(int poll_file, struct epoll_event *ret_events, int n_events, span *limit,
                 const sigset_t *mask);
TIDE_VC_EXPORT int epoll_pwait2(int poll_file, struct epoll_event *ret_events, int n_events,
                                span *limit, const sigset_t *mask) {
    REAL(epoll_pwait2, int, struct epoll_event *, int, span *, const sigset_t *)
    struct timespec room;
    return real(poll_file, ret_events, n_events, real_limit(limit, &room), mask);
}

/* Signal handlers may call these. */
__attribute__((constructor)) static void look_up(void) {
    struct timeval left = {.tv_sec = 0};
    const struct timespec over = {.tv_sec = 0};
    (void)poll(NULL, 0, 0);
    (void)select(0, NULL, NULL, NULL, &left);
    (void)pselect(0, NULL, NULL, NULL, &over, NULL);
}
