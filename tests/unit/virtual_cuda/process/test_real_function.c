/* test_real_function.c - if the C library lacks a function that waits, the error is returned as
 * that function returns its errors: by errno and -1, or as the result.
 *
 * The program is linked so that the library's dlsym and dlvsym are those below. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static bool is_missing = true; /* every function, also when the library is loaded */

void *__real_dlsym(void *handle, const char *name);
void *__real_dlvsym(void *handle, const char *name, const char *version);
void *__wrap_dlsym(void *handle, const char *name);
void *__wrap_dlvsym(void *handle, const char *name, const char *version);

void *__wrap_dlsym(void *handle, const char *name) {
    return is_missing ? NULL : __real_dlsym(handle, name);
}

void *__wrap_dlvsym(void *handle, const char *name, const char *version) {
    return is_missing ? NULL : __real_dlvsym(handle, name, version);
}

/* These set errno. */
#define EXPECT_ERRNO(call)                                                                         \
    errno = 0;                                                                                     \
    assert_int_equal(call, -1);                                                                    \
    assert_int_equal(errno, ENOSYS);
/* These return the error. */
#define EXPECT_RESULT(call)                                                                        \
    errno = 0;                                                                                     \
    assert_int_equal(call, ENOSYS);                                                                \
    assert_int_equal(errno, 0);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static const struct timespec OVER = {.tv_sec = 1};
static const struct itimerspec TIMER = {.it_value = {.tv_sec = 1}};

static void a_missing_function_is_told_by_errno(void **state) {
    struct itimerspec left;
    (void)state;
    EXPECT_ERRNO(sem_timedwait(&semaphore, &OVER))
    EXPECT_ERRNO(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &OVER))
    EXPECT_ERRNO(timerfd_settime(-1, 0, &TIMER, NULL))
    EXPECT_ERRNO(timerfd_gettime(-1, &left))
    EXPECT_ERRNO(nanosleep(&OVER, NULL))
    EXPECT_ERRNO(usleep(1))
    EXPECT_ERRNO((int)syscall(SYS_getpid))
    assert_int_equal(sleep(1), 1); /* what is left */
    EXPECT_ERRNO(poll(NULL, 0, 1))
    EXPECT_ERRNO(select(0, NULL, NULL, NULL, NULL))
}

static void a_missing_function_is_told_by_the_result(void **state) {
    (void)state;
    EXPECT_RESULT(pthread_cond_timedwait(&condition, &mutex, &OVER))
    EXPECT_RESULT(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &OVER))
    EXPECT_RESULT(pthread_mutex_timedlock(&mutex, &OVER))
    EXPECT_RESULT(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &OVER))
    EXPECT_RESULT(pthread_rwlock_timedrdlock(&lock, &OVER))
    EXPECT_RESULT(pthread_rwlock_timedwrlock(&lock, &OVER))
    EXPECT_RESULT(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &OVER))
    EXPECT_RESULT(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &OVER))
    EXPECT_RESULT(pthread_timedjoin_np(pthread_self(), NULL, &OVER))
    EXPECT_RESULT(pthread_clockjoin_np(pthread_self(), NULL, CLOCK_MONOTONIC, &OVER))
    EXPECT_RESULT(clock_nanosleep(CLOCK_MONOTONIC, 0, &OVER, NULL))
}

static void a_missing_function_of_c11_is_told_by_its_errors(void **state) {
    static mtx_t c11_mutex;
    static cnd_t c11_condition;
    (void)state;
    assert_int_equal(mtx_timedlock(&c11_mutex, &OVER), thrd_error);
    assert_int_equal(cnd_timedwait(&c11_condition, &c11_mutex, &OVER), thrd_error);
    assert_true(thrd_sleep(&OVER, NULL) < -1);
}

/* An existing function is found, even if it was missing at the first call. */
static void functions_that_are_there_are_called(void **state) {
    (void)state;
    is_missing = false;
    assert_int_equal(sem_timedwait(&semaphore, &OVER), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_int_equal(timerfd_settime(-1, 0, &TIMER, NULL), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(pthread_mutex_timedlock(&mutex, &OVER), 0);
    assert_int_equal(pthread_mutex_unlock(&mutex), 0);
    assert_int_equal(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &OVER, NULL), 0);
    assert_int_equal(syscall(SYS_getpid), getpid());
}

static int set_up(void **state) {
    (void)state;
    return sem_init(&semaphore, 0, 0);
}

static int tear_down(void **state) {
    (void)state;
    return sem_destroy(&semaphore);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_function_is_told_by_errno),
        cmocka_unit_test(a_missing_function_is_told_by_the_result),
        cmocka_unit_test(a_missing_function_of_c11_is_told_by_its_errors),
        cmocka_unit_test(functions_that_are_there_are_called),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
