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

/* Other failures than a full card are errors of the program, which its own calls report. */
static void charge(tide_vc_communicator *comm, uint64_t n_bytes, uint64_t least_bytes) {
    tide_run_nccl_use *use = &comm->charges.use;
    int status = n_bytes > 0 ? tide_vc_charge(comm->device, n_bytes) : TIDE_VC_OK;
    if (status == TIDE_VC_OK) {
        use->charged_bytes += n_bytes;
    } else if (status == TIDE_VC_MEMORY) {
        use->missing_bytes += n_bytes;
    } else {
        return;
    }
    uint64_t likely = use->charged_bytes + use->missing_bytes;
    bool is_single = comm->n_ranks == 1 || likely > TIDE_RUN_COMMUNICATOR_MOST_BYTES;
    use->least_bytes += least_bytes;
    use->most_bytes = is_single ? likely : TIDE_RUN_COMMUNICATOR_MOST_BYTES;
    tide_vc_ledger_charge(comm);
}

typedef enum spread { ONE_NODE, SEVERAL_NODES, UNKNOWN_NODES } spread;

/* On how many nodes the members are. Without absent ranks, the machine of the run is one. */
static spread spread_of(const tide_vc_communicator *comm) {
    const char *world = tide_setting("TIDEMARK_WORLD");
    if (!tide_vc_job_has_absent() || comm->n_ranks == 1 ||
        (world != NULL && strtoll(world, NULL, 10) <= NODE_RANKS)) {
        return ONE_NODE;
    }
    if (comm->members == NULL) {
        return comm->n_ranks > NODE_RANKS ? SEVERAL_NODES : UNKNOWN_NODES;
    }
    for (int i = 0; i < comm->n_ranks; i++) {
        if (comm->members[i] / NODE_RANKS != comm->members[0] / NODE_RANKS) {
            return SEVERAL_NODES;
        }
    }
    return ONE_NODE;
}

/* Whether the model has figures for the communicator; if not, reports why. */
static bool can_be_modelled(tide_vc_communicator *comm) {
    spread over = spread_of(comm);
    comm->charges.use.n_between_nodes = over == SEVERAL_NODES;
    if (over == SEVERAL_NODES) {
        tide_vc_inexact("NCCL", "its buffers between nodes are unknown and counted as 0");
    } else if (over == UNKNOWN_NODES) {
        tide_vc_inexact("NCCL", "its buffers are unknown, because the members of a communicator "
                                "are, and counted as 0");
    } else if (comm->charges.peers == NULL) {
        tide_vc_inexact("NCCL", "its buffers are counted as 0, because no host memory is left for "
                                "their model");
    }
    return over == ONE_NODE && comm->charges.peers != NULL;
}

void tide_vc_charges_begin(tide_vc_communicator *comm) {
    tide_vc_charges *charges = &comm->charges;
    const char *text = tide_setting("TIDEMARK_NCCL_BYTES");
    if (comm->device < 0 || comm->device >= tide_vc_n_devices()) {
        return; /* of a list that ncclCommInitAll does not check */
    }
    charges->use.n_made = 1;
    if (text != NULL && text[0] != '\0') {
        uint64_t n_bytes = strtoull(text, NULL, 10);
        if (n_bytes == 0) { /* cells of fit, sweep and plan count this line */
            tide_vc_inexact("NCCL", "its buffers are not counted");
        }
        charge(comm, n_bytes, n_bytes);
        return;
    }
    charges->peers = calloc((size_t)comm->n_ranks, sizeof(*charges->peers));
    if (!can_be_modelled(comm)) {
        tide_vc_ledger_charge(comm);
        return;
    }
    tide_vc_inexact("NCCL", "its buffers on the card are a model");
    const tide_vc_card *card = tide_vc_card_of(comm->device);
    tide_vc_nccl_place place = {.capability = 10 * card->major + card->minor,
                                .n_links = tide_time_n_links(card->card->name),
                                .n_ranks = comm->n_ranks,
                                .least_channels = comm->least_channels,
                                .most_channels = comm->most_channels};
    charges->likely = tide_vc_nccl_buffers_of(&place);
    charges->least = tide_vc_nccl_least_of(&place);
    charges->use.n_modelled = 1;
    charge(comm, charges->likely.start, charges->least.start);
}

/* Charges a part of the buffers, once. */
static void charge_part(tide_vc_communicator *comm, uint64_t *likely, uint64_t *least) {
    if (*likely > 0) {
        charge(comm, *likely, *least);
        *likely = *least = 0;
    }
}

/* The messages of which NCCL makes the collective: those with all members, or with the root. */
static void charge_messages(tide_vc_communicator *comm, tide_run_exchange kind, int root) {
    bool is_all = kind == TIDE_RUN_ALL_TO_ALL;
    bool sends = is_all || (kind == TIDE_RUN_SCATTER) == (comm->rank == root);
    bool receives = is_all || !sends;
    for (int i = 0; i < comm->n_ranks; i++) {
        if (!is_all && comm->rank != root && i != root) {
            continue;
        }
        if (sends) {
            tide_vc_charges_message(comm, TIDE_RUN_SEND, i);
        }
        if (receives) {
            tide_vc_charges_message(comm, TIDE_RUN_RECEIVE, i);
        }
    }
}

void tide_vc_charges_collective(tide_vc_communicator *comm, tide_run_exchange kind, int root,
                                size_t n_bytes) {
    tide_vc_charges *charges = &comm->charges;
    if (charges->use.n_modelled == 0) {
        return;
    }
    if (kind == TIDE_RUN_ALL_TO_ALL || kind == TIDE_RUN_GATHER || kind == TIDE_RUN_SCATTER) {
        charge_messages(comm, kind, root);
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
    if (charges->use.n_modelled == 0 || peer == comm->rank || (charges->peers[peer] & mark) != 0) {
        return;
    }
    charges->peers[peer] |= mark;
    charge(comm, kind == TIDE_RUN_SEND ? charges->likely.send : charges->likely.receive,
           kind == TIDE_RUN_SEND ? charges->least.send : charges->least.receive);
}

void tide_vc_charges_end(tide_vc_communicator *comm) {
    tide_vc_refund(comm->device, comm->charges.use.charged_bytes);
    comm->charges.use = (tide_run_nccl_use){.n_made = 0};
}
