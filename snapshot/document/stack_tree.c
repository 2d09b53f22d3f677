#include "snapshot/document/stack_tree_friend.h"

#include <string.h>

#include "common/assert.h"

void tide_stack_tree_init(tide_stack_tree *tree, const tide_hostmem *mem) {
    *tree = (tide_stack_tree){.mem = mem};
    tide_map_init(&tree->frame_at, mem);
    tide_map_init(&tree->node_at, mem);
}

void tide_stack_tree_fini(tide_stack_tree *tree) {
    tide_map_fini(&tree->frame_at);
    tide_map_fini(&tree->node_at);
    tree->mem->release(tree->mem->ctx, tree->frames);
    tree->mem->release(tree->mem->ctx, tree->nodes);
}

static bool same_frame(const tide_frame_row *a, const tide_frame_row *b) {
    return a->function == b->function && a->file == b->file && a->line == b->line &&
           a->inlined == b->inlined;
}

tide_status tide_stack_tree_frame(tide_stack_tree *tree, const tide_frame_row *frame,
                                  uint32_t *ret_frame) {
    uint64_t hash = tide_hash_u64((uint64_t)frame->function << 32 | frame->file);
    hash = tide_hash_u64(hash ^ ((uint64_t)(uint32_t)frame->line << 1 | frame->inlined));
    uint64_t number = 0;
    while (tide_map_find(&tree->frame_at, hash, &number)) {
        TIDE_ASSERT(number < tree->n_frames);
        if (same_frame(&tree->frames[number], frame)) {
            *ret_frame = (uint32_t)number;
            return TIDE_OK;
        }
        hash++;
    }
    tide_frame_row *frames = tide_hostmem_grow(tree->mem, tree->frames, &tree->frame_capacity,
                                               tree->n_frames + 1, sizeof(*frames));
    if (frames == NULL) {
        return TIDE_NO_MEMORY;
    }
    tree->frames = frames;
    TIDE_TRY(tide_map_put(&tree->frame_at, hash, tree->n_frames));
    frames[tree->n_frames] = *frame;
    *ret_frame = (uint32_t)tree->n_frames++;
    return TIDE_OK;
}

tide_status tide_stack_tree_node(tide_stack_tree *tree, uint32_t parent, uint32_t frame,
                                 uint32_t *ret_node) {
    uint64_t key = (uint64_t)(uint32_t)(parent + 1u) << 32 | frame; /* TIDE_NONE + 1 is 0 */
    uint64_t node = 0;
    TIDE_ASSERT(frame < tree->n_frames && (parent == TIDE_NONE || parent < tree->n_nodes));
    if (tide_map_find(&tree->node_at, key, &node)) {
        *ret_node = (uint32_t)node;
        return TIDE_OK;
    }
    tide_stack_row *nodes = tide_hostmem_grow(tree->mem, tree->nodes, &tree->node_capacity,
                                              tree->n_nodes + 1, sizeof(*nodes));
    if (nodes == NULL) {
        return TIDE_NO_MEMORY;
    }
    tree->nodes = nodes;
    TIDE_TRY(tide_map_put(&tree->node_at, key, tree->n_nodes));
    nodes[tree->n_nodes] = (tide_stack_row){.parent = parent, .frame = frame};
    *ret_node = (uint32_t)tree->n_nodes++;
    return TIDE_OK;
}

tide_status tide_stack_tree_hand_over(const tide_stack_tree *tree, tide_snapshot *snapshot) {
    snapshot->frames =
        tide_arena_copy(&snapshot->arena, tree->frames, tree->n_frames, sizeof(*tree->frames));
    snapshot->stacks =
        tide_arena_copy(&snapshot->arena, tree->nodes, tree->n_nodes, sizeof(*tree->nodes));
    if (snapshot->frames == NULL || snapshot->stacks == NULL) {
        return TIDE_NO_MEMORY;
    }
    snapshot->n_frames = tree->n_frames;
    snapshot->n_stacks = tree->n_nodes;
    return TIDE_OK;
}
