/* depot.c - a hash table of call stacks that is read without a lock.
 *
 * Almost every capture finds a stack that is already there, on any thread, so only new stacks take
 * the lock. Readers need no protection from writers: a record is complete before its pointer is
 * published and never changes, and a table that was outgrown stays until the depot is destroyed.
 * Old tables take at most as much memory as the current one, since each is half of the next.
 */
#define _POSIX_C_SOURCE 200809L
#include "stack/depot.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "common/arena.h"
#include "common/assert.h"
#include "common/event.h"

enum { FIRST_SLOTS = 1024 }; /* power of two */

/* One stack. Never changed or moved after it is published. */
typedef struct record {
    uint64_t hash;   /* of the addresses */
    uint32_t number; /* its name in rows of the log */
    uint32_t n_pcs;  /* > 0 */
    uint64_t pcs[];  /* innermost first */
} record;

/* Open addressing with linear probing, at most half full, nothing is ever removed. */
typedef struct table {
    struct table *older; /* owned: a smaller table that readers may still use; NULL: none */
    size_t n_slots;      /* power of two */
    _Atomic(record *) slots[];
} table;

struct tide_stack_depot {
    const tide_hostmem *mem;  /* borrowed */
    _Atomic(table *) current; /* owned; replaced under the lock, read without it */
    pthread_mutex_t lock;     /* guards everything below, and all writing */
    tide_arena arena;         /* the records */
    record **by_number;       /* owned array of borrowed records */
    size_t n_records;
    size_t capacity;               /* of by_number */
    size_t n_bytes;                /* records, tables and the array */
    tide_stack_listener *listener; /* called with new stacks; NULL: none */
    void *listener_ctx;            /* borrowed */
};

static table *table_create(const tide_hostmem *mem, size_t n_slots, table *older) {
    table *created = mem->alloc(mem->ctx, sizeof(*created) + n_slots * sizeof(created->slots[0]));
    if (created == NULL) {
        return NULL;
    }
    created->older = older;
    created->n_slots = n_slots;
    for (size_t i = 0; i < n_slots; i++) {
        atomic_init(&created->slots[i], NULL);
    }
    return created;
}

static size_t table_bytes(size_t n_slots) {
    return sizeof(table) + n_slots * sizeof(_Atomic(record *));
}

tide_status tide_stack_depot_create(const tide_hostmem *mem, tide_stack_depot **ret_depot) {
    tide_stack_depot *depot = tide_hostmem_zeroed(mem, 1, sizeof(*depot));
    if (depot == NULL) {
        return TIDE_NO_MEMORY;
    }
    table *first = table_create(mem, FIRST_SLOTS, NULL);
    if (first == NULL) {
        goto fail_table;
    }
    if (pthread_mutex_init(&depot->lock, NULL) != 0) {
        goto fail_lock;
    }
    depot->mem = mem;
    atomic_init(&depot->current, first);
    tide_arena_init(&depot->arena, mem);
    depot->n_bytes = table_bytes(FIRST_SLOTS);
    *ret_depot = depot;
    return TIDE_OK;

fail_lock:
    mem->release(mem->ctx, first);
fail_table:
    mem->release(mem->ctx, depot);
    return TIDE_NO_MEMORY;
}

void tide_stack_depot_set_listener(tide_stack_depot *depot, tide_stack_listener *listener,
                                   void *ctx) {
    depot->listener = listener;
    depot->listener_ctx = ctx;
}

void tide_stack_depot_destroy(tide_stack_depot *depot) {
    if (depot == NULL) {
        return;
    }
    const tide_hostmem *mem = depot->mem;
    table *t = atomic_load_explicit(&depot->current, memory_order_acquire);
    while (t != NULL) {
        table *older = t->older;
        mem->release(mem->ctx, t);
        t = older;
    }
    tide_arena_fini(&depot->arena);
    mem->release(mem->ctx, depot->by_number);
    pthread_mutex_destroy(&depot->lock);
    mem->release(mem->ctx, depot);
}

/* The record of these addresses. If NULL, *ret_slot is where it would go. Terminates because a
 * table is never more than half full. */
static record *find(table *t, uint64_t hash, const uint64_t *pcs, size_t n_pcs, size_t *ret_slot) {
    size_t i = (size_t)hash & (t->n_slots - 1);
    for (;;) {
        record *known = atomic_load_explicit(&t->slots[i], memory_order_acquire);
        if (known == NULL) {
            *ret_slot = i;
            return NULL;
        }
        if (known->hash == hash && known->n_pcs == n_pcs &&
            memcmp(known->pcs, pcs, n_pcs * sizeof(*pcs)) == 0) {
            return known;
        }
        i = (i + 1) & (t->n_slots - 1);
    }
}

/* Replaces the table by one of twice the size. A reader with the old table misses stacks that are
 * added from now on; it then takes the lock and searches the new table. */
static bool grow_table(tide_stack_depot *depot, table *old) {
    table *t = table_create(depot->mem, old->n_slots * 2, old);
    if (t == NULL) {
        return false;
    }
    TIDE_ASSERT(depot->n_records <= old->n_slots / 2);
    for (size_t i = 0; i < depot->n_records; i++) {
        size_t slot = (size_t)depot->by_number[i]->hash & (t->n_slots - 1);
        while (atomic_load_explicit(&t->slots[slot], memory_order_relaxed) != NULL) {
            slot = (slot + 1) & (t->n_slots - 1);
        }
        atomic_store_explicit(&t->slots[slot], depot->by_number[i], memory_order_relaxed);
    }
    atomic_store_explicit(&depot->current, t, memory_order_release);
    depot->n_bytes += table_bytes(t->n_slots);
    return true;
}

static record *record_create(tide_stack_depot *depot, uint64_t hash, const uint64_t *pcs,
                             size_t n_pcs) {
    size_t capacity = depot->capacity;
    record **by_number = tide_hostmem_grow(depot->mem, depot->by_number, &depot->capacity,
                                           depot->n_records + 1, sizeof(*by_number));
    if (by_number == NULL) {
        return NULL;
    }
    depot->by_number = by_number;
    depot->n_bytes += (depot->capacity - capacity) * sizeof(*by_number);
    size_t n_bytes = sizeof(record) + n_pcs * sizeof(*pcs);
    record *made = tide_arena_alloc(&depot->arena, 1, n_bytes);
    if (made == NULL) {
        return NULL;
    }
    made->hash = hash;
    made->number = (uint32_t)depot->n_records;
    made->n_pcs = (uint32_t)n_pcs;
    memcpy(made->pcs, pcs, n_pcs * sizeof(*pcs));
    depot->by_number[depot->n_records++] = made;
    depot->n_bytes += n_bytes;
    return made;
}

static uint32_t insert(tide_stack_depot *depot, uint64_t hash, const uint64_t *pcs, size_t n_pcs) {
    table *t = atomic_load_explicit(&depot->current, memory_order_relaxed);
    size_t slot = 0;
    /* Another thread may have added it since the look-up without the lock. */
    record *known = find(t, hash, pcs, n_pcs, &slot);
    if (known != NULL) {
        TIDE_ASSERT(known->number < depot->n_records);
        return known->number;
    }
    if (depot->n_records >= TIDE_NONE) {
        return TIDE_NONE;
    }
    if ((depot->n_records + 1) * 2 > t->n_slots) {
        if (!grow_table(depot, t)) {
            return TIDE_NONE;
        }
        t = atomic_load_explicit(&depot->current, memory_order_relaxed);
        (void)find(t, hash, pcs, n_pcs, &slot);
    }
    record *made = record_create(depot, hash, pcs, n_pcs);
    if (made == NULL) {
        return TIDE_NONE;
    }
    TIDE_ASSERT(depot->n_records <= t->n_slots / 2);
    TIDE_ASSERT(atomic_load_explicit(&t->slots[slot], memory_order_relaxed) == NULL);
    /* Before the store below: once others can find the number, rows may refer to it, and a log file
     * must contain the stack before such a row. */
    if (depot->listener != NULL) {
        depot->listener(depot->listener_ctx, made->number, pcs, n_pcs);
    }
    atomic_store_explicit(&t->slots[slot], made, memory_order_release);
    return made->number;
}

uint32_t tide_stack_depot_intern(tide_stack_depot *depot, const uint64_t *pcs, size_t n_pcs) {
    uint64_t hash = TIDE_STACK_HASH_SEED;
    for (size_t i = n_pcs; i > 0; i--) {
        hash = tide_stack_hash(hash, pcs[i - 1]);
    }
    return tide_stack_depot_intern_hashed(depot, hash, pcs, n_pcs);
}

uint32_t tide_stack_depot_intern_hashed(tide_stack_depot *depot, uint64_t hash, const uint64_t *pcs,
                                        size_t n_pcs) {
    if (n_pcs == 0 || n_pcs > UINT32_MAX) {
        return TIDE_NONE;
    }
    size_t slot = 0;
    table *t = atomic_load_explicit(&depot->current, memory_order_acquire);
    const record *known = find(t, hash, pcs, n_pcs, &slot);
    if (known != NULL) {
        return known->number;
    }
    pthread_mutex_lock(&depot->lock);
    uint32_t number = insert(depot, hash, pcs, n_pcs);
    pthread_mutex_unlock(&depot->lock);
    return number;
}

const uint64_t *tide_stack_depot_get(tide_stack_depot *depot, uint32_t number, size_t *ret_n_pcs) {
    pthread_mutex_lock(&depot->lock);
    const record *known = number < depot->n_records ? depot->by_number[number] : NULL;
    pthread_mutex_unlock(&depot->lock);
    if (known == NULL) {
        return NULL;
    }
    *ret_n_pcs = known->n_pcs;
    return known->pcs;
}

void tide_stack_depot_get_stats(tide_stack_depot *depot, size_t *ret_n_stacks, size_t *ret_bytes) {
    pthread_mutex_lock(&depot->lock);
    if (ret_n_stacks != NULL) {
        *ret_n_stacks = depot->n_records;
    }
    if (ret_bytes != NULL) {
        *ret_bytes = depot->n_bytes;
    }
    pthread_mutex_unlock(&depot->lock);
}

static tide_status copy_records(record *const *records, size_t n_records, const tide_hostmem *mem,
                                uint64_t **ret_pcs, size_t **ret_first) {
    size_t n_pcs = 0;
    for (size_t i = 0; i < n_records; i++) {
        n_pcs += records[i]->n_pcs;
    }
    uint64_t *pcs = tide_hostmem_zeroed(mem, n_pcs, sizeof(*pcs));
    size_t *first = tide_hostmem_zeroed(mem, n_records + 1, sizeof(*first));
    if (pcs == NULL || first == NULL) {
        mem->release(mem->ctx, pcs);
        mem->release(mem->ctx, first);
        return TIDE_NO_MEMORY;
    }
    size_t n_copied = 0;
    for (size_t i = 0; i < n_records; i++) {
        const record *from = records[i];
        memcpy(pcs + n_copied, from->pcs, from->n_pcs * sizeof(*pcs));
        n_copied += from->n_pcs;
        first[i + 1] = n_copied;
    }
    TIDE_ASSERT(n_copied == n_pcs);
    *ret_pcs = pcs;
    *ret_first = first;
    return TIDE_OK;
}

/* Copies only the list of records under the lock: records themselves never change. The depot may
 * grow between the two sections; stacks that are added then are not part of the copy. */
tide_status tide_stack_depot_copy(tide_stack_depot *depot, const tide_hostmem *mem,
                                  uint64_t **ret_pcs, size_t **ret_first, size_t *ret_n_stacks) {
    pthread_mutex_lock(&depot->lock);
    size_t n_records = depot->n_records;
    pthread_mutex_unlock(&depot->lock);
    record **records = tide_hostmem_zeroed(mem, n_records, sizeof(record *));
    if (records == NULL) {
        return TIDE_NO_MEMORY;
    }
    if (n_records > 0) {
        pthread_mutex_lock(&depot->lock);
        TIDE_ASSERT(n_records <= depot->n_records);
        memcpy(records, depot->by_number, n_records * sizeof(record *));
        pthread_mutex_unlock(&depot->lock);
    }
    tide_status status = copy_records(records, n_records, mem, ret_pcs, ret_first);
    mem->release(mem->ctx, records);
    if (status == TIDE_OK) {
        *ret_n_stacks = n_records;
    }
    return status;
}
