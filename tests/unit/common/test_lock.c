/* test_lock.c - a lock keeps threads apart, wakes sleeping threads, and delays a thread whose
 * wake-up is missed by at most one sleep.
 *
 * The real waiting time of a thread depends on the rest of the machine, so the tests check what the
 * kernel is asked for: the program is linked so that the lock's system calls come here first.
 */
#define _DEFAULT_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/lock_friend.h"

enum { N_THREADS = 4, N_ROUNDS = 100000, LONG_NS = 20000000 };

typedef struct shared_state {
    tide_lock lock; /* guards the counts */
    uint64_t n_taken;
    uint64_t n_again;        /* the same, counted in two steps */
    pthread_barrier_t begin; /* threads that contend for the lock wait here for each other */
    atomic_int n_inside;     /* threads between acquire and release */
    atomic_int n_wrong;      /* times that a thread was not alone there */
} shared_state;

/* ---- what the kernel is asked for ---- */

static atomic_int n_sleeps, n_wakes;
static atomic_int n_long_sleeps; /* without a limit, or with one above the stated bound */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* Reads as many arguments as a system call can have, even if fewer were passed. */
__attribute__((no_sanitize_address)) long __wrap_syscall(long number, ...) {
    long is[6];
    va_list arguments;
    va_start(arguments, number);
    for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++) {
        is[i] = va_arg(arguments, long);
    }
    va_end(arguments);
    if (number == SYS_futex && (int)is[1] == FUTEX_WAIT_PRIVATE) {
        const struct timespec *limit = (const struct timespec *)is[3];
        bool is_short =
            limit != NULL && limit->tv_sec == 0 && limit->tv_nsec <= TIDE_LOCK_MAX_SLEEP_NS;
        atomic_fetch_add(&n_sleeps, 1);
        atomic_fetch_add(&n_long_sleeps, !is_short);
    }
    if (number == SYS_futex && (int)is[1] == FUTEX_WAKE_PRIVATE) {
        atomic_fetch_add(&n_wakes, 1);
    }
    return __real_syscall(number, is[0], is[1], is[2], is[3], is[4], is[5]);
}

/* ---- */

static void sleep_ns(long ns) {
    (void)nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static void *count(void *argument) {
    shared_state *shared = argument;
    (void)pthread_barrier_wait(&shared->begin);
    for (int i = 0; i < N_ROUNDS; i++) {
        tide_lock_acquire(&shared->lock);
        if (atomic_fetch_add(&shared->n_inside, 1) != 0) {
            atomic_fetch_add(&shared->n_wrong, 1);
        }
        uint64_t n_again = shared->n_again;
        shared->n_taken++;
        shared->n_again = n_again + 1;
        atomic_fetch_sub(&shared->n_inside, 1);
        tide_lock_release(&shared->lock);
    }
    return NULL;
}

static void one_thread_at_a_time_has_it(void **state) {
    (void)state;
    shared_state shared = {.n_taken = 0};
    pthread_t threads[N_THREADS];
    assert_int_equal(pthread_barrier_init(&shared.begin, NULL, N_THREADS), 0);
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count, &shared), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    (void)pthread_barrier_destroy(&shared.begin);
    assert_int_equal(atomic_load(&shared.n_wrong), 0);
    assert_int_equal(shared.n_taken, (uint64_t)N_THREADS * N_ROUNDS);
    assert_int_equal(shared.n_again, (uint64_t)N_THREADS * N_ROUNDS);
}

static void a_thread_waits_for_long(void **state) {
    (void)state;
    shared_state shared = {.n_taken = 0};
    pthread_t thread;
    assert_int_equal(pthread_barrier_init(&shared.begin, NULL, 1), 0);
    tide_lock_acquire(&shared.lock);
    assert_int_equal(pthread_create(&thread, NULL, count, &shared), 0);
    sleep_ns(LONG_NS);
    assert_int_equal(shared.n_taken, 0); /* it waits */
    tide_lock_release(&shared.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)pthread_barrier_destroy(&shared.begin);
    assert_int_equal(shared.n_taken, N_ROUNDS);
}

/* ---- missed wake-ups ---- */

enum {
    N_MISSED = 40,    /* rounds in which the wake-up is missed on purpose */
    N_WOKEN = 40,     /* rounds in which the waiter sleeps when the lock is released */
    N_RELEASES = 400, /* rounds in which the wake-up may be missed by chance */
    STEP_NS = 1000    /* how much longer the lock is held from one of those to the next */
};
#define HANG_NS INT64_C(60000000000) /* longer than the busiest machine keeps a thread waiting */

/* One thread holds the lock, another waits for it. */
typedef struct handover {
    tide_lock lock;
    atomic_bool is_ready; /* the waiter runs and is about to acquire */
    atomic_bool is_taken; /* the waiter has had the lock */
    pthread_t waiter;
} handover;

static void *take_once(void *argument) {
    handover *at = argument;
    atomic_store(&at->is_ready, true);
    tide_lock_acquire(&at->lock);
    atomic_store(&at->is_taken, true);
    tide_lock_release(&at->lock);
    return NULL;
}

static void begin_handover(handover *at) {
    *at = (handover){.is_ready = false};
    tide_lock_acquire(&at->lock);
    assert_int_equal(pthread_create(&at->waiter, NULL, take_once, at), 0);
    while (!atomic_load(&at->is_ready)) {
        sleep_ns(1000);
    }
}

static void await_sleeper(const handover *at) {
    while (atomic_load(&at->lock.n_sleeping) == 0) {
        sleep_ns(1000);
    }
}

/* The waiter gets the lock, by a wake-up or by the end of its sleep. Otherwise it is let in after
 * HANG_NS, so that a broken lock fails the test instead of blocking it. */
static void end_handover(handover *at) {
    int64_t begin_ns = tide_clock_now_ns();
    while (!atomic_load(&at->is_taken) && tide_clock_now_ns() - begin_ns < HANG_NS) {
        sleep_ns(20000);
    }
    bool is_stuck = !atomic_load(&at->is_taken);
    if (is_stuck) {
        tide_lock_wake(&at->lock);
    }
    assert_int_equal(pthread_join(at->waiter, NULL), 0);
    assert_false(is_stuck);
}

/* Clears the lock's word without reading n_sleeping, exactly as a release that does not see the
 * sleeper. */
static void a_missed_wake_up_costs_one_sleep(void **state) {
    (void)state;
    atomic_store(&n_sleeps, 0);
    atomic_store(&n_wakes, 0);
    for (int i = 0; i < N_MISSED; i++) {
        handover at;
        begin_handover(&at);
        await_sleeper(&at);
        /* Later in each round, so that the release meets every phase of the sleep. */
        sleep_ns(i * (TIDE_LOCK_MAX_SLEEP_NS / N_MISSED));
        atomic_store(&at.lock.is_taken, 0);
        end_handover(&at);
    }
    assert_true(atomic_load(&n_sleeps) > 0);
    assert_int_equal(atomic_load(&n_wakes), 0);
    assert_int_equal(atomic_load(&n_long_sleeps), 0);
}

static void a_release_wakes_the_waiter(void **state) {
    (void)state;
    for (int i = 0; i < N_WOKEN; i++) {
        handover at;
        begin_handover(&at);
        await_sleeper(&at);
        atomic_store(&n_wakes, 0);
        tide_lock_release(&at.lock);
        /* Its sleep may have ended by itself just then. */
        assert_true(atomic_load(&n_wakes) == 1 || atomic_load(&at.lock.n_sleeping) == 0);
        end_handover(&at);
    }
}

/* The lock is released at every microsecond around the moment at which the waiter falls asleep. */
static void a_release_lets_the_waiter_in(void **state) {
    (void)state;
    for (int i = 0; i < N_RELEASES; i++) {
        handover at;
        begin_handover(&at);
        int64_t begin_ns = tide_clock_now_ns();
        while (tide_clock_now_ns() - begin_ns < (int64_t)i * STEP_NS) {
        }
        tide_lock_release(&at.lock);
        end_handover(&at);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_at_a_time_has_it),
        cmocka_unit_test(a_thread_waits_for_long),
        cmocka_unit_test(a_missed_wake_up_costs_one_sleep),
        cmocka_unit_test(a_release_wakes_the_waiter),
        cmocka_unit_test(a_release_lets_the_waiter_in),
    };
    return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
