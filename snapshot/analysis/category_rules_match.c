/* Finds the rule of a block. */
#include <string.h>

#include "common/assert.h"
#include "common/text/text.h"
#include "snapshot/analysis/category_rules_internal.h"

/* Facts about a snapshot's stacks and scopes. */
typedef struct matcher {
    const tide_hostmem *mem;       /* borrowed */
    const tide_rules *rules;       /* borrowed */
    const tide_snapshot *snapshot; /* borrowed */
    tide_rule_places places;
    uint64_t *own; /* owned; per stack, bits for the file's rules that fit it; NULL: the file has
                      none */
} matcher;

static uint64_t own_of_frame(const matcher *match, uint32_t frame) {
    enum { PLACE_BYTES = 1024 };
    const tide_frame_row *row = &match->snapshot->frames[frame];
    char place[PLACE_BYTES];
    uint64_t fits = 0;
    TIDE_ASSERT(match->rules->n_own <= 64);
    tide_text text = tide_text_in(place, sizeof(place));
    tide_text_add(&text, "%s:%s", tide_snapshot_text(match->snapshot, row->file),
                  tide_snapshot_text(match->snapshot, row->function));
    for (size_t i = 0; i < match->rules->n_own; i++) {
        bool is_found = tide_own_rule_matches(&match->rules->own[i], place);
        fits |= is_found ? UINT64_C(1) << i : 0;
    }
    return fits;
}

static tide_status match_own(matcher *match) {
    const tide_snapshot *snapshot = match->snapshot;
    if (match->rules->n_own == 0) {
        return TIDE_OK;
    }
    match->own = tide_hostmem_zeroed(match->mem, snapshot->n_stacks, sizeof(*match->own));
    uint64_t *of_frames = tide_hostmem_zeroed(match->mem, snapshot->n_frames, sizeof(*of_frames));
    tide_status status = match->own != NULL && of_frames != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    for (size_t i = 0; status == TIDE_OK && i < snapshot->n_frames; i++) {
        of_frames[i] = own_of_frame(match, (uint32_t)i);
    }
    for (size_t i = 0; status == TIDE_OK && i < snapshot->n_stacks; i++) {
        const tide_stack_row *row = &snapshot->stacks[i];
        match->own[i] =
            of_frames[row->frame] | (row->parent != TIDE_NONE ? match->own[row->parent] : 0);
    }
    match->mem->release(match->mem->ctx, of_frames);
    return status;
}

static void matcher_fini(matcher *match) {
    tide_rule_places_fini(&match->places);
    match->mem->release(match->mem->ctx, match->own);
}

static tide_status matcher_init(matcher *match, const tide_rules *rules,
                                const tide_snapshot *snapshot) {
    *match = (matcher){.mem = rules->arena.mem, .rules = rules, .snapshot = snapshot};
    TIDE_TRY(tide_rule_places_init(&match->places, snapshot, match->mem));
    return match_own(match);
}

static uint8_t own_rule(const matcher *match, uint32_t stack) {
    uint64_t fits = match->own != NULL && stack != TIDE_NONE ? match->own[stack] : 0;
    for (uint8_t i = 0; fits != 0; i++, fits >>= 1) {
        if ((fits & 1) != 0) {
            return i;
        }
    }
    return TIDE_NO_RULE;
}

/* Facts from a block's beginning and end. */
typedef struct traces {
    uint64_t n_bytes;     /* requested */
    unsigned made, freed; /* signs; 0: not known */
    bool is_released;
    bool is_older; /* from before the recording; false without a history */
    bool is_same_optimizer_call, is_same_module_call; /* made and released within one call */
    bool is_in_open_call; /* not released, and in a phase that had not ended */
    bool is_same_step;    /* made and released in one step */
    bool is_found;        /* a backward pass begins, or memory runs out, while it is alive */
    bool is_from_host;    /* its content was copied from the host */
    bool is_argument;     /* and it was passed to a module */
    uint32_t n_steps;     /* steps that begin while it is alive */
    bool is_of_steps;     /* made in a step, or released in or after one */
    uint8_t moved;        /* its rule if it was moved with its module */
} traces;

enum {
    MAX_INPUT_STEPS = 2, /* a prefetched batch is replaced in the step after the next */
    MAX_SAVED_STEPS = 1  /* results of a step are replaced in the next one */
};

static uint8_t rule_of_older(const traces *of) {
    if (!of->is_released) {
        return TIDE_RULE_OLDER;
    }
    return (of->freed & TIDE_SIGN_OPTIMIZER) != 0   ? TIDE_RULE_OLDER_STATE
           : (of->freed & TIDE_SIGN_ZERO_GRAD) != 0 ? TIDE_RULE_OLDER_GRADIENT
                                                    : TIDE_NO_RULE;
}

/* Without frames of native code, the workspace of the first call of cuBLAS looks like a result that
 * is kept. These are the sizes of PyTorch's workspaces. */
static bool may_be_workspace(const traces *of) {
    enum { MIB = 1 << 20, OF_HOPPER = 32 * MIB, OF_OTHERS = 8 * MIB + 128 * 1024 };
    return !of->is_released && (of->made & TIDE_SIGN_NATIVE) == 0 &&
           (of->n_bytes == OF_HOPPER || of->n_bytes == OF_OTHERS);
}

/* Whether a block is released in the call of a module that made it, in the same pass. */
static bool is_within_call(const traces *of) {
    bool is_backward = (of->made & TIDE_SIGN_BACKWARD) != 0;
    bool ends_in_backward = (of->freed & TIDE_SIGN_BACKWARD) != 0;
    return of->is_released && (of->freed & TIDE_SIGN_MODULE) != 0 &&
           ends_in_backward == is_backward && of->is_same_module_call;
}

/* Whether a block belongs to a cache of keys and values. A layer also makes temporaries there. */
static bool is_cache(const traces *of) {
    unsigned both = TIDE_SIGN_GENERATES | TIDE_SIGN_CACHE;
    return (of->made & both) == both && !is_within_call(of);
}

/* The forward pass, including one recomputed in the backward pass, and the backward pass. */
static uint8_t rule_of_pass(const traces *of) {
    bool is_forward = (of->made & TIDE_SIGN_MODULE) != 0;
    if (is_forward && may_be_workspace(of)) {
        return TIDE_NO_RULE;
    }
    if (is_forward) {
        return is_within_call(of) ? TIDE_RULE_FORWARD : TIDE_RULE_FORWARD_KEPT;
    }
    bool is_within = of->is_released && (of->freed & TIDE_SIGN_BACKWARD) != 0;
    return is_within ? TIDE_RULE_BACKWARD : TIDE_RULE_BACKWARD_KEPT;
}

/* For blocks made with a module or moved with it, outside of its calls. */
static uint8_t rule_of_moved(const traces *of) {
    bool is_dropped = of->moved == TIDE_RULE_MOVED_GRADIENT &&
                      (of->freed & (TIDE_SIGN_ZERO_GRAD | TIDE_SIGN_OPTIMIZER)) != 0;
    return !of->is_released || is_dropped ? of->moved : TIDE_NO_RULE;
}

/* By steps and phases, for a block that no better rule fits. */
static uint8_t rule_of_step(const traces *of) {
    if (of->is_from_host) {
        bool is_replaced = of->is_of_steps && of->n_steps <= MAX_INPUT_STEPS;
        return of->is_argument || is_replaced ? TIDE_RULE_INPUT : TIDE_NO_RULE;
    }
    if ((of->made & TIDE_SIGN_FORWARD) != 0 && of->is_found && of->n_steps <= MAX_SAVED_STEPS) {
        return TIDE_RULE_SAVED;
    }
    return of->is_same_step ? TIDE_RULE_STEP : TIDE_NO_RULE;
}

static uint8_t built_in_rule(const traces *of) {
    if ((of->made & TIDE_SIGN_WORKSPACE) != 0) {
        return TIDE_RULE_WORKSPACE;
    }
    if ((of->made & TIDE_SIGN_COLLECTIVE) != 0) {
        return TIDE_RULE_COLLECTIVE;
    }
    if (is_cache(of)) {
        return TIDE_RULE_KV_CACHE;
    }
    if ((of->made & TIDE_SIGN_BUFFER) != 0) {
        return (of->made & TIDE_SIGN_PARAMETER) != 0 ? TIDE_RULE_LOADED : TIDE_RULE_COMPUTE;
    }
    if ((of->made & TIDE_SIGN_ACCUMULATE) != 0) {
        return TIDE_RULE_ACCUMULATE;
    }
    if ((of->made & TIDE_SIGN_OPTIMIZER) != 0) {
        if (of->is_in_open_call && (of->made & TIDE_SIGN_STATE) == 0) {
            return TIDE_NO_RULE; /* it may be released before the call ends */
        }
        bool is_state = (of->made & TIDE_SIGN_STATE) != 0 || !of->is_same_optimizer_call;
        return is_state ? TIDE_RULE_OPTIMIZER_STATE : TIDE_RULE_OPTIMIZER_SCRATCH;
    }
    if ((of->made & (TIDE_SIGN_PARAMETER | TIDE_SIGN_MODULE)) == TIDE_SIGN_PARAMETER &&
        rule_of_moved(of) != TIDE_NO_RULE) {
        return rule_of_moved(of);
    }
    if ((of->made & (TIDE_SIGN_MODULE | TIDE_SIGN_BACKWARD)) != 0) {
        return rule_of_pass(of);
    }
    uint8_t rule = of->is_older ? rule_of_older(of) : TIDE_NO_RULE;
    return rule != TIDE_NO_RULE ? rule : rule_of_step(of);
}

/* The step of an event; TIDE_NONE. */
static uint32_t step_of(const matcher *match, uint32_t scope) {
    return scope != TIDE_NONE ? match->places.scopes[scope].step : TIDE_NONE;
}

/* Whether a phase around the block was still open when the recording ended, as in a running program
 * in the middle of a step. */
static bool is_in_open_scope(const tide_snapshot *snapshot, uint32_t scope) {
    for (; scope != TIDE_NONE; scope = snapshot->scopes[scope].parent) {
        bool is_phase = snapshot->scopes[scope].kind == TIDE_SCOPE_PHASE;
        if (is_phase && snapshot->scopes[scope].duration_ns == -1) {
            return true;
        }
    }
    return false;
}

/* Adds the facts from the events of the block's beginning and end. */
static void add_events(const matcher *match, const tide_lifetime *block, traces *of) {
    const tide_rule_place *born =
        block->born > 0 ? &match->places.events[block->born - 1] : &(tide_rule_place){.signs = 0};
    uint32_t n_steps = match->places.n_steps;
    uint32_t step = step_of(match, block->scope);
    of->is_of_steps = step != TIDE_NONE;
    if (of->is_released && block->freed > 0) {
        const tide_rule_place *freed = &match->places.events[block->freed - 1];
        const tide_event event = tide_event_at(match->snapshot, block->freed - 1);
        of->freed = freed->signs;
        of->is_same_optimizer_call = (freed->signs & TIDE_SIGN_OPTIMIZER) != 0 && !of->is_older &&
                                     born->n_optimizer_calls == freed->n_optimizer_calls;
        of->is_same_module_call = !of->is_older && born->n_module_calls == freed->n_module_calls;
        of->is_same_step = step != TIDE_NONE && step == step_of(match, event.scope);
        of->is_of_steps = of->is_of_steps || freed->n_steps > 0;
        n_steps = freed->n_steps;
    }
    TIDE_ASSERT(n_steps >= born->n_steps);
    of->n_steps = n_steps - born->n_steps;
    of->is_found = block->born > 0 && born->found != TIDE_NONE && block->freed > born->found;
}

static uint8_t rule_of(const matcher *match, const tide_lifetime *block) {
    uint8_t own = own_rule(match, block->stack);
    if (own != TIDE_NO_RULE) {
        return own;
    }
    bool is_from_host = block->category == TIDE_INPUT && block->certainty == TIDE_CERTAINTY_RULE;
    traces of = {.n_bytes = block->requested_bytes,
                 .made = tide_rule_signs(&match->places, block->stack, block->scope),
                 .is_released = block->freed != TIDE_LIFETIME_FOREVER,
                 .is_older = block->born == 0 && match->snapshot->n_events > 0,
                 .is_in_open_call = block->freed == TIDE_LIFETIME_FOREVER &&
                                    is_in_open_scope(match->snapshot, block->scope),
                 .is_from_host = is_from_host,
                 .is_argument = is_from_host && block->name != TIDE_NONE,
                 .moved = block->stack != TIDE_NONE ? match->places.moved[block->stack]
                                                    : (uint8_t)TIDE_RULE_PARAMETER};
    add_events(match, block, &of);
    uint8_t rule = built_in_rule(&of);
    TIDE_ASSERT(rule == TIDE_NO_RULE || rule < TIDE_N_BUILT_IN_RULES);
    return rule == TIDE_NO_RULE ? rule : (uint8_t)(match->rules->n_own + rule);
}

tide_status tide_rules_match(const tide_rules *rules, const tide_snapshot *snapshot,
                             const tide_lifetime *blocks, size_t n_blocks, uint8_t *ret_rules) {
    matcher match;
    tide_status status = matcher_init(&match, rules, snapshot);
    for (size_t i = 0; status == TIDE_OK && i < n_blocks; i++) {
        ret_rules[i] = rule_of(&match, &blocks[i]);
    }
    matcher_fini(&match);
    return status;
}
