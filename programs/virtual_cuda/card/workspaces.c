#include "programs/virtual_cuda/card/workspaces.h"

#include <pthread.h>

#include "programs/virtual_cuda/api/export.h"

enum { MAX_WORKSPACES = 256 };

typedef struct workspace {
    uint64_t address;
    tide_vc_lent lent;
} workspace;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static workspace all[MAX_WORKSPACES];
static unsigned n_all;

void tide_vc_workspace_add(const void *address, size_t n_bytes, tide_vc_lent lent) {
    workspace wanted = {.address = (uint64_t)(uintptr_t)address, .lent = lent};
    unsigned i = 0;
    if (address == NULL || n_bytes == 0) {
        return;
    }
    pthread_mutex_lock(&lock);
    while (i < n_all && all[i].address != wanted.address) {
        i++;
    }
    if (i < n_all) {
        all[i].lent = lent < all[i].lent ? lent : all[i].lent;
    } else if (i < MAX_WORKSPACES) {
        all[n_all++] = wanted;
    }
    pthread_mutex_unlock(&lock);
}

TIDE_VC_EXPORT uint64_t tidemark_workspace(unsigned i, int by_call) {
    uint64_t address = 0;
    pthread_mutex_lock(&lock);
    for (unsigned at = 0; at < n_all && address == 0; at++) {
        if (all[at].lent == TIDE_VC_BY_HANDLE || by_call != 0) {
            address = i == 0 ? all[at].address : 0;
            i--;
        }
    }
    pthread_mutex_unlock(&lock);
    return address;
}

TIDE_VC_EXPORT void tidemark_workspaces_forget(void) {
    pthread_mutex_lock(&lock);
    n_all = 0;
    pthread_mutex_unlock(&lock);
}
