/* The place of the program at each event, from call stacks and scopes. */
#include <string.h>

#include "snapshot/analysis/category_rules_internal.h"

static unsigned scope_signs(const tide_snapshot *snapshot, const tide_scope_row *row,
                            unsigned around) {
    static const char OPTIMIZER[] = "Optimizer.step#";
    const char *name = tide_snapshot_text(snapshot, row->name);
    if (strncmp(name, OPTIMIZER, sizeof(OPTIMIZER) - 1) == 0) {
        return TIDE_SIGN_ANNOTATED;
    }
    if (row->kind == TIDE_SCOPE_PHASE) {
        return strcmp(name, "forward") == 0     ? TIDE_SIGN_FORWARD
               : strcmp(name, "backward") == 0  ? TIDE_SIGN_BACKWARD
               : strcmp(name, "optimizer") == 0 ? TIDE_SIGN_OPTIMIZER
                                                : 0U;
    }
    /* In the backward pass, the scope of a layer means that its forward call made the node. */
    bool is_call = row->kind == TIDE_SCOPE_LAYER && (around & TIDE_SIGN_BACKWARD) == 0;
    return is_call ? TIDE_SIGN_MODULE : 0U;
}

static void read_scopes(tide_rule_places *places, const tide_snapshot *snapshot) {
    for (uint32_t i = 0; i < snapshot->n_scopes; i++) { /* parents come first */
        const tide_scope_row *row = &snapshot->scopes[i];
        tide_rule_scope around = {.step = TIDE_NONE};
        if (row->parent != TIDE_NONE) {
            around = places->scopes[row->parent];
        }
        places->scopes[i] = (tide_rule_scope){
            .step = row->kind == TIDE_SCOPE_STEP ? i : around.step,
            .signs = (uint16_t)(around.signs | scope_signs(snapshot, row, around.signs))};
    }
}

/* `is_placed`: a row without a call stack is of the thread that has the scope, and not of a thread
 * of autograd. */
static unsigned signs_at(const tide_rule_places *places, uint32_t stack, uint32_t scope,
                         bool is_placed) {
    unsigned signs = stack != TIDE_NONE ? places->signs[stack] : 0U;
    unsigned around = scope != TIDE_NONE ? places->scopes[scope].signs : 0U;
    if ((around & TIDE_SIGN_ANNOTATED) != 0 && is_placed) {
        around |= TIDE_SIGN_OPTIMIZER;
    }
    if ((signs & (TIDE_SIGN_MODULE | TIDE_SIGN_BACKWARD | TIDE_SIGN_CLOSURE)) != 0) {
        around &= ~(unsigned)TIDE_SIGN_OPTIMIZER;
    }
    return signs | around;
}

unsigned tide_rule_signs(const tide_rule_places *places, uint32_t stack, uint32_t scope) {
    return signs_at(places, stack, scope, stack != TIDE_NONE || !places->has_stacks);
}

/* A release without a call stack, as in recordings with context="alloc", has the place of the
 * previous row. An allocation without one is by a thread of autograd, or has no place. */
static void read_events(tide_rule_places *places, const tide_snapshot *snapshot) {
    tide_rule_place place = {.found = TIDE_NONE};
    unsigned called = 0; /* signs of the last event that has a call stack or a scope */
    uint32_t step = TIDE_NONE;
    for (size_t i = 0; i < snapshot->n_events; i++) {
        uint32_t stack = tide_index_at(&snapshot->events.stack, i);
        uint32_t scope = tide_index_at(&snapshot->events.scope, i);
        bool is_alloc = snapshot->events.action[i] == TIDE_ACTION_ALLOC;
        bool is_placed = stack != TIDE_NONE || scope != TIDE_NONE;
        if (is_placed || is_alloc) {
            place.signs = is_alloc ? (uint16_t)tide_rule_signs(places, stack, scope)
                                   : (uint16_t)signs_at(places, stack, scope, true);
        }
        if (is_placed) {
            unsigned entered = place.signs & ~called;
            place.n_optimizer_calls += (entered & TIDE_SIGN_OPTIMIZER) != 0;
            place.n_module_calls += (entered & TIDE_SIGN_MODULE) != 0;
            called = place.signs;
        }
        uint32_t now = scope != TIDE_NONE ? places->scopes[scope].step : TIDE_NONE;
        if (now != TIDE_NONE && now != step) {
            place.n_steps++;
            step = now;
        }
        places->events[i] = place;
    }
    places->n_steps = place.n_steps;
    uint32_t found = TIDE_NONE;
    for (size_t i = snapshot->n_events; i > 0; i--) {
        bool finds = snapshot->events.action[i - 1] == TIDE_ACTION_OOM ||
                     (places->events[i - 1].signs & TIDE_SIGN_BACKWARD) != 0;
        found = finds ? (uint32_t)(i - 1) : found;
        places->events[i - 1].found = found;
    }
}

tide_status tide_rule_places_init(tide_rule_places *places, const tide_snapshot *snapshot,
                                  const tide_hostmem *mem) {
    *places = (tide_rule_places){.mem = mem, .has_stacks = snapshot->n_stacks > 0};
    places->signs = tide_stack_signs(snapshot, mem);
    places->scopes = tide_hostmem_zeroed(mem, snapshot->n_scopes, sizeof(*places->scopes));
    places->events = tide_hostmem_zeroed(mem, snapshot->n_events, sizeof(*places->events));
    places->moved = tide_rule_moved(snapshot, mem);
    if (places->signs == NULL || places->scopes == NULL || places->events == NULL ||
        places->moved == NULL) {
        return TIDE_NO_MEMORY;
    }
    read_scopes(places, snapshot);
    read_events(places, snapshot);
    return TIDE_OK;
}

void tide_rule_places_fini(tide_rule_places *places) {
    places->mem->release(places->mem->ctx, places->signs);
    places->mem->release(places->mem->ctx, places->scopes);
    places->mem->release(places->mem->ctx, places->events);
    places->mem->release(places->mem->ctx, places->moved);
}
