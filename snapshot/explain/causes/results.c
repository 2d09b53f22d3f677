/* Patterns of a failed request that repeats what its code already made: a conversion of all data
 * together, and an expression whose steps each make a tensor of the full size. */
#include "common/text/plural.h"
#include "snapshot/explain/causes/blocks.h"
#include "snapshot/explain/causes/line_text.h"

enum {
    ASKED_PERCENT = 10,     /* of the capacity, at least, of the request .. */
    ALL_PERCENT = 50,       /* .. and of all tensors of its size together with it */
    CONVERTED_PERCENT = 20, /* of the capacity, at least, of a request that converts */
    ROOM_PERCENT = 3,       /* of the capacity, left after the request: then it is not too large */
    MOST_WIDER = 8          /* times a tensor of bytes is as large as one of doubles */
};

/* What the code of the request has made, and is still allocated. */
typedef struct made {
    size_t n_equal;       /* tensors of the size of the request, that its function made */
    int64_t narrow_bytes; /* a tensor that its line made, of which the request is a multiple */
    int64_t times;
} made;

static bool is_wider(int64_t asked, int64_t bytes, int64_t *ret_times) {
    for (int64_t times = 2; times <= MOST_WIDER; times *= 2) {
        if (bytes > 0 && asked == bytes * times) {
            *ret_times = times;
            return true;
        }
    }
    return false;
}

static made look(const tide_facts *facts, uint32_t line) {
    const tide_failure *failure = &facts->failure;
    made found = {.n_equal = 0};
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        uint32_t own = tide_stack_program(&facts->stacks, block->stack);
        int64_t times = 0;
        if (block->device != facts->device || own == TIDE_NONE ||
            !tide_lifetime_is_allocated(block, failure->event) ||
            !tide_cause_is_same_function(facts, own, line) || tide_cause_is_state(facts, block)) {
            continue;
        }
        bool is_line = facts->snapshot->stacks[own].frame == facts->snapshot->stacks[line].frame;
        tide_line_kind kind = tide_cause_line_kind(facts, own);
        found.n_equal +=
            kind != TIDE_LINE_UNKNOWN && (int64_t)block->requested_bytes == failure->asked_bytes;
        if (is_line && is_wider(failure->asked_bytes, (int64_t)block->requested_bytes, &times)) {
            found.narrow_bytes = (int64_t)block->requested_bytes;
            found.times = times;
        }
    }
    return found;
}

static tide_status say_conversion(const tide_facts *facts, uint32_t line, const made *of,
                                  tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    char asked[TIDE_BYTES_TEXT];
    char narrow[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "The request for %s is %d times a tensor of %s that the same line made, %s: all "
                  "of it is converted together to a wider type.",
                  tide_bytes_format(facts->failure.asked_bytes, asked), (int)of->times,
                  tide_bytes_format(of->narrow_bytes, narrow),
                  tide_cause_quoted(facts, line, "", place));
    const tide_cause cause = {
        .id = "whole_conversion",
        .tier = TIDE_TIER_ALL,
        .share = 1,
        .bytes = facts->failure.asked_bytes,
        .words = words,
        .cure = "keep the data on the host, or in its narrow type, and convert each batch where it "
                "is used: `x.to(\"cuda\").float()` in the loop",
        .cost = "a copy to the card for each batch"};
    return tide_causes_add(to, &cause);
}

static tide_status say_steps(const tide_facts *facts, uint32_t line, const made *of,
                             tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    char asked[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "%zu %s of %s, which the same code made, %s alive when %s asked for one more "
                  "of that size: each step of such a computation makes a tensor of its own.",
                  of->n_equal, tide_plural(of->n_equal, "tensor", "tensors"),
                  tide_bytes_format(facts->failure.asked_bytes, asked),
                  tide_plural(of->n_equal, "was", "were"),
                  tide_cause_quoted(facts, line, ",", place));
    const tide_cause cause = {
        .id = "full_size_steps",
        .tier = TIDE_TIER_GROWTH,
        .share = 0.7,
        .bytes = facts->failure.asked_bytes * (int64_t)of->n_equal,
        .words = words,
        .cure = "compute in chunks along one dimension and keep of each what is needed, compute in "
                "place where autograd does not need the input (`x.sub_(y)`, `x.exp_()`), and "
                "`del` what is no longer used",
        .cost = "a loop; the memory needed falls with the size of the chunk"};
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_results(const tide_facts *facts, tide_causes *to) {
    const tide_failure *failure = &facts->failure;
    if (failure->event < 0 || failure->free_bytes < 0 || to->n_causes > 0 ||
        failure->asked_bytes < failure->capacity_bytes / 100 * ASKED_PERCENT ||
        failure->margin_bytes >= failure->capacity_bytes / 100 * ROOM_PERCENT) {
        return TIDE_OK;
    }
    uint32_t line = tide_stack_program(&facts->stacks, failure->stack);
    uint32_t traits = tide_stack_traits(&facts->stacks, failure->stack);
    tide_line_kind kind = tide_cause_line_kind(facts, line);
    bool is_other = (traits & (TIDE_IN_FORWARD | TIDE_IN_GRADIENT | TIDE_IN_OPTIMIZER |
                               TIDE_IN_CONVERSION | TIDE_IN_LOAD)) != 0;
    if (line == TIDE_NONE || is_other ||
        (kind != TIDE_LINE_COMPUTES && kind != TIDE_LINE_CONVERTS)) {
        return TIDE_OK;
    }
    const made found = look(facts, line);
    bool is_large = failure->asked_bytes >= failure->capacity_bytes / 100 * CONVERTED_PERCENT;
    int64_t all = failure->asked_bytes * ((int64_t)found.n_equal + 1);
    if (kind == TIDE_LINE_CONVERTS && found.times > 0 && is_large) {
        return say_conversion(facts, line, &found, to);
    }
    return found.n_equal > 0 && all >= failure->capacity_bytes / 100 * ALL_PERCENT
               ? say_steps(facts, line, &found, to)
               : TIDE_OK;
}
