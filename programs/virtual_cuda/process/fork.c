#include "programs/virtual_cuda/process/fork.h"

#include <stddef.h>

#include "programs/virtual_cuda/card/account_friend.h"

enum { MAX_LOCKS = 32 };

typedef struct guarded {
    pthread_mutex_t *lock;
    void (*in_child)(void);
} guarded;

/* Filled by constructors, before the program has a second thread. */
static struct locks {
    guarded all[MAX_LOCKS];
    size_t n; /* at most MAX_LOCKS */
} locks;

static void before(void) {
    for (size_t i = 0; i < locks.n; i++) {
        pthread_mutex_lock(locks.all[i].lock);
    }
    tide_vc_account_before_fork();
}

static void unlock_all(void) {
    for (size_t i = locks.n; i > 0; i--) {
        pthread_mutex_unlock(locks.all[i - 1].lock);
    }
}

static void in_parent(void) {
    tide_vc_account_in_parent();
    unlock_all();
}

static void in_child(void) {
    tide_vc_account_in_child();
    for (size_t i = 0; i < locks.n; i++) {
        if (locks.all[i].in_child != NULL) {
            locks.all[i].in_child();
        }
    }
    unlock_all();
}

void tide_vc_fork_guard(pthread_mutex_t *lock, void (*child)(void)) {
    if (locks.n == 0) {
        (void)pthread_atfork(before, in_parent, in_child);
    }
    if (locks.n < MAX_LOCKS) {
        locks.all[locks.n++] = (guarded){lock, child};
    }
}
