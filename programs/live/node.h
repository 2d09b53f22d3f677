/* node.h - the autograd node that the calling thread runs.
 *
 * In a forward pass the next node will get a number, and the backward pass runs the node with that
 * number: so its events belong to the module of the forward call.
 */
#ifndef TIDE_LIVE_NODE_H
#define TIDE_LIVE_NODE_H

#include <stdint.h>

#include "programs/live/torch/torch_versions.h"

typedef struct tide_node {
    uint64_t sequence;      /* of the running node; otherwise the number that the next node gets */
    const char *class_name; /* mangled: "N5torch8autograd9generated12AddBackward0E"; NULL if no node
                             * runs; valid as long as the library is loaded */
} tide_node;

/* Finds PyTorch's functions. Functions unknown in this version are not used. */
void tide_node_begin(const tide_torch_version *version);

tide_node tide_node_now(void);

/* Whether autograd records the operations of the calling thread: tide_autograd_mode. */
unsigned tide_node_mode(void);

#endif
