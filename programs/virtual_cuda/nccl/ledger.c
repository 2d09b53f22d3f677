#define _POSIX_C_SOURCE 200809L /* getpid */
#include "programs/virtual_cuda/nccl/ledger.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/nccl/folder.h"
#include "programs/virtual_cuda/nccl/job.h"

/* Of this process; the lock guards it. The child of a fork begins its own, and no longer counts the
 * traffic of its parent's communicators. */
static struct ledger {
    tide_run_communicators *all; /* mapped; NULL if there is none */
    uint64_t n_forks;            /* that lead to this process since it began to count */
} ledger;

static void forget_all(void) {
    if (ledger.all != NULL) {
        tide_vc_folder_unmap(ledger.all, sizeof(*ledger.all));
    }
    ledger.all = NULL;
    ledger.n_forks++;
}

TIDE_VC_LOCK(lock, forget_all);

static void map_own(void) {
    char name[TIDE_VC_FILE_NAME_BYTES];
    (void)snprintf(name, sizeof(name), "%ld" TIDE_RUN_COMMUNICATORS_SUFFIX, (long)getpid());
    ledger.all = tide_vc_folder_map(name, sizeof(*ledger.all));
    if (ledger.all != NULL) {
        ledger.all->magic = TIDE_RUN_COMMUNICATORS_MAGIC;
        ledger.all->rank = tide_vc_job_rank();
    }
}

/* Describes the members as a first rank and a stride, if they are regular. */
static void describe_members(const tide_vc_communicator *comm, tide_run_communicator *to) {
    to->first = -1;
    to->stride = 0;
    if (comm->members == NULL) {
        return;
    }
    int64_t stride = comm->n_ranks > 1 ? comm->members[1] - comm->members[0] : 1;
    for (int i = 1; i < comm->n_ranks; i++) {
        if (comm->members[i] - comm->members[i - 1] != stride) {
            return;
        }
    }
    to->first = comm->members[0];
    to->stride = stride;
}

void tide_vc_ledger_open(tide_vc_communicator *comm, const char *name) {
    pthread_mutex_lock(&lock);
    if (ledger.all == NULL) {
        map_own();
    }
    if (ledger.all != NULL && ledger.all->n_made++ < TIDE_RUN_COMMUNICATORS) {
        comm->place = ledger.all->n_made;
        comm->place_forks = ledger.n_forks;
        tide_run_communicator *to = &ledger.all->made[comm->place - 1];
        to->key = comm->key;
        to->rank = comm->rank;
        to->n_ranks = comm->n_ranks;
        to->device = comm->device;
        to->is_configured = comm->is_configured;
        describe_members(comm, to);
        (void)snprintf(to->name, sizeof(to->name), "%s", name != NULL ? name : "");
    }
    pthread_mutex_unlock(&lock);
}

/* NULL if it has no place. The lock is held. */
static tide_run_communicator *place_of(const tide_vc_communicator *comm) {
    bool has_place = ledger.all != NULL && comm->place > 0 && comm->place_forks == ledger.n_forks;
    return has_place ? &ledger.all->made[comm->place - 1] : NULL;
}

void tide_vc_ledger_count(const tide_vc_communicator *comm, tide_run_exchange kind,
                          size_t n_bytes) {
    pthread_mutex_lock(&lock);
    tide_run_communicator *to = place_of(comm);
    if (to != NULL) {
        to->n_calls[kind]++;
        to->n_bytes[kind] += n_bytes;
    }
    pthread_mutex_unlock(&lock);
}

static void add(const tide_run_nccl_use *of, tide_run_nccl_use *to) {
    to->n_made += of->n_made;
    to->n_modelled += of->n_modelled;
    to->n_between_nodes += of->n_between_nodes;
    to->charged_bytes += of->charged_bytes;
    to->missing_bytes += of->missing_bytes;
    to->least_bytes += of->least_bytes;
    to->most_bytes += of->most_bytes;
}

static void subtract(const tide_run_nccl_use *of, tide_run_nccl_use *from) {
    assert(from->n_made >= of->n_made && from->charged_bytes >= of->charged_bytes);
    from->n_made -= of->n_made;
    from->n_modelled -= of->n_modelled;
    from->n_between_nodes -= of->n_between_nodes;
    from->charged_bytes -= of->charged_bytes;
    from->missing_bytes -= of->missing_bytes;
    from->least_bytes -= of->least_bytes;
    from->most_bytes -= of->most_bytes;
}

/* Replaces what the communicator uses, in the sum of its card, too. */
static void set_use(const tide_vc_communicator *comm, const tide_run_nccl_use *use) {
    pthread_mutex_lock(&lock);
    tide_run_communicator *to = place_of(comm);
    if (to != NULL && comm->device >= 0 && comm->device < TIDE_RUN_DEVICES) {
        tide_run_nccl_use *live = &ledger.all->live[comm->device];
        subtract(&to->use, live);
        add(use, live);
        to->use = *use;
        if (tide_run_nccl_is_more(live, &ledger.all->peak[comm->device])) {
            ledger.all->peak[comm->device] = *live;
        }
    }
    pthread_mutex_unlock(&lock);
}

void tide_vc_ledger_charge(const tide_vc_communicator *comm) {
    set_use(comm, &comm->charges.use);
}

void tide_vc_ledger_close(const tide_vc_communicator *comm) {
    set_use(comm, &(tide_run_nccl_use){.n_made = 0});
}

TIDE_VC_EXPORT uint64_t tidemark_nccl_bytes(int device) {
    pthread_mutex_lock(&lock);
    bool is_known = ledger.all != NULL && device >= 0 && device < TIDE_RUN_DEVICES;
    uint64_t n_bytes = is_known ? ledger.all->live[device].charged_bytes : 0;
    pthread_mutex_unlock(&lock);
    return n_bytes;
}
