#include "snapshot/analysis/category_rules.h"

#include "common/assert.h"
#include "snapshot/analysis/category_rules_internal.h"

/* The built-in rules. */
static const struct {
    const char *category;
    const char *words;
} BUILT_IN[TIDE_N_BUILT_IN_RULES] = {
    [TIDE_RULE_WORKSPACE] = {"workspace", "work area of cuBLAS or cuDNN"},
    [TIDE_RULE_COLLECTIVE] = {TIDE_CATEGORY_COMMUNICATION, "torch.distributed"},
    [TIDE_RULE_KV_CACHE] = {"kv_cache", "cache of keys and values"},
    [TIDE_RULE_LOADED] = {"parameter", "model buffer of llama.cpp"},
    [TIDE_RULE_COMPUTE] = {"compute_buffer", "compute buffer of llama.cpp"},
    [TIDE_RULE_ACCUMULATE] = {"gradient", "AccumulateGrad"},
    [TIDE_RULE_OPTIMIZER_STATE] = {"optimizer_state", "made by the optimizer and kept"},
    [TIDE_RULE_OPTIMIZER_SCRATCH] = {"temporary", "made and released by the optimizer"},
    [TIDE_RULE_PARAMETER] = {"parameter", "made or moved with its module, and kept"},
    [TIDE_RULE_MOVED_GRADIENT] = {"gradient", "moved with its module, after its parameter"},
    [TIDE_RULE_MOVED_BUFFER] = {"buffer", "moved with its module, after the parameters"},
    [TIDE_RULE_FORWARD_KEPT] = {"activation", "made by a module's call and alive after it"},
    [TIDE_RULE_FORWARD] = {"temporary", "made and released by a module's call"},
    [TIDE_RULE_BACKWARD] = {"temporary", "made and released by the backward pass"},
    [TIDE_RULE_BACKWARD_KEPT] = {"gradient", "made by the backward pass and alive after it"},
    [TIDE_RULE_OLDER_STATE] = {"optimizer_state",
                               "from before the recording, and replaced by the optimizer"},
    [TIDE_RULE_OLDER_GRADIENT] = {"gradient", "from before the recording, until zero_grad"},
    [TIDE_RULE_OLDER] = {TIDE_CATEGORY_OLDER, "from before the recording, and never released"},
    [TIDE_RULE_INPUT] = {"input", "copied from the host, and passed to a module or soon replaced"},
    [TIDE_RULE_SAVED] = {"activation", "made by the forward pass and found by the backward pass"},
    [TIDE_RULE_STEP] = {"temporary", "made and released within one step"},
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
        tide_own_rule_fini(&rules->own[i]);
    }
    tide_arena_fini(&rules->arena);
    mem->release(mem->ctx, rules);
}

size_t tide_rules_count(const tide_rules *rules) {
    return rules->n_own + TIDE_N_BUILT_IN_RULES;
}

const char *tide_rules_words(const tide_rules *rules, size_t rule) {
    TIDE_ASSERT(rule < tide_rules_count(rules));
    return rule < rules->n_own ? rules->own[rule].text : BUILT_IN[rule - rules->n_own].words;
}

const char *tide_rules_category(const tide_rules *rules, size_t rule) {
    TIDE_ASSERT(rule < tide_rules_count(rules));
    return rule < rules->n_own ? rules->own[rule].category : BUILT_IN[rule - rules->n_own].category;
}
