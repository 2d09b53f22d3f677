#include "programs/virtual_cuda/nccl/charges.h"

#include <assert.h>
#include <stdlib.h>

#include "common/text/setting.h"
#include "programs/step_time/work.h"
#include "programs/virtual_cuda/api/status.h"
#include "programs/virtual_cuda/card/account.h"
#include "programs/virtual_cuda/nccl/job.h"
#include "programs/virtual_cuda/nccl/ledger.h"
#include "programs/virtual_cuda/process/inexact.h"

enum { NODE_RANKS = 8 }; /* of a larger world, as programs/step_time/link.c places them */

static void charge(tide_vc_communicator *comm, uint64_t n_bytes, uint64_t least_bytes) {
    tide_vc_charge_counts *counts = &comm->charges.counts;
    if (n_bytes > 0 && tide_vc_charge(comm->device, n_bytes) == TIDE_VC_OK) {
        counts->charged_bytes += n_bytes;
    } else {
        counts->missing_bytes += n_bytes;
    }
    counts->least_bytes += least_bytes;
    tide_vc_ledger_charge(comm);
}

/* Whether all members are in one node. Without absent ranks, the machine of the run is one. */
static bool is_in_one_node(const tide_vc_communicator *comm) {
    const char *world = tide_setting("TIDEMARK_WORLD");
    if (!tide_vc_job_has_absent() || comm->n_ranks == 1 ||
        (world != NULL && strtoll(world, NULL, 10) <= NODE_RANKS)) {
        return true;
    }
    for (int i = 0; comm->members != NULL && i < comm->n_ranks; i++) {
        if (comm->members[i] / NODE_RANKS != comm->members[0] / NODE_RANKS) {
            return false;
        }
    }
    return comm->members != NULL;
}

void tide_vc_charges_begin(tide_vc_communicator *comm, const tide_vc_communicator_plan *plan) {
    tide_vc_charges *charges = &comm->charges;
    const char *text = tide_setting("TIDEMARK_NCCL_BYTES");
    if (text != NULL && text[0] != '\0') {
        uint64_t n_bytes = strtoull(text, NULL, 10);
        charge(comm, n_bytes, n_bytes);
        return;
    }
    if (comm->device < 0 || comm->device >= tide_vc_n_devices()) {
        return; /* of a list that ncclCommInitAll does not check */
    }
    charges->peers = calloc((size_t)comm->n_ranks, sizeof(*charges->peers));
    if (charges->peers == NULL || !is_in_one_node(comm)) {
        tide_vc_inexact("NCCL", "its buffers between nodes are unknown and counted as 0");
        return;
    }
    tide_vc_inexact("NCCL", "its buffers on the card are a model");
    const tide_vc_card *card = tide_vc_card_of(comm->device);
    tide_vc_nccl_place place = {.capability = 10 * card->major + card->minor,
                                .n_links = tide_time_n_links(card->card->name),
                                .n_ranks = comm->n_ranks,
                                .least_channels = plan->least_channels,
                                .most_channels = plan->most_channels};
    charges->likely = tide_vc_nccl_buffers_of(&place);
    charges->least = tide_vc_nccl_least_of(&place);
    charges->counts.is_modelled = true;
    charge(comm, charges->likely.start, charges->least.start);
}

/* Charges a part of the buffers, once. */
static void charge_part(tide_vc_communicator *comm, uint64_t *likely, uint64_t *least) {
    if (*likely > 0) {
        charge(comm, *likely, *least);
        *likely = *least = 0;
    }
}

void tide_vc_charges_collective(tide_vc_communicator *comm, tide_run_exchange kind,
                                size_t n_bytes) {
    tide_vc_charges *charges = &comm->charges;
    if (!charges->counts.is_modelled) {
        return;
    }
    if (kind == TIDE_RUN_ALL_TO_ALL || kind == TIDE_RUN_GATHER || kind == TIDE_RUN_SCATTER) {
        for (int i = 0; i < comm->n_ranks; i++) { /* they are messages */
            tide_vc_charges_message(comm, TIDE_RUN_SEND, i);
            tide_vc_charges_message(comm, TIDE_RUN_RECEIVE, i);
        }
        return;
    }
    charge_part(comm, &charges->likely.rings, &charges->least.rings);
    if (kind == TIDE_RUN_ALL_REDUCE) {
        charge_part(comm, &charges->likely.trees, &charges->least.trees);
    }
    if (kind == TIDE_RUN_ALL_REDUCE && n_bytes >= TIDE_VC_NCCL_MULTICAST_BYTES) {
        charge_part(comm, &charges->likely.multicast, &charges->least.multicast);
    }
}

void tide_vc_charges_message(tide_vc_communicator *comm, tide_run_exchange kind, int peer) {
    tide_vc_charges *charges = &comm->charges;
    assert(peer >= 0 && peer < comm->n_ranks);
    unsigned char mark = kind == TIDE_RUN_SEND ? 1 : 2;
    if (!charges->counts.is_modelled || peer == comm->rank || (charges->peers[peer] & mark) != 0) {
        return;
    }
    charges->peers[peer] |= mark;
    charge(comm, kind == TIDE_RUN_SEND ? charges->likely.send : charges->likely.receive,
           kind == TIDE_RUN_SEND ? charges->least.send : charges->least.receive);
}

void tide_vc_charges_end(tide_vc_communicator *comm) {
    tide_vc_refund(comm->device, comm->charges.counts.charged_bytes);
    comm->charges.counts.charged_bytes = 0;
    comm->charges.counts.is_modelled = false;
}
