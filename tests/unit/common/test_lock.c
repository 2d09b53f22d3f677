/* test_lock.c - a lock keeps threads apart, and who waits for long gets it in the end. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "common/lock_friend.h"

enum { N_THREADS = 4, N_ROUNDS = 100000, LONG_NS = 20000000 };

typedef struct shared_state {
    tide_lock lock; /* guards the counts */
    uint64_t n_taken;
    uint64_t n_again;        /* the same, counted in two steps */
    pthread_barrier_t begin; /* threads that take it at once wait here for each other */
    atomic_int n_inside;     /* threads between taking it and releasing it */
    atomic_int n_wrong;      /* threads that were not alone */
} shared_state;

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
    (void)nanosleep(&(struct timespec){.tv_nsec = LONG_NS}, NULL);
    assert_int_equal(shared.n_taken, 0); /* it waits */
    tide_lock_release(&shared.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)pthread_barrier_destroy(&shared.begin);
    assert_int_equal(shared.n_taken, N_ROUNDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_at_a_time_has_it),
        cmocka_unit_test(a_thread_waits_for_long),
    };
    return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
