/* test_lock.c - a lock keeps threads apart, wakes the ones that sleep, and delays a thread whose
 * wake-up is missed by no more than one sleep.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/lock_friend.h"
#include "common/statistics.h"

enum { N_THREADS = 4, N_ROUNDS = 100000, LONG_NS = 20000000 };

typedef struct shared_state {
    tide_lock lock; /* guards the counts */
    uint64_t n_taken;
    uint64_t n_again;        /* the same, counted in two steps */
    pthread_barrier_t begin; /* threads that contend for the lock wait here for each other */
    atomic_int n_inside;     /* threads between acquire and release */
    atomic_int n_wrong;      /* times that a thread was not alone there */
} shared_state;

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
    N_MISSED = 40,      /* rounds in which the wake-up is missed on purpose */
    N_RELEASES = 400,   /* rounds in which it may be missed by chance */
    STEP_NS = 1000,     /* how much longer the lock is held from one of those to the next */
    ASLEEP_NS = 300000, /* a waiter that is counted as sleeping is in the kernel by then */
    HANG_NS = 2000000000
};

/* One thread holds the lock, another waits for it; both know when it was released and taken. */
typedef struct handover {
    tide_lock lock;
    atomic_bool is_ready;  /* the waiter runs and is about to acquire */
    atomic_llong taken_ns; /* when the waiter had the lock; 0: not yet */
    int64_t released_ns;   /* when the holder released it */
    pthread_t waiter;
} handover;

static void *take_once(void *argument) {
    handover *at = argument;
    atomic_store(&at->is_ready, true);
    tide_lock_acquire(&at->lock);
    atomic_store(&at->taken_ns, tide_clock_now_ns());
    tide_lock_release(&at->lock);
    return NULL;
}

static void begin_handover(handover *at) {
    *at = (handover){.released_ns = 0};
    tide_lock_acquire(&at->lock);
    assert_int_equal(pthread_create(&at->waiter, NULL, take_once, at), 0);
    while (!atomic_load(&at->is_ready)) {
        sleep_ns(1000);
    }
}

/* ns from the release to the moment that the waiter had the lock. A waiter that is never woken is
 * let in after HANG_NS, so that a broken lock fails the test instead of blocking it. */
static int64_t end_handover(handover *at) {
    while (atomic_load(&at->taken_ns) == 0 && tide_clock_now_ns() - at->released_ns < HANG_NS) {
        sleep_ns(20000);
    }
    if (atomic_load(&at->taken_ns) == 0) {
        tide_lock_wake(&at->lock);
    }
    assert_int_equal(pthread_join(at->waiter, NULL), 0);
    return (int64_t)atomic_load(&at->taken_ns) - at->released_ns;
}

/* The lock's word is cleared without a look at n_sleeping, which is exactly what a release does
 * that does not see the sleeper. Every round is the worst case. The system may run the waiter later
 * than its sleep ends, so the median is held against twice the stated bound, and the largest delay
 * only shows that no thread is stuck. */
static void a_missed_wake_up_costs_one_sleep(void **state) {
    (void)state;
    double delays_ns[N_MISSED];
    for (int i = 0; i < N_MISSED; i++) {
        handover at;
        begin_handover(&at);
        while (atomic_load(&at.lock.n_sleeping) == 0) {
            sleep_ns(1000);
        }
        /* Later in each round, so that the release meets every phase of the sleep. */
        sleep_ns(ASLEEP_NS + i * (TIDE_LOCK_MAX_SLEEP_NS / N_MISSED));
        at.released_ns = tide_clock_now_ns();
        atomic_store(&at.lock.is_taken, 0);
        delays_ns[i] = (double)end_handover(&at);
    }
    tide_statistics of = tide_statistics_of(delays_ns, N_MISSED);
    print_message("wake-up missed: least %.0f us, median %.0f us, most %.0f us of %d\n",
                  of.min * 1e-3, of.median * 1e-3, of.max * 1e-3, N_MISSED);
    assert_true(of.median <= 2.0 * TIDE_LOCK_MAX_SLEEP_NS);
    assert_true(of.max < HANG_NS);
}

/* The lock is released at every microsecond around the moment at which the waiter falls asleep.
 * Most waiters must be woken: without wake-ups the median would be most of a sleep. */
static void a_release_lets_the_waiter_in(void **state) {
    (void)state;
    double delays_ns[N_RELEASES];
    for (int i = 0; i < N_RELEASES; i++) {
        handover at;
        begin_handover(&at);
        int64_t begin_ns = tide_clock_now_ns();
        while (tide_clock_now_ns() - begin_ns < (int64_t)i * STEP_NS) {
        }
        at.released_ns = tide_clock_now_ns();
        tide_lock_release(&at.lock);
        delays_ns[i] = (double)end_handover(&at);
    }
    tide_statistics of = tide_statistics_of(delays_ns, N_RELEASES);
    print_message("released: median %.0f us, most %.0f us of %d\n", of.median * 1e-3, of.max * 1e-3,
                  N_RELEASES);
    assert_true(of.median <= 0.5 * TIDE_LOCK_MAX_SLEEP_NS);
    assert_true(of.max < HANG_NS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_at_a_time_has_it),
        cmocka_unit_test(a_thread_waits_for_long),
        cmocka_unit_test(a_missed_wake_up_costs_one_sleep),
        cmocka_unit_test(a_release_lets_the_waiter_in),
    };
    return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
