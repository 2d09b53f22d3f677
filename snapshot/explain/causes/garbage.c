/* Patterns of memory that the program no longer uses: garbage in reference cycles, and loops that
 * fill the card. A run on a virtual card collects garbage at its first failed request, in a copy of
 * the process (snapshot/document/at_failure.h); elsewhere the patterns have no such fact. */
#include "snapshot/explain/causes/causes_friend.h"

enum {
    ALL_PERCENT = 99,    /* of the blocks' bytes that were collected, at least: all are garbage */
    MOST_PERCENT = 50,   /* the same: most are */
    LEAST_PERCENT = 10,  /* of the allocated bytes: less garbage is not worth a sentence */
    NOTHING_PERCENT = 1, /* of the blocks' bytes: fewer were collected, so they are in use */
    WHOLE_PERCENT = 50   /* of the allocated bytes: more garbage is the whole failure */
};

/* What the collection at the failed request of this device freed; -1: unknown. */
static int64_t collected_bytes(const tide_facts *facts) {
    const tide_snapshot_at_failure *at = &facts->snapshot->at_failure;
    bool is_of_failure = facts->failure.event >= 0 && at->device == (int64_t)facts->device;
    return is_of_failure && at->allocated_bytes > 0 && at->collected_bytes <= at->allocated_bytes
               ? at->collected_bytes
               : -1;
}

static bool is_share(int64_t bytes, int64_t of, int percent) {
    return bytes >= of / 100 * percent;
}

/* "when the request failed, garbage collection in a copy of the process freed 23.47 GiB of the
 * 23.47 GiB allocated" */
static void add_collected(const tide_facts *facts, tide_text *to) {
    const tide_snapshot_at_failure *at = &facts->snapshot->at_failure;
    char freed[TIDE_BYTES_TEXT];
    char allocated[TIDE_BYTES_TEXT];
    tide_text_add(to,
                  "when the request failed, garbage collection in a copy of the process freed %s "
                  "of the %s allocated.",
                  at->collected_bytes > 0 ? tide_bytes_format(at->collected_bytes, freed)
                                          : "nothing",
                  tide_bytes_format(at->allocated_bytes, allocated));
}

#define BREAK_CYCLE                                                                                \
    "break the cycle, for example with a weak reference for one of its links (`weakref.ref`), or " \
    "call `gc.collect()` "

tide_status tide_cause_filled(const tide_facts *facts, const tide_growth_fact *fact,
                              tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    char each[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_growth(facts, fact, "never_released");
    int64_t collected = collected_bytes(facts);
    /* At least so many bytes of these blocks were collected. */
    int64_t garbage = collected - (facts->snapshot->at_failure.allocated_bytes - fact->bytes);
    tide_text_add(&text,
                  "%zu blocks of up to %s, allocated one after the other at %s, were never "
                  "released, %s in all, and the memory ran out while this went on.",
                  fact->n_blocks, tide_bytes_format(tide_growth_largest(facts, fact), each),
                  tide_cause_quoted(facts, fact->line, "", place),
                  tide_bytes_format(fact->bytes, bytes));
    cause.words = words;
    if (collected >= 0 && is_share(garbage, fact->bytes, MOST_PERCENT)) {
        tide_text_add(&text, " %s garbage in reference cycles: ",
                      is_share(garbage, fact->bytes, ALL_PERCENT) ? "They are"
                                                                  : "Most of their bytes are");
        add_collected(facts, &text);
        cause.cure = BREAK_CYCLE "in the loop";
        cause.cost = "a collection takes milliseconds";
    } else if (collected >= 0 && !is_share(collected, fact->bytes, NOTHING_PERCENT)) {
        tide_text_add(&text, " They are still referenced: ");
        add_collected(facts, &text);
        cause.cure = "remove each from the variable, list or dictionary that holds it once it is "
                     "no longer needed, or allocate fewer";
    } else {
        cause.cure =
            "if the program no longer uses them, a container still holds them, or they are part "
            "of a reference cycle: call `gc.collect()` once in the loop, and if that frees them, "
            "break the cycle with a weak reference";
        cause.cost = "a collection takes milliseconds";
    }
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_garbage(const tide_facts *facts, tide_causes *to) {
    const tide_snapshot_at_failure *at = &facts->snapshot->at_failure;
    int64_t collected = collected_bytes(facts);
    if (collected <= 0 || !is_share(collected, at->allocated_bytes, LEAST_PERCENT) ||
        facts->failure.margin_bytes + collected < 0 ||
        tide_causes_find(to, "never_released") != NULL) {
        return TIDE_OK;
    }
    char words[TIDE_CAUSE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text, "Part of the memory was garbage in reference cycles, which Python frees "
                         "only when it collects garbage: ");
    add_collected(facts, &text);
    const tide_cause cause = {.id = "garbage",
                              .tier = is_share(collected, at->allocated_bytes, WHOLE_PERCENT)
                                          ? TIDE_TIER_ALL
                                          : TIDE_TIER_GROWTH,
                              .share = (double)collected / (double)at->allocated_bytes,
                              .bytes = collected,
                              .words = words,
                              .cure = BREAK_CYCLE "before memory runs out",
                              .cost = "a collection takes milliseconds"};
    return tide_causes_add(to, &cause);
}
