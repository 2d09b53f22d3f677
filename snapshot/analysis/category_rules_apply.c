/* Gives the rows of a document their categories by rule. */
#include <string.h>

#include "common/assert.h"
#include "common/map.h"
#include "snapshot/document/categories.h"
#include "snapshot/analysis/category_rules_internal.h"

/* A document whose rows get categories. It was just read and has no other owner yet, so its tables
 * can be written in place. */
typedef struct applier {
    const tide_rules *rules;  /* borrowed */
    tide_snapshot *snapshot;  /* borrowed */
    tide_lifetimes lifetimes; /* of the snapshot */
    uint8_t *rule_of;         /* owned; of each lifetime */
    uint8_t *numbers;         /* owned; the category of each rule */
} applier;

/* The snapshot's own table, which is const for all other users of the snapshot. */
static void *own_table(const void *table) {
    void *own = NULL;
    memcpy(&own, &table, sizeof(own)); /* a cast would silently drop the const */
    return own;
}

/* Numbers the categories of the rules, new ones after those of the file. */
static tide_status number_categories(applier *to, tide_error *error) {
    tide_category_list list = {.n = to->snapshot->n_own_categories};
    TIDE_ASSERT(list.n <= TIDE_OWN_CATEGORIES);
    for (size_t i = 0; i < list.n; i++) {
        list.names[i] = to->snapshot->own_categories[i];
    }
    bool is_used[UINT8_MAX + 1] = {false};
    for (size_t i = 0; i < to->lifetimes.n_lifetimes; i++) {
        is_used[to->rule_of[i]] = true;
    }
    for (size_t i = 0; i < tide_rules_count(to->rules); i++) {
        if (is_used[i]) {
            TIDE_TRY(tide_category_list_number(&list, tide_rules_category(to->rules, i),
                                               &to->numbers[i], error));
        }
    }
    return tide_category_list_store(&list, to->snapshot);
}

/* Whether a rule may decide the block's category. A copy from the host is only a hint. */
static bool is_free_for_rules(const applier *to, const tide_lifetime *block) {
    bool has_own = to->rule_of[block - to->lifetimes.lifetimes] < to->rules->n_own;
    bool is_from_host = block->category == TIDE_INPUT && block->certainty == TIDE_CERTAINTY_RULE;
    return block->certainty != TIDE_CERTAINTY_NAMED &&
           (block->category == TIDE_UNKNOWN || is_from_host || (has_own && block->certainty != 0));
}

/* Whether the block gets another category, and which. TIDE_UNKNOWN: the block was copied from the
 * host and no rule fits. */
static bool find_category(const applier *to, const tide_lifetime *block, uint8_t *ret_category) {
    uint8_t rule = to->rule_of[block - to->lifetimes.lifetimes];
    TIDE_ASSERT(rule == TIDE_NO_RULE || rule < tide_rules_count(to->rules));
    *ret_category = rule != TIDE_NO_RULE ? to->numbers[rule] : (uint8_t)TIDE_UNKNOWN;
    return *ret_category != block->category && is_free_for_rules(to, block);
}

static uint8_t certainty_of(uint8_t category) {
    return category != TIDE_UNKNOWN ? TIDE_CERTAINTY_RULE : TIDE_CERTAINTY_UNKNOWN;
}

static tide_status certainties_of(tide_snapshot *snapshot, const uint8_t **table, size_t n) {
    if (*table == NULL) {
        uint8_t *made = tide_arena_alloc(&snapshot->arena, n, sizeof(*made));
        if (made == NULL) {
            return TIDE_NO_MEMORY;
        }
        memset(made, TIDE_CERTAINTY_UNKNOWN, n);
        *table = made;
    }
    return TIDE_OK;
}

/* `row` is from a lifetime: the event's + 1. A block may also end because another is allocated on
 * top of it: then the event belongs to the other block. */
static void set_row(applier *to, uint32_t row, bool is_birth, uint8_t category) {
    TIDE_ASSERT(row == TIDE_LIFETIME_FOREVER || row <= to->snapshot->n_events);
    if (row > 0 && row != TIDE_LIFETIME_FOREVER &&
        (to->snapshot->events.action[row - 1] == TIDE_ACTION_ALLOC) == is_birth) {
        uint8_t *categories = own_table(to->snapshot->events.category);
        uint8_t *certainties = own_table(to->snapshot->event_certainty);
        categories[row - 1] = category;
        certainties[row - 1] = certainty_of(category);
    }
}

/* A block's address on its device as one key. */
static uint64_t key_of(uint8_t device, uint64_t address) {
    return address ^ (uint64_t)device << 56;
}

/* Sets the blocks of the segments at the start or the end, from the categories in the map. */
static void set_blocks(const tide_map *by_key, const tide_segment_row *segments, size_t n_segments,
                       tide_block_row *blocks, uint8_t *certainties) {
    for (size_t i = 0; i < n_segments; i++) {
        for (size_t j = 0; j < segments[i].n_blocks; j++) {
            tide_block_row *block = &blocks[segments[i].first_block + j];
            uint64_t category = 0;
            if (block->state != TIDE_BLOCK_FREE &&
                tide_map_find(by_key,
                              key_of(segments[i].device, segments[i].address + block->offset_bytes),
                              &category)) {
                block->category = (uint8_t)category;
                certainties[segments[i].first_block + j] = certainty_of((uint8_t)category);
            }
        }
    }
}

/* `at_end`: the state after the last event, else before the first. */
static tide_status set_state(applier *to, bool at_end) {
    tide_snapshot *snapshot = to->snapshot;
    tide_map by_key;
    tide_status status = TIDE_OK;
    tide_map_init(&by_key, to->lifetimes.mem);
    for (size_t i = 0; status == TIDE_OK && i < to->lifetimes.n_lifetimes; i++) {
        const tide_lifetime *block = &to->lifetimes.lifetimes[i];
        bool is_there = at_end ? block->completed == TIDE_LIFETIME_FOREVER : block->born == 0;
        uint8_t category = TIDE_UNKNOWN;
        if (is_there && find_category(to, block, &category)) {
            status = tide_map_put(&by_key, key_of(block->device, block->address), category);
        }
    }
    if (status == TIDE_OK && at_end) {
        set_blocks(&by_key, snapshot->end_segments, snapshot->n_end_segments,
                   own_table(snapshot->end_blocks), own_table(snapshot->end_block_certainty));
    } else if (status == TIDE_OK) {
        set_blocks(&by_key, snapshot->start_segments, snapshot->n_start_segments,
                   own_table(snapshot->start_blocks), own_table(snapshot->start_block_certainty));
    }
    tide_map_fini(&by_key);
    return status;
}

static tide_status set_all(applier *to) {
    tide_snapshot *snapshot = to->snapshot;
    TIDE_TRY(certainties_of(snapshot, &snapshot->event_certainty, snapshot->n_events));
    TIDE_TRY(certainties_of(snapshot, &snapshot->start_block_certainty, snapshot->n_start_blocks));
    TIDE_TRY(certainties_of(snapshot, &snapshot->end_block_certainty, snapshot->n_end_blocks));
    for (size_t i = 0; i < to->lifetimes.n_lifetimes; i++) {
        const tide_lifetime *block = &to->lifetimes.lifetimes[i];
        uint8_t category = TIDE_UNKNOWN;
        if (find_category(to, block, &category)) {
            set_row(to, block->born, true, category);
            set_row(to, block->freed, false, category);
            set_row(to, block->completed, false, category);
        }
    }
    TIDE_TRY(set_state(to, false));
    return set_state(to, true);
}

static tide_status apply(applier *to, tide_error *error) {
    const tide_hostmem *mem = to->lifetimes.mem;
    to->rule_of = tide_hostmem_zeroed(mem, to->lifetimes.n_lifetimes, sizeof(*to->rule_of));
    to->numbers = tide_hostmem_zeroed(mem, tide_rules_count(to->rules), sizeof(*to->numbers));
    if (to->rule_of == NULL || to->numbers == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_TRY(tide_rules_match(to->rules, to->snapshot, to->lifetimes.lifetimes,
                              to->lifetimes.n_lifetimes, to->rule_of));
    TIDE_TRY(number_categories(to, error));
    return set_all(to);
}

tide_status tide_rules_apply(const tide_rules *rules, tide_snapshot *snapshot, tide_error *error) {
    applier to = {.rules = rules, .snapshot = snapshot};
    TIDE_TRY(tide_lifetimes_init(&to.lifetimes, snapshot, rules->arena.mem, error));
    const tide_hostmem *mem = to.lifetimes.mem;
    tide_status status = apply(&to, error);
    mem->release(mem->ctx, to.numbers);
    mem->release(mem->ctx, to.rule_of);
    tide_lifetimes_fini(&to.lifetimes);
    return status == TIDE_NO_MEMORY
               ? tide_fail(error, status, "no host memory for the categories by rule")
               : status;
}
