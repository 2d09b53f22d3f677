/* lock.c - how threads wait for a lock that is usually held for less time than it takes to fall
 * asleep.
 */
#define _DEFAULT_SOURCE /* syscall */
#include "common/lock_friend.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/real_time.h"

/* Pauses before each retry: 1, 2, 4, ... 1024. Each retry takes the lock's cache line away from the
 * processor that is about to release it, so retries must become rare quickly. They begin with a
 * single pause, because a longer first wait leaves less work to the other threads: beginning with
 * 8, two threads with call stacks took 20 % longer on an AMD EPYC, where a pause takes 25 ns and
 * all retries 50 us (a pause takes about 60 ns on an Intel Xeon). */
enum { MAX_PAUSES = 1024 };

/* About as long as a woken thread needs to run again, 100 us. */
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
    /* The holder waits for a device, copies rows, or is not running: let this processor do other
     * work. */
    atomic_fetch_add_explicit(&lock->n_sleeping, 1, memory_order_relaxed);
    while (!try_again(lock)) {
        /* The kernel compares the word with 1 before it lets the thread sleep, so a release between
         * try_again and this call is noticed here. */
        const struct timespec most = {.tv_nsec = TIDE_LOCK_MAX_SLEEP_NS};
        (void)tide_real_time_calls()->sleep_on(&lock->is_taken, 1, &most);
    }
    atomic_fetch_sub_explicit(&lock->n_sleeping, 1, memory_order_relaxed);
}

/* Without the pauses the releasing thread would usually have taken the lock again before the woken
 * one runs, and the sleeper could starve. */
void tide_lock_wake(tide_lock *lock) {
    long n_woken = syscall(SYS_futex, &lock->is_taken, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    for (int i = 0; i < WAKE_PAUSES && n_woken > 0 && !is_taken(lock); i++) {
        pause_for(1);
    }
}
