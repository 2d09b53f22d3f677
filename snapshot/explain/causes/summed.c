/* A pattern of growth: a loop whose graphs are all kept until one backward pass after the loop. */
#include <string.h>

#include "snapshot/explain/causes/ends.h"
#include "snapshot/explain/causes/line_text.h"
#include "snapshot/explain/words/growth_words.h"
#include "snapshot/explain/words/user_line.h"

#define LEAST_USED 0.50 /* of the kept bytes: of places that a backward pass frees */

static bool is_forward(const tide_facts *facts, const tide_lifetime *block) {
    return tide_block_is_forward(&facts->lines, block) && !tide_cause_is_state(facts, block);
}

uint32_t tide_cause_collecting_line(const tide_facts *facts, const tide_loop *loop) {
    static const char *const SIGNS[] = {".append(", " += ", ".extend(", " + "};
    const tide_snapshot *snapshot = facts->snapshot;
    for (size_t k = 0; k < sizeof(SIGNS) / sizeof(SIGNS[0]); k++) {
        for (uint32_t i = 0; i < snapshot->n_stacks; i++) {
            const tide_frame_row *row = &snapshot->frames[snapshot->stacks[i].frame];
            if (row->file == loop->file && row->function == loop->function &&
                row->line >= loop->first_line && row->line <= loop->last_line &&
                tide_cause_line_has(facts, i, SIGNS[k])) {
                return i;
            }
        }
    }
    return TIDE_NONE;
}

void tide_cause_add_collecting_line(const tide_facts *facts, const tide_growth_fact *fact,
                                    const char *before, tide_text *to) {
    uint32_t line = tide_cause_collecting_line(facts, fact->loop);
    bool is_named = line == TIDE_NONE ||
                    (fact->line != TIDE_NONE && facts->snapshot->stacks[fact->line].frame ==
                                                    facts->snapshot->stacks[line].frame);
    if (!is_named) {
        tide_text_add(to, "%s", before);
        tide_user_line_add_frame(facts->snapshot, facts->snapshot->stacks[line].frame, to);
        tide_user_line_add_quote(facts->snapshot, facts->snapshot->stacks[line].frame, ", ", "",
                                 to);
    }
}

static tide_status say(const tide_facts *facts, const tide_growth_fact *fact, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_growth(facts, fact, "summed_losses");
    tide_growth_add_kept(facts, fact, &text);
    tide_growth_add_line(facts, fact, &text);
    tide_text_add(&text,
                  ": one backward pass after the loop uses the graphs of all its %s, and until "
                  "then they are all alive",
                  fact->loop->is_one_line ? "passes" : "iterations");
    tide_cause_add_collecting_line(facts, fact, ", because of ", &text);
    tide_text_add(&text, ".");
    cause.words = words;
    cause.cure = "call `loss.backward()` on each part inside the loop: the gradients add up to the "
                 "same, and each graph is freed at once; call `optimizer.step()` after the loop";
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_summed(const tide_facts *facts, const tide_growth_fact *fact,
                              tide_causes *to) {
    tide_cause_ends ends;
    int64_t bytes = 0;
    tide_status status = tide_cause_ends_init(&ends, facts, is_forward);
    for (size_t i = 0; i < fact->n_blocks && status == TIDE_OK; i++) {
        const tide_lifetime *block = tide_facts_block(facts, fact->blocks[i]);
        bool is_used = (tide_cause_ends_of(&ends, block) & TIDE_END_BACKWARD) != 0;
        bytes += is_used ? (int64_t)block->block_bytes : 0;
    }
    tide_cause_ends_fini(&ends);
    return status == TIDE_OK && (double)bytes >= LEAST_USED * (double)fact->bytes
               ? say(facts, fact, to)
               : status;
}
