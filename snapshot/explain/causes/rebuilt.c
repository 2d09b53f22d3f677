/* A pattern of the peak: an old model is still allocated while the new one is made. */
#include "snapshot/explain/causes/causes_friend.h"

enum {
    LEAST_PERCENT = 25,  /* of the peak, each of the two blocks */
    LEAST_MADE = 3,      /* blocks of one place and size */
    OVERLAP_PERCENT = 60 /* of the pairs: the older is freed only after the next is made */
};

/* Blocks of one line of the program and one size, in order of birth. Whole stacks differ when
 * PyTorch takes another way, as after the first call. */
typedef struct series {
    size_t n, n_overlaps, n_at_peak;
    uint32_t older, oldest; /* end of the last two, as in tide_lifetime */
    bool has_three;         /* three were alive together */
} series;

static void add_block(const tide_facts *facts, const tide_lifetime *block, series *to) {
    to->n_overlaps += to->n > 0 && to->older > block->born;
    to->has_three = to->has_three || (to->n > 1 && to->oldest > block->born);
    to->n_at_peak += tide_lifetime_is_allocated(block, facts->peak_event);
    to->oldest = to->older;
    to->older = block->freed;
    to->n++;
}

/* Only models count: other tensors may be computed from the old one, which then has to live. */
static bool is_of_model(const tide_facts *facts, const tide_lifetime *block) {
    uint32_t traits = tide_facts_traits(facts, block);
    bool is_made =
        (traits & (TIDE_IN_MODULE_INIT | TIDE_IN_INIT | TIDE_IN_CONVERSION | TIDE_IN_LOAD)) != 0;
    return is_made && (traits & (TIDE_IN_FORWARD | TIDE_IN_OPTIMIZER | TIDE_IN_DEEPCOPY)) == 0 &&
           tide_stack_program(&facts->stacks, block->stack) != TIDE_NONE &&
           !tide_block_is_backward(&facts->lines, block);
}

/* Whether blocks like this one are made anew while the last one lives. */
static bool is_rebuilt(const tide_facts *facts, const tide_lifetime *like) {
    series of = {.n = 0};
    uint32_t line = tide_stack_program(&facts->stacks, like->stack);
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (block->device == facts->device && block->block_bytes == like->block_bytes &&
            block->born > 0 && tide_stack_program(&facts->stacks, block->stack) == line &&
            is_of_model(facts, block)) {
            add_block(facts, block, &of);
        }
    }
    return of.n >= LEAST_MADE && of.n_at_peak == 2 && !of.has_three &&
           of.n_overlaps * 100 >= (of.n - 1) * OVERLAP_PERCENT;
}

tide_status tide_cause_rebuilt(const tide_facts *facts, tide_causes *to) {
    const tide_lifetime *largest = NULL;
    for (size_t i = 0; i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        if ((int64_t)block->block_bytes >= facts->peak_bytes / 100 * LEAST_PERCENT &&
            (largest == NULL || block->block_bytes > largest->block_bytes) &&
            is_of_model(facts, block) && is_rebuilt(facts, block)) {
            largest = block;
        }
    }
    if (largest == NULL) {
        return TIDE_OK;
    }
    char words[TIDE_CAUSE_TEXT];
    char bytes[TIDE_BYTES_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "Two blocks of %s from the same line, %s, are allocated at the peak. The old "
                  "one is freed only after the new one is made.",
                  tide_bytes_format((int64_t)largest->block_bytes, bytes),
                  tide_cause_quoted(facts, tide_block_line(&facts->lines, largest), "", place));
    const tide_cause cause = {
        .id = "old_kept_while_new",
        .tier = TIDE_TIER_PEAK,
        .share = 2 * (double)largest->block_bytes / (double)facts->peak_bytes,
        .bytes = (int64_t)largest->block_bytes,
        .words = words,
        .cure = "`del` the old one before making the new one; if a call raised an exception in a "
                "console or a notebook, `del` does not help, because the exception holds the "
                "frames of the call: set `sys.last_value = sys.last_traceback = sys.last_exc = "
                "None` first"};
    return tide_causes_add(to, &cause);
}
