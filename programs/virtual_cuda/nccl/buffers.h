/* buffers.h - a model of the card's memory that NCCL allocates for a communicator.
 *
 * NCCL is not run here, so its allocations are computed as its published source does it, from the
 * card, its links, the number of members and NCCL's own variables. docs/guide/ranks.md has each
 * formula, its file and the versions. NCCL allocates in parts: some when the communicator is made,
 * the others when an operation first needs them. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_NCCL_BUFFERS_H
#define TIDE_VIRTUAL_CUDA_NCCL_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

/* Where a communicator is, all of whose members are on cards of one kind in one node. */
typedef struct tide_vc_nccl_place {
    int capability; /* 10 * major + minor of the compute capability */
    int n_links;    /* of NVLink from a card to the node's other cards; 0: none */
    int n_ranks;
    int least_channels, most_channels; /* minCTAs and maxCTAs of its configuration; 0: not set */
} tide_vc_nccl_place;

/* Bytes of the card for each part. */
typedef struct tide_vc_nccl_buffers {
    int n_channels;      /* of collectives */
    int n_peer_channels; /* of messages, to each peer */
    uint64_t start;      /* when the communicator is made */
    uint64_t rings;      /* at the first collective */
    uint64_t trees;      /* at the first all-reduce */
    uint64_t multicast;  /* at the first all-reduce that is large: NVLink SHARP */
    uint64_t send;       /* at the first message to a peer */
    uint64_t receive;    /* at the first message from a peer */
} tide_vc_nccl_buffers;

/* All-reduces of fewer bytes do not use NVLink SHARP: its latency is larger than that of rings. */
#define TIDE_VC_NCCL_MULTICAST_BYTES ((uint64_t)1 << 20)

/* Reads NCCL's variables in the current environment. */
tide_vc_nccl_buffers tide_vc_nccl_buffers_of(const tide_vc_nccl_place *place);

/* The same at the least that NCCL's versions and drivers allow: small buffers share pages, as they
 * do without CUDA's virtual memory, and there is no NVLink SHARP. */
tide_vc_nccl_buffers tide_vc_nccl_least_of(const tide_vc_nccl_place *place);

#endif
