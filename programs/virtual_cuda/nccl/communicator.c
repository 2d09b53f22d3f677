#include "programs/virtual_cuda/nccl/communicator.h"

#include <stdio.h>
#include <stdlib.h>

#include "programs/virtual_cuda/nccl/charges.h"
#include "programs/virtual_cuda/nccl/folder.h"
#include "programs/virtual_cuda/nccl/job.h"
#include "programs/virtual_cuda/nccl/ledger.h"
#include "programs/virtual_cuda/nccl/seats_internal.h"

uint64_t tide_vc_key(uint64_t hash, const void *bytes, size_t n_bytes) {
    const unsigned char *from = bytes;
    hash = hash == 0 ? UINT64_C(0xcbf29ce484222325) : hash;
    for (size_t i = 0; i < n_bytes; i++) {
        hash = (hash ^ from[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Maps the seats, followed by two counts for each pair of members, of which only a few pages are
 * ever touched. */
static void map_seats(tide_vc_communicator *comm) {
    char name[TIDE_VC_FILE_NAME_BYTES];
    size_t n = (size_t)comm->n_ranks;
    comm->n_mapped_bytes = n * sizeof(struct tide_vc_seat) + 2 * n * n * sizeof(*comm->n_sent);
    (void)snprintf(name, sizeof(name), "nccl-%016llx", (unsigned long long)comm->key);
    comm->seats = tide_vc_folder_map(name, comm->n_mapped_bytes);
    if (comm->seats != NULL) {
        comm->n_sent = (_Atomic uint64_t *)(comm->seats + n);
        comm->n_dropped = comm->n_sent + n * n;
        tide_vc_seat_take(&comm->seats[comm->rank]);
    }
}

static void release(tide_vc_communicator *comm) {
    if (comm->seats != NULL) {
        tide_vc_folder_unmap(comm->seats, comm->n_mapped_bytes);
    }
    free(comm->charges.peers);
    free(comm->n_received);
    free(comm->members);
    free(comm);
}

tide_vc_communicator *tide_vc_communicator_create(const tide_vc_communicator_plan *plan) {
    tide_vc_communicator *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        free(plan->members);
        return NULL;
    }
    made->rank = plan->rank;
    made->n_ranks = plan->n_ranks;
    made->device = plan->device;
    made->key = plan->key;
    made->members = plan->members;
    made->is_configured = plan->is_configured;
    made->least_channels = plan->least_channels;
    made->most_channels = plan->most_channels;
    atomic_init(&made->n_holders, 1);
    made->n_received = calloc((size_t)plan->n_ranks, sizeof(*made->n_received));
    if (made->n_received == NULL) {
        release(made);
        return NULL;
    }
    if (made->n_ranks > 1) {
        map_seats(made);
    }
    tide_vc_ledger_open(made, plan->name);
    tide_vc_charges_begin(made);
    return made;
}

tide_vc_communicator *tide_vc_communicator_hold(tide_vc_communicator *comm) {
    atomic_fetch_add(&comm->n_holders, 1);
    return comm;
}

void tide_vc_communicator_drop(tide_vc_communicator *comm) {
    if (comm != NULL && atomic_fetch_sub(&comm->n_holders, 1) == 1) {
        release(comm);
    }
}

bool tide_vc_is_absent(const tide_vc_communicator *comm, int member) {
    if (member == comm->rank || !tide_vc_job_has_absent()) {
        return false;
    }
    if (comm->members != NULL) {
        return !tide_vc_job_is_present(comm->members[member]);
    }
    return tide_vc_job_n_present() == 1;
}
