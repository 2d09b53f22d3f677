/* lock_internal.h - taking a mutex that is held for some tens of nanoseconds at a time.
 *
 * While one thread alone takes it, a plain lock is the quickest. Where threads take it in turn, who
 * finds it taken tries again a few times before going to sleep, which takes as long as many holds
 * of it. Which of the two it is shows by who took it last.
 */
#ifndef TIDE_ALLOCATOR_LOCK_INTERNAL_H
#define TIDE_ALLOCATOR_LOCK_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

/* Bytes between what a waiting thread reads and what the one that holds the lock writes: two lines
 * of a processor's cache, which are fetched together. */
enum { TIDE_LINES_APART = 128 };

enum { TIDE_LOCK_TRIES = 40, TIDE_LOCK_MEMORY = 256 };

/* How a lock is used. */
typedef struct tide_lock_habit {
    const void *last;      /* the thread that took it last; guarded by the lock */
    atomic_int n_in_turns; /* above 0: threads take it in turn; falls with each time that the same
                              one takes it again */
} tide_lock_habit;

/* `self` is an address that no other thread has. Unlock the mutex as usual. */
static inline void tide_lock(pthread_mutex_t *mutex, tide_lock_habit *habit, const void *self) {
    int n_in_turns = atomic_load_explicit(&habit->n_in_turns, memory_order_relaxed);
    int n_tries = n_in_turns > 0 ? TIDE_LOCK_TRIES : 0;
    int i = 0;
    while (i < n_tries && pthread_mutex_trylock(mutex) != 0) {
        for (int pause = 0; pause < i; pause++) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
        i++;
    }
    if (i == n_tries) {
        (void)pthread_mutex_lock(mutex);
    }
    if (habit->last != self) {
        habit->last = self;
        atomic_store_explicit(&habit->n_in_turns, TIDE_LOCK_MEMORY, memory_order_relaxed);
    } else if (n_in_turns > 0) {
        atomic_store_explicit(&habit->n_in_turns, n_in_turns - 1, memory_order_relaxed);
    }
}

#endif
