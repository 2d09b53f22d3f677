/* stack_tree_friend.h - builds the tree of frames for a document's tables of frames and stacks.
 *
 * Not thread-safe.
 */
#ifndef TIDE_SNAPSHOT_STACK_TREE_FRIEND_H
#define TIDE_SNAPSHOT_STACK_TREE_FRIEND_H

#include "common/map.h"
#include "snapshot/document/snapshot.h"

typedef struct tide_stack_tree {
    const tide_hostmem *mem; /* borrowed */
    tide_frame_row *frames;  /* owned: distinct frames */
    size_t n_frames;
    size_t frame_capacity;
    tide_map frame_at;     /* hash of a frame -> its number; collisions step to the next hash */
    tide_stack_row *nodes; /* owned: the tree */
    size_t n_nodes;
    size_t node_capacity;
    tide_map node_at; /* (parent + 1) << 32 | frame -> node */
} tide_stack_tree;

void tide_stack_tree_init(tide_stack_tree *tree, const tide_hostmem *mem);
void tide_stack_tree_fini(tide_stack_tree *tree);

/* The number of the frame, which is added if new. */
TIDE_NODISCARD tide_status tide_stack_tree_frame(tide_stack_tree *tree, const tide_frame_row *frame,
                                                 uint32_t *ret_frame);
/* The child of `parent` (TIDE_NONE: an outermost node) with this frame, added if missing. */
TIDE_NODISCARD tide_status tide_stack_tree_node(tide_stack_tree *tree, uint32_t parent,
                                                uint32_t frame, uint32_t *ret_node);
/* Copies both tables into the document. */
TIDE_NODISCARD tide_status tide_stack_tree_hand_over(const tide_stack_tree *tree,
                                                     tide_snapshot *snapshot);

#endif
