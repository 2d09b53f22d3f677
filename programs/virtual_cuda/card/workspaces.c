#include "programs/virtual_cuda/card/workspaces.h"

#include <pthread.h>

#include "programs/virtual_cuda/api/export.h"

enum { MAX_WORKSPACES = 256 };

typedef struct workspace {
    uint64_t address;
    tide_vc_lent lent;
} workspace;

static struct workspaces {
    pthread_mutex_t lock; /* of the members below */
    workspace all[MAX_WORKSPACES];
    unsigned n_all;
} workspaces = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tide_vc_workspace_add(const void *address, size_t n_bytes, tide_vc_lent lent) {
    workspace wanted = {.address = (uint64_t)(uintptr_t)address, .lent = lent};
    unsigned i = 0;
    if (address == NULL || n_bytes == 0) {
        return;
    }
    pthread_mutex_lock(&workspaces.lock);
    while (i < workspaces.n_all && workspaces.all[i].address != wanted.address) {
        i++;
    }
    if (i < workspaces.n_all) {
        workspaces.all[i].lent = lent < workspaces.all[i].lent ? lent : workspaces.all[i].lent;
    } else if (i < MAX_WORKSPACES) {
        workspaces.all[workspaces.n_all++] = wanted;
    }
    pthread_mutex_unlock(&workspaces.lock);
}

TIDE_VC_EXPORT uint64_t tidemark_workspace(unsigned i, int by_call) {
    uint64_t address = 0;
    pthread_mutex_lock(&workspaces.lock);
    for (unsigned at = 0; at < workspaces.n_all && address == 0; at++) {
        if (workspaces.all[at].lent == TIDE_VC_BY_HANDLE || by_call != 0) {
            address = i == 0 ? workspaces.all[at].address : 0;
            i--;
        }
    }
    pthread_mutex_unlock(&workspaces.lock);
    return address;
}

TIDE_VC_EXPORT void tidemark_workspaces_forget(void) {
    pthread_mutex_lock(&workspaces.lock);
    workspaces.n_all = 0;
    pthread_mutex_unlock(&workspaces.lock);
}
