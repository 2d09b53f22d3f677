/* Patterns of a failed request that no other explains: the cache of keys and values fills the card,
 * or the results of the forward pass, which wait for the backward pass, or the tensors of one line.
 */
#include "common/map.h"
#include "snapshot/explain/causes/blocks.h"
#include "snapshot/explain/causes/line_text.h"

enum {
    HELD_PERCENT = 60,  /* of the allocated bytes, at least */
    CACHE_PERCENT = 40, /* of the allocated bytes, at least, in the cache */
    LEAST_PLACES = 8,   /* that made them: layers of a model */
    LARGE_PERCENT = 10, /* of the allocated bytes: of a large result of one function .. */
    FEW_PERCENT = 50,   /* .. which makes at most this part of all results in such ones */
    LINE_PERCENT = 25,  /* of the capacity, at least, at one line, or asked for by it */
    ROOM_PERCENT = 3    /* of the capacity, left after the request: then it is not too large */
};

static bool is_result(const tide_facts *facts, const tide_lifetime *block) {
    return block->device == facts->device && block->category != TIDE_WORKSPACE &&
           block->category != TIDE_KV_CACHE &&
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
        .cost = "checkpoint computes the forward pass twice",
        .changes = "checkpoint_library,checkpoint,micro_batch"};
    return tide_causes_add(to, &cause);
}

/* ---- the cache of keys and values ---- */

tide_status tide_cause_kv_cache(const tide_facts *facts, tide_causes *to) {
    const tide_failure *failure = &facts->failure;
    char words[TIDE_CAUSE_TEXT];
    char held[TIDE_BYTES_TEXT];
    char all[TIDE_BYTES_TEXT];
    int64_t bytes = 0;
    if (failure->event < 0 || failure->free_bytes < 0 || to->n_causes > 0) {
        return TIDE_OK;
    }
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (block->device == facts->device && block->category == TIDE_KV_CACHE &&
            tide_lifetime_is_allocated(block, failure->event)) {
            bytes += (int64_t)block->block_bytes;
        }
    }
    if (bytes < failure->allocated_bytes / 100 * CACHE_PERCENT) {
        return TIDE_OK;
    }
    tide_text text = tide_text_in(words, sizeof(words));
    tide_text_add(&text,
                  "%s of the %s allocated were the KV cache, the keys and values of all tokens so "
                  "far. It grows with the batch and with the length.",
                  tide_bytes_format(bytes, held), tide_bytes_format(failure->allocated_bytes, all));
    const tide_cause cause = {
        .id = "kv_cache",
        .tier = TIDE_TIER_PEAK,
        .share = (double)bytes / (double)failure->allocated_bytes,
        .bytes = bytes,
        .words = words,
        .cure = "a smaller batch or fewer tokens; or a cache in a narrower type, in transformers "
                "`cache_implementation=\"quantized\"`",
        .cost = "a narrower type rounds the keys and values"};
    return tide_causes_add(to, &cause);
}

/* ---- the tensors of one line ---- */

/* The line of the program below which most bytes were allocated at the failure. */
typedef struct largest {
    uint32_t line; /* node of the stack tree; TIDE_NONE */
    int64_t bytes;
} largest;

static tide_status find_largest(const tide_facts *facts, largest *ret) {
    tide_map bytes_of;
    tide_status status = TIDE_OK;
    *ret = (largest){.line = TIDE_NONE};
    tide_map_init(&bytes_of, facts->mem);
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes && status == TIDE_OK; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        uint32_t line = tide_block_line(&facts->lines, block);
        uint64_t bytes = 0;
        if (block->device != facts->device || line == TIDE_NONE ||
            tide_cause_is_state(facts, block) ||
            !tide_lifetime_is_allocated(block, facts->failure.event)) {
            continue;
        }
        uint64_t key = facts->snapshot->stacks[line].frame;
        (void)tide_map_find(&bytes_of, key, &bytes);
        bytes += block->block_bytes;
        status = tide_map_put(&bytes_of, key, bytes);
        if ((int64_t)bytes > ret->bytes) {
            *ret = (largest){line, (int64_t)bytes};
        }
    }
    tide_map_fini(&bytes_of);
    return status;
}

static const char *cure_of(const tide_facts *facts, uint32_t asked_at, uint32_t largest_at,
                           bool is_asked_large) {
    if (is_asked_large && tide_cause_line_kind(facts, asked_at) == TIDE_LINE_MAKES) {
        return "keep this tensor on the host and move the parts that are computed, or make it "
               "smaller";
    }
    if (tide_cause_line_has(facts, largest_at, ".repeat(") ||
        tide_cause_line_has(facts, asked_at, ".repeat(")) {
        return "leave out `.repeat`: operators broadcast dimensions of size 1, and `.expand` makes "
               "a view without memory; or compute a part of the rows at a time";
    }
    return tide_cause_call_of_model(facts) != TIDE_NONE
               ? "call the model on a smaller batch, a shorter length or parts of its input (under "
                 "`no_grad`, or with a `backward()` for each part)"
               : "make these tensors smaller (a smaller batch, length or resolution), or compute a "
                 "part of them at a time (under `no_grad`, or with a `backward()` for each part)";
}

static void add_sheer(const tide_facts *facts, const largest *of, bool is_asked_large,
                      tide_text *to) {
    const tide_failure *failure = &facts->failure;
    char bytes[TIDE_BYTES_TEXT];
    char all[TIDE_BYTES_TEXT];
    char place[TIDE_PLACE_TEXT];
    uint32_t asked_at = tide_stack_program(&facts->stacks, failure->stack);
    uint32_t call = tide_cause_call_of_model(facts);
    if (!is_asked_large) {
        tide_text_add(to, "%s of the %s allocated is at %s.", tide_bytes_format(of->bytes, bytes),
                      tide_bytes_format(failure->allocated_bytes, all),
                      tide_cause_quoted(facts, of->line, "", place));
    } else {
        tide_text_add(to, "%s asks for %s", tide_cause_quoted(facts, asked_at, ",", place),
                      tide_bytes_format(failure->asked_bytes, bytes));
        tide_text_add(to,
                      ", %d %% of the %s that PyTorch could have, beside %s that was allocated.",
                      (int)(100 * (double)failure->asked_bytes / (double)failure->capacity_bytes),
                      tide_bytes_format(failure->capacity_bytes, bytes),
                      tide_bytes_format(failure->allocated_bytes, all));
    }
    if (call != TIDE_NONE) {
        tide_text_add(to, " The model was called at %s.",
                      tide_cause_quoted(facts, call, "", place));
    }
}

tide_status tide_cause_sheer(const tide_facts *facts, tide_causes *to) {
    const tide_failure *failure = &facts->failure;
    char words[TIDE_CAUSE_TEXT];
    largest found;
    if (failure->event < 0 || failure->free_bytes < 0 || to->n_causes > 0 ||
        failure->margin_bytes >= failure->capacity_bytes / 100 * ROOM_PERCENT) {
        return TIDE_OK;
    }
    TIDE_TRY(find_largest(facts, &found));
    uint32_t asked_at = tide_stack_program(&facts->stacks, failure->stack);
    int64_t least = failure->capacity_bytes / 100 * LINE_PERCENT;
    bool is_asked_large = failure->asked_bytes >= least && asked_at != TIDE_NONE &&
                          failure->asked_bytes >= found.bytes / 2;
    if (!is_asked_large && found.bytes < least) {
        return TIDE_OK;
    }
    tide_text text = tide_text_in(words, sizeof(words));
    add_sheer(facts, &found, is_asked_large, &text);
    const tide_cause cause = {.id = "sheer_size",
                              .tier = TIDE_TIER_PEAK,
                              .share = (double)found.bytes / (double)facts->peak_bytes + 1,
                              .bytes = is_asked_large ? failure->asked_bytes : found.bytes,
                              .words = words,
                              .cure = cure_of(facts, asked_at, found.line, is_asked_large)};
    return tide_causes_add(to, &cause);
}
