/* test_program_waits.c - waits until a time, or for a span, last that long on the clock that the
 * program sees, and no wait hangs. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/virtual_cuda/process/test_clock.h"
#include "unit/virtual_cuda/test_folder.h"

int cudaMalloc(void **address, size_t n_bytes);
int cudaFree(void *address);
int cudaMemsetAsync(void *to, int value, size_t n_bytes, void *stream);
int cudaDeviceSynchronize(void);
/* With _FORTIFY_SOURCE poll and ppoll become these. */
int poll_checked(struct pollfd *files, nfds_t n_files, int limit_ms,
                 size_t n_bytes) __asm__("__poll_chk");
int ppoll_checked(struct pollfd *files, nfds_t n_files, const struct timespec *limit,
                  const sigset_t *mask, size_t n_bytes) __asm__("__ppoll_chk");
int epoll_pwait2(int poll_file, struct epoll_event *ret_events, int n_events,
                 const struct timespec *limit, const sigset_t *mask); /* not in older headers */

static char folder[CLOCK_FOLDER];
static void *memory;

#define SPAN_S 0.05

static struct timespec in_a_while(clockid_t clock) {
    double until = seconds(clock) + SPAN_S;
    struct timespec time = {.tv_sec = (time_t)until};
    time.tv_nsec = (long)((until - (double)time.tv_sec) * 1e9);
    return time;
}

typedef struct wait_begin {
    double program, real;
} wait_begin;

static wait_begin begin_wait(void) {
    return (wait_begin){seconds(CLOCK_MONOTONIC), real_seconds()};
}

/* The wait ended at its time on the program's clock, which is far ahead of the real one by now. A
 * date in seconds is a double, precise to 0.3 us. */
static void expect_waited(wait_begin began) {
    assert_true(seconds(CLOCK_MONOTONIC) - began.program >= SPAN_S - 1e-6);
    assert_true(real_seconds() - began.real >= SPAN_S / HOST - 1e-6);
    assert_true(real_seconds() - began.real < AHEAD_S);
}

static void locks_end_their_waits(void **state) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    sem_t semaphore;
    (void)state;
    assert_int_equal(sem_init(&semaphore, 0, 0), 0);
    wait_begin began = begin_wait();
    struct timespec until = in_a_while(CLOCK_REALTIME);
    assert_int_equal(sem_timedwait(&semaphore, &until), -1);
    assert_int_equal(errno, ETIMEDOUT);
    expect_waited(began);
    began = begin_wait();
    until = in_a_while(CLOCK_MONOTONIC);
    assert_int_equal(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until), -1);
    expect_waited(began);
    assert_int_equal(pthread_mutex_lock(&mutex), 0);
    began = begin_wait();
    until = in_a_while(CLOCK_REALTIME);
    assert_int_equal(pthread_cond_timedwait(&condition, &mutex, &until), ETIMEDOUT);
    expect_waited(began);
    began = begin_wait();
    until = in_a_while(CLOCK_MONOTONIC);
    assert_int_equal(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until),
                     ETIMEDOUT);
    expect_waited(began);
    began = begin_wait();
    until = in_a_while(CLOCK_REALTIME);
    assert_int_equal(pthread_mutex_timedlock(&mutex, &until), ETIMEDOUT);
    expect_waited(began);
    assert_int_equal(pthread_mutex_unlock(&mutex), 0);
    assert_int_equal(pthread_rwlock_rdlock(&lock), 0);
    began = begin_wait();
    until = in_a_while(CLOCK_REALTIME);
    assert_int_equal(pthread_rwlock_timedwrlock(&lock, &until), ETIMEDOUT);
    expect_waited(began);
    assert_int_equal(pthread_rwlock_unlock(&lock), 0);
    (void)sem_destroy(&semaphore);
}

static void a_time_that_is_over_is_not_waited_for(void **state) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec until = {.tv_sec = 1};
    (void)state;
    assert_int_equal(pthread_mutex_lock(&mutex), 0);
    assert_int_equal(pthread_cond_timedwait(&condition, &mutex, &until), ETIMEDOUT);
    until.tv_nsec = -1;
    assert_int_equal(pthread_cond_timedwait(&condition, &mutex, &until), EINVAL);
    assert_int_equal(pthread_mutex_unlock(&mutex), 0);
}

static void sleepers_wake(void **state) {
    struct timespec span = {.tv_nsec = (long)(SPAN_S * 1e9)};
    (void)state;
    wait_begin began = begin_wait();
    struct timespec until = in_a_while(CLOCK_MONOTONIC);
    assert_int_equal(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL), 0);
    expect_waited(began);
    began = begin_wait();
    assert_int_equal(nanosleep(&span, NULL), 0);
    expect_waited(began);
    began = begin_wait();
    assert_int_equal(usleep((useconds_t)(SPAN_S * 1e6)), 0);
    expect_waited(began);
}

static void the_kernel_is_asked_for_real_times(void **state) {
    uint32_t word = 0;
    uint64_t n = 0;
    (void)state;
    wait_begin began = begin_wait();
    struct timespec until = in_a_while(CLOCK_MONOTONIC);
    assert_int_equal(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, &until,
                             NULL, FUTEX_BITSET_MATCH_ANY),
                     -1);
    assert_int_equal(errno, ETIMEDOUT);
    expect_waited(began);
    int file = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    began = begin_wait();
    struct itimerspec timer = {.it_value = in_a_while(CLOCK_MONOTONIC)};
    assert_int_equal(timerfd_settime(file, TFD_TIMER_ABSTIME, &timer, NULL), 0);
    assert_int_equal(read(file, &n, sizeof(n)), sizeof(n));
    expect_waited(began);
    (void)close(file);
}

/* A repeating timer that begins with a span: it reports the remaining time on the program's
 * clock. */
static void timers_count_spans_of_the_clock(void **state) {
    const struct timespec span = {.tv_nsec = (long)(SPAN_S * 1e9)};
    struct itimerspec timer = {span, span};
    const struct itimerspec stopped = {.it_value = {0, 0}};
    struct itimerspec left;
    uint64_t n = 0;
    (void)state;
    int file = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    wait_begin began = begin_wait();
    assert_int_equal(timerfd_settime(file, 0, &timer, NULL), 0);
    assert_int_equal(timerfd_gettime(file, &left), 0);
    assert_int_equal(left.it_interval.tv_nsec, span.tv_nsec);
    assert_true(left.it_value.tv_nsec <= span.tv_nsec);
    assert_int_equal(read(file, &n, sizeof(n)), sizeof(n));
    expect_waited(began);
    began.program += SPAN_S;
    began.real += SPAN_S / HOST;
    assert_int_equal(read(file, &n, sizeof(n)), sizeof(n));
    expect_waited(began);
    assert_int_equal(timerfd_settime(file, 0, &stopped, &left), 0);
    assert_int_equal(left.it_interval.tv_nsec, span.tv_nsec);
    assert_int_equal(timerfd_gettime(file, &left), 0);
    assert_true(left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0);
    (void)close(file);
}

/* ---- waits for files, with a limit ---- */

enum { SPAN_MS = 50 };
static const struct timespec SPAN = {.tv_nsec = SPAN_MS * 1000000L};
static int pipe_files[2]; /* never written to */
static int poll_file;

static int limited_poll(void) {
    return poll(NULL, 0, SPAN_MS); /* a sleep */
}

static int limited_poll_of_a_file(void) {
    struct pollfd file = {.fd = pipe_files[0], .events = POLLIN};
    return poll(&file, 1, SPAN_MS);
}

static int limited_ppoll(void) {
    struct pollfd file = {.fd = pipe_files[0], .events = POLLIN};
    return ppoll(&file, 1, &SPAN, NULL);
}

static int limited_poll_checked(void) {
    struct pollfd file = {.fd = pipe_files[0], .events = POLLIN};
    return poll_checked(&file, 1, SPAN_MS, sizeof(file));
}

static int limited_ppoll_checked(void) {
    struct pollfd file = {.fd = pipe_files[0], .events = POLLIN};
    return ppoll_checked(&file, 1, &SPAN, NULL, sizeof(file));
}

static int limited_select(void) {
    struct timeval left = {.tv_usec = SPAN_MS * 1000};
    int n_ready = select(0, NULL, NULL, NULL, &left);
    return left.tv_sec == 0 && left.tv_usec == 0 ? n_ready : -1;
}

static int limited_pselect(void) {
    fd_set files;
    FD_ZERO(&files);
    FD_SET(pipe_files[0], &files);
    return pselect(pipe_files[0] + 1, &files, NULL, NULL, &SPAN, NULL);
}

static int limited_epoll_wait(void) {
    struct epoll_event event;
    return epoll_wait(poll_file, &event, 1, SPAN_MS);
}

static int limited_epoll_pwait(void) {
    struct epoll_event event;
    return epoll_pwait(poll_file, &event, 1, SPAN_MS, NULL);
}

static int limited_epoll_pwait2(void) {
    struct epoll_event event;
    return epoll_pwait2(poll_file, &event, 1, &SPAN, NULL);
}

static void waits_for_files_end_at_their_limit(void **state) {
    int (*const WAITS[])(void) = {
        limited_poll,         limited_poll_of_a_file, limited_ppoll,
        limited_poll_checked, limited_ppoll_checked,  limited_select,
        limited_pselect,      limited_epoll_wait,     limited_epoll_pwait};
    (void)state;
    for (size_t i = 0; i < sizeof(WAITS) / sizeof(WAITS[0]); i++) {
        wait_begin began = begin_wait();
        assert_int_equal(WAITS[i](), 0);
        expect_waited(began);
    }
    wait_begin began = begin_wait();
    if (limited_epoll_pwait2() == 0) {
        expect_waited(began);
    } else { /* kernels before 5.11, or the C library, have none */
        assert_int_equal(errno, ENOSYS);
    }
}

/* Missing, expired and invalid limits keep their meaning, and a ready file ends the wait with the
 * rest of the limit, measured on the program's clock. */
static void other_limits_mean_what_they_meant(void **state) {
    struct pollfd file = {.fd = pipe_files[1], .events = POLLOUT};
    struct timeval left = {.tv_sec = 100, .tv_usec = 1};
    struct timespec wrong = {.tv_nsec = -1};
    fd_set files;
    (void)state;
    wait_begin began = begin_wait();
    assert_int_equal(poll(&file, 1, -1), 1);
    assert_int_equal(poll(&file, 1, INT_MAX), 1);
    assert_int_equal(ppoll(&file, 1, NULL, NULL), 1);
    assert_int_equal(poll(NULL, 0, 0), 0);
    assert_int_equal(ppoll(NULL, 0, &wrong, NULL), -1);
    assert_int_equal(errno, EINVAL);
    FD_ZERO(&files);
    FD_SET(pipe_files[1], &files);
    assert_int_equal(select(pipe_files[1] + 1, NULL, &files, NULL, &left), 1);
    double passed = seconds(CLOCK_MONOTONIC) - began.program;
    assert_true(left.tv_sec <= 100 &&
                (double)left.tv_sec + 1e-6 * (double)left.tv_usec >= 100.0 - passed - 1e-5);
    assert_int_equal(select(pipe_files[1] + 1, NULL, &files, NULL, NULL), 1);
    left = (struct timeval){.tv_sec = -1};
    assert_int_equal(select(0, NULL, NULL, NULL, &left), -1);
    assert_int_equal(errno, EINVAL);
    assert_true(real_seconds() - began.real < AHEAD_S);
}

/* ---- */

/* The program's clock is AHEAD_S ahead of the real ones from here on. */
static int set_up(void **state) {
    struct epoll_event event = {.events = EPOLLIN};
    (void)state;
    poll_file = epoll_create1(EPOLL_CLOEXEC);
    int status = pipe(pipe_files) + epoll_ctl(poll_file, EPOLL_CTL_ADD, pipe_files[0], &event) +
                 cudaMalloc(&memory, 4096);
    for (size_t i = 0; i < N_AHEAD; i++) {
        status += cudaMemsetAsync(memory, 0, 4, NULL);
    }
    return status + cudaDeviceSynchronize();
}

static int tear_down(void **state) {
    (void)state;
    return close(pipe_files[0]) + close(pipe_files[1]) + close(poll_file) + cudaFree(memory) +
           remove_folder(folder);
}

int main(int argc, char **argv) {
    (void)argc;
    if (!clock_begin(argv, folder)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_end_their_waits),
        cmocka_unit_test(a_time_that_is_over_is_not_waited_for),
        cmocka_unit_test(sleepers_wake),
        cmocka_unit_test(the_kernel_is_asked_for_real_times),
        cmocka_unit_test(timers_count_spans_of_the_clock),
        cmocka_unit_test(waits_for_files_end_at_their_limit),
        cmocka_unit_test(other_limits_mean_what_they_meant),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
