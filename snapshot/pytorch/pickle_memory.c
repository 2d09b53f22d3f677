/* The memory of a tree's values. Dropped containers and arrays of items are reused, so a caller
 * that takes the events of a file one by one never holds more than a few of them.
 *
 * All memory is charged before it is allocated; reused memory is charged once.
 */
#include <inttypes.h>
#include <string.h>

#include "snapshot/pytorch/pickle_internal.h"

tide_status tide_pickle_charge(tide_pickle_machine *machine, uint64_t n_bytes) {
    tide_pickle *pickle = machine->pickle;
    if (n_bytes > pickle->n_allowed - pickle->n_charged) {
        return tide_pickle_fail(
            machine, TIDE_LIMIT,
            "the values up to here take more than the limit of %" PRIu64
            " bytes of memory for what was read of them: no snapshot is that dense",
            pickle->n_allowed);
    }
    pickle->n_charged += n_bytes;
    return TIDE_OK;
}

tide_status tide_pickle_grow(tide_pickle_machine *machine, void **items, size_t *capacity,
                             size_t n_needed, size_t item_bytes) {
    if (n_needed <= *capacity) {
        return TIDE_OK;
    }
    size_t old = *capacity;
    uint64_t n_more = n_needed - old > old ? n_needed - old : old;
    TIDE_TRY(tide_pickle_charge(machine, n_more * item_bytes));
    void *grown = tide_hostmem_grow(machine->pickle->mem, *items, capacity, n_needed, item_bytes);
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    *items = grown;
    return TIDE_OK;
}

tide_status tide_pickle_new_container(tide_pickle_machine *machine, uint32_t *ret_index) {
    tide_pickle *pickle = machine->pickle;
    if (pickle->free_container > 0) {
        *ret_index = pickle->free_container - 1;
        pickle->free_container = pickle->containers[*ret_index].n_items;
        return TIDE_OK;
    }
    void *containers = pickle->containers;
    TIDE_TRY(tide_pickle_grow(machine, &containers, &pickle->container_capacity,
                              pickle->n_containers + 1, sizeof(*pickle->containers)));
    pickle->containers = containers;
    *ret_index = (uint32_t)pickle->n_containers++;
    return TIDE_OK;
}

void tide_pickle_free_container(tide_pickle *pickle, uint32_t index) {
    pickle->containers[index] = (tide_pickle_container){.n_items = pickle->free_container};
    pickle->free_container = index + 1;
}

/* The class of arrays of at least n_items; TIDE_PICKLE_CLASSES: too large for any class. */
static size_t class_of(size_t n_items) {
    size_t size_class = 0;
    while (size_class < TIDE_PICKLE_CLASSES && (size_t)2 << size_class < n_items) {
        size_class++;
    }
    return size_class;
}

static tide_status new_items(tide_pickle_machine *machine, size_t n_items,
                             tide_pickle_value **ret_items, size_t *ret_capacity) {
    tide_pickle *pickle = machine->pickle;
    size_t size_class = class_of(n_items);
    if (size_class < TIDE_PICKLE_CLASSES && pickle->free_items[size_class] != NULL) {
        *ret_items = pickle->free_items[size_class];
        memcpy((void *)&pickle->free_items[size_class], *ret_items, sizeof(tide_pickle_value *));
        *ret_capacity = (size_t)2 << size_class;
        return TIDE_OK;
    }
    size_t capacity = size_class < TIDE_PICKLE_CLASSES ? (size_t)2 << size_class : n_items;
    uint64_t n_charge = (uint64_t)capacity * sizeof(**ret_items);
    TIDE_TRY(tide_pickle_charge(machine, n_charge));
    if (n_charge > SIZE_MAX) {
        return TIDE_NO_MEMORY;
    }
    size_t n_bytes = (size_t)n_charge;
    *ret_items = size_class < TIDE_PICKLE_CLASSES ? tide_arena_alloc(&pickle->arena, 1, n_bytes)
                                                  : pickle->mem->alloc(pickle->mem->ctx, n_bytes);
    *ret_capacity = capacity;
    return *ret_items != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static void release_items(tide_pickle *pickle, tide_pickle_container *of) {
    if (of->capacity == 0) {
        return;
    }
    size_t size_class = class_of(of->capacity);
    if (size_class < TIDE_PICKLE_CLASSES) {
        memcpy(of->items, (const void *)&pickle->free_items[size_class],
               sizeof(tide_pickle_value *));
        pickle->free_items[size_class] = of->items;
    } else {
        pickle->mem->release(pickle->mem->ctx, of->items);
        pickle->n_charged -= of->capacity * sizeof(*of->items);
    }
    of->items = NULL;
    of->capacity = 0;
}

tide_status tide_pickle_reserve(tide_pickle_machine *machine, tide_pickle_container *to,
                                size_t n_more) {
    size_t n_needed = to->n_items + n_more;
    if (n_needed <= to->capacity) {
        return TIDE_OK;
    }
    tide_pickle_value *items = NULL;
    size_t capacity = 0;
    TIDE_TRY(new_items(machine, to->n_items == 0 ? n_needed : 2 * n_needed, &items, &capacity));
    uint32_t n_items = to->n_items;
    if (n_items > 0) {
        memcpy(items, to->items, n_items * sizeof(*items));
    }
    release_items(machine->pickle, to);
    to->items = items;
    to->capacity = (uint32_t)capacity;
    return TIDE_OK;
}

/* The recursion is at most TIDE_PICKLE_DEPTH deep: a container gets its items before it becomes an
 * item, and the depth at that time is limited. */
static void drop_items(tide_pickle *pickle, tide_pickle_container *of) {
    for (uint32_t i = 0; i < of->n_items && of->capacity > 0; i++) {
        if (TIDE_PICKLE_TAG(of->items[i]) == TIDE_PICKLE_TAG_CONTAINER) {
            uint32_t index = (uint32_t)(of->items[i] >> TIDE_PICKLE_TAG_BITS);
            tide_pickle_container *item = &pickle->containers[index];
            if (!item->is_referred_to) {
                drop_items(pickle, item);
                tide_pickle_free_container(pickle, index);
            }
        }
    }
    release_items(pickle, of);
    of->n_items = 0;
}

void tide_pickle_drop(tide_pickle *pickle, tide_pickle_value value) {
    if (TIDE_PICKLE_TAG(value) != TIDE_PICKLE_TAG_CONTAINER) {
        return;
    }
    uint32_t index = (uint32_t)(value >> TIDE_PICKLE_TAG_BITS);
    tide_pickle_container *of = &pickle->containers[index];
    if (of->kind == TIDE_PICKLE_MADE || of->kind == TIDE_PICKLE_GONE) {
        return;
    }
    drop_items(pickle, of);
    of->kind = TIDE_PICKLE_GONE;
    if (!of->is_referred_to) {
        tide_pickle_free_container(pickle, index);
    }
}

void tide_pickle_make(tide_pickle *pickle, tide_pickle_value value, uint8_t what, uint32_t number) {
    tide_pickle_container *of = &pickle->containers[value >> TIDE_PICKLE_TAG_BITS];
    drop_items(pickle, of);
    of->kind = TIDE_PICKLE_MADE;
    of->depth = what;
    of->n_items = number;
}

bool tide_pickle_made(const tide_pickle *pickle, tide_pickle_value value, uint8_t what,
                      uint32_t *ret_number) {
    if (TIDE_PICKLE_TAG(value) != TIDE_PICKLE_TAG_CONTAINER) {
        return false;
    }
    const tide_pickle_container *of = &pickle->containers[value >> TIDE_PICKLE_TAG_BITS];
    *ret_number = of->n_items;
    return of->kind == TIDE_PICKLE_MADE && of->depth == what;
}

void tide_pickle_make_text(tide_pickle *pickle, tide_pickle_value value, uint32_t number) {
    pickle->texts[value >> TIDE_PICKLE_TAG_BITS].made = number + 1;
}

bool tide_pickle_made_text(const tide_pickle *pickle, tide_pickle_value value,
                           uint32_t *ret_number) {
    if (TIDE_PICKLE_TAG(value) != TIDE_PICKLE_TAG_TEXT) {
        return false;
    }
    uint32_t made = pickle->texts[value >> TIDE_PICKLE_TAG_BITS].made;
    *ret_number = made - 1;
    return made != 0;
}

void tide_pickle_allow(tide_pickle *pickle, uint64_t n_bytes) {
    pickle->n_allowed += n_bytes;
}

void tide_pickle_allow_text(tide_pickle *pickle, tide_pickle_value value) {
    tide_pickle_text_row *row = &pickle->texts[value >> TIDE_PICKLE_TAG_BITS];
    if (!row->is_allowed) {
        row->is_allowed = true;
        tide_pickle_allow(pickle, (uint64_t)TIDE_PICKLE_TEXT_COST + row->n_bytes);
    }
}

/* ---- texts ---- */

typedef struct wanted {
    const tide_pickle *among;
    const char *bytes;
    size_t n_bytes;
} wanted;

bool tide_pickle_is_row(const tide_pickle *pickle, size_t row, const char *bytes, size_t n_bytes) {
    return row < pickle->n_texts && pickle->texts[row].n_bytes == n_bytes &&
           memcmp(pickle->texts[row].bytes, bytes, n_bytes) == 0;
}

static bool is_wanted(const void *ctx, uint64_t number) {
    const wanted *one = ctx;
    return tide_pickle_is_row(one->among, (size_t)number, one->bytes, one->n_bytes);
}

/* The charge covers everything that a text needs, including the doubling of the arrays. */
static tide_status add_text(tide_pickle_machine *machine, const char *bytes, size_t n_bytes,
                            uint64_t key) {
    tide_pickle *pickle = machine->pickle;
    TIDE_TRY(tide_pickle_charge(machine, (uint64_t)TIDE_PICKLE_TEXT_COST + n_bytes));
    tide_pickle_text_row *texts = tide_hostmem_grow(
        pickle->mem, pickle->texts, &pickle->text_capacity, pickle->n_texts + 1, sizeof(*texts));
    if (texts == NULL) {
        return TIDE_NO_MEMORY;
    }
    pickle->texts = texts;
    const char *copy = tide_arena_text_n(&pickle->arena, bytes, n_bytes);
    if (copy == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_TRY(tide_map_put(&pickle->text_at, key, pickle->n_texts));
    texts[pickle->n_texts++] = (tide_pickle_text_row){.bytes = copy, .n_bytes = (uint32_t)n_bytes};
    return TIDE_OK;
}

tide_status tide_pickle_intern(tide_pickle_machine *machine, const char *bytes, size_t n_bytes,
                               size_t *ret_row) {
    const tide_pickle *pickle = machine->pickle;
    const wanted one = {pickle, bytes, n_bytes};
    uint64_t key = 0;
    uint64_t row = 0;
    if (!tide_map_find_equal(&pickle->text_at, tide_hash_bytes(bytes, n_bytes), is_wanted, &one,
                             &key, &row)) {
        row = pickle->n_texts;
        TIDE_TRY(add_text(machine, bytes, n_bytes, key));
    }
    *ret_row = (size_t)row;
    return TIDE_OK;
}

tide_status tide_pickle_push_text(tide_pickle_machine *machine, int tag, const char *bytes,
                                  size_t n_bytes) {
    size_t *row = &machine->last_text; /* each event by PyTorch has the same text, "N/A" */
    if (!tide_pickle_is_row(machine->pickle, *row, bytes, n_bytes)) {
        TIDE_TRY(tide_pickle_intern(machine, bytes, n_bytes, row));
    }
    return tide_pickle_push(machine, TIDE_PICKLE_MAKE((unsigned)tag, (uint64_t)*row));
}
