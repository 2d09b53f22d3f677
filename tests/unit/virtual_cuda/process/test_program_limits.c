/* test_program_limits.c - the limits passed to the C library and the kernel when a program waits:
 * nothing waits here.
 *
 * The program is linked so that the library finds the functions below instead of the C library's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <threads.h>

#include <cmocka.h>

#include "common/lock_friend.h"
#include "unit/virtual_cuda/process/test_clock.h"
#include "unit/virtual_cuda/test_folder.h"

int cudaMalloc(void **address, size_t n_bytes);
int cudaMemsetAsync(void *to, int value, size_t n_bytes, void *stream);
int cudaDeviceSynchronize(void);

static char folder[CLOCK_FOLDER];
static struct timespec asked; /* the limit of the last call */
static clockid_t asked_clock;
static int sleep_status; /* of the next sleep */

/* ---- instead of the C library's ---- */

static int told_select(int n_files, fd_set *read, fd_set *write, fd_set *except,
                       struct timeval *limit) {
    (void)n_files;
    (void)read;
    (void)write;
    (void)except;
    asked = (struct timespec){limit->tv_sec, limit->tv_usec * 1000};
    return 0;
}

static int told_sleep(clockid_t clock, int flags, const struct timespec *wanted,
                      struct timespec *ret_left) {
    (void)clock;
    (void)flags;
    (void)ret_left;
    asked = *wanted;
    return sleep_status;
}

static int told_lock(void *mutex, const struct timespec *until) {
    (void)mutex;
    asked = *until;
    return thrd_timedout;
}

static int told_wait(void *condition, void *mutex, const struct timespec *until) {
    (void)condition;
    return told_lock(mutex, until);
}

static int told_join(pthread_t thread, void **ret_value, clockid_t clock,
                     const struct timespec *until) {
    (void)thread;
    (void)ret_value;
    asked_clock = clock;
    asked = *until;
    return 0;
}

static tide_lock lock;

static long (*real_call)(long number, long first, long second, long third, const void *fourth,
                         long fifth, long sixth);

static long told_call(long number, long first, long second, long third, const void *fourth,
                      long fifth, long sixth) {
    if (number != SYS_futex) {
        return real_call(number, first, second, third, fourth, fifth, sixth);
    }
    asked = *(const struct timespec *)fourth;
    atomic_store(&lock.is_taken, 0); /* as if its holder had released it */
    return 0;
}

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

#define INSTEAD(of, function)                                                                      \
    if (strcmp(name, of) == 0) {                                                                   \
        __typeof__(&(function)) found = function;                                                  \
        memcpy(&address, &found, sizeof(address));                                                 \
        return address;                                                                            \
    }

static int n_looked_up;

void *__wrap_dlsym(void *handle, const char *name) {
    void *address = __real_dlsym(handle, name);
    n_looked_up++;
    INSTEAD("select", told_select)
    INSTEAD("clock_nanosleep", told_sleep)
    INSTEAD("mtx_timedlock", told_lock)
    INSTEAD("cnd_timedwait", told_wait)
    INSTEAD("pthread_clockjoin_np", told_join)
    if (strcmp(name, "syscall") == 0) {
        memcpy(&real_call, &address, sizeof(real_call));
    }
    INSTEAD("syscall", told_call)
    return address;
}

/* ---- */

/* These may be called in handlers of signals (signal-safety(7)), and dlsym may not. Our own
 * handlers call nanosleep, and those that report a crash ask for a thread's number. */
static void handlers_of_signals_look_nothing_up(void **state) {
    struct timespec none = {.tv_sec = 0};
    struct timeval over = {.tv_sec = 0};
    (void)state;
    n_looked_up = 0;
    assert_int_equal(poll(NULL, 0, 0), 0);
    assert_int_equal(select(0, NULL, NULL, NULL, &over), 0);
    assert_int_equal(pselect(0, NULL, NULL, NULL, &none, NULL), 0);
    assert_int_equal(nanosleep(&none, NULL), 0);
    assert_int_equal(sleep(0), 0);
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &none), 0);
    assert_true(time(NULL) > 0);
    assert_true(syscall(SYS_gettid) > 0);
    assert_int_equal(n_looked_up, 0);
}

static double asked_seconds(void) {
    return (double)asked.tv_sec + 1e-9 * (double)asked.tv_nsec;
}

/* 2.5 s as 0 s and 2500000 us: Linux carries the excess over. */
static void microseconds_may_be_more_than_a_second(void **state) {
    struct timeval limit = {.tv_usec = 2500000};
    (void)state;
    assert_int_equal(select(0, NULL, NULL, NULL, &limit), 0);
    assert_float_equal(asked_seconds(), 2.5 / HOST, 1e-6);
    assert_true(limit.tv_sec == 2 && limit.tv_usec == 500000); /* told_select leaves all of it */
    limit = (struct timeval){INT64_MAX, 1000000};
    assert_int_equal(select(0, NULL, NULL, NULL, &limit), 0);
    assert_true(asked.tv_sec == INT64_MAX);
    limit = (struct timeval){-1, 3000000};
    assert_int_equal(select(0, NULL, NULL, NULL, &limit), 0);
    assert_true(asked.tv_sec == -1); /* an error, which the C library reports */
}

static void our_own_pauses_are_real(void **state) {
    (void)state;
    errno = EDOM;
    sleep_status = EINTR;
    tide_clock_pause_ns(7000);
    sleep_status = 0;
    assert_int_equal(errno, EDOM);
    assert_float_equal(asked_seconds(), 7e-6, 1e-12);
}

static void our_own_locks_sleep_no_longer_than_they_say(void **state) {
    (void)state;
    asked = (struct timespec){0, 0};
    atomic_store(&lock.is_taken, 1);
    tide_lock_acquire(&lock);
    assert_float_equal(asked_seconds(), 1e-9 * TIDE_LOCK_MAX_SLEEP_NS, 1e-12);
    tide_lock_release(&lock);
}

static void processor_times_are_slept_as_they_are(void **state) {
    const struct timespec span = {.tv_sec = 1};
    clockid_t of_process;
    (void)state;
    assert_int_equal(clock_getcpuclockid(getpid(), &of_process), 0);
    const clockid_t CLOCKS[] = {CLOCK_PROCESS_CPUTIME_ID, of_process};
    for (size_t i = 0; i < sizeof(CLOCKS) / sizeof(CLOCKS[0]); i++) {
        assert_int_equal(clock_nanosleep(CLOCKS[i], 0, &span, NULL), 0);
        assert_float_equal(asked_seconds(), 1.0, 1e-9);
    }
    assert_int_equal(clock_nanosleep(CLOCK_BOOTTIME, 0, &span, NULL), 0);
    assert_float_equal(asked_seconds(), 1.0 / HOST, 1e-9);
}

/* A limit ahead on the program's clock becomes one that far ahead, divided by the factor, on the
 * real clock, which is hours earlier. A date in seconds is a double, precise to 0.3 us. */
#define FAR_S 5.0
static double real_before;

static struct timespec far_ahead(clockid_t clock, double (*real)(void)) {
    real_before = real();
    double until = seconds(clock) + FAR_S;
    struct timespec limit = {.tv_sec = (time_t)until};
    limit.tv_nsec = (long)((until - (double)limit.tv_sec) * 1e9);
    return limit;
}

static void expect_real_time(double (*real)(void)) {
    assert_true(asked_seconds() >= real_before + FAR_S / HOST - 2e-6);
    assert_true(asked_seconds() <= real() + FAR_S / HOST + 2e-6);
}

static double real_date(void) {
    return 1e-6 * (double)tide_clock_unix_us();
}

/* ---- locks and threads ---- */

static void threads_of_c11_wait_by_the_real_clock(void **state) {
    const struct timespec span = {.tv_sec = 3};
    const struct timespec wrong = {.tv_nsec = -1};
    static mtx_t mutex;
    static cnd_t condition;
    (void)state;
    struct timespec until = far_ahead(CLOCK_REALTIME, real_date);
    assert_int_equal(mtx_timedlock(&mutex, &until), thrd_timedout);
    expect_real_time(real_date);
    until = far_ahead(CLOCK_REALTIME, real_date);
    assert_int_equal(cnd_timedwait(&condition, &mutex, &until), thrd_timedout);
    expect_real_time(real_date);
    assert_int_equal(thrd_sleep(&span, NULL), 0);
    assert_float_equal(asked_seconds(), 3.0 / HOST, 1e-9);
    sleep_status = EINTR;
    assert_int_equal(thrd_sleep(&wrong, NULL), -1);
    sleep_status = EINVAL;
    assert_true(thrd_sleep(&wrong, NULL) < -1);
    sleep_status = 0;
}

static void a_thread_is_joined_by_the_real_clock(void **state) {
    (void)state;
    struct timespec until = far_ahead(CLOCK_MONOTONIC, real_seconds);
    assert_int_equal(pthread_clockjoin_np(pthread_self(), NULL, CLOCK_MONOTONIC, &until), 0);
    assert_int_equal(asked_clock, CLOCK_MONOTONIC);
    expect_real_time(real_seconds);
}

/* ---- futexes ---- */

static void futex(long operation, const struct timespec *limit) {
    uint32_t word = 0;
    assert_int_equal(syscall(SYS_futex, &word, operation, 0L, limit, NULL, 0L), 0);
}

static void expect_time(long operation, clockid_t clock, double (*real)(void)) {
    const struct timespec limit = far_ahead(clock, real);
    futex(operation, &limit);
    expect_real_time(real);
}

static void futexes_wait_by_the_real_clock(void **state) {
    const struct timespec span = {.tv_sec = 3};
    (void)state;
    futex(FUTEX_WAIT_PRIVATE, &span);
    assert_float_equal(asked_seconds(), 3.0 / HOST, 1e-9);
    expect_time(FUTEX_WAIT_BITSET_PRIVATE, CLOCK_MONOTONIC, real_seconds);
    expect_time(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, CLOCK_REALTIME, real_date);
    expect_time(FUTEX_LOCK_PI, CLOCK_REALTIME, real_date);
#ifdef FUTEX_LOCK_PI2
    expect_time(FUTEX_LOCK_PI2, CLOCK_MONOTONIC, real_seconds);
    expect_time(FUTEX_LOCK_PI2 | FUTEX_CLOCK_REALTIME, CLOCK_REALTIME, real_date);
#endif
    expect_time(FUTEX_WAIT_REQUEUE_PI, CLOCK_MONOTONIC, real_seconds);
    /* The kernel takes an int: the rest of the register may hold anything. */
    expect_time((INT64_C(7) << 32) | FUTEX_WAIT_BITSET, CLOCK_MONOTONIC, real_seconds);
}

/* The fourth argument of FUTEX_WAKE_OP and the like is a number. */
static void numbers_stay_numbers(void **state) {
    const struct timespec second = {.tv_sec = 1};
    (void)state;
    futex(FUTEX_REQUEUE, &second);
    assert_float_equal(asked_seconds(), 1.0, 1e-9);
}

/* ---- */

static int set_up(void **state) {
    void *memory = NULL;
    (void)state;
    int status = cudaMalloc(&memory, 4096);
    for (size_t i = 0; i < N_AHEAD; i++) {
        status += cudaMemsetAsync(memory, 0, 4, NULL);
    }
    return status + cudaDeviceSynchronize();
}

static int tear_down(void **state) {
    (void)state;
    return remove_folder(folder);
}

int main(int argc, char **argv) {
    (void)argc;
    if (!clock_begin(argv, folder)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_of_signals_look_nothing_up), /* the first: nothing was called */
        cmocka_unit_test(microseconds_may_be_more_than_a_second),
        cmocka_unit_test(our_own_pauses_are_real),
        cmocka_unit_test(our_own_locks_sleep_no_longer_than_they_say),
        cmocka_unit_test(processor_times_are_slept_as_they_are),
        cmocka_unit_test(threads_of_c11_wait_by_the_real_clock),
        cmocka_unit_test(a_thread_is_joined_by_the_real_clock),
        cmocka_unit_test(futexes_wait_by_the_real_clock),
        cmocka_unit_test(numbers_stay_numbers),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
