/* A pattern of the peak, and of a failed request: the int64 result of torch.nn.functional.one_hot.
 */
#include "snapshot/explain/causes/blocks.h"
#include "snapshot/explain/causes/line_text.h"

#define LEAST_ONE_HOT 0.10 /* of the peak, or of what PyTorch could have at a failed request */

enum {
    FIRST_PART = 4 /* of the result: smaller tensors of the line do not count as its first one */
};

static const char CALL[] = "one_hot(";

static bool is_frame(const tide_facts *facts, uint32_t node, uint32_t frame) {
    return node != TIDE_NONE && facts->snapshot->stacks[node].frame == frame;
}

/* Bytes of the first tensor that the line of a frame made which is at least a part of `bytes`.
 * one_hot makes its own before an operator on the line uses it. 0: none. */
static uint64_t first_of_line(const tide_facts *facts, uint32_t frame, uint64_t bytes) {
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        uint32_t line = tide_stack_program(&facts->stacks, block->stack);
        if (block->device == facts->device && is_frame(facts, line, frame) &&
            !tide_block_is_backward(&facts->lines, block) &&
            block->requested_bytes >= bytes / FIRST_PART) {
            return block->requested_bytes;
        }
    }
    return 0;
}

static tide_status say(const tide_facts *facts, uint32_t line, tide_cause *cause, tide_text *text,
                       tide_causes *to) {
    char place[TIDE_PLACE_TEXT];
    tide_text_add(text,
                  " the result of one_hot at %s: it is int64, 8 bytes for each class of each "
                  "element.",
                  tide_cause_quoted(facts, line, "", place));
    cause->words = text->bytes;
    cause->cure = "make it in one byte per class, `torch.zeros(shape, dtype=torch.bool, "
                  "device=y.device).scatter_(1, y[:, None], True)`, or use the indices themselves: "
                  "`p.gather(1, y[:, None])`, or a loss that takes them; `.to()` after one_hot "
                  "comes too late for the peak";
    return tide_causes_add(to, cause);
}

/* The failed request is the result itself. */
static tide_status look_at_failure(const tide_facts *facts, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    const tide_failure *failure = &facts->failure;
    uint32_t line = tide_stack_program(&facts->stacks, failure->stack);
    if (failure->event < 0 || failure->free_bytes < 0 || line == TIDE_NONE ||
        !tide_cause_line_has(facts, line, CALL) ||
        (double)failure->asked_bytes < LEAST_ONE_HOT * (double)failure->capacity_bytes) {
        return TIDE_OK;
    }
    uint64_t asked = (uint64_t)failure->asked_bytes;
    uint64_t first = first_of_line(facts, facts->snapshot->stacks[line].frame, asked);
    if (first != 0 && first != asked) {
        return TIDE_OK;
    }
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = {
        .id = "one_hot", .tier = TIDE_TIER_ALL, .share = 2, .bytes = failure->asked_bytes};
    tide_text_add(&text, "The request for %s is", tide_bytes_format(failure->asked_bytes, bytes));
    return say(facts, line, &cause, &text, to);
}

static const tide_lifetime *find_largest(const tide_facts *facts) {
    const tide_lifetime *largest = NULL;
    for (size_t i = 0; i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        uint32_t line = tide_stack_program(&facts->stacks, block->stack);
        bool is_more = largest == NULL || block->block_bytes > largest->block_bytes;
        if (is_more && (double)block->block_bytes >= LEAST_ONE_HOT * (double)facts->peak_bytes &&
            !tide_block_is_backward(&facts->lines, block) && !tide_cause_is_state(facts, block) &&
            tide_cause_line_has(facts, line, CALL)) {
            largest = block;
        }
    }
    return largest;
}

tide_status tide_cause_one_hot(const tide_facts *facts, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    size_t n = to->n_causes;
    TIDE_TRY(look_at_failure(facts, to));
    const tide_lifetime *block = to->n_causes > n ? NULL : find_largest(facts);
    uint32_t line = block != NULL ? tide_stack_program(&facts->stacks, block->stack) : TIDE_NONE;
    if (line == TIDE_NONE || first_of_line(facts, facts->snapshot->stacks[line].frame,
                                           block->requested_bytes) != block->requested_bytes) {
        return TIDE_OK;
    }
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_peak(facts, "one_hot", (int64_t)block->block_bytes);
    cause.share += LEAST_ONE_HOT; /* seven of its eight bytes are always zero */
    tide_cause_add_bytes(facts, (int64_t)block->block_bytes, &text);
    tide_text_add(&text, " is");
    return say(facts, line, &cause, &text, to);
}
