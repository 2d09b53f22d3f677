/* node.h - which node of autograd's the calling thread runs.
 *
 * In a forward pass the next node will get a number, and the backward pass runs the node with that
 * number: so its events belong to the module of the forward call.
 */
#ifndef TIDE_LIVE_NODE_H
#define TIDE_LIVE_NODE_H

#include <stdint.h>

#include "programs/live/torch_versions.h"

typedef struct tide_node {
    uint64_t sequence;      /* of the node that runs; else the number that the next node gets */
    const char *class_name; /* mangled: "N5torch8autograd9generated12AddBackward0E"; NULL: none
                               runs; stays as long as the library */
} tide_node;

/* Finds PyTorch's functions. What the version does not know is not used. */
void tide_node_begin(const tide_torch_version *version);

tide_node tide_node_now(void);

#endif
