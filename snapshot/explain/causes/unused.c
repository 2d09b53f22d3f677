/* A pattern of the peak: gradients of weights that no optimizer updates, such as those of a base
 * model that was not frozen. */
#include "snapshot/explain/causes/blocks.h"

#define LEAST_UNUSED 0.15 /* of the peak, in such gradients, .. */
#define OF_GRADIENTS 0.50 /* .. and of all gradients */
#define OF_STATE 0.48     /* of the optimizer's state, with a gradient of its size each */

enum { LEAST_STEPS = 2 /* of optimizers, in the recording */ };

static bool is_gradient(const tide_facts *facts, const tide_lifetime *block) {
    return block->category == TIDE_GRADIENT && !tide_cause_is_bucket(facts, block);
}

/* Adds a block to a set that has room for all. */
static void choose(const tide_facts *facts, size_t index, tide_cause_blocks *to) {
    to->blocks[to->n_blocks++] = (uint32_t)index;
    to->bytes += (int64_t)tide_facts_block(facts, (uint32_t)index)->block_bytes;
}

static tide_status make_room(const tide_facts *facts, tide_cause_blocks *ret) {
    *ret = (tide_cause_blocks){.mem = facts->mem};
    ret->blocks =
        tide_hostmem_array(facts->mem, facts->lifetimes->n_lifetimes, sizeof(*ret->blocks));
    return ret->blocks != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

/* The optimizer's state of the whole recording: at the peak, an optimizer of several may not have
 * begun. */
static tide_status find_state(const tide_facts *facts, tide_cause_blocks *ret) {
    TIDE_TRY(make_room(facts, ret));
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (block->device == facts->device && block->category == TIDE_OPTIMIZER_STATE) {
            choose(facts, i, ret);
        }
    }
    return TIDE_OK;
}

/* The row after which most bytes of gradients are allocated: at the peak, a backward pass may still
 * be on its way. */
static tide_status find_fullest(const tide_facts *facts, int64_t *ret_row) {
    size_t n_rows = facts->snapshot->n_events;
    int64_t *changes = tide_hostmem_zeroed(facts->mem, n_rows + 1, sizeof(*changes));
    int64_t bytes = 0;
    int64_t most = 0;
    if (changes == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (block->device == facts->device && is_gradient(facts, block)) {
            changes[block->born] += (int64_t)block->block_bytes;
            changes[block->freed <= n_rows ? block->freed : 0] -=
                block->freed <= n_rows ? (int64_t)block->block_bytes : 0;
        }
    }
    *ret_row = -1;
    for (size_t i = 0; i <= n_rows; i++) {
        bytes += changes[i];
        if (bytes > most) {
            most = bytes;
            *ret_row = (int64_t)i - 1;
        }
    }
    facts->mem->release(facts->mem->ctx, changes);
    return TIDE_OK;
}

static tide_status find_gradients(const tide_facts *facts, tide_cause_blocks *ret) {
    int64_t row = -1;
    TIDE_TRY(make_room(facts, ret));
    TIDE_TRY(find_fullest(facts, &row));
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (block->device == facts->device && is_gradient(facts, block) &&
            tide_lifetime_is_allocated(block, row)) {
            choose(facts, i, ret);
        }
    }
    return TIDE_OK;
}

static size_t count_updates(const tide_facts *facts) {
    size_t n = 0;
    for (size_t i = 0; i < facts->snapshot->n_scopes; i++) {
        n += facts->snapshot->scopes[i].kind == TIDE_SCOPE_PHASE &&
             tide_phase_of(&facts->scopes, (uint32_t)i) == TIDE_PHASE_OPTIMIZER;
    }
    return n;
}

static tide_status say_unused(const tide_facts *facts, int64_t bytes, int64_t state_bytes,
                              tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char state[TIDE_BYTES_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    tide_cause cause = tide_cause_of_peak(facts, "unused_gradients", bytes);
    tide_text_add(&text, "Gradients of weights that the optimizer does not update make up ");
    tide_cause_add_bytes(facts, bytes, &text);
    tide_text_add(&text, ": its state, %s, has the sizes of other gradients, and none of theirs.",
                  tide_bytes_format(state_bytes, state));
    cause.words = words;
    cause.cure =
        "freeze these weights before the training: `model.requires_grad_(False)`, then "
        "`requires_grad_(True)` for the adapters or the head that you train. Autograd then "
        "keeps fewer activations, too";
    return tide_causes_add(to, &cause);
}

/* Bytes of gradients at the peak that have the size of a weight of their own. Others are no
 * weight's gradient, such as those of each sample, which a hook of the backward pass makes. */
static tide_status count_of_weights(const tide_facts *facts, const tide_cause_blocks *at_peak,
                                    int64_t *ret_bytes) {
    tide_cause_blocks weights;
    tide_status status = tide_cause_blocks_init(&weights, facts, tide_cause_is_weight);
    if (status == TIDE_OK) {
        status = tide_cause_blocks_twins(at_peak, &weights, facts, ret_bytes);
    }
    tide_cause_blocks_fini(&weights);
    return status;
}

/* An optimizer with state has one or two tensors of the size of each gradient. One that factors
 * or quantizes its state has others, and one without any shows nothing. */
static tide_status find_unused(const tide_facts *facts, const tide_cause_blocks *states,
                               const tide_cause_blocks *gradients, tide_causes *to) {
    tide_cause_blocks at_peak;
    int64_t of_state = 0;
    int64_t used = 0;
    int64_t of_weights = 0;
    tide_status status = tide_cause_blocks_init(&at_peak, facts, is_gradient);
    if (status == TIDE_OK) {
        status = count_of_weights(facts, &at_peak, &of_weights);
    }
    if (status == TIDE_OK) {
        status = tide_cause_blocks_twins(states, gradients, facts, &of_state);
    }
    if (status == TIDE_OK) {
        status = tide_cause_blocks_twins(&at_peak, states, facts, &used);
    }
    int64_t unused = of_weights - used;
    bool is_plain = states->bytes > 0 && (double)of_state >= OF_STATE * (double)states->bytes;
    bool is_much = (double)unused >= LEAST_UNUSED * (double)facts->peak_bytes &&
                   (double)unused >= OF_GRADIENTS * (double)at_peak.bytes;
    if (status == TIDE_OK && is_plain && is_much) {
        status = say_unused(facts, unused, states->bytes, to);
    }
    tide_cause_blocks_fini(&at_peak);
    return status;
}

tide_status tide_cause_unused_gradients(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks states;
    tide_cause_blocks gradients = {.mem = NULL};
    if (facts->is_pickle || count_updates(facts) < LEAST_STEPS) {
        return TIDE_OK;
    }
    tide_status status = find_state(facts, &states);
    if (status == TIDE_OK) {
        status = find_gradients(facts, &gradients);
    }
    if (status == TIDE_OK) {
        status = find_unused(facts, &states, &gradients, to);
    }
    tide_cause_blocks_fini(&states);
    tide_cause_blocks_fini(&gradients);
    return status;
}
