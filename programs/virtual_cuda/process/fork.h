/* fork.h - the locks of this module, when the program forks.
 *
 * A lock that another thread holds during the fork would stay held in the child for ever. So the
 * fork first takes all locks. No code takes one lock of this module while it holds another, so
 * their order does not matter. The account's lock is the exception and is taken last.
 */
#ifndef TIDE_VIRTUAL_CUDA_FORK_H
#define TIDE_VIRTUAL_CUDA_FORK_H

#include <pthread.h>

/* Guards a static lock; call it before main, from a constructor. `in_child` runs in the child while
 * the locks are still held; NULL: nothing to do. */
void tide_vc_fork_guard(pthread_mutex_t *lock, void (*in_child)(void));

/* A static lock of a file, safe across forks. */
#define TIDE_VC_LOCK(lock, in_child)                                                               \
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;                                       \
    __attribute__((constructor)) static void guard_##lock(void) {                                  \
        tide_vc_fork_guard(&lock, in_child);                                                       \
    }                                                                                              \
    struct lock##_needs_a_semicolon

#endif
