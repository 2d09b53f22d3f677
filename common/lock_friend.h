/* lock_friend.h - a lock that is held for some tens of nanoseconds at a time: one atomic exchange
 * to take it, one store to release it.
 *
 * It is not fair: a thread that comes back at once may get it again before one that waits, so that
 * what it guards stays in one processor's cache for a few operations. Who waits tries again and
 * again, less and less often, and sleeps when it takes long.
 *
 * A mutex costs an exchange and a call on either side: a pair of the benchmark's hit-4k took 59 ns
 * with one and takes 53 ns; two threads of its step, not recorded, took 807 ns each and take 532
 * (medians; tidemark bench recorder's workloads on 2 cores of an AMD EPYC).
 */
#ifndef TIDE_COMMON_LOCK_FRIEND_H
#define TIDE_COMMON_LOCK_FRIEND_H

#include <stdatomic.h>

/* Bytes between what is read without a lock and what the one that holds it writes: two lines of a
 * processor's cache, which are fetched together. */
enum { TIDE_LINES_APART = 128 };

/* Zeroed: released. Needs no end. */
typedef struct tide_lock {
    atomic_uint is_taken;   /* 1: by one thread, which alone releases it; else 0 */
    atomic_uint n_sleeping; /* threads to be woken when it is released */
} tide_lock;

/* lock.c. Takes a lock that was found taken. */
void tide_lock_wait(tide_lock *lock);
/* Wakes one thread that sleeps, and lets it have the lock. */
void tide_lock_wake(tide_lock *lock);

/* Not to be taken again by the thread that has it. */
static inline void tide_lock_acquire(tide_lock *lock) {
    if (atomic_exchange_explicit(&lock->is_taken, 1, memory_order_acquire) != 0) {
        tide_lock_wait(lock);
    }
}

static inline void tide_lock_release(tide_lock *lock) {
    atomic_store_explicit(&lock->is_taken, 0, memory_order_release);
    /* May be read before the store is seen, and then miss who falls asleep right now: nobody sleeps
     * for long. An exchange would miss nobody, and cost each release as much as taking the lock. */
    if (atomic_load_explicit(&lock->n_sleeping, memory_order_relaxed) > 0) {
        tide_lock_wake(lock);
    }
}

#endif
