/* Patterns of the peak: gradients, and what the backward pass computes again. */
#include <string.h>

#include "snapshot/explain/causes/blocks.h"

#define LEAST_BUCKETS 0.05   /* of the peak, in buckets of DistributedDataParallel, */
#define OF_WEIGHTS 0.50      /* and of the weights; and of the buckets: separate gradients */
#define LEAST_DENSE 0.20     /* of the peak, in one gradient of an embedding */
#define USED_ROWS 0.25       /* of the table, that a batch uses at most */
#define LEAST_GRADIENTS 0.08 /* of the peak, in gradients that wait */
#define LEAST_AGAIN 0.40     /* of the peak, computed again at the same time */

enum {
    LEAST_STEPS = 2,        /* before gradients can be those of the last one */
    LEAST_AGAIN_BLOCKS = 8, /* computed again at the same time */
    LEAST_REPEATS = 3       /* of one call stack, in what is computed again: layers of one kind */
};

/* ---- buckets of DistributedDataParallel ---- */

static bool is_weight(const tide_facts *facts, const tide_lifetime *block) {
    return tide_cause_is_weight(facts, block) && !tide_cause_is_bucket(facts, block);
}

/* Gradients that are not parts of a bucket, at any time: as many bytes as half of the buckets. With
 * gradient_as_bucket_view=True the buckets hold them. In a pickle, blocks of the backward pass that
 * are as large as weights are the gradients. */
static tide_status has_gradients(const tide_facts *facts, int64_t bucket_bytes, bool *ret_has) {
    tide_cause_blocks weights;
    int64_t bytes = 0;
    tide_cause_blocks others = {.mem = facts->mem};
    tide_status status = tide_cause_blocks_init(&weights, facts, is_weight);
    others.blocks =
        tide_hostmem_array(facts->mem, facts->lifetimes->n_lifetimes, sizeof(*others.blocks));
    status = status == TIDE_OK && others.blocks == NULL ? TIDE_NO_MEMORY : status;
    for (size_t i = 0; status == TIDE_OK && i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        bool is_stackless =
            facts->is_pickle && block->born > 0 &&
            (block->stack == TIDE_NONE || facts->stacks.python[block->stack] == TIDE_NONE);
        if (block->device == facts->device && !tide_cause_is_bucket(facts, block) &&
            (block->category == TIDE_GRADIENT || is_stackless)) {
            others.blocks[others.n_blocks++] = (uint32_t)i;
        }
    }
    status = status == TIDE_OK ? tide_cause_blocks_twins(&weights, &others, facts, &bytes) : status;
    tide_cause_blocks_fini(&weights);
    tide_cause_blocks_fini(&others);
    *ret_has = (double)bytes >= OF_WEIGHTS * (double)bucket_bytes;
    return status;
}

static tide_status say_buckets(const tide_facts *facts, const tide_cause_blocks *of,
                               tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    uint32_t line = TIDE_NONE;
    tide_cause cause = tide_cause_of_peak(facts, "ddp_buckets", of->bytes);
    TIDE_TRY(tide_cause_blocks_line(of, facts, &line));
    tide_text_add(&text, "The buckets of DistributedDataParallel make up ");
    tide_cause_add_bytes(facts, of->bytes, &text);
    tide_text_add(&text, ": a second copy of all gradients");
    if (line != TIDE_NONE) {
        tide_text_add(&text, ", made at %s", tide_cause_quoted(facts, line, "", place));
    }
    tide_text_add(&text, ".");
    cause.words = words;
    cause.cure = "`DistributedDataParallel(net, gradient_as_bucket_view=True)`: the gradients are "
                 "then views of the buckets";
    cause.cost = "`detach_()` cannot be called on the gradients";
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_ddp(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks of;
    bool has = false;
    tide_status status = tide_cause_blocks_init(&of, facts, tide_cause_is_bucket);
    bool is_large = status == TIDE_OK && tide_cause_blocks_reach(&of, facts, LEAST_BUCKETS) &&
                    (double)of.bytes >= OF_WEIGHTS * (double)facts->parameter_bytes;
    if (is_large) {
        status = has_gradients(facts, of.bytes, &has);
    }
    if (status == TIDE_OK && has) {
        status = say_buckets(facts, &of, to);
    }
    tide_cause_blocks_fini(&of);
    return status;
}

/* ---- the dense gradient of an embedding ---- */

/* Whether the forward pass of the module shows that a batch uses most rows of the table, or another
 * operator makes gradients of the same size, as a head with the same weight does. */
static bool is_needed(const tide_facts *facts, const tide_lifetime *gradient) {
    uint32_t module = tide_module_of(&facts->scopes, gradient->scope);
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (block->device != facts->device) {
            continue;
        }
        bool is_output = module != TIDE_NONE && tide_block_is_forward(&facts->lines, block) &&
                         tide_module_of(&facts->scopes, block->scope) == module &&
                         block->category != TIDE_PARAMETER;
        bool is_used = is_output && (double)block->requested_bytes >
                                        USED_ROWS * (double)gradient->requested_bytes;
        bool is_other = block->requested_bytes == gradient->requested_bytes &&
                        tide_block_is_backward(&facts->lines, block) &&
                        !tide_cause_is_node(facts, block, "Embedding") &&
                        !tide_cause_is_node(facts, block, "AccumulateGrad");
        if (is_used || is_other) {
            return true;
        }
    }
    return false;
}

static tide_status say_dense(const tide_facts *facts, const tide_lifetime *block, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    uint32_t line = tide_block_line(&facts->lines, block);
    tide_cause cause =
        tide_cause_of_peak(facts, "dense_embedding_gradient", (int64_t)block->block_bytes);
    tide_text_add(&text, "The gradient of an embedding table makes up ");
    tide_cause_add_bytes(facts, (int64_t)block->block_bytes, &text);
    if (line != TIDE_NONE) {
        tide_text_add(&text, ", from %s", tide_cause_quoted(facts, line, "", place));
    }
    tide_text_add(&text, ". It is dense: it also has the rows that the batch does not use, and is "
                         "as large as the table.");
    cause.words = words;
    cause.cure = "`nn.Embedding(..., sparse=True)` (or nn.EmbeddingBag) with SGD, Adagrad or "
                 "SparseAdam";
    cause.cost = "other optimizers and weight decay refuse sparse gradients";
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_dense(const tide_facts *facts, tide_causes *to) {
    for (size_t i = 0; i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        bool is_large = (double)block->block_bytes >= LEAST_DENSE * (double)facts->peak_bytes;
        bool is_gradient = block->category == TIDE_GRADIENT ||
                           (facts->is_pickle && tide_block_is_backward(&facts->lines, block));
        if (is_large && is_gradient && tide_cause_is_node(facts, block, "Embedding") &&
            !is_needed(facts, block)) {
            return say_dense(facts, block, to);
        }
    }
    return TIDE_OK;
}

/* ---- gradients alive in the forward pass ---- */

/* Whether each step has one backward pass: without accumulation, gradients of the last step serve
 * nothing. */
static bool is_stale(const tide_facts *facts) {
    size_t n_steps = 0;
    size_t n_backward = 0;
    size_t n_updates = 0;
    for (size_t i = 0; i < facts->snapshot->n_scopes; i++) {
        const tide_scope_row *row = &facts->snapshot->scopes[i];
        tide_scope_phase phase = tide_phase_of(&facts->scopes, (uint32_t)i);
        n_steps += row->kind == TIDE_SCOPE_STEP;
        n_backward += row->kind == TIDE_SCOPE_PHASE && phase == TIDE_PHASE_BACKWARD;
        n_updates += row->kind == TIDE_SCOPE_PHASE && phase == TIDE_PHASE_OPTIMIZER;
    }
    return n_steps >= LEAST_STEPS && n_updates > 0 && n_backward <= n_updates + 1;
}

tide_status tide_cause_gradients_in_forward(const tide_facts *facts, tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    int64_t bytes = 0;
    uint32_t scope = facts->peak_event >= 0
                         ? tide_event_at(facts->snapshot, (size_t)facts->peak_event).scope
                         : TIDE_NONE;
    if (tide_phase_of(&facts->scopes, scope) != TIDE_PHASE_FORWARD || !is_stale(facts)) {
        return TIDE_OK;
    }
    for (size_t i = 0; i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        bytes += block->category == TIDE_GRADIENT && !tide_cause_is_bucket(facts, block)
                     ? (int64_t)block->block_bytes
                     : 0;
    }
    if ((double)bytes < LEAST_GRADIENTS * (double)facts->peak_bytes) {
        return TIDE_OK;
    }
    tide_cause cause = tide_cause_of_peak(facts, "gradients_in_forward", bytes);
    tide_text_add(&text, "Gradients of the last step make up ");
    tide_cause_add_bytes(facts, bytes, &text);
    tide_text_add(&text, ": the forward pass does not need them.");
    cause.tier = TIDE_TIER_ADVICE;
    cause.words = words;
    cause.cure = "call `optimizer.zero_grad(set_to_none=True)` right after `optimizer.step()`, not "
                 "after the next forward pass";
    return tide_causes_add(to, &cause);
}

/* ---- one checkpoint around everything ---- */

static bool is_again(const tide_facts *facts, const tide_lifetime *block) {
    uint32_t traits = tide_facts_traits(facts, block);
    return (traits & TIDE_IN_RECOMPUTE) != 0 && (traits & TIDE_IN_OPTIMIZER) == 0 &&
           block->category != TIDE_PARAMETER && block->category != TIDE_GRADIENT &&
           block->category != TIDE_WORKSPACE &&
           !tide_cause_is_called(facts, block->stack, "_engine_run_backward", 1);
}

/* What one backward pass computes again: runs of blocks, divided by other blocks of that pass. */
typedef struct again {
    size_t n_runs;  /* of the pass that the peak is in */
    uint32_t first; /* birth of the first block of the run that the peak is in */
    bool is_in_run;
    bool is_past_peak;
} again;

static void follow(const tide_facts *facts, const tide_lifetime *block, again *to) {
    bool is_past = (int64_t)block->born > facts->peak_event + 1;
    if (is_again(facts, block)) {
        to->n_runs += !to->is_in_run;
        to->first = !to->is_in_run && !is_past ? block->born : to->first;
        to->is_in_run = true;
        return;
    }
    bool is_forward = (tide_facts_traits(facts, block) & TIDE_HAS_PYTHON) != 0 &&
                      !tide_block_is_backward(&facts->lines, block);
    to->is_past_peak = is_past && is_forward;
    if (is_forward && !is_past) {
        to->n_runs = 0; /* a later pass */
    }
    to->is_in_run = false;
}

static again find_again(const tide_facts *facts) {
    again found = {.n_runs = 0};
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes && !found.is_past_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, (uint32_t)i);
        if (block->device == facts->device && block->category != TIDE_WORKSPACE) {
            follow(facts, block, &found);
        }
    }
    return found;
}

/* The number of blocks of the most frequent call stack: blocks by birth, stacks of a layer repeat
 * once for each layer that is computed again. */
static size_t most_repeats(const tide_facts *facts, const tide_cause_blocks *of) {
    size_t most = 0;
    for (size_t i = 0; i < of->n_blocks && i < LEAST_AGAIN_BLOCKS; i++) {
        uint32_t stack = tide_facts_block(facts, of->blocks[i])->stack;
        size_t n = 0;
        for (size_t j = 0; j < of->n_blocks; j++) {
            n += tide_facts_block(facts, of->blocks[j])->stack == stack;
        }
        most = n > most ? n : most;
    }
    return most;
}

static void keep_run(const tide_facts *facts, uint32_t first, tide_cause_blocks *of) {
    size_t n = 0;
    of->bytes = 0;
    for (size_t i = 0; i < of->n_blocks; i++) {
        const tide_lifetime *block = tide_facts_block(facts, of->blocks[i]);
        if (block->born >= first) {
            of->blocks[n++] = of->blocks[i];
            of->bytes += (int64_t)block->block_bytes;
        }
    }
    of->n_blocks = n;
}

static tide_status say_again(const tide_facts *facts, const tide_cause_blocks *of,
                             tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    uint32_t line = TIDE_NONE;
    tide_cause cause = tide_cause_of_peak(facts, "recomputed_together", of->bytes);
    TIDE_TRY(tide_cause_blocks_line(of, facts, &line));
    tide_text_add(&text, "One call of checkpoint");
    if (line != TIDE_NONE) {
        tide_text_add(&text, ", around %s,", tide_cause_quoted(facts, line, "", place));
    }
    tide_text_add(&text, " computed ");
    tide_cause_add_bytes(facts, of->bytes, &text);
    tide_text_add(&text,
                  " again in the backward pass. %zu tensors of all layers in it are alive "
                  "together, so it saves nothing at the peak.",
                  of->n_blocks);
    cause.words = words;
    cause.cure = "checkpoint each block instead of the whole: `for block in blocks: x = "
                 "checkpoint(block, x, use_reentrant=False)`";
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_recomputed(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks of;
    tide_status status = tide_cause_blocks_init(&of, facts, is_again);
    if (status == TIDE_OK && tide_cause_blocks_reach(&of, facts, LEAST_AGAIN)) {
        again found = find_again(facts);
        keep_run(facts, found.first, &of);
        if (found.n_runs == 1 && of.n_blocks >= LEAST_AGAIN_BLOCKS &&
            tide_cause_blocks_reach(&of, facts, LEAST_AGAIN) &&
            most_repeats(facts, &of) >= LEAST_REPEATS) {
            status = say_again(facts, &of, to);
        }
    }
    tide_cause_blocks_fini(&of);
    return status;
}
