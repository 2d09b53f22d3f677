/* unwind_rules_internal.h - a table from return address to the rule that unwinds there, each made
 * once and shared by all threads.
 *
 * Looking up takes no lock. A rule for code that may be unloaded holds only while the dynamic
 * linker's counts stay the same. A walk that used such a rule asks tide_unwind_rules_hold
 * afterwards, and is repeated if they do not. Walkers remember the epoch in which they made a walk,
 * and forget walks of earlier epochs.
 */
#ifndef TIDE_STACK_UNWIND_RULES_INTERNAL_H
#define TIDE_STACK_UNWIND_RULES_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/assert.h"
#include "common/hostmem.h"
#include "common/status.h"
#include "stack/eh_frame_internal.h"
#include "stack/loaded_code_internal.h"

/* A rule in one word, to be read and replaced atomically. From the lowest bit: 3 bits kind
 * (tide_unwind_kind), 1 bit saves_rbp, 1 bit may_go, 3 bits unused, 28 bits cfa_offset, 28 bits
 * rbp_offset. 0: no rule yet. */
typedef uint64_t tide_packed_rule;

enum { TIDE_RULE_KIND = 7, TIDE_RULE_SAVES_RBP = 8, TIDE_RULE_MAY_GO = 16 };

typedef struct tide_rule_slot {
    _Atomic(uint64_t) return_address; /* 0: free */
    _Atomic(tide_packed_rule) rule;   /* 0: it was thrown away */
} tide_rule_slot;

/* Open addressing with linear probing, at most half full; addresses are never removed. */
typedef struct tide_rule_table {
    struct tide_rule_table *older; /* owned: an earlier table that readers may still use */
    size_t n_slots;                /* power of two */
    size_t n_used;
    unsigned shift; /* 64 - log2(n_slots) */
    tide_rule_slot slots[];
} tide_rule_table;

typedef struct tide_unwind_rules {
    const tide_hostmem *mem;                /* borrowed */
    _Atomic(tide_rule_table *) current;     /* owned; replaced under the lock, read without it */
    _Atomic(uint32_t) epoch;                /* how many times rules were discarded */
    pthread_mutex_t lock;                   /* guards all writing */
    _Atomic(uint64_t) n_loaded, n_unloaded; /* the counts for which the current rules hold */
} tide_unwind_rules;

TIDE_NODISCARD tide_status tide_unwind_rules_init(tide_unwind_rules *rules,
                                                  const tide_hostmem *mem);
void tide_unwind_rules_fini(tide_unwind_rules *rules);

/* Makes the rule for a return address that tide_unwind_rules_find did not find, and remembers it if
 * there is memory. Never 0. */
tide_packed_rule tide_unwind_rules_make(tide_unwind_rules *rules, uint64_t return_address);

/* Whether every rule found since `epoch` was read still holds. If not, the rules that may be
 * outdated have been discarded. */
bool tide_unwind_rules_hold(tide_unwind_rules *rules, uint32_t epoch);

static inline tide_packed_rule tide_rule_pack(tide_unwind_rule rule, bool may_go) {
    TIDE_ASSERT(rule.kind != TIDE_UNWIND_NONE);
    TIDE_ASSERT(rule.cfa_offset >= -(1 << 27) && rule.cfa_offset < 1 << 27);
    TIDE_ASSERT(rule.rbp_offset >= -(1 << 27) && rule.rbp_offset < 1 << 27);
    return (uint64_t)rule.kind | (rule.saves_rbp ? TIDE_RULE_SAVES_RBP : 0u) |
           (may_go ? TIDE_RULE_MAY_GO : 0u) |
           ((uint64_t)(int64_t)rule.cfa_offset & 0xfffffffu) << 8 |
           (uint64_t)(int64_t)rule.rbp_offset << 36;
}

/* Both offsets are modulo 2^64, so adding one to an address also works for negative offsets. */
static inline uint64_t tide_rule_cfa_offset(tide_packed_rule rule) {
    return (uint64_t)((int64_t)(rule << 28) >> 36);
}

static inline uint64_t tide_rule_rbp_offset(tide_packed_rule rule) {
    return (uint64_t)((int64_t)rule >> 36);
}

static inline tide_unwind_kind tide_rule_kind(tide_packed_rule rule) {
    return (tide_unwind_kind)(rule & TIDE_RULE_KIND);
}

static inline size_t tide_rule_slot_of(const tide_rule_table *table, uint64_t return_address) {
    return (size_t)(return_address * 0x9e3779b97f4a7c15u >> table->shift);
}

/* 0: the rule must be made (tide_unwind_rules_make). */
static inline tide_packed_rule tide_unwind_rules_find(tide_unwind_rules *rules,
                                                      uint64_t return_address) {
    tide_rule_table *table = atomic_load_explicit(&rules->current, memory_order_acquire);
    size_t i = tide_rule_slot_of(table, return_address);
    for (;;) {
        uint64_t known =
            atomic_load_explicit(&table->slots[i].return_address, memory_order_acquire);
        if (known == return_address) {
            return atomic_load_explicit(&table->slots[i].rule, memory_order_relaxed);
        }
        if (known == 0) {
            return 0;
        }
        i = (i + 1) & (table->n_slots - 1);
    }
}

#endif
