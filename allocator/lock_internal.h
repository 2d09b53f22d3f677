/* lock_internal.h - a mutex that is held for some tens of nanoseconds at a time: who finds it taken
 * tries again a few times before going to sleep, which takes as long as many holds of it.
 */
#ifndef TIDE_ALLOCATOR_LOCK_INTERNAL_H
#define TIDE_ALLOCATOR_LOCK_INTERNAL_H

#include <pthread.h>

enum { TIDE_LOCK_TRIES = 40 };

static inline void tide_lock(pthread_mutex_t *mutex) {
    for (int i = 0; i < TIDE_LOCK_TRIES; i++) {
        if (pthread_mutex_trylock(mutex) == 0) {
            return;
        }
        for (int pause = 0; pause < i; pause++) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
    }
    (void)pthread_mutex_lock(mutex);
}

#endif
