/* A pattern of the peak: results of an inference that a list collects on the card. */
#include "snapshot/explain/causes/blocks.h"
#include "snapshot/explain/causes/line_text.h"

#define LEAST_COLLECTED 0.50 /* of the peak: of one line */

enum { LEAST_RESULTS = 8 };

/* A result that a line which appends to a list made in a call of a module, without a graph. */
static bool is_appended(const tide_facts *facts, const tide_lifetime *block) {
    uint32_t node = block->stack != TIDE_NONE ? facts->stacks.visible[block->stack] : TIDE_NONE;
    return tide_cause_mode(facts, block) > TIDE_AUTOGRAD_ON &&
           tide_block_is_forward(&facts->lines, block) && !tide_cause_is_state(facts, block) &&
           !tide_cause_is_pooled(facts, block) && tide_cause_line_has(facts, node, ".append(") &&
           tide_cause_line_collects(facts, node);
}

tide_status tide_cause_collected(const tide_facts *facts, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_cause_blocks of;
    uint32_t line = TIDE_NONE;
    tide_text text = tide_text_in(words, sizeof(words));
    tide_status status = tide_cause_blocks_init(&of, facts, is_appended);
    bool fires = status == TIDE_OK && of.n_blocks >= LEAST_RESULTS &&
                 tide_cause_blocks_reach(&of, facts, LEAST_COLLECTED) &&
                 tide_causes_find(to, "results_collected") == NULL;
    if (fires) {
        line = facts->stacks.visible[tide_facts_block(facts, of.blocks[0])->stack];
        tide_cause cause = tide_cause_of_peak(facts, "results_collected", of.bytes);
        tide_cause_add_bytes(facts, of.bytes, &text);
        tide_text_add(&text, " is %zu results that a list collects on the card, at %s.",
                      of.n_blocks, tide_cause_quoted(facts, line, "", place));
        if (facts->failure.event >= 0) { /* it went on until a request failed, as growth does */
            cause.tier = TIDE_TIER_GROWTH;
            cause.share += LEAST_COLLECTED;
        }
        cause.words = words;
        cause.cure = "append them to the list on the host (`.cpu()`), or write each into a "
                     "result that is allocated once";
        cause.cost = "one copy to the host each time";
        status = tide_causes_add(to, &cause);
    }
    tide_cause_blocks_fini(&of);
    return status;
}
