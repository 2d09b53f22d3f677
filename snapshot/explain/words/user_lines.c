#include "snapshot/explain/words/user_lines.h"

#include <stdlib.h>

#include "common/map.h"
#include "snapshot/analysis/user_frame.h"
#include "snapshot/explain/words/user_line.h"

/* Keys of blocks without a frame. */
#define NO_STACK ((uint64_t)TIDE_NONE)
#define FROM_BEFORE (NO_STACK + 1)

static int by_bytes(const void *left, const void *right) {
    const tide_user_line *a = left;
    const tide_user_line *b = right;
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? 1 : -1;
    }
    if (a->frame != b->frame) {
        return a->frame < b->frame ? -1 : 1;
    }
    return (int)a->is_older - (int)b->is_older;
}

static void add_block(tide_user_line *line, const tide_lifetime *block) {
    if (line->n_blocks == 0 || block->block_bytes > line->largest_bytes) {
        line->largest_bytes = block->block_bytes;
        line->stack = block->stack;
    }
    line->bytes += (int64_t)block->block_bytes;
    line->requested_bytes += (int64_t)block->requested_bytes;
    line->n_blocks++;
}

static tide_status collect(tide_user_lines *lines, const tide_snapshot *snapshot,
                           const tide_summary_peak *peak, tide_map *index_of) {
    for (size_t i = 0; i < peak->n_blocks; i++) {
        const tide_lifetime *block = &peak->blocks[i];
        uint64_t key = block->stack != TIDE_NONE ? tide_user_frame(snapshot, block->stack)
                       : block->born == 0        ? FROM_BEFORE
                                                 : NO_STACK;
        uint64_t index = lines->n_lines;
        if (!tide_map_find(index_of, key, &index)) {
            TIDE_TRY(tide_map_put(index_of, key, index));
            lines->lines[lines->n_lines++] =
                (tide_user_line){.frame = key < NO_STACK ? (uint32_t)key : TIDE_NONE,
                                 .is_older = key == FROM_BEFORE,
                                 .stack = TIDE_NONE};
        }
        add_block(&lines->lines[index], block);
    }
    return TIDE_OK;
}

tide_status tide_user_lines_init(tide_user_lines *lines, const tide_snapshot *snapshot,
                                 const tide_summary_peak *peak, const tide_hostmem *mem) {
    *lines = (tide_user_lines){.mem = mem};
    lines->lines = tide_hostmem_zeroed(mem, peak->n_blocks, sizeof(*lines->lines));
    if (lines->lines == NULL) {
        return TIDE_NO_MEMORY;
    }
    tide_map index_of;
    tide_map_init(&index_of, mem);
    tide_status status = collect(lines, snapshot, peak, &index_of);
    tide_map_fini(&index_of);
    if (lines->n_lines > 0) {
        qsort(lines->lines, lines->n_lines, sizeof(*lines->lines), by_bytes);
    }
    return status;
}

void tide_user_lines_fini(tide_user_lines *lines) {
    if (lines->mem != NULL) {
        lines->mem->release(lines->mem->ctx, lines->lines);
        *lines = (tide_user_lines){.mem = lines->mem};
    }
}

void tide_user_lines_add_text(const tide_snapshot *snapshot, const tide_user_line *line,
                              tide_text *to) {
    if (line->frame != TIDE_NONE) {
        tide_user_line_add(snapshot, line->stack, to);
    } else {
        tide_text_add(to, "(%s)",
                      line->is_older ? tide_user_lines_before(snapshot) : "no call stack");
    }
}

const char *tide_user_lines_before(const tide_snapshot *snapshot) {
    return snapshot->n_dropped > 0 ? "from before the events that were kept"
                                   : "from before the recording";
}
