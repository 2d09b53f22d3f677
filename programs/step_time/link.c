/* Links of a card: to the host, to the other cards of its node, and to other nodes.
 *
 * NCCL moves data in a ring: each rank sends and receives (n - 1) / n of the buffer once, in an
 * all-reduce twice. That is the ratio of bus and algorithm bandwidth in nccl-tests' PERFORMANCE.md.
 * Small buffers use a tree, whose time is that of its steps. The time is the smaller of the two.
 * All ranks are assumed to arrive at the same time.
 *
 * Beyond a node of 8 cards NCCL makes a ring for each of the node's network cards, each of which
 * carries a part of the buffer. The slowest link of the rings limits them: a card's links within
 * the node, or all network cards of the node together. Its tree for an all-reduce is then a double
 * one, which works in pieces at the full rate (NVIDIA, "Massively Scale Your Deep Learning Training
 * with NCCL 2.4"). A message of one rank to another leaves by one network card, as do the parts for
 * other nodes in an all-to-all. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "programs/step_time/work_internal.h"

typedef struct card_link {
    const char *card;   /* as device/cards.h names it */
    double peer_bytes;  /* a second and direction, to the other cards of the node */
    double host_bytes;  /* a second and direction, to the host */
    const char *source; /* of both: the vendor states the sum of both directions */
    int n_links;        /* of NVLink, to the other cards of the node; 0: none */
} card_link;

/* The network of the vendor's reference system with 8 such cards. */
typedef struct node_network {
    const char *card;   /* as device/cards.h names it */
    double nic_bytes;   /* a second and direction, of each of its 8 network cards */
    const char *source; /* of the vendor's statement */
} node_network;

/* Gb/s in bytes a second. */
#define GBIT(n) ((n)*1e9 / 8.0)

static const node_network NETWORKS[] = {
    {"b200", GBIT(400.0),
     "NVIDIA DGX BasePOD reference architecture, DGX B200: eight single-port ConnectX-7, up to "
     "400 Gb/s InfiniBand"},
    {"h200", GBIT(400.0),
     "NVIDIA DGX BasePOD reference architecture, DGX H200: eight single-port ConnectX-7, up to "
     "400 Gb/s InfiniBand"},
    {"h100-80", GBIT(400.0),
     "NVIDIA DGX BasePOD reference architecture, DGX H100: eight single-port ConnectX-7, up to "
     "400 Gb/s InfiniBand"},
    {"a100-80", GBIT(200.0),
     "NVIDIA DGX A100 data sheet: eight single-port ConnectX-6, 200 Gb/s HDR InfiniBand"},
    {"a100-40", GBIT(200.0),
     "NVIDIA DGX A100 data sheet: eight single-port ConnectX-6, 200 Gb/s HDR InfiniBand"},
};

/* 16 lanes, a direction: 8, 16 and 32 GT/s and lane, of which 128 in 130 bits are data. */
#define PCIE_3 15.75e9
#define PCIE_4 31.5e9
#define PCIE_5 63e9

static const card_link LINKS[] = {
    {"b200", 900e9, PCIE_5,
     "NVIDIA HGX B200 data sheet: fifth-generation NVLink, 1.8 TB/s a GPU; PCIe Gen5", 18},
    {"gb200", 900e9, 225e9,
     "NVIDIA GB200 NVL72 data sheet: NVLink 1.8 TB/s a GPU; NVLink-C2C 900 GB/s between the CPU "
     "and its two GPUs, of which each is taken to have half",
     18},
    {"h200", 450e9, PCIE_5, "NVIDIA H200 data sheet, SXM: NVLink 900 GB/s; PCIe Gen5 128 GB/s", 18},
    {"gh200-96", 450e9, 450e9,
     "NVIDIA GH200 data sheet: NVLink 900 GB/s between superchips; NVLink-C2C 900 GB/s", 18},
    {"gh200-144", 450e9, 450e9,
     "NVIDIA GH200 data sheet: NVLink 900 GB/s between superchips; NVLink-C2C 900 GB/s", 18},
    {"h100-80", 450e9, PCIE_5, "NVIDIA H100 data sheet, SXM: NVLink 900 GB/s; PCIe Gen5 128 GB/s",
     18},
    {"h100-pcie", PCIE_5, PCIE_5,
     "NVIDIA H100 data sheet, PCIe: PCIe Gen5 128 GB/s; no bridge of NVLink between pairs", 0},
    {"h100-nvl", PCIE_5, PCIE_5,
     "NVIDIA H100 data sheet, NVL: PCIe Gen5 128 GB/s; no bridge of NVLink between pairs", 0},
    {"a100-80", 300e9, PCIE_4, "NVIDIA A100 data sheet, SXM: NVLink 600 GB/s; PCIe Gen4 64 GB/s",
     12},
    {"a100-40", 300e9, PCIE_4, "NVIDIA A100 data sheet, SXM: NVLink 600 GB/s; PCIe Gen4 64 GB/s",
     12},
    {"a100-80-pcie", PCIE_4, PCIE_4,
     "NVIDIA A100 data sheet, PCIe: PCIe Gen4 64 GB/s; no bridge of NVLink between pairs", 0},
    {"a100-40-pcie", PCIE_4, PCIE_4,
     "NVIDIA A100 data sheet, PCIe: PCIe Gen4 64 GB/s; no bridge of NVLink between pairs", 0},
    {"a30", PCIE_4, PCIE_4,
     "NVIDIA A30 data sheet: PCIe Gen4 64 GB/s; no bridge of NVLink between pairs", 0},
    {"rtxa6000", PCIE_4, PCIE_4,
     "NVIDIA RTX A6000 data sheet: PCIe 4.0 x16; no bridge of NVLink between pairs", 0},
    {"rtxpro6000", PCIE_5, PCIE_5, "NVIDIA RTX PRO 6000 Blackwell data sheet: PCIe 5.0 x16", 0},
    {"rtx5090", PCIE_5, PCIE_5, "NVIDIA GeForce RTX 5090 specifications: PCIe Gen 5", 0},
    {"rtx4060", PCIE_4 / 2.0, PCIE_4 / 2.0,
     "NVIDIA GeForce RTX 4060 specifications: PCIe Gen 4 with 8 lanes", 0},
    {"v100-32", 150e9, PCIE_3, "NVIDIA V100 data sheet, SXM2: NVLink 300 GB/s; PCIe 32 GB/s", 6},
    {"v100-16", 150e9, PCIE_3, "NVIDIA V100 data sheet, SXM2: NVLink 300 GB/s; PCIe 32 GB/s", 6},
    {"t4-16", PCIE_3, PCIE_3, "NVIDIA T4 data sheet: PCIe Gen3 x16, 32 GB/s", 0},
};
static const card_link OTHER = {
    "", PCIE_4, PCIE_4,
    "data sheets of cards since Ampere, but those above: PCIe Gen4 with 16 lanes", 0};

/* The share of a link that large messages reach, and the time of one step of a message. */
#define LINK_SHARE 0.78
#define STEP_US 5.0
/* The fixed time of a copy to or from the host. */
#define COPY_US 4.0
enum { NODE_RANKS = 8 }; /* of the reference systems, which have one network card for each */

static const card_link *link_named(const char *name) {
    for (size_t i = 0; i < sizeof(LINKS) / sizeof(LINKS[0]); i++) {
        if (strcmp(LINKS[i].card, name) == 0) {
            return &LINKS[i];
        }
    }
    return &OTHER;
}

static const card_link *link_of(const tide_time_card *card) {
    return link_named(card->card->name);
}

int tide_time_n_links(const char *card_name) {
    return link_named(card_name)->n_links;
}

static const node_network *network_of(const tide_time_card *card) {
    for (size_t i = 0; i < sizeof(NETWORKS) / sizeof(NETWORKS[0]); i++) {
        if (strcmp(NETWORKS[i].card, card->card->name) == 0) {
            return &NETWORKS[i];
        }
    }
    return NULL;
}

const char *tide_time_network_source(const tide_time_card *card) {
    const node_network *network = network_of(card);
    return network != NULL ? network->source : NULL;
}

const char *tide_time_link_source(const tide_time_card *card) {
    return link_of(card)->source;
}

/* The part of its larger buffer that the busiest rank of n sends or receives. A root keeps its own
 * part of the gathered or scattered data. */
static double ring_passes(const tide_run_launch *row, double n) {
    switch (row->family) {
    case TIDE_RUN_ALL_REDUCE:
        return 2.0 * (n - 1.0) / n;
    case TIDE_RUN_ALL_TO_ALL: /* beyond a node, only the parts for other nodes count */
        return (n > NODE_RANKS ? n - NODE_RANKS : n - 1.0) / n;
    case TIDE_RUN_ALL_GATHER:
    case TIDE_RUN_REDUCE_SCATTER:
    case TIDE_RUN_GATHER:
    case TIDE_RUN_SCATTER:
        return (n - 1.0) / n;
    default:
        return 1.0;
    }
}

static bool is_pair(const tide_run_launch *row) {
    return row->family == TIDE_RUN_SEND || row->family == TIDE_RUN_RECEIVE;
}

/* Whether data leave a node, if ranks fill one node after the other. */
static bool crosses_nodes(const tide_run_launch *row) {
    return is_pair(row) ? row->m / NODE_RANKS != row->n / NODE_RANKS : row->count > NODE_RANKS;
}

/* Bytes a second and direction of the limiting link between nodes. Unknown for a root that gathers
 * or scatters, which may use its own network card or those of its neighbours, and if no source
 * states a rate.
 */
static double rate_between_nodes(const tide_time_card *card, const tide_run_launch *row,
                                 bool *ret_is_known) {
    double peer = link_of(card)->peer_bytes;
    const node_network *network = network_of(card);
    bool has_root = row->family == TIDE_RUN_GATHER || row->family == TIDE_RUN_SCATTER;
    bool uses_one = is_pair(row) || row->family == TIDE_RUN_ALL_TO_ALL;
    *ret_is_known = network != NULL && !has_root;
    return *ret_is_known ? fmin(peer, network->nic_bytes * (uses_one ? 1.0 : NODE_RANKS)) : peer;
}

tide_work_time tide_time_collective(const tide_time_constants *constants,
                                    const tide_time_card *card, const tide_run_launch *row) {
    double n = is_pair(row) && row->count > 2 ? 2.0 : row->count;
    double bytes = (double)row->bytes;
    if (n <= 1.0) { /* a copy on the card, at most */
        return (tide_work_time){.us = constants->kernel_us,
                                .bound = TIDE_TIME_BY_LAUNCH,
                                .basis = TIDE_TIME_UNCOMPARED};
    }
    bool is_two_way = row->family == TIDE_RUN_ALL_REDUCE;
    bool crosses = crosses_nodes(row);
    bool is_known = true;
    double rate = (crosses ? rate_between_nodes(card, row, &is_known) : link_of(card)->peer_bytes) *
                  1e-6 * LINK_SHARE;
    double ring =
        (n - 1.0) * (is_two_way ? 2.0 : 1.0) * STEP_US + ring_passes(row, n) * bytes / rate;
    double n_steps = ceil(log2(n)) * (is_two_way ? 2.0 : 1.0);
    double tree_passes = crosses && is_two_way ? 2.0 : n_steps;
    double tree = n_steps * STEP_US + tree_passes * bytes / rate;
    return (tide_work_time){.us = constants->kernel_us + fmin(ring, tree),
                            .bound = TIDE_TIME_BY_LINK,
                            .basis = is_known ? TIDE_TIME_UNCOMPARED : TIDE_TIME_GUESSED};
}

void tide_time_collectives_place(const tide_time_log *log, tide_work_time *work) {
    uint32_t n_all = 0;
    for (size_t i = 0; i < log->n_rows; i++) {
        const tide_run_launch *row = &log->rows[i];
        bool counts = row->kind == TIDE_RUN_COLLECTIVE && row->count > n_all;
        n_all = counts ? row->count : n_all;
    }
    for (size_t i = 0; i < log->n_rows; i++) {
        const tide_run_launch *row = &log->rows[i];
        if (row->kind == TIDE_RUN_COLLECTIVE && row->count > NODE_RANKS && row->count < n_all) {
            tide_work_time_guess(&work[i]);
        }
    }
}

tide_work_time tide_time_link_copy(const tide_time_constants *constants, const tide_time_card *card,
                                   const tide_run_launch *row) {
    const card_link *link = link_of(card);
    bool is_peer = row->family == TIDE_RUN_COPY_BETWEEN_CARDS;
    double rate = (is_peer ? link->peer_bytes : link->host_bytes) * 1e-6 * LINK_SHARE;
    return (tide_work_time){.us = constants->kernel_us + COPY_US + (double)row->bytes / rate,
                            .bound = TIDE_TIME_BY_LINK,
                            .basis = TIDE_TIME_UNCOMPARED};
}
