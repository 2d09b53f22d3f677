#include "snapshot/category_rules.h"

#include <string.h>

#include "common/text.h"
#include "snapshot/category_rules_internal.h"

/* The built-in rules. */
static const struct {
    const char *category;
    const char *words;
} BUILT_IN[TIDE_N_BUILT_IN_RULES] = {
    [TIDE_RULE_WORKSPACE] = {"workspace", "work area of cuBLAS or cuDNN"},
    [TIDE_RULE_COLLECTIVE] = {TIDE_CATEGORY_COMMUNICATION, "torch.distributed"},
    [TIDE_RULE_ACCUMULATE] = {"gradient", "AccumulateGrad"},
    [TIDE_RULE_OPTIMIZER_STATE] = {"optimizer_state", "made by the optimizer and kept"},
    [TIDE_RULE_OPTIMIZER_SCRATCH] = {"temporary", "made and released by the optimizer"},
    [TIDE_RULE_PARAMETER] = {"parameter", "made or moved with its module, and kept"},
    [TIDE_RULE_FORWARD_KEPT] = {"activation", "made by a module's call and alive behind it"},
    [TIDE_RULE_FORWARD] = {"temporary", "made and released by a module's call"},
    [TIDE_RULE_BACKWARD] = {"temporary", "made and released by the backward pass"},
    [TIDE_RULE_BACKWARD_KEPT] = {"gradient", "made by the backward pass and alive behind it"},
    [TIDE_RULE_OLDER_STATE] = {"optimizer_state",
                               "from before the recording, and replaced by the optimizer"},
    [TIDE_RULE_OLDER_GRADIENT] = {"gradient", "from before the recording, until zero_grad"},
    [TIDE_RULE_OLDER] = {TIDE_CATEGORY_OLDER, "from before the recording, and never released"},
};

tide_status tide_rules_create(const char *path, const tide_hostmem *mem, tide_rules **ret_rules,
                              tide_error *error) {
    mem = mem != NULL ? mem : tide_hostmem_default();
    tide_rules *rules = tide_hostmem_zeroed(mem, 1, sizeof(*rules));
    if (rules == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "no host memory for the rules of categories");
    }
    tide_arena_init(&rules->arena, mem);
    tide_status status = path != NULL ? tide_rules_read(rules, path, error) : TIDE_OK;
    if (status != TIDE_OK) {
        tide_rules_destroy(rules);
        return status;
    }
    *ret_rules = rules;
    return TIDE_OK;
}

void tide_rules_destroy(tide_rules *rules) {
    if (rules == NULL) {
        return;
    }
    const tide_hostmem *mem = rules->arena.mem;
    for (size_t i = 0; i < rules->n_own; i++) {
        regfree(&rules->own[i].pattern);
    }
    tide_arena_fini(&rules->arena);
    mem->release(mem->ctx, rules);
}

size_t tide_rules_count(const tide_rules *rules) {
    return rules->n_own + TIDE_N_BUILT_IN_RULES;
}

const char *tide_rules_words(const tide_rules *rules, size_t rule) {
    return rule < rules->n_own ? rules->own[rule].text : BUILT_IN[rule - rules->n_own].words;
}

const char *tide_rules_category(const tide_rules *rules, size_t rule) {
    return rule < rules->n_own ? rules->own[rule].category : BUILT_IN[rule - rules->n_own].category;
}

/* ---- which rule ---- */

/* What is known of a snapshot's stacks and scopes. */
typedef struct matcher {
    const tide_hostmem *mem;       /* borrowed */
    const tide_rules *rules;       /* borrowed */
    const tide_snapshot *snapshot; /* borrowed */
    uint16_t *signs;               /* owned; of each stack */
    uint64_t *own;                 /* owned; of each stack the rules of the user's that fit it, as
                                      bits; NULL: there are none */
    uint8_t *is_optimizer;         /* owned; of each scope */
    uint16_t *places;              /* owned; of each event: signs of where the program is then */
    uint32_t *optimizer_calls;     /* owned; of each event: how often an optimizer was entered up
                                      to there */
} matcher;

static uint64_t own_of_frame(const matcher *match, uint32_t frame) {
    enum { PLACE_BYTES = 1024 };
    const tide_frame_row *row = &match->snapshot->frames[frame];
    char place[PLACE_BYTES];
    uint64_t fits = 0;
    tide_text text = tide_text_in(place, sizeof(place));
    tide_text_add(&text, "%s:%s", tide_snapshot_text(match->snapshot, row->file),
                  tide_snapshot_text(match->snapshot, row->function));
    for (size_t i = 0; i < match->rules->n_own; i++) {
        bool is_found = regexec(&match->rules->own[i].pattern, place, 0, NULL, 0) == 0;
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
    match->mem->release(match->mem->ctx, match->signs);
    match->mem->release(match->mem->ctx, match->own);
    match->mem->release(match->mem->ctx, match->is_optimizer);
    match->mem->release(match->mem->ctx, match->places);
    match->mem->release(match->mem->ctx, match->optimizer_calls);
}

static unsigned signs_at(const matcher *match, uint32_t stack, uint32_t scope) {
    unsigned signs = stack != TIDE_NONE ? match->signs[stack] : 0U;
    bool is_optimizer = scope != TIDE_NONE && match->is_optimizer[scope] != 0;
    return signs | (is_optimizer ? TIDE_SIGN_OPTIMIZER : 0U);
}

static void find_optimizer_scopes(matcher *match) {
    static const char OPTIMIZER[] = "Optimizer.step#";
    const tide_snapshot *snapshot = match->snapshot;
    for (size_t i = 0; i < snapshot->n_scopes; i++) {
        const tide_scope_row *row = &snapshot->scopes[i];
        const char *name = tide_snapshot_text(snapshot, row->name);
        match->is_optimizer[i] =
            strncmp(name, OPTIMIZER, sizeof(OPTIMIZER) - 1) == 0 ||
            (row->parent != TIDE_NONE && match->is_optimizer[row->parent] != 0);
    }
}

/* A release without a call stack, which recordings with context="alloc" have, happens where the row
 * before it does. An allocation without one is of a thread of autograd, or of nowhere. */
static void find_places(matcher *match) {
    unsigned place = 0;
    bool was_within = false;
    uint32_t n_calls = 0;
    for (size_t i = 0; i < match->snapshot->n_events; i++) {
        const tide_event *row = &match->snapshot->events[i];
        if (row->stack != TIDE_NONE || row->scope != TIDE_NONE ||
            row->action == TIDE_ACTION_ALLOC) {
            place = signs_at(match, row->stack, row->scope);
        }
        bool is_within = (place & TIDE_SIGN_OPTIMIZER) != 0;
        n_calls += is_within && !was_within;
        was_within = is_within;
        match->places[i] = (uint16_t)place;
        match->optimizer_calls[i] = n_calls;
    }
}

static tide_status matcher_init(matcher *match, const tide_rules *rules,
                                const tide_snapshot *snapshot) {
    *match = (matcher){.mem = rules->arena.mem, .rules = rules, .snapshot = snapshot};
    match->signs = tide_stack_signs(snapshot, match->mem);
    match->is_optimizer =
        tide_hostmem_zeroed(match->mem, snapshot->n_scopes, sizeof(*match->is_optimizer));
    match->places = tide_hostmem_zeroed(match->mem, snapshot->n_events, sizeof(*match->places));
    match->optimizer_calls =
        tide_hostmem_zeroed(match->mem, snapshot->n_events, sizeof(*match->optimizer_calls));
    if (match->signs == NULL || match->is_optimizer == NULL || match->places == NULL ||
        match->optimizer_calls == NULL) {
        return TIDE_NO_MEMORY;
    }
    find_optimizer_scopes(match);
    find_places(match);
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

/* What a block's beginning and end say. */
typedef struct traces {
    unsigned made, freed; /* signs; 0: not known */
    bool is_released;
    bool is_older;     /* from before the recording; false without a history, which does not tell */
    bool is_same_call; /* made and released within one call of an optimizer */
} traces;

static uint8_t rule_of_older(const traces *of) {
    if (!of->is_released) {
        return TIDE_RULE_OLDER;
    }
    return (of->freed & TIDE_SIGN_OPTIMIZER) != 0   ? TIDE_RULE_OLDER_STATE
           : (of->freed & TIDE_SIGN_ZERO_GRAD) != 0 ? TIDE_RULE_OLDER_GRADIENT
                                                    : TIDE_NO_RULE;
}

/* The forward pass, also one that is computed again within the backward pass, and that pass. */
static uint8_t rule_of_pass(const traces *of) {
    bool is_forward = (of->made & TIDE_SIGN_MODULE) != 0;
    bool is_backward = (of->made & TIDE_SIGN_BACKWARD) != 0;
    bool ends_in_backward = (of->freed & TIDE_SIGN_BACKWARD) != 0;
    if (is_forward) {
        bool is_within = of->is_released && (of->freed & TIDE_SIGN_MODULE) != 0 &&
                         ends_in_backward == is_backward;
        return is_within ? TIDE_RULE_FORWARD : TIDE_RULE_FORWARD_KEPT;
    }
    bool is_within = of->is_released && ends_in_backward;
    return is_within ? TIDE_RULE_BACKWARD : TIDE_RULE_BACKWARD_KEPT;
}

static uint8_t built_in_rule(const traces *of) {
    if ((of->made & TIDE_SIGN_WORKSPACE) != 0) {
        return TIDE_RULE_WORKSPACE;
    }
    if ((of->made & TIDE_SIGN_COLLECTIVE) != 0) {
        return TIDE_RULE_COLLECTIVE;
    }
    if ((of->made & TIDE_SIGN_ACCUMULATE) != 0) {
        return TIDE_RULE_ACCUMULATE;
    }
    if ((of->made & TIDE_SIGN_OPTIMIZER) != 0) {
        bool is_state = (of->made & TIDE_SIGN_STATE) != 0 || !of->is_same_call;
        return is_state ? TIDE_RULE_OPTIMIZER_STATE : TIDE_RULE_OPTIMIZER_SCRATCH;
    }
    if ((of->made & (TIDE_SIGN_PARAMETER | TIDE_SIGN_MODULE)) == TIDE_SIGN_PARAMETER &&
        !of->is_released) {
        return TIDE_RULE_PARAMETER;
    }
    if ((of->made & (TIDE_SIGN_MODULE | TIDE_SIGN_BACKWARD)) != 0) {
        return rule_of_pass(of);
    }
    return of->is_older ? rule_of_older(of) : TIDE_NO_RULE;
}

static uint8_t rule_of(const matcher *match, const tide_lifetime *block) {
    uint8_t own = own_rule(match, block->stack);
    if (own != TIDE_NO_RULE) {
        return own;
    }
    traces of = {.made = signs_at(match, block->stack, block->scope),
                 .is_released = block->freed != TIDE_LIFETIME_FOREVER,
                 .is_older = block->born == 0 && match->snapshot->n_events > 0};
    if (of.is_released && block->freed > 0) {
        of.freed = match->places[block->freed - 1];
        of.is_same_call =
            (of.freed & TIDE_SIGN_OPTIMIZER) != 0 && !of.is_older &&
            match->optimizer_calls[block->born - 1] == match->optimizer_calls[block->freed - 1];
    }
    uint8_t rule = built_in_rule(&of);
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
