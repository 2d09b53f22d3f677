/* A pattern of a failed request: enough memory was free, but in pieces. */
#include "snapshot/explain/causes/causes_friend.h"
#include "snapshot/explain/causes/pieces.h"

enum {
    MARGIN_PERCENT = 3,  /* of the capacity, at least, left if all free memory were in one piece */
    GROWTH_PERCENT = 20, /* of the peak or of the capacity: more growth is the cause */
    LARGE_PERCENT = 10   /* of the capacity, left, if neither of these shows the kind */
};

#define LEAST_GROWTH (INT64_C(256) << 20) /* bytes: less is no growth that fails a request */

/* ---- is it fragmentation ---- */

/* Whether growth explains the failure: of a training or an evaluation, which would have failed soon
 * in any layout, or of a loop that filled the card. Without a growth of what was missing, the
 * request would have fitted into the free memory of the device. */
static bool has_growth(const tide_facts *facts) {
    int64_t bytes = 0;
    int64_t filled = 0;
    int64_t missing = facts->failure.asked_bytes - facts->failure.free_bytes;
    for (size_t i = 0; i < facts->growth.n_facts; i++) {
        const tide_growth_fact *fact = &facts->growth.facts[i];
        bytes += fact->kind != TIDE_GROWTH_FILLS ? fact->bytes : 0;
        filled += fact->bytes;
    }
    return (bytes >= LEAST_GROWTH && bytes >= missing) ||
           bytes > facts->peak_bytes / 100 * GROWTH_PERCENT ||
           filled > facts->failure.capacity_bytes / 100 * GROWTH_PERCENT;
}

/* ---- the sentence ---- */

static tide_status say(const tide_facts *facts, tide_pieces_change change, const tide_stayers *of,
                       tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char free_bytes[TIDE_BYTES_TEXT];
    char largest[TIDE_BYTES_TEXT];
    char left[TIDE_BYTES_TEXT];
    const tide_reserved_part *part = &facts->failure.reserved.parts[facts->failure.kind];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "Fragmentation: %s of the reserved memory was free, but in pieces of at most "
                  "%s. In one piece, the request would have fitted, with %s left.",
                  tide_bytes_format(part->free_bytes, free_bytes),
                  tide_bytes_format(part->largest_bytes, largest),
                  tide_bytes_format(facts->failure.usable_margin_bytes, left));
    if (change != TIDE_PIECES_SAME) {
        tide_pieces_add_words(change, &text);
    } else if (tide_stayers_hold(of, part->free_bytes)) {
        tide_stayers_add_words(of, facts, &text);
    }
    const tide_cause cause = {
        .id = "fragmentation",
        .tier = TIDE_TIER_GROWTH,
        .share = 0.8,
        .bytes = part->free_bytes,
        .words = words,
        .cure = change != TIDE_PIECES_SAME ? tide_pieces_cure(change)
                : tide_stayers_hold(of, part->free_bytes)
                    ? "allocate what stays before the large temporary tensors"
                    : "allocate long-lived tensors first, and free large temporary ones "
                      "before others are made",
        .cost = change != TIDE_PIECES_SAME ? TIDE_PIECES_COST : ""};
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_fragmentation(const tide_facts *facts, tide_causes *to) {
    const tide_failure *failure = &facts->failure;
    tide_pieces_change change = TIDE_PIECES_SAME;
    tide_stayers of = {.line = TIDE_NONE};
    int64_t free_bytes = failure->reserved.parts[failure->kind].free_bytes;
    if (failure->event < 0 || failure->free_bytes < 0 || tide_cause_is_limit(facts) ||
        tide_cause_others_bytes(facts) > 0 ||
        failure->usable_margin_bytes < failure->capacity_bytes / 100 * MARGIN_PERCENT ||
        has_growth(facts)) {
        return TIDE_OK;
    }
    TIDE_TRY(tide_pieces_find_change(facts, failure->event, &change));
    TIDE_TRY(tide_stayers_find(facts, failure->event, &of));
    bool is_large = failure->usable_margin_bytes >= failure->capacity_bytes / 100 * LARGE_PERCENT;
    bool is_shown = change != TIDE_PIECES_SAME || is_large || tide_stayers_hold(&of, free_bytes);
    return is_shown ? say(facts, change, &of, to) : TIDE_OK;
}
