/* lock.c - how to wait for a lock that is mostly held for less time than it takes to fall asleep.
 */
#define _DEFAULT_SOURCE /* syscall */
#include "common/lock_friend.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Pauses before a try: 1, 2, 4, ... Each try takes the lock's line away from the processor that
 * will release it, so that they must become rare; beginning with 8 pauses, two threads with call
 * stacks took a fifth longer. A pause is 25 ns on an AMD EPYC: 50 us in all. */
enum { MAX_PAUSES = 1024 };

/* Then who holds it waits for a device, copies rows, or is not running. At most so long at a time,
 * since being woken can be missed. */
enum { MAX_SLEEP_NS = 1000000 };

/* As long as it takes to wake up, 100 us. */
enum { WAKE_PAUSES = 4096 };

static void pause_for(int n_pauses) {
    for (int i = 0; i < n_pauses; i++) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#else
        (void)sched_yield();
#endif
    }
}

static bool is_taken(const tide_lock *lock) {
    return atomic_load_explicit(&lock->is_taken, memory_order_relaxed) != 0;
}

static bool try_again(tide_lock *lock) {
    return atomic_exchange_explicit(&lock->is_taken, 1, memory_order_acquire) == 0;
}

void tide_lock_wait(tide_lock *lock) {
    for (int n_pauses = 1; n_pauses <= MAX_PAUSES; n_pauses *= 2) {
        pause_for(n_pauses);
        if (try_again(lock)) {
            return;
        }
    }
    atomic_fetch_add_explicit(&lock->n_sleeping, 1, memory_order_relaxed);
    while (!try_again(lock)) {
        /* While it is taken. */
        const struct timespec most = {.tv_nsec = MAX_SLEEP_NS};
        (void)syscall(SYS_futex, &lock->is_taken, FUTEX_WAIT_PRIVATE, 1, &most, NULL, 0);
    }
    atomic_fetch_sub_explicit(&lock->n_sleeping, 1, memory_order_relaxed);
}

/* Without the pauses who releases it would have it again each time before the other one is awake.
 */
void tide_lock_wake(tide_lock *lock) {
    long n_woken = syscall(SYS_futex, &lock->is_taken, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    for (int i = 0; i < WAKE_PAUSES && n_woken > 0 && !is_taken(lock); i++) {
        pause_for(1);
    }
}
