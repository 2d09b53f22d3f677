/* Blocks that grow in number from step to step, and blocks that are never released. */
#include <stdlib.h>

#include "common/assert.h"
#include "common/map.h"
#include "snapshot/analysis/steps.h"

typedef struct keeper {
    const tide_steps *steps;    /* borrowed */
    tide_kept_list *list;       /* borrowed; filled */
    tide_map by_key;            /* own name and stack -> index in the list */
    size_t capacity;            /* of the list */
    int64_t *last_steps;        /* owned; per item, the step of its last birth; -1 */
    size_t last_steps_capacity; /* of last_steps */
} keeper;

/* The item for the name and stack of a block, added if new. */
static tide_status item_of(keeper *keep, const tide_lifetime *lifetime, size_t *ret_index) {
    uint64_t key = (uint64_t)tide_lifetime_own_name(lifetime) << 32 | lifetime->stack;
    uint64_t index = 0;
    if (tide_map_find(&keep->by_key, key, &index)) {
        TIDE_ASSERT(index < keep->list->n_items);
        *ret_index = (size_t)index;
        return TIDE_OK;
    }
    tide_kept_list *list = keep->list;
    tide_kept *grown = tide_hostmem_grow(list->mem, list->items, &keep->capacity, list->n_items + 1,
                                         sizeof(*grown));
    if (grown == NULL) {
        return TIDE_NO_MEMORY;
    }
    list->items = grown;
    int64_t *steps = tide_hostmem_grow(list->mem, keep->last_steps, &keep->last_steps_capacity,
                                       list->n_items + 1, sizeof(*steps));
    if (steps == NULL) {
        return TIDE_NO_MEMORY;
    }
    keep->last_steps = steps;
    keep->last_steps[list->n_items] = -1;
    list->items[list->n_items] = (tide_kept){.name = tide_lifetime_own_name(lifetime),
                                             .stack = lifetime->stack,
                                             .scope = lifetime->scope,
                                             .category = lifetime->category,
                                             .first_born = -1};
    TIDE_TRY(tide_map_put(&keep->by_key, key, list->n_items));
    *ret_index = list->n_items++;
    return TIDE_OK;
}

int64_t tide_steps_at(const tide_steps *steps, int64_t row) {
    size_t low = 0;
    size_t high = steps->n_steps;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((int64_t)steps->steps[middle].first <= row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (int64_t)low - 1;
}

static void count(keeper *keep, size_t index, const tide_lifetime *lifetime) {
    tide_kept *item = &keep->list->items[index];
    int64_t row = (int64_t)lifetime->born - 1;
    int64_t step = tide_steps_at(keep->steps, row);
    TIDE_ASSERT(item->first_born <= row); /* lifetimes are in the order of births */
    if (item->blocks == 0) {
        item->first_born = row;
    }
    item->bytes += (int64_t)lifetime->block_bytes;
    item->blocks++;
    if (step > keep->last_steps[index]) {
        keep->last_steps[index] = step;
        item->n_steps++;
    }
}

static int by_growth(const void *left, const void *right) {
    const tide_kept *a = left;
    const tide_kept *b = right;
    int64_t x = a->bytes - a->before_bytes;
    int64_t y = b->bytes - b->before_bytes;
    if (x != y) {
        return x < y ? 1 : -1;
    }
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? 1 : -1;
    }
    if (a->name != b->name) {
        return a->name < b->name ? -1 : 1;
    }
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

/* Collects blocks allocated after row `after` and born after `warm`, and those allocated after row
 * `before`. */
static tide_status collect(keeper *keep, const tide_lifetimes *lifetimes, int64_t before,
                           int64_t after, int64_t warm) {
    for (size_t i = 0; i < lifetimes->n_lifetimes; i++) {
        const tide_lifetime *lifetime = &lifetimes->lifetimes[i];
        bool was = before >= -1 && tide_lifetime_is_allocated(lifetime, before);
        bool is = tide_lifetime_is_allocated(lifetime, after) && (int64_t)lifetime->born - 1 > warm;
        if (lifetime->device != keep->steps->device || (!was && !is)) {
            continue;
        }
        size_t index = 0;
        TIDE_TRY(item_of(keep, lifetime, &index));
        if (was) {
            keep->list->items[index].before_bytes += (int64_t)lifetime->block_bytes;
            keep->list->items[index].before_blocks++;
        }
        if (is) {
            count(keep, index, lifetime);
        }
    }
    return TIDE_OK;
}

static tide_status keep_all(const tide_steps *steps, const tide_lifetimes *lifetimes,
                            int64_t before, int64_t after, int64_t warm, tide_kept_list *ret) {
    tide_kept_list list = {.mem = lifetimes->mem};
    keeper keep = {.steps = steps, .list = &list};
    tide_map_init(&keep.by_key, lifetimes->mem);
    tide_status status = collect(&keep, lifetimes, before, after, warm);
    tide_map_fini(&keep.by_key);
    lifetimes->mem->release(lifetimes->mem->ctx, keep.last_steps);
    if (status != TIDE_OK) {
        tide_kept_list_fini(&list);
        return status;
    }
    if (list.n_items > 0) {
        qsort(list.items, list.n_items, sizeof(*list.items), by_growth);
    }
    *ret = list;
    return TIDE_OK;
}

tide_status tide_steps_growth(const tide_steps *steps, const tide_lifetimes *lifetimes,
                              int64_t before, int64_t after, tide_kept_list *ret) {
    return keep_all(steps, lifetimes, before, after, -2, ret);
}

int64_t tide_steps_warm(const tide_steps *steps) {
    int64_t warm = -1;
    for (size_t i = 0; i < steps->n_steps; i++) {
        const tide_step *step = &steps->steps[i];
        if (step->is_warmup && (int64_t)step->last > warm) {
            warm = (int64_t)step->last;
        }
    }
    return warm < 0 && steps->n_steps > 0 ? (int64_t)steps->steps[0].last : warm;
}

tide_status tide_steps_leaks(const tide_steps *steps, const tide_lifetimes *lifetimes, int64_t warm,
                             tide_kept_list *ret) {
    return keep_all(steps, lifetimes, -2, (int64_t)TIDE_MAX_EVENTS - 1, warm, ret);
}

void tide_kept_list_fini(tide_kept_list *list) {
    if (list->mem != NULL) {
        list->mem->release(list->mem->ctx, list->items);
        *list = (tide_kept_list){.mem = list->mem};
    }
}
