/* A pattern of the peak: copies of weights in half precision that autocast keeps. */
#include <string.h>

#include "common/map.h"
#include "snapshot/explain/causes/blocks.h"

#define LEAST_CACHE 0.08 /* of the peak */
#define OF_HALF 0.25     /* of the weights in half precision */

enum {
    LEAST_MODULES = 3,     /* with a copy */
    RELEASED_TOGETHER = 6, /* events for each copy, from the first release to the last */
    WEIGHT_TEXT = 512
};

/* The weights of modules: hash of "module.weight" -> requested bytes. */
static tide_status find_weights(const tide_facts *facts, tide_map *ret_bytes) {
    static const char SUFFIX[] = "weight";
    for (size_t i = 0; i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        const char *name = tide_snapshot_text(facts->snapshot, block->name);
        size_t n = strlen(name);
        if (block->category == TIDE_PARAMETER && n >= sizeof(SUFFIX) &&
            strcmp(name + n - (sizeof(SUFFIX) - 1), SUFFIX) == 0) {
            TIDE_TRY(tide_map_put(ret_bytes, tide_hash_bytes(name, n), block->requested_bytes));
        }
    }
    return TIDE_OK;
}

/* Whether a block is half as large as the weight of the module that made it in its forward pass. */
static bool is_half(const tide_facts *facts, const tide_map *weights, const tide_lifetime *block) {
    char name[WEIGHT_TEXT];
    uint64_t bytes = 0;
    uint32_t module = tide_module_of(&facts->scopes, block->scope);
    tide_text text = tide_text_in(name, sizeof(name));
    if (module == TIDE_NONE || tide_cause_is_state(facts, block) ||
        !tide_block_is_forward(&facts->lines, block)) {
        return false;
    }
    tide_text_add(&text, "%s.weight", tide_snapshot_text(facts->snapshot, module));
    return tide_map_find(weights, tide_hash_bytes(name, text.n_used), &bytes) &&
           2 * block->requested_bytes == bytes;
}

static tide_status find_copies(const tide_facts *facts, tide_cause_blocks *ret_copies,
                               size_t *ret_modules) {
    tide_map weights;
    tide_map modules;
    tide_map_init(&weights, facts->mem);
    tide_map_init(&modules, facts->mem);
    tide_status status = find_weights(facts, &weights);
    ret_copies->blocks = tide_hostmem_array(facts->mem, facts->n_peak, sizeof(uint32_t));
    status = ret_copies->blocks == NULL ? TIDE_NO_MEMORY : status;
    for (size_t i = 0; status == TIDE_OK && i < facts->n_peak; i++) {
        const tide_lifetime *block = tide_facts_block(facts, facts->peak[i]);
        if (is_half(facts, &weights, block)) {
            ret_copies->blocks[ret_copies->n_blocks++] = facts->peak[i];
            ret_copies->bytes += (int64_t)block->block_bytes;
            status = tide_map_put(&modules, tide_module_of(&facts->scopes, block->scope), 0);
        }
    }
    *ret_modules = modules.n_used;
    tide_map_fini(&weights);
    tide_map_fini(&modules);
    return status;
}

/* Whether the copies are released together, as a cache is, and not one by one, as results that are
 * half as large as their weight. */
static bool is_cache(const tide_facts *facts, const tide_cause_blocks *of) {
    uint32_t first = UINT32_MAX;
    uint32_t last = 0;
    for (size_t i = 0; i < of->n_blocks; i++) {
        uint32_t freed = tide_facts_block(facts, of->blocks[i])->freed;
        freed = freed == TIDE_LIFETIME_FOREVER ? (uint32_t)facts->snapshot->n_events : freed;
        first = freed < first ? freed : first;
        last = freed > last ? freed : last;
    }
    return last - first <= RELEASED_TOGETHER * of->n_blocks;
}

static bool has_backward(const tide_facts *facts) {
    for (size_t i = 0; i < facts->lifetimes->n_lifetimes; i++) {
        if (tide_block_is_backward(&facts->lines, tide_facts_block(facts, (uint32_t)i))) {
            return true;
        }
    }
    return false;
}

static tide_status say_cache(const tide_facts *facts, const tide_cause_blocks *of,
                             tide_causes *to) {
    char words[TIDE_CAUSE_TEXT];
    char place[TIDE_PLACE_TEXT];
    tide_text text = tide_text_in(words, sizeof(words));
    uint32_t line = TIDE_NONE;
    bool is_training = has_backward(facts);
    tide_cause cause = tide_cause_of_peak(facts, "autocast_cache", of->bytes);
    TIDE_TRY(tide_cause_blocks_line(of, facts, &line));
    tide_text_add(&text, "Copies of %zu weights in half precision make up ", of->n_blocks);
    tide_cause_add_bytes(facts, of->bytes, &text);
    if (line != TIDE_NONE) {
        tide_text_add(&text, ", made at %s", tide_cause_quoted(facts, line, "", place));
    }
    tide_text_add(&text, ": the cache of autocast, which it keeps until its block ends.");
    cause.words = words;
    cause.cure = is_training ? "train with bfloat16 weights, or end the autocast block before the "
                               "optimizer's step. `torch.autocast(\"cuda\", cache_enabled=False)` "
                               "frees each copy after its use"
                             : "convert the model once (`model.half()` or `model.bfloat16()`) "
                               "instead of using autocast. "
                               "`torch.autocast(\"cuda\", cache_enabled=False)` frees each copy "
                               "after its use";
    cause.cost = is_training ? "with cache_enabled=False, weights are converted at each use"
                             : "weights in half precision";
    return tide_causes_add(to, &cause);
}

tide_status tide_cause_autocast(const tide_facts *facts, tide_causes *to) {
    tide_cause_blocks of = {.mem = facts->mem};
    size_t n_modules = 0;
    tide_status status = find_copies(facts, &of, &n_modules);
    bool is_large = tide_cause_blocks_reach(&of, facts, LEAST_CACHE) &&
                    (double)of.bytes >= OF_HALF * (double)facts->parameter_bytes / 2;
    if (status == TIDE_OK && is_large && n_modules >= LEAST_MODULES && of.n_blocks == n_modules &&
        is_cache(facts, &of)) {
        status = say_cache(facts, &of, to);
    }
    tide_cause_blocks_fini(&of);
    return status;
}
