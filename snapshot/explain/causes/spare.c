/* A pattern of the reserved peak: the allocator bought a segment although much of what it had
 * reserved was free, in pieces that were too small. */
#include "snapshot/explain/causes/causes_friend.h"
#include "snapshot/explain/causes/pieces.h"

enum {
    FREE_PERCENT = 75, /* of the bought segment, at least, that were free */
    HELD_PERCENT = 25  /* of the reserved memory, at least, free in segments that blocks hold */
};

#define SMALL_SEGMENT (UINT64_C(2) << 20) /* PyTorch's, for requests of up to 1 MiB */

/* The last purchase before most was reserved; -1: none, or memory was mapped, as expandable
 * segments do, which have no such pieces. Segments for small requests are bought on their own. */
static int64_t find_purchase(const tide_facts *facts) {
    const tide_event_table *events = &facts->snapshot->events;
    for (int64_t i = facts->reserved.event; i >= 0; i--) {
        bool is_bought = events->action[i] == TIDE_ACTION_SEGMENT_ALLOC;
        if (events->device[i] != facts->device || !tide_action_is_of_segment(events->action[i]) ||
            (is_bought && tide_bytes_at(&events->block_bytes, (size_t)i) <= SMALL_SEGMENT)) {
            continue;
        }
        return is_bought ? i : -1;
    }
    return -1;
}

static tide_status say(const tide_facts *facts, int64_t row, const tide_reserved_part *part,
                       tide_pieces_change change, const tide_stayers *of, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    char bought[TIDE_BYTES_TEXT];
    char free_bytes[TIDE_BYTES_TEXT];
    char largest[TIDE_BYTES_TEXT];
    const tide_event event = tide_event_at(facts->snapshot, (size_t)row);
    const tide_lifetime block = {
        .stack = event.stack, .scope = event.scope, .born = (uint32_t)row + 1};
    uint32_t line = tide_block_line(&facts->lines, &block);
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text, "The allocator reserved %s more",
                  tide_bytes_format((int64_t)event.block_bytes, bought));
    if (line != TIDE_NONE) {
        tide_text_add(&text, " for %s", tide_cause_quoted(facts, line, "", place));
    }
    tide_text_add(&text, ", while %s of what it had reserved was free, in pieces of at most %s.",
                  tide_bytes_format(part->free_bytes, free_bytes),
                  tide_bytes_format(part->largest_bytes, largest));
    if (change != TIDE_PIECES_SAME) {
        tide_pieces_add_words(change, &text);
    } else {
        tide_stayers_add_words(of, facts, &text);
    }
    const tide_cause cause = {
        .id = "reserved_in_pieces",
        .tier = tide_causes_find(to, "blow_up") != NULL ? TIDE_TIER_ADVICE : TIDE_TIER_PEAK,
        .share = (double)part->free_bytes / (double)facts->reserved.bytes,
        .is_of_reserved = true,
        .bytes = part->free_bytes,
        .words = words,
        .cure = change != TIDE_PIECES_SAME
                    ? tide_pieces_cure(change)
                    : "allocate what stays before the large temporary tensors",
        .cost = change != TIDE_PIECES_SAME ? TIDE_PIECES_COST : ""};
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_spare(const tide_facts *facts, tide_causes *to) {
    tide_reserved before;
    tide_stayers of;
    tide_pieces_change change = TIDE_PIECES_SAME;
    int64_t row = find_purchase(facts);
    if (row < 0 || facts->failure.event >= 0 || facts->growth.n_facts > 0 ||
        !tide_reserved_is_spare(&facts->reserved)) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_reserved_at(&facts->stacks, facts->lifetimes, facts->device, row - 1, &before));
    const tide_reserved_part *part = &before.parts[TIDE_RESERVED_MAIN];
    int64_t bought = (int64_t)tide_event_at(facts->snapshot, (size_t)row).block_bytes;
    if (part->free_bytes < bought / 100 * FREE_PERCENT ||
        2 * part->free_bytes < before.bytes - before.allocated_bytes) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_pieces_find_change(facts, row, &change));
    TIDE_TRY(tide_stayers_find(facts, row - 1, &of));
    bool holds = tide_stayers_hold(&of, part->free_bytes) &&
                 of.free_bytes > facts->reserved.bytes / 100 * HELD_PERCENT;
    return change != TIDE_PIECES_SAME || holds ? say(facts, row, part, change, &of, to) : TIDE_OK;
}
