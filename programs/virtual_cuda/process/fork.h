/* fork.h - the locks of this module, when the program forks.
 *
 * A lock that another thread holds at that moment would be held for ever in the child. So the fork
 * waits until it has them all. No lock of this module may be taken while another is held, but for
 * that of the account, which is taken last: so their order does not matter.
 */
#ifndef TIDE_VIRTUAL_CUDA_FORK_H
#define TIDE_VIRTUAL_CUDA_FORK_H

#include <pthread.h>

/* Guards a static lock; called before main, from a constructor. `in_child` runs in the child while
 * the locks are still held; NULL: nothing to do. */
void tide_vc_fork_guard(pthread_mutex_t *lock, void (*in_child)(void));

/* A static lock of a file, which a fork does not leave behind. */
#define TIDE_VC_LOCK(lock, in_child)                                                               \
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;                                       \
    __attribute__((constructor)) static void guard_##lock(void) {                                  \
        tide_vc_fork_guard(&lock, in_child);                                                       \
    }                                                                                              \
    struct lock##_needs_a_semicolon

#endif
