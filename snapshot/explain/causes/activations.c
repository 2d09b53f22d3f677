/* A pattern of a failed request that no other explains: the results of the forward pass, which wait
 * for the backward pass, fill the card. */
#include "common/map.h"
#include "snapshot/explain/causes/blocks.h"

enum {
    HELD_PERCENT = 60,  /* of the allocated bytes, at least */
    LEAST_PLACES = 8,   /* that made them: layers of a model */
    LARGE_PERCENT = 10, /* of the allocated bytes: of a large result of one function .. */
    FEW_PERCENT = 50,   /* .. which makes at most this part of all results in such ones */
    ROOM_PERCENT = 3    /* of the capacity, left after the request: then it is not too large */
};

static bool is_result(const tide_facts *facts, const tide_lifetime *block) {
    return block->device == facts->device && block->category != TIDE_WORKSPACE &&
           tide_lifetime_is_allocated(block, facts->failure.event) &&
           tide_block_is_forward(&facts->lines, block) && !tide_cause_is_state(facts, block);
}

/* The results of the forward pass. */
typedef struct results {
    int64_t bytes;
    int64_t large_bytes; /* of them, in few large tensors that one function's own operators made */
    size_t n_places;
} results;

/* Whether an operator on a line of the program made a large result, not a layer that it calls. */
static bool is_large(const tide_facts *facts, const tide_lifetime *block) {
    uint32_t line = tide_stack_program(&facts->stacks, block->stack);
    return (int64_t)block->block_bytes >= facts->failure.allocated_bytes / 100 * LARGE_PERCENT &&
           line != TIDE_NONE && facts->stacks.python[block->stack] == line;
}

static tide_status count(const tide_facts *facts, results *ret) {
    uint32_t first = TIDE_NONE; /* line of the first large one */
    tide_map places;
    tide_status status = TIDE_OK;
    *ret = (results){.bytes = 0};
    tide_map_init(&places, facts->mem);
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes && status == TIDE_OK; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (is_result(facts, block)) {
            int64_t bytes = (int64_t)block->block_bytes;
            uint32_t line = tide_stack_program(&facts->stacks, block->stack);
            ret->bytes += bytes;
            if (is_large(facts, block) &&
                (first == TIDE_NONE || tide_cause_is_same_function(facts, first, line))) {
                first = first == TIDE_NONE ? line : first;
                ret->large_bytes += bytes;
            }
            status = tide_map_put(&places,
                                  tide_place_key(&facts->scopes, block->stack, block->scope), 0);
        }
    }
    ret->n_places = places.n_used;
    tide_map_fini(&places);
    return status;
}

tide_status tide_cause_activations(const tide_facts *facts, tide_causes *to) {
    const tide_failure *failure = &facts->failure;
    char words[TIDE_CAUSE_TEXT];
    char held[TIDE_BYTES_TEXT];
    char all[TIDE_BYTES_TEXT];
    results found;
    if (failure->event < 0 || failure->free_bytes < 0 || to->n_causes > 0 ||
        failure->margin_bytes >= failure->capacity_bytes / 100 * ROOM_PERCENT) {
        return TIDE_OK;
    }
    TIDE_TRY(count(facts, &found));
    if (found.bytes < failure->allocated_bytes / 100 * HELD_PERCENT ||
        found.large_bytes > found.bytes / 100 * FEW_PERCENT || found.n_places < LEAST_PLACES) {
        return TIDE_OK;
    }
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "%s of the %s allocated were results of %zu places inside the model, such as "
                  "autograd keeps for a backward pass. They grow with the batch.",
                  tide_bytes_format(found.bytes, held),
                  tide_bytes_format(failure->allocated_bytes, all), found.n_places);
    const tide_cause cause = {
        .id = "activations",
        .tier = TIDE_TIER_PEAK,
        .share = (double)found.bytes / (double)failure->allocated_bytes,
        .bytes = found.bytes,
        .words = words,
        .cure = "a smaller batch, with the gradients of several summed before each step; bfloat16 "
                "(`torch.autocast(\"cuda\", torch.bfloat16)`); or `torch.utils.checkpoint` around "
                "each block; if you do not train here, use `torch.no_grad()`",
        .cost = "checkpoint computes the forward pass twice"};
    return tide_causes_add(to, &cause);
}
