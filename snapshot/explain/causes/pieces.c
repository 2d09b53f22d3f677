/* Why free memory is in pieces: sizes that vary, or blocks that stay in large segments. */
#include "snapshot/explain/causes/pieces.h"

#include "common/assert.h"
#include "common/map.h"
#include "common/text/plural.h"
#include "snapshot/analysis/layout.h"
#include "snapshot/explain/causes/place_sizes.h"

enum {
    LEAST_SIZES = 4,      /* of one place, that vary */
    VARYING_PERCENT = 50, /* of the bytes, in places whose sizes vary; of these, that get longer */
    LEAST_EVEN = 8,       /* times that a place gets longer by as much as before, */
    EVEN_PERCENT = 80,    /* and of all its changes */
    PINNED_PERCENT = 50   /* of the free bytes, in segments that small blocks hold */
};

#define LEAST_VARYING_BYTES (UINT64_C(1) << 20) /* of a block whose size is compared */

static bool is_trained(const tide_facts *facts) {
    for (size_t i = 0; i < facts->snapshot->n_scopes; i++) {
        if (tide_phase_of(&facts->scopes, (uint32_t)i) == TIDE_PHASE_BACKWARD) {
            return true;
        }
    }
    return false;
}

/* Whether nearly each tensor is a little longer than the one before, always by as much, as those of
 * a cache are. */
static bool gets_longer(const tide_sized_place *place) {
    return place->n_even >= LEAST_EVEN && 100 * place->n_even >= EVEN_PERCENT * place->n_changes;
}

/* Counts the blocks of forward passes from before an event. */
static tide_status add_blocks(const tide_facts *facts, int64_t before, tide_place_sizes *to) {
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (block->device == facts->device && (int64_t)block->born <= before &&
            block->block_bytes > LEAST_VARYING_BYTES &&
            tide_block_is_forward(&facts->lines, block)) {
            TIDE_TRY(tide_place_sizes_add(to, block, 0));
        }
    }
    return TIDE_OK;
}

tide_status tide_pieces_find_change(const tide_facts *facts, int64_t before,
                                    tide_pieces_change *ret) {
    tide_place_sizes of;
    int64_t all = 0;
    int64_t varying = 0;
    int64_t longer = 0;
    tide_place_sizes_init(&of, facts);
    tide_status status = add_blocks(facts, before, &of);
    for (size_t i = 0; i < of.n_places; i++) {
        const tide_sized_place *place = &of.places[i];
        bool varies = place->n_sizes >= LEAST_SIZES;
        all += place->bytes;
        varying += varies ? place->bytes : 0;
        longer += varies && gets_longer(place) ? place->bytes : 0;
    }
    *ret = varying <= all / 100 * VARYING_PERCENT                           ? TIDE_PIECES_SAME
           : longer > varying / 100 * VARYING_PERCENT && !is_trained(facts) ? TIDE_PIECES_LONGER
                                                                            : TIDE_PIECES_VARY;
    tide_place_sizes_fini(&of);
    return status;
}

void tide_pieces_add_words(tide_pieces_change change, tide_text *to) {
    TIDE_ASSERT(change != TIDE_PIECES_SAME);
    tide_text_add(to,
                  " The %s from pass to pass, and a piece of another size often fits none of them.",
                  change == TIDE_PIECES_LONGER ? "same tensors get a little longer"
                                               : "sizes of the same tensors change");
}

const char *tide_pieces_cure(tide_pieces_change change) {
    TIDE_ASSERT(change != TIDE_PIECES_SAME);
    return change == TIDE_PIECES_LONGER
               ? "if they are a cache, allocate it once, at its final length, and write into it; "
                 "otherwise begin with the longest inputs, or pad them to a few lengths"
               : "begin with the largest size, or pad to a few sizes";
}

/* ---- blocks that stay ---- */

/* The blocks in such segments. */
typedef struct chosen {
    uint32_t *blocks; /* owned; indices of lifetimes */
    size_t n, room;
} chosen;

static tide_status add_segment(chosen *of, const tide_facts *facts, const tide_layout *layout,
                               const tide_layout_segment *segment) {
    for (size_t i = 0; i < segment->n_pieces; i++) {
        uint32_t lifetime = layout->pieces[segment->first_piece + i].lifetime;
        if (lifetime == TIDE_NONE) {
            continue;
        }
        uint32_t *grown =
            tide_hostmem_grow(facts->mem, of->blocks, &of->room, of->n + 1, sizeof(*grown));
        if (grown == NULL) {
            return TIDE_NO_MEMORY;
        }
        of->blocks = grown;
        of->blocks[of->n++] = lifetime;
    }
    return TIDE_OK;
}

/* The line that made the most of them. */
static tide_status find_line(const tide_facts *facts, const chosen *of, tide_stayers *to) {
    tide_map n_of; /* frame -> number of blocks */
    tide_status status = TIDE_OK;
    tide_map_init(&n_of, facts->mem);
    for (size_t i = 0; i < of->n && status == TIDE_OK; i++) {
        uint32_t node = tide_block_line(&facts->lines, tide_facts_block(facts, of->blocks[i]));
        uint64_t n = 0;
        if (node == TIDE_NONE) {
            continue;
        }
        uint32_t frame = facts->snapshot->stacks[node].frame;
        (void)tide_map_find(&n_of, frame, &n);
        status = tide_map_put(&n_of, frame, n + 1);
        if (n + 1 > to->n_of_line) {
            to->n_of_line = (size_t)n + 1;
            to->line = node;
        }
    }
    tide_map_fini(&n_of);
    return status;
}

tide_status tide_stayers_find(const tide_facts *facts, int64_t event, tide_stayers *ret) {
    const tide_instant at = {facts->device, event};
    tide_layout layout;
    tide_error ignored = {""};
    chosen of = {0};
    *ret = (tide_stayers){.line = TIDE_NONE};
    TIDE_TRY(tide_layout_init(&layout, facts->snapshot, facts->lifetimes, &at, &ignored));
    tide_status status = TIDE_OK;
    for (size_t i = 0; i < layout.n_segments && status == TIDE_OK; i++) {
        const tide_layout_segment *segment = &layout.segments[i];
        bool is_private = segment->pool_id[0] != 0 || segment->pool_id[1] != 0;
        bool is_empty = segment->cached_bytes > segment->total_bytes / 100 * PINNED_PERCENT;
        bool holds = segment->cached_bytes < segment->total_bytes;
        if (!is_private && is_empty && holds) {
            ret->free_bytes += (int64_t)segment->cached_bytes;
            status = add_segment(&of, facts, &layout, segment);
        }
    }
    ret->n = of.n;
    if (status == TIDE_OK) {
        status = find_line(facts, &of, ret);
    }
    facts->mem->release(facts->mem->ctx, of.blocks);
    tide_layout_fini(&layout);
    return status;
}

bool tide_stayers_hold(const tide_stayers *of, int64_t free_bytes) {
    return of->free_bytes > free_bytes / 100 * PINNED_PERCENT;
}

void tide_stayers_add_words(const tide_stayers *of, const tide_facts *facts, tide_text *to) {
    char place_text[TIDE_PLACE_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    tide_text_add(to, " %zu %s", of->n, tide_plural(of->n, "block", "blocks"));
    if (of->n_of_line == of->n) {
        tide_text_add(to, " from %s", tide_cause_quoted(facts, of->line, ",", place_text));
    } else if (of->line != TIDE_NONE) {
        tide_text_add(to, ", %zu of them from %s,", of->n_of_line,
                      tide_cause_quoted(facts, of->line, "", place_text));
    }
    tide_text_add(to, " %s alive in large segments, whose other %s only smaller requests can use.",
                  tide_plural(of->n, "stays", "stay"), tide_bytes_format(of->free_bytes, bytes));
}
