/* A pattern of a failed request: enough memory was free, but in pieces. */
#include <string.h>

#include "common/map.h"
#include "common/text/plural.h"
#include "snapshot/analysis/layout.h"
#include "snapshot/explain/causes/causes_friend.h"
#include "snapshot/explain/causes/place_sizes.h"

enum {
    MARGIN_PERCENT = 3,   /* of the capacity, at least, left if all free memory were in one piece */
    GROWTH_PERCENT = 20,  /* of the peak or of the capacity: more growth is the cause */
    LEAST_SIZES = 4,      /* of one place, that vary */
    VARYING_PERCENT = 50, /* of the bytes, in places whose sizes vary */
    PINNED_PERCENT = 50,  /* of the free bytes, in segments that small blocks hold */
    LARGE_PERCENT = 10    /* of the capacity, left, if neither of these shows the kind */
};

#define LEAST_VARYING_BYTES (UINT64_C(1) << 20) /* of a block whose size is compared */

/* ---- is it fragmentation ---- */

/* Whether growth explains the failure: of a training or an evaluation, which would have failed soon
 * in any layout, or of a loop that filled the card. */
static bool has_growth(const tide_facts *facts) {
    int64_t bytes = 0;
    int64_t filled = 0;
    for (size_t i = 0; i < facts->growth.n_facts; i++) {
        const tide_growth_fact *fact = &facts->growth.facts[i];
        bytes += fact->kind != TIDE_GROWTH_FILLS ? fact->bytes : 0;
        filled += fact->bytes;
    }
    return bytes > facts->peak_bytes / 100 * GROWTH_PERCENT ||
           filled > facts->failure.capacity_bytes / 100 * GROWTH_PERCENT;
}

/* ---- which kind ---- */

/* Whether most bytes of forward passes come from places whose sizes vary. */
static tide_status find_varying(const tide_facts *facts, bool *ret_varies) {
    tide_place_sizes of;
    int64_t all = 0;
    int64_t varying = 0;
    tide_status status = TIDE_OK;
    tide_place_sizes_init(&of, facts);
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes && status == TIDE_OK; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        bool counts = block->device == facts->device && block->block_bytes > LEAST_VARYING_BYTES &&
                      tide_block_is_forward(&facts->lines, block);
        status = counts ? tide_place_sizes_add(&of, block, 0) : TIDE_OK;
    }
    for (size_t i = 0; i < of.n_places; i++) {
        all += of.places[i].bytes;
        varying += of.places[i].n_sizes >= LEAST_SIZES ? of.places[i].bytes : 0;
    }
    *ret_varies = varying > all / 100 * VARYING_PERCENT;
    tide_place_sizes_fini(&of);
    return status;
}

/* The blocks that keep large, nearly empty segments from the device. */
typedef struct stayers {
    uint32_t *blocks; /* owned; indices of lifetimes */
    size_t n, room;
    int64_t free_bytes; /* in the segments of these */
    uint32_t line;      /* node of the stack tree that made the most of them; TIDE_NONE */
    size_t n_of_line;   /* blocks that it made */
} stayers;

static tide_status add_segment(stayers *of, const tide_facts *facts, const tide_layout *layout,
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
    of->free_bytes += (int64_t)segment->cached_bytes;
    return TIDE_OK;
}

/* The line that made the most of them. */
static tide_status find_line(const tide_facts *facts, stayers *of) {
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
        if (n + 1 > of->n_of_line) {
            of->n_of_line = (size_t)n + 1;
            of->line = node;
        }
    }
    tide_map_fini(&n_of);
    return status;
}

static tide_status find_stayers(const tide_facts *facts, stayers *ret) {
    const tide_instant at = {facts->device, facts->failure.event};
    tide_layout layout;
    tide_error ignored = {""};
    *ret = (stayers){.line = TIDE_NONE};
    TIDE_TRY(tide_layout_init(&layout, facts->snapshot, facts->lifetimes, &at, &ignored));
    tide_status status = TIDE_OK;
    for (size_t i = 0; i < layout.n_segments && status == TIDE_OK; i++) {
        const tide_layout_segment *segment = &layout.segments[i];
        bool is_private = segment->pool_id[0] != 0 || segment->pool_id[1] != 0;
        bool is_empty = segment->cached_bytes > segment->total_bytes / 100 * PINNED_PERCENT;
        bool holds = segment->cached_bytes < segment->total_bytes;
        status =
            !is_private && is_empty && holds ? add_segment(ret, facts, &layout, segment) : TIDE_OK;
    }
    if (status == TIDE_OK) {
        status = find_line(facts, ret);
    }
    tide_layout_fini(&layout);
    return status;
}

/* ---- the sentence ---- */

static void add_stayers(const tide_facts *facts, const stayers *of, tide_text *to) {
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

static bool has_stayers(const tide_facts *facts, const stayers *of) {
    const tide_reserved_part *part = &facts->failure.reserved.parts[facts->failure.kind];
    return of->free_bytes > part->free_bytes / 100 * PINNED_PERCENT;
}

static tide_status say(const tide_facts *facts, bool varies, const stayers *of, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char free_bytes[TIDE_BYTES_TEXT];
    char largest[TIDE_BYTES_TEXT];
    char left[TIDE_BYTES_TEXT];
    const tide_reserved_part *part = &facts->failure.reserved.parts[facts->failure.kind];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "Fragmentation: %s of the reserved memory were free, but in pieces of at most "
                  "%s. In one piece, the request would have fitted, with %s left.",
                  tide_bytes_format(part->free_bytes, free_bytes),
                  tide_bytes_format(part->largest_bytes, largest),
                  tide_bytes_format(facts->failure.usable_margin_bytes, left));
    if (varies) {
        tide_text_add(&text, " The sizes of the same tensors change from pass to pass, which "
                             "leaves gaps that fit nothing.");
    } else if (has_stayers(facts, of)) {
        add_stayers(facts, of, &text);
    }
    const tide_cause cause = {
        .id = "fragmentation",
        .tier = TIDE_TIER_GROWTH,
        .share = 0.8,
        .bytes = part->free_bytes,
        .words = words,
        .cure = varies ? "pad the batches to a few lengths"
                : has_stayers(facts, of)
                    ? "allocate what stays before the large temporary tensors"
                    : "allocate long-lived tensors first, and free large temporary ones "
                      "before others are made",
        .cost = varies ? "padding computes more" : ""};
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_fragmentation(const tide_facts *facts, tide_causes *to) {
    const tide_failure *failure = &facts->failure;
    bool varies = false;
    stayers of = {.line = TIDE_NONE};
    if (failure->event < 0 || failure->free_bytes < 0 || tide_cause_is_limit(facts) ||
        tide_cause_others_bytes(facts) > 0 ||
        failure->usable_margin_bytes < failure->capacity_bytes / 100 * MARGIN_PERCENT ||
        has_growth(facts)) {
        return TIDE_OK;
    }
    TIDE_TRY(find_varying(facts, &varies));
    tide_status status = find_stayers(facts, &of);
    bool is_large = failure->usable_margin_bytes >= failure->capacity_bytes / 100 * LARGE_PERCENT;
    if (status == TIDE_OK && (varies || has_stayers(facts, &of) || is_large)) {
        status = say(facts, varies, &of, to);
    }
    facts->mem->release(facts->mem->ctx, of.blocks);
    return status;
}
