/* A pattern of the peak: a loop that adds up losses. The graphs of all its passes are alive
 * until one backward pass after the loop. */
#include <ctype.h>
#include <string.h>

#include "snapshot/document/source.h"
#include "snapshot/explain/causes/ends.h"
#include "snapshot/explain/causes/line_text.h"
#include "snapshot/explain/words/growth_words.h"
#include "snapshot/explain/words/user_line.h"

#define LEAST_SUMMED 0.50 /* of the peak: graphs of one loop */
#define LEAST_PASS 0.25   /* of the largest pass: a pass that counts */

enum {
    LEAST_PASSES = 4,
    SCALAR_BYTES = 8, /* of a loss, at most */
    NAME_BYTES = 64
};

/* ---- the lines of a loop ---- */

void tide_cause_add_collecting_line(const tide_facts *facts, const tide_growth_fact *fact,
                                    const char *before, tide_text *to) {
    const tide_stack_row *stacks = facts->snapshot->stacks;
    uint32_t found = TIDE_NONE;
    for (uint32_t i = 0; i < facts->snapshot->n_stacks; i++) {
        if (tide_loop_has_line(fact->loop, facts->snapshot, i) &&
            tide_cause_line_collects(facts, i)) {
            if (found != TIDE_NONE && stacks[found].frame != stacks[i].frame) {
                return; /* which of them keeps the blocks is not known */
            }
            found = i;
        }
    }
    bool is_named = found == TIDE_NONE ||
                    (fact->line != TIDE_NONE && stacks[fact->line].frame == stacks[found].frame);
    if (!is_named) {
        tide_text_add(to, "%s", before);
        tide_user_line_add_frame(facts->snapshot, stacks[found].frame, to);
        tide_user_line_add_quote(facts->snapshot, stacks[found].frame, ", ", "", to);
    }
}

static bool has_word(const char *text, const char *word, size_t n) {
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        bool is_begin = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bool is_whole = !(isalnum((unsigned char)at[n]) || at[n] == '_');
        if (is_begin && is_whole) {
            return true;
        }
    }
    return false;
}

/* Whether an assignment reads a name that it sets, as `h = cell(x, h)` does: passes that depend on
 * one another. */
static bool is_carried(const char *text) {
    const char *equals = strstr(text, " = ");
    char name[NAME_BYTES];
    size_t n = 0;
    for (const char *at = text; equals != NULL && at <= equals; at++) {
        if (isalnum((unsigned char)*at) || *at == '_') {
            name[n < NAME_BYTES - 1 ? n++ : n] = *at;
            continue;
        }
        name[n] = '\0';
        if (n > 0 && has_word(equals + 3, name, n)) {
            return true;
        }
        n = 0;
    }
    return false;
}

/* The text of the line of a block that a pass of the loop made; NULL: another block, or no text. */
static const tide_source_row *text_of(const tide_facts *facts, const tide_lifetime *block,
                                      const tide_loop *loop, uint32_t *ret_node) {
    uint32_t node = block->stack != TIDE_NONE ? facts->stacks.visible[block->stack] : TIDE_NONE;
    bool is_in = block->device == facts->device && node != TIDE_NONE &&
                 block->born > loop->starts[0] && block->born <= loop->end &&
                 tide_loop_has_line(loop, facts->snapshot, node);
    *ret_node = node;
    return is_in ? tide_source_of(facts->snapshot, facts->snapshot->stacks[node].frame) : NULL;
}

/* The line of the loop that makes the sum, or of a comprehension that makes its parts: a number,
 * by the line's text. TIDE_NONE. */
static uint32_t find_sum(const tide_facts *facts, const tide_loop *loop) {
    uint32_t found = TIDE_NONE;
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        uint32_t node = TIDE_NONE;
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        const tide_source_row *row = text_of(facts, block, loop, &node);
        bool is_loss = row != NULL && block->requested_bytes <= SCALAR_BYTES &&
                       (tide_cause_line_collects(facts, node) || is_carried(row->text) ||
                        (loop->is_one_line && strstr(row->text, "loss") != NULL));
        found =
            is_loss && (found == TIDE_NONE || tide_cause_line_collects(facts, node)) ? node : found;
    }
    return found;
}

/* Whether another line carries a state from pass to pass. */
static bool has_state(const tide_facts *facts, const tide_loop *loop, uint32_t sum) {
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        uint32_t node = TIDE_NONE;
        const tide_source_row *row =
            text_of(facts, tide_facts_block(facts, (uint32_t)i), loop, &node);
        if (row != NULL && is_carried(row->text) &&
            facts->snapshot->stacks[node].frame != facts->snapshot->stacks[sum].frame) {
            return true;
        }
    }
    return false;
}

/* ---- the graphs of a loop ---- */

static bool is_of_graph(const tide_facts *facts, const tide_lifetime *block) {
    return tide_block_is_forward(&facts->lines, block) && !tide_cause_is_state(facts, block) &&
           tide_cause_mode(facts, block) != TIDE_AUTOGRAD_OFF &&
           tide_cause_mode(facts, block) != TIDE_AUTOGRAD_INFERENCE &&
           !tide_cause_is_pooled(facts, block);
}

typedef struct graphs {
    size_t n_passes; /* that have their graph at the peak */
    int64_t bytes;
} graphs;

/* The index of the first block that was made after a row. */
static size_t first_after(const tide_cause_blocks *of, const tide_facts *facts, uint32_t row) {
    size_t low = 0;
    size_t high = of->n_blocks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_after = tide_facts_block(facts, of->blocks[middle])->born > row;
        low = is_after ? low : middle + 1;
        high = is_after ? middle : high;
    }
    return low;
}

static graphs look_at(const tide_cause_blocks *of, const tide_cause_ends *ends,
                      const tide_loop *loop) {
    graphs found = {0, 0};
    int64_t largest = 0;
    for (int round = 0; round < 2; round++) { /* the largest pass, then those that count */
        size_t at = first_after(of, ends->facts, loop->starts[0]);
        for (size_t i = 0; i < loop->n_starts; i++) {
            int64_t bytes = 0;
            uint32_t next = i + 1 < loop->n_starts ? loop->starts[i + 1] : (uint32_t)loop->end;
            for (; at < of->n_blocks; at++) {
                const tide_lifetime *block = tide_facts_block(ends->facts, of->blocks[at]);
                if (block->born > next) {
                    break;
                }
                bool is_used = (tide_cause_ends_of(ends, block) & TIDE_END_BACKWARD) != 0;
                bytes += is_used ? (int64_t)block->block_bytes : 0;
            }
            largest = round == 0 && bytes > largest ? bytes : largest;
            bool counts = round == 1 && bytes > 0 && (double)bytes >= LEAST_PASS * (double)largest;
            found.n_passes += counts;
            found.bytes += counts ? bytes : 0;
        }
    }
    return found;
}

static tide_status say(const tide_facts *facts, const tide_loop *loop, const graphs *of,
                       uint32_t sum, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_peak(facts, "summed_losses", of->bytes);
    tide_cause_add_bytes(facts, of->bytes, &text);
    tide_text_add(&text, " belongs to the graphs of %zu passes of the loop at ", of->n_passes);
    tide_growth_add_loop(facts, loop, &text);
    tide_text_add(&text,
                  ": their losses are added up at %s one backward pass after the loop "
                  "uses all of them.",
                  tide_cause_quoted(facts, sum, ", and", place));
    cause.words = words;
    cause.cure = "if no pass depends on an earlier one, call `loss.backward()` inside the loop and "
                 "`optimizer.step()` after it: the gradients add up to the same, and one graph is "
                 "alive at a time";
    return tide_causes_add(to, &cause);
}

static tide_status look(const tide_facts *facts, const tide_cause_blocks *of,
                        const tide_cause_ends *ends, tide_causes *to) {
    const tide_loop *best = NULL;
    graphs most = {0, 0};
    for (size_t i = 0; i < facts->loops.n_loops; i++) {
        const tide_loop *loop = &facts->loops.loops[i];
        if (loop->is_steps || (int64_t)loop->starts[0] > facts->peak_event) {
            continue;
        }
        const graphs found = look_at(of, ends, loop);
        if (found.n_passes >= LEAST_PASSES && found.bytes > most.bytes) {
            most = found;
            best = loop;
        }
    }
    if (best == NULL || (double)most.bytes < LEAST_SUMMED * (double)facts->peak_bytes) {
        return TIDE_OK;
    }
    uint32_t sum = find_sum(facts, best);
    return sum != TIDE_NONE && !has_state(facts, best, sum) ? say(facts, best, &most, sum, to)
                                                            : TIDE_OK;
}

tide_status tide_cause_summed(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks of;
    tide_cause_ends ends = {0};
    tide_status status = tide_cause_blocks_init(&of, facts, is_of_graph);
    if (status == TIDE_OK && tide_cause_blocks_reach(&of, facts, LEAST_SUMMED) &&
        tide_causes_find(to, "second_order_graph") == NULL &&
        facts->snapshot->n_source > 0) { /* the text of a line is a part of the evidence */
        status = tide_cause_ends_init(&ends, facts, is_of_graph);
        status = status == TIDE_OK ? look(facts, &of, &ends, to) : status;
    }
    tide_cause_ends_fini(&ends);
    tide_cause_blocks_fini(&of);
    return status;
}
