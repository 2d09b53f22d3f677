/* unwind_rules.c - makes rules, keeps them, and discards them when code may have been unloaded. */
#define _POSIX_C_SOURCE 200809L
#include "stack/unwind_rules_internal.h"

#include "common/assert.h"

enum { FIRST_LOG2_SLOTS = 10 };

static tide_rule_table *table_create(const tide_hostmem *mem, unsigned log2_slots,
                                     tide_rule_table *older) {
    size_t n_slots = (size_t)1 << log2_slots;
    tide_rule_table *table =
        tide_hostmem_zeroed(mem, 1, sizeof(*table) + n_slots * sizeof(table->slots[0]));
    if (table != NULL) {
        table->older = older;
        table->n_slots = n_slots;
        table->shift = 64 - log2_slots;
    }
    return table;
}

tide_status tide_unwind_rules_init(tide_unwind_rules *rules, const tide_hostmem *mem) {
    tide_rule_table *first = table_create(mem, FIRST_LOG2_SLOTS, NULL);
    if (first == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (pthread_mutex_init(&rules->lock, NULL) != 0) {
        mem->release(mem->ctx, first);
        return TIDE_NO_MEMORY;
    }
    rules->mem = mem;
    atomic_init(&rules->current, first);
    atomic_init(&rules->epoch, 1);
    tide_code_counts counts = tide_loaded_code_count();
    atomic_init(&rules->n_loaded, counts.n_loaded);
    atomic_init(&rules->n_unloaded, counts.n_unloaded);
    return TIDE_OK;
}

void tide_unwind_rules_fini(tide_unwind_rules *rules) {
    tide_rule_table *table = atomic_load_explicit(&rules->current, memory_order_acquire);
    while (table != NULL) {
        tide_rule_table *older = table->older;
        rules->mem->release(rules->mem->ctx, table);
        table = older;
    }
    pthread_mutex_destroy(&rules->lock);
}

/* Called under the lock, or before the table is published. The rule is stored before the address,
 * so a reader that finds the address finds its rule. */
static void put(tide_rule_table *table, uint64_t return_address, tide_packed_rule rule) {
    TIDE_ASSERT(return_address != 0 && rule != 0 && table->n_used < table->n_slots);
    size_t i = tide_rule_slot_of(table, return_address);
    for (;;) {
        tide_rule_slot *slot = &table->slots[i];
        uint64_t known = atomic_load_explicit(&slot->return_address, memory_order_relaxed);
        if (known == 0 || known == return_address) {
            table->n_used += known == 0;
            atomic_store_explicit(&slot->rule, rule, memory_order_relaxed);
            atomic_store_explicit(&slot->return_address, return_address, memory_order_release);
            return;
        }
        i = (i + 1) & (table->n_slots - 1);
    }
}

/* Called under the lock. A table with room for one more rule; NULL without memory. Addresses whose
 * rules were discarded are not copied, so the table does not grow in a program that loads and
 * unloads libraries again and again. */
static tide_rule_table *table_with_room(tide_unwind_rules *rules) {
    tide_rule_table *table = atomic_load_explicit(&rules->current, memory_order_relaxed);
    if ((table->n_used + 1) * 2 <= table->n_slots) {
        return table;
    }
    size_t n_live = 0;
    for (size_t i = 0; i < table->n_slots; i++) {
        n_live += atomic_load_explicit(&table->slots[i].rule, memory_order_relaxed) != 0;
    }
    unsigned n_more = n_live * 4 > table->n_slots ? 1 : 0;
    tide_rule_table *larger = table_create(rules->mem, 64 - table->shift + n_more, table);
    if (larger == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < table->n_slots; i++) {
        tide_packed_rule rule = atomic_load_explicit(&table->slots[i].rule, memory_order_relaxed);
        if (rule != 0) {
            put(larger, atomic_load_explicit(&table->slots[i].return_address, memory_order_relaxed),
                rule);
        }
    }
    TIDE_ASSERT((larger->n_used + 1) * 2 <= larger->n_slots);
    atomic_store_explicit(&rules->current, larger, memory_order_release);
    return larger;
}

/* Called under the lock. If modules were loaded or unloaded, discards the rules that may be invalid
 * now. Counts below the known ones are ignored: another thread has set newer ones meanwhile. */
static void take_counts(tide_unwind_rules *rules, tide_code_counts counts) {
    uint64_t n_loaded = atomic_load_explicit(&rules->n_loaded, memory_order_relaxed);
    uint64_t n_unloaded = atomic_load_explicit(&rules->n_unloaded, memory_order_relaxed);
    if (counts.n_loaded < n_loaded || counts.n_unloaded < n_unloaded ||
        (counts.n_loaded == n_loaded && counts.n_unloaded == n_unloaded)) {
        return;
    }
    tide_rule_table *table = atomic_load_explicit(&rules->current, memory_order_relaxed);
    for (size_t i = 0; i < table->n_slots; i++) {
        tide_packed_rule rule = atomic_load_explicit(&table->slots[i].rule, memory_order_relaxed);
        if ((rule & TIDE_RULE_MAY_GO) != 0) {
            atomic_store_explicit(&table->slots[i].rule, 0, memory_order_relaxed);
        }
    }
    /* The epoch is stored before the counts, so a thread that sees the new counts, and therefore
     * believes that its rules hold, also sees that its epoch is over. */
    atomic_fetch_add_explicit(&rules->epoch, 1, memory_order_release);
    atomic_store_explicit(&rules->n_loaded, counts.n_loaded, memory_order_release);
    atomic_store_explicit(&rules->n_unloaded, counts.n_unloaded, memory_order_release);
}

tide_packed_rule tide_unwind_rules_make(tide_unwind_rules *rules, uint64_t return_address) {
    /* Outside our lock. dl_iterate_phdr takes the dynamic linker's lock, and another caller's
     * callback may be allocating under that lock: taking the two in both orders would deadlock. */
    tide_code_rule made = tide_loaded_code_rule(return_address);
    tide_packed_rule rule = tide_rule_pack(made.rule, made.may_go);
    pthread_mutex_lock(&rules->lock);
    take_counts(rules, made.counts);
    bool is_current =
        made.counts.n_loaded == atomic_load_explicit(&rules->n_loaded, memory_order_relaxed) &&
        made.counts.n_unloaded == atomic_load_explicit(&rules->n_unloaded, memory_order_relaxed);
    tide_rule_table *table = table_with_room(rules);
    /* A rule from before the latest load or unload may describe unloaded code: use it once, because
     * the walk is checked afterwards, but do not keep it. */
    if (table != NULL && (is_current || !made.may_go)) {
        put(table, return_address, rule);
    }
    pthread_mutex_unlock(&rules->lock);
    return rule;
}

bool tide_unwind_rules_hold(tide_unwind_rules *rules, uint32_t epoch) {
    tide_code_counts counts = tide_loaded_code_count();
    if (counts.n_loaded != atomic_load_explicit(&rules->n_loaded, memory_order_acquire) ||
        counts.n_unloaded != atomic_load_explicit(&rules->n_unloaded, memory_order_acquire)) {
        pthread_mutex_lock(&rules->lock);
        take_counts(rules, counts);
        pthread_mutex_unlock(&rules->lock);
        return false;
    }
    return atomic_load_explicit(&rules->epoch, memory_order_acquire) == epoch;
}
