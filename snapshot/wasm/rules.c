/* rules.c - what each rule of the categories explains at the peak of each device, as `tidemark
 * summary` counts it.
 */
#include <string.h>

#include "snapshot/analysis/category_rules.h"
#include "snapshot/wasm/engine_internal.h"

#define OWN_WORDS "rules of your own"

/* What a rule explains at the peak of a device. */
typedef struct coverage {
    int64_t bytes, n_blocks;
} coverage;

/* The blocks of all devices that are allocated at the peak of their device and have their category
 * by rule. */
typedef struct explained {
    tide_lifetime *blocks; /* owned */
    uint8_t *rule_of;      /* owned; of each block */
    size_t n_blocks;
} explained;

static bool is_explained(const tide_lifetimes *lifetimes, const tide_lifetime *block) {
    int64_t peak = lifetimes->devices[block->device].max[TIDE_MAX_ALLOCATED].event;
    return block->certainty == TIDE_CERTAINTY_RULE && tide_lifetime_is_allocated(block, peak);
}

static tide_status find_blocks(const tide_lifetimes *lifetimes, explained *ret) {
    const tide_hostmem *mem = lifetimes->mem;
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        ret->n_blocks += is_explained(lifetimes, &lifetimes->lifetimes[i]);
    }
    ret->blocks = tide_hostmem_array(mem, ret->n_blocks, sizeof(*ret->blocks));
    ret->rule_of = tide_hostmem_array(mem, ret->n_blocks, sizeof(*ret->rule_of));
    if (ret->blocks == NULL || ret->rule_of == NULL) {
        return TIDE_NO_MEMORY;
    }
    size_t n = 0;
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        if (is_explained(lifetimes, &lifetimes->lifetimes[i])) {
            ret->blocks[n++] = lifetimes->lifetimes[i];
        }
    }
    return TIDE_OK;
}

/* The row of a block whose category is by rule. Only the command line knows the user's own
 * rules: a category that the built-in rule does not give comes from one of these, the last row. */
static size_t row_of(const tide_rules *rules, const tide_snapshot *snapshot,
                     const tide_lifetime *block, uint8_t rule) {
    size_t own = tide_rules_count(rules);
    return rule != TIDE_NO_RULE && strcmp(tide_rules_category(rules, rule),
                                          tide_snapshot_category(snapshot, block->category)) == 0
               ? rule
               : own;
}

static void write_row(tide_json_writer *json, const char *words, const char *category,
                      const coverage *covered) {
    if (covered->n_blocks > 0) {
        tide_json_begin_object(json);
        tide_json_key_text(json, "words", words);
        tide_json_key_text(json, "category", category);
        tide_json_key_integer(json, "bytes", covered->bytes);
        tide_json_key_integer(json, "count", covered->n_blocks);
        tide_json_end_object(json);
    }
}

static void write_device(tide_json_writer *json, const tide_rules *rules,
                         const tide_snapshot *snapshot, const explained *of, size_t device) {
    coverage covered[UINT8_MAX + 1] = {{0, 0}};
    size_t own = tide_rules_count(rules);
    for (size_t i = 0; i < of->n_blocks; i++) {
        const tide_lifetime *block = &of->blocks[i];
        if (block->device == device) {
            coverage *to = &covered[row_of(rules, snapshot, block, of->rule_of[i])];
            to->bytes += (int64_t)block->block_bytes;
            to->n_blocks++;
        }
    }
    tide_json_begin_array(json);
    for (size_t i = 0; i < own; i++) {
        write_row(json, tide_rules_words(rules, i), tide_rules_category(rules, i), &covered[i]);
    }
    write_row(json, OWN_WORDS, "", &covered[own]);
    tide_json_end_array(json);
}

static void write_devices(tide_json_writer *json, const tide_snapshot *snapshot,
                          const explained *of) {
    tide_rules *rules = NULL;
    tide_error ignored = {""};
    if (tide_rules_create(NULL, NULL, &rules, &ignored) == TIDE_OK &&
        tide_rules_match(rules, snapshot, of->blocks, of->n_blocks, of->rule_of) == TIDE_OK) {
        for (size_t device = 0; device < snapshot->n_devices; device++) {
            write_device(json, rules, snapshot, of, device);
        }
    }
    tide_rules_destroy(rules);
}

void tide_engine_write_rules(tide_json_writer *json, tide_engine *engine) {
    const tide_hostmem *mem = tide_hostmem_default();
    explained of = {.n_blocks = 0};
    tide_json_key(json, "rules");
    tide_json_begin_array(json);
    bool is_of_pytorch = strcmp(engine->snapshot->origin.format, "pytorch") == 0;
    if (is_of_pytorch && find_blocks(&engine->lifetimes, &of) == TIDE_OK && of.n_blocks > 0) {
        engine->has_lifetimes = false; /* the rules take as much memory */
        tide_lifetimes_fini(&engine->lifetimes);
        write_devices(json, engine->snapshot, &of);
    }
    tide_json_end_array(json);
    mem->release(mem->ctx, of.blocks);
    mem->release(mem->ctx, of.rule_of);
}
