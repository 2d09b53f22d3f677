/* lock_friend.h - a lock for critical sections of some tens of nanoseconds: one atomic exchange
 * takes it, one store releases it.
 *
 * It is not fair. A thread that releases it and comes straight back may take it again before a
 * waiting thread, which keeps the guarded data in one processor's cache for a few operations.
 * Waiters retry with increasing backoff, then sleep. A wake-up can be missed, so no sleep is longer
 * than TIDE_LOCK_MAX_SLEEP_NS; docs/decisions/0009 explains why that is worth it, and what a
 * pthread mutex costs instead.
 */
#ifndef TIDE_COMMON_LOCK_FRIEND_H
#define TIDE_COMMON_LOCK_FRIEND_H

#include <stdatomic.h>
#include <stdbool.h>

#include "common/assert.h"

/* Bytes between fields that are read without the lock and fields that its holder writes. Two cache
 * lines, because processors fetch lines in pairs: one line apart, every write would still take the
 * readers' line away. */
enum { TIDE_LINES_APART = 128 };

/* The longest sleep, and so the most that a missed wake-up delays a thread, not counting the time
 * until the system runs it again. A thread sleeps only after all of its retries have failed (50 to
 * 130 us). */
enum { TIDE_LOCK_MAX_SLEEP_NS = 1000000 };

/* Zero-initialised means unlocked; there is no destructor. */
typedef struct tide_lock {
    atomic_uint is_taken;   /* 1 while a thread holds it, 0 otherwise; the futex word */
    atomic_uint n_sleeping; /* threads that a release has to wake */
} tide_lock;

/* lock.c. The slow path of tide_lock_acquire, for a lock that is held. */
void tide_lock_wait(tide_lock *lock);
/* lock.c. Wakes one sleeping thread and lets it try to take the lock. */
void tide_lock_wake(tide_lock *lock);

/* Not recursive: a thread that holds the lock and acquires it again waits for ever. */
static inline void tide_lock_acquire(tide_lock *lock) {
    if (atomic_exchange_explicit(&lock->is_taken, 1, memory_order_acquire) != 0) {
        tide_lock_wait(lock);
    }
}

/* Whether a thread holds the lock; for assertions of the one that should. */
static inline bool tide_lock_is_held(tide_lock *lock) {
    return atomic_load_explicit(&lock->is_taken, memory_order_relaxed) != 0;
}

/* Only the thread that holds the lock may release it. */
static inline void tide_lock_release(tide_lock *lock) {
    TIDE_ASSERT(tide_lock_is_held(lock));
    atomic_store_explicit(&lock->is_taken, 0, memory_order_release);
    /* The processor may do this load before others see the store above. A thread that goes to sleep
     * in between is not counted yet; it still finds the lock held and is not woken. An exchange
     * instead of the store would prevent that, but would make every release as expensive as taking
     * the lock. The bounded sleep repairs it instead. */
    if (atomic_load_explicit(&lock->n_sleeping, memory_order_relaxed) > 0) {
        tide_lock_wake(lock);
    }
}

#endif
