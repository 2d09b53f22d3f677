/* A pattern of the peak: backward passes that record a graph of their own, as with
 * `create_graph=True`. Their results live beside those of the forward passes until the outer
 * backward pass. */
#include <string.h>

#include "snapshot/explain/causes/blocks.h"
#include "snapshot/explain/causes/line_text.h"

#define LEAST_RECORDED 0.15 /* of the peak */

/* Autograd's own operators run with gradients enabled only if their results get a graph. Python
 * code in a backward pass, such as a checkpoint that computes again, enables them itself. */
static bool is_recorded(const tide_facts *facts, const tide_lifetime *block) {
    bool is_python = (tide_facts_traits(facts, block) & TIDE_HAS_PYTHON) != 0;
    return !is_python && !tide_cause_is_state(facts, block) &&
           tide_block_is_backward(&facts->lines, block) &&
           tide_cause_mode(facts, block) == TIDE_AUTOGRAD_ON;
}

/* The only line of the program that calls `backward` or `grad`, or the only one whose text has
 * create_graph; TIDE_NONE: there are several, or none. */
static uint32_t find_call(const tide_facts *facts, const char *part) {
    const tide_snapshot *snapshot = facts->snapshot;
    uint32_t found = TIDE_NONE;
    for (uint32_t i = 0; i < snapshot->n_stacks; i++) {
        if (strcmp(tide_cause_function(facts, i), "_make_grads") != 0) {
            continue;
        }
        uint32_t line = tide_stack_program(&facts->stacks, i);
        if (line == TIDE_NONE || (part[0] != '\0' && !tide_cause_line_has(facts, line, part))) {
            continue;
        }
        if (found != TIDE_NONE && snapshot->stacks[found].frame != snapshot->stacks[line].frame) {
            return TIDE_NONE;
        }
        found = line;
    }
    return found;
}

tide_status tide_cause_second_order(const tide_facts *facts, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause_blocks of;
    tide_status status = tide_cause_blocks_init(&of, facts, is_recorded);
    bool is_known = tide_causes_find(to, "create_graph_cycle") != NULL;
    if (status != TIDE_OK || is_known || !tide_cause_blocks_reach(&of, facts, LEAST_RECORDED)) {
        tide_cause_blocks_fini(&of);
        return status;
    }
    uint32_t call = find_call(facts, "create_graph");
    call = call != TIDE_NONE ? call : find_call(facts, "");
    tide_cause cause = tide_cause_of_peak(facts, "second_order_graph", of.bytes);
    tide_cause_blocks_fini(&of);
    tide_cause_add_bytes(facts, cause.bytes, &text);
    tide_text_add(&text, " was made in backward passes that record a graph of their own "
                         "(`create_graph=True`)");
    if (call != TIDE_NONE) {
        tide_text_add(&text, ", at %s", tide_cause_quoted(facts, call, "", place));
    }
    tide_text_add(&text, ". It lives, beside the forward graphs that it needs, until the outer "
                         "backward pass.");
    cause.words = words;
    cause.cure = "take fewer inner steps or a smaller inner batch, or leave out "
                 "`create_graph=True` where gradients of first order do";
    return tide_causes_add(to, &cause);
}
