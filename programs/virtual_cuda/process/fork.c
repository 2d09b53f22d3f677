#include "programs/virtual_cuda/process/fork.h"

#include <stddef.h>

#include "programs/virtual_cuda/card/account_friend.h"

enum { MAX_LOCKS = 32 };

typedef struct guarded {
    pthread_mutex_t *lock;
    void (*in_child)(void);
} guarded;

static guarded all[MAX_LOCKS];
static size_t n_all;

static void before(void) {
    for (size_t i = 0; i < n_all; i++) {
        pthread_mutex_lock(all[i].lock);
    }
    tide_vc_account_before_fork();
}

static void unlock_all(void) {
    for (size_t i = n_all; i > 0; i--) {
        pthread_mutex_unlock(all[i - 1].lock);
    }
}

static void in_parent(void) {
    tide_vc_account_in_parent();
    unlock_all();
}

static void in_child(void) {
    tide_vc_account_in_child();
    for (size_t i = 0; i < n_all; i++) {
        if (all[i].in_child != NULL) {
            all[i].in_child();
        }
    }
    unlock_all();
}

void tide_vc_fork_guard(pthread_mutex_t *lock, void (*child)(void)) {
    if (n_all == 0) {
        (void)pthread_atfork(before, in_parent, in_child);
    }
    if (n_all < MAX_LOCKS) {
        all[n_all++] = (guarded){lock, child};
    }
}
