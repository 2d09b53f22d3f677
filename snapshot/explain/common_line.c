#include "snapshot/explain/common_line.h"

#include "common/map.h"

/* A way from the outermost line of the program to one of its lines. */
typedef struct way {
    int64_t bytes; /* of blocks below it */
    uint32_t node; /* of one of them */
    uint32_t depth;
} way;

/* Ways are a tree. Nodes of the stack tree are none, because frames of other code divide them. */
typedef struct ways {
    const tide_block_lines *lines; /* borrowed */
    const tide_hostmem *mem;       /* borrowed */
    way *ways;                     /* owned */
    size_t n_ways, room;
    tide_map index_of; /* hash of parent and frame -> way */
    uint32_t *path;    /* owned; nodes of one block, outermost first */
    size_t room_path;
} ways;

static uint64_t key_of(uint64_t parent, uint32_t frame) {
    return tide_hash_u64(parent * UINT64_C(0x9e3779b97f4a7c15) + frame + 1);
}

static tide_status find_path(ways *of, uint32_t line, size_t *ret_n) {
    size_t n = 0;
    for (uint32_t at = line; at != TIDE_NONE;
         at = tide_stack_program_caller(of->lines->stacks, at)) {
        n++;
    }
    uint32_t *grown = tide_hostmem_grow(of->mem, of->path, &of->room_path, n, sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    of->path = grown;
    *ret_n = n;
    for (uint32_t at = line; at != TIDE_NONE;
         at = tide_stack_program_caller(of->lines->stacks, at)) {
        of->path[--n] = at;
    }
    return TIDE_OK;
}

static tide_status add_block(ways *of, const tide_lifetime *block) {
    uint64_t parent = 0;
    size_t n = 0;
    uint32_t line = tide_block_line(of->lines, block);
    if (line == TIDE_NONE) {
        return TIDE_OK;
    }
    TIDE_TRY(find_path(of, line, &n));
    for (size_t d = 0; d < n; d++) {
        uint64_t index = of->n_ways;
        uint64_t key = key_of(parent, of->lines->stacks->snapshot->stacks[of->path[d]].frame);
        if (!tide_map_find(&of->index_of, key, &index)) {
            way *grown =
                tide_hostmem_grow(of->mem, of->ways, &of->room, of->n_ways + 1, sizeof(*grown));
            if (grown == NULL) {
                return TIDE_NO_MEMORY;
            }
            of->ways = grown;
            TIDE_TRY(tide_map_put(&of->index_of, key, index));
            of->ways[of->n_ways++] = (way){.node = of->path[d], .depth = (uint32_t)d};
        }
        of->ways[index].bytes += (int64_t)block->block_bytes;
        parent = key;
    }
    return TIDE_OK;
}

static tide_common_line deepest(const ways *of, int64_t total, double share) {
    tide_common_line found = {TIDE_NONE, 0};
    uint32_t depth = 0;
    for (size_t i = 0; i < of->n_ways; i++) {
        const way *at = &of->ways[i];
        double has = (double)at->bytes / (double)total;
        if (has >= share && (found.node == TIDE_NONE || at->depth > depth)) {
            found = (tide_common_line){at->node, has};
            depth = at->depth;
        }
    }
    return found;
}

tide_status tide_common_line_find(const tide_block_lines *lines, const tide_lifetimes *lifetimes,
                                  const uint32_t *blocks, size_t n_blocks, double share,
                                  tide_common_line *ret_line) {
    ways of = {.lines = lines, .mem = lines->stacks->mem};
    int64_t total = 0;
    tide_status status = TIDE_OK;
    tide_map_init(&of.index_of, of.mem);
    for (size_t i = 0; i < n_blocks && status == TIDE_OK; i++) {
        const tide_lifetime *block = &lifetimes->lifetimes[blocks[i]];
        total += (int64_t)block->block_bytes;
        status = add_block(&of, block);
    }
    *ret_line = total > 0 ? deepest(&of, total, share) : (tide_common_line){TIDE_NONE, 0};
    tide_map_fini(&of.index_of);
    of.mem->release(of.mem->ctx, of.ways);
    of.mem->release(of.mem->ctx, of.path);
    return status;
}
