/* A pattern of the peak: copies of the weights, such as of a `state_dict`, that stay on the card.
 */
#include "common/map.h"
#include "snapshot/explain/causes/blocks.h"
#include "snapshot/explain/causes/line_text.h"

#define LEAST_COPIES 0.10   /* of the peak, in copies that one line made */
#define LEAST_WEIGHTS 0.50  /* of the weights: a smaller part is not a copy of the model */
#define LEAST_OF_SIZES 0.90 /* of the bytes of the line, of the size of a weight */

bool tide_cause_copies_state(const tide_facts *facts, uint32_t line) {
    return tide_cause_line_has(facts, line, "state_dict(") &&
           (tide_cause_line_has(facts, line, "clone(") ||
            tide_cause_line_has(facts, line, "copy("));
}

static bool is_copied(const tide_facts *facts, const tide_lifetime *block) {
    const uint32_t other = TIDE_IN_FORWARD | TIDE_IN_OPTIMIZER | TIDE_IN_LOAD;
    uint32_t line = tide_stack_program(&facts->stacks, block->stack);
    return block->category != TIDE_PARAMETER && block->category != TIDE_GRADIENT &&
           block->category != TIDE_OPTIMIZER_STATE &&
           (tide_facts_traits(facts, block) & other) == 0 &&
           !tide_block_is_backward(&facts->lines, block) &&
           (tide_cause_line_has(facts, line, "clone(") ||
            tide_cause_line_has(facts, line, "copy(")) &&
           !tide_cause_line_has(facts, line, "grad");
}

static uint32_t frame_of(const tide_facts *facts, const tide_lifetime *block) {
    return facts->snapshot->stacks[tide_stack_program(&facts->stacks, block->stack)].frame;
}

/* Keeps the blocks of the line that made most bytes. */
static tide_status keep_line(const tide_facts *facts, tide_cause_blocks *of) {
    tide_map bytes_of; /* frame -> bytes */
    uint64_t most = 0;
    uint32_t most_frame = TIDE_NONE;
    tide_status status = TIDE_OK;
    tide_map_init(&bytes_of, facts->mem);
    for (size_t i = 0; i < of->n_blocks && status == TIDE_OK; i++) {
        const tide_lifetime *block = tide_facts_block(facts, of->blocks[i]);
        uint64_t bytes = 0;
        (void)tide_map_find(&bytes_of, frame_of(facts, block), &bytes);
        bytes += block->block_bytes;
        status = tide_map_put(&bytes_of, frame_of(facts, block), bytes);
        most_frame = bytes > most ? frame_of(facts, block) : most_frame;
        most = bytes > most ? bytes : most;
    }
    tide_map_fini(&bytes_of);
    size_t n = 0;
    for (size_t i = 0; i < of->n_blocks; i++) {
        if (frame_of(facts, tide_facts_block(facts, of->blocks[i])) == most_frame) {
            of->blocks[n++] = of->blocks[i];
        }
    }
    of->n_blocks = n;
    of->bytes = (int64_t)most;
    return status;
}

/* Bytes of the weights at the peak, and of the copies that have the size of one. */
static tide_status compare(const tide_facts *facts, const tide_cause_blocks *of,
                           int64_t *ret_weights, int64_t *ret_twins) {
    tide_map sizes; /* of weights */
    tide_status status = TIDE_OK;
    tide_map_init(&sizes, facts->mem);
    for (size_t i = 0; i < facts->n_peak && status == TIDE_OK; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        if (tide_cause_is_weight(facts, block)) {
            *ret_weights += (int64_t)block->block_bytes;
            status = tide_map_put(&sizes, block->block_bytes, 1);
        }
    }
    for (size_t i = 0; i < of->n_blocks && status == TIDE_OK; i++) {
        uint64_t size = tide_facts_block(facts, of->blocks[i])->block_bytes;
        uint64_t n = 0;
        *ret_twins += tide_map_find(&sizes, size, &n) ? (int64_t)size : 0;
    }
    tide_map_fini(&sizes);
    return status;
}

static tide_status say(const tide_facts *facts, const tide_cause_blocks *of, int64_t weights,
                       tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    size_t n = (size_t)((of->bytes + weights / 2) / weights);
    tide_cause cause = tide_cause_of_peak(facts, "weight_copies", of->bytes);
    const tide_lifetime *last = tide_facts_block(facts, of->blocks[of->n_blocks - 1]);
    uint32_t line = tide_stack_program(&facts->stacks, last->stack);
    tide_cause_add_bytes(facts, of->bytes, &text);
    tide_text_add(&text, " is ");
    if (n > 1) {
        tide_text_add(&text, "%zu copies", n);
    } else {
        tide_text_add(&text, "a copy");
    }
    tide_text_add(&text, " of the weights on the card, made at %s%s.",
                  tide_cause_quoted(facts, line, "", place),
                  n == 2 ? ": the old copy is still there while the new one is made" : "");
    cause.words = words;
    cause.cure = "keep the copy on the host, `{k: v.detach().cpu() for k, v in "
                 "model.state_dict().items()}`, or save it to a file";
    cause.cost = "one copy to the host each time";
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_weight_copies(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks of = {0};
    int64_t weights = 0;
    int64_t twins = 0;
    if (tide_causes_find(to, "model_copies") != NULL ||
        tide_causes_find(to, "model_copy") != NULL) {
        return TIDE_OK;
    }
    tide_status status = tide_cause_blocks_init(&of, facts, is_copied);
    if (status == TIDE_OK && of.n_blocks > 0) {
        status = keep_line(facts, &of);
    }
    if (status == TIDE_OK && tide_cause_blocks_reach(&of, facts, LEAST_COPIES)) {
        status = compare(facts, &of, &weights, &twins);
        if (status == TIDE_OK && weights > 0 &&
            (double)of.bytes >= LEAST_WEIGHTS * (double)weights &&
            (double)twins >= LEAST_OF_SIZES * (double)of.bytes) {
            status = say(facts, &of, weights, to);
        }
    }
    tide_cause_blocks_fini(&of);
    return status;
}
