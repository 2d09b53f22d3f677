#include "snapshot/explain/scope_facts.h"

#include <stdbool.h>
#include <string.h>

#include "common/assert.h"
#include "common/map.h"

static uint8_t phase_named(const char *name) {
    return strcmp(name, "forward") == 0     ? TIDE_PHASE_FORWARD
           : strcmp(name, "backward") == 0  ? TIDE_PHASE_BACKWARD
           : strcmp(name, "optimizer") == 0 ? TIDE_PHASE_OPTIMIZER
                                            : TIDE_PHASE_OTHER;
}

static void find(tide_scope_facts *facts, const tide_snapshot *snapshot) {
    for (uint32_t i = 0; i < snapshot->n_scopes; i++) {
        const tide_scope_row *row = &snapshot->scopes[i];
        bool is_root = row->parent == TIDE_NONE;
        TIDE_ASSERT(is_root || row->parent < i); /* parents come first */
        const char *name = tide_snapshot_text(snapshot, row->name);
        facts->phase[i] = is_root ? TIDE_PHASE_NONE : facts->phase[row->parent];
        facts->module[i] = is_root ? TIDE_NONE : facts->module[row->parent];
        facts->node[i] = is_root ? TIDE_NONE : facts->node[row->parent];
        if (row->kind == TIDE_SCOPE_PHASE) {
            facts->phase[i] = phase_named(name);
        } else if (row->kind == TIDE_SCOPE_LAYER && facts->module[i] == TIDE_NONE) {
            facts->module[i] = row->name;
        } else if (row->kind == TIDE_SCOPE_OPERATOR && facts->node[i] == TIDE_NONE &&
                   strstr(name, "Backward") != NULL) {
            facts->node[i] = row->name;
        }
    }
}

tide_status tide_scope_facts_init(tide_scope_facts *facts, const tide_snapshot *snapshot,
                                  const tide_hostmem *mem) {
    *facts = (tide_scope_facts){.mem = mem};
    facts->phase = tide_hostmem_array(mem, snapshot->n_scopes, sizeof(*facts->phase));
    facts->module = tide_hostmem_array(mem, snapshot->n_scopes, sizeof(*facts->module));
    facts->node = tide_hostmem_array(mem, snapshot->n_scopes, sizeof(*facts->node));
    if (facts->phase == NULL || facts->module == NULL || facts->node == NULL) {
        return TIDE_NO_MEMORY;
    }
    find(facts, snapshot);
    return TIDE_OK;
}

void tide_scope_facts_fini(tide_scope_facts *facts) {
    if (facts->mem != NULL) {
        facts->mem->release(facts->mem->ctx, facts->phase);
        facts->mem->release(facts->mem->ctx, facts->module);
        facts->mem->release(facts->mem->ctx, facts->node);
        *facts = (tide_scope_facts){.mem = facts->mem};
    }
}

tide_scope_phase tide_phase_of(const tide_scope_facts *facts, uint32_t scope) {
    return scope != TIDE_NONE ? (tide_scope_phase)facts->phase[scope] : TIDE_PHASE_NONE;
}

uint32_t tide_module_of(const tide_scope_facts *facts, uint32_t scope) {
    return scope != TIDE_NONE ? facts->module[scope] : TIDE_NONE;
}

uint32_t tide_node_of(const tide_scope_facts *facts, uint32_t scope) {
    return scope != TIDE_NONE ? facts->node[scope] : TIDE_NONE;
}

uint64_t tide_place_key(const tide_scope_facts *facts, uint32_t stack, uint32_t scope) {
    uint64_t pair = ((uint64_t)tide_module_of(facts, scope) << 32) | tide_node_of(facts, scope);
    return tide_hash_u64(pair + 1) ^ tide_hash_u64(stack + UINT64_C(1));
}
