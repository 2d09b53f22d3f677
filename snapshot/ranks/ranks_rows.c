/* The rows of the peak in which ranks differ from the median of their group. */
#include <stdlib.h>
#include <string.h>

#include "snapshot/ranks/ranks_internal.h"

/* The bytes of one fold in one row of its group. */
typedef struct entry {
    const tide_digest_row *row;
    size_t fold;
    int64_t bytes;
} entry;

static int by_key(const tide_digest_row *a, const tide_digest_row *b) {
    int order = strcmp(a->line, b->line);
    order = order != 0 ? order : strcmp(a->category, b->category);
    return order != 0 ? order : strcmp(a->scope, b->scope);
}

static int by_row(const void *left, const void *right) {
    const entry *a = left;
    const entry *b = right;
    int order = by_key(a->row, b->row);
    return order != 0 ? order : (a->fold > b->fold) - (a->fold < b->fold);
}

static int by_bytes(const void *left, const void *right) {
    const entry *a = left;
    const entry *b = right;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int64_t amount(const tide_rank_difference *of) {
    int64_t away = of->bytes - of->median_bytes;
    return away < 0 ? -away : away;
}

static int by_amount(const void *left, const void *right) {
    const tide_rank_difference *a = left;
    const tide_rank_difference *b = right;
    if (a->fold != b->fold) {
        return a->fold < b->fold ? -1 : 1;
    }
    if (amount(a) != amount(b)) {
        return amount(a) < amount(b) ? 1 : -1;
    }
    int order = strcmp(a->line, b->line);
    order = order != 0 ? order : strcmp(a->category, b->category);
    return order != 0 ? order : strcmp(a->scope, b->scope);
}

static const tide_digest_device *device_of(const tide_ranks *ranks, size_t fold) {
    return ranks->ranks[ranks->folds[fold].first].device;
}

/* The folds [first, last) of one group, with room for an entry of each. */
typedef struct group_rows {
    tide_ranks *ranks;
    size_t first, last;
    entry *values;               /* scratch: one of each fold */
    size_t capacity;             /* of the differences */
    tide_rank_difference *found; /* owned until the end */
} group_rows;

/* The median of the ranks' bytes in the row; false: no fold is known. Folds that have not the row
 * have 0 bytes, unless their digests leave rows out. */
static bool median_of(const group_rows *of, const entry *entries, size_t n, size_t *ret_n,
                      int64_t *ret_median) {
    size_t n_values = 0, n_ranks = 0, at = 0;
    for (size_t fold = of->first; fold < of->last; fold++) {
        const tide_digest_device *device = device_of(of->ranks, fold);
        entry value = {entries[0].row, fold, 0};
        bool is_known = device != NULL && device->rest.n_rows == 0;
        while (at < n && entries[at].fold == fold) {
            value.bytes += entries[at++].bytes;
            is_known = true;
        }
        if (is_known) {
            of->values[n_values++] = value;
            n_ranks += of->ranks->folds[fold].n;
        }
    }
    if (n_values < 2) {
        return false;
    }
    qsort(of->values, n_values, sizeof(*of->values), by_bytes);
    size_t before = 0;
    for (size_t i = 0; i < n_values; i++) {
        before += of->ranks->folds[of->values[i].fold].n;
        if (before > (n_ranks - 1) / 2) {
            *ret_median = of->values[i].bytes;
            break;
        }
    }
    *ret_n = n_values;
    return true;
}

static tide_status add_row(group_rows *of, const entry *entries, size_t n) {
    const tide_hostmem *mem = of->ranks->arena->mem;
    size_t n_values = 0;
    int64_t median = 0;
    if (!median_of(of, entries, n, &n_values, &median)) {
        return TIDE_OK;
    }
    for (size_t i = 0; i < n_values; i++) {
        const entry *value = &of->values[i];
        if (value->bytes == median) {
            continue;
        }
        void *grown = tide_hostmem_grow(mem, of->found, &of->capacity, of->ranks->n_differences + 1,
                                        sizeof(*of->found));
        if (grown == NULL) {
            return TIDE_NO_MEMORY;
        }
        of->found = grown;
        of->found[of->ranks->n_differences++] =
            (tide_rank_difference){value->fold,       value->row->line, value->row->category,
                                   value->row->scope, value->bytes,     median};
    }
    return TIDE_OK;
}

static tide_status add_group(group_rows *of) {
    const tide_hostmem *mem = of->ranks->arena->mem;
    size_t n = 0, n_entries = 0;
    for (size_t fold = of->first; fold < of->last; fold++) {
        const tide_digest_device *device = device_of(of->ranks, fold);
        n_entries += device != NULL ? device->n_rows : 0;
    }
    entry *entries = tide_hostmem_zeroed(mem, n_entries + 1, sizeof(*entries));
    if (entries == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t fold = of->first; fold < of->last; fold++) {
        const tide_digest_device *device = device_of(of->ranks, fold);
        for (size_t i = 0; device != NULL && i < device->n_rows; i++) {
            entries[n++] = (entry){&device->rows[i], fold, device->rows[i].bytes};
        }
    }
    qsort(entries, n, sizeof(*entries), by_row);
    tide_status status = TIDE_OK;
    for (size_t i = 0; i < n && status == TIDE_OK;) {
        size_t n_same = 1;
        while (i + n_same < n && by_key(entries[i].row, entries[i + n_same].row) == 0) {
            n_same++;
        }
        status = add_row(of, &entries[i], n_same);
        i += n_same;
    }
    mem->release(mem->ctx, entries);
    return status;
}

tide_status tide_ranks_find_differences(tide_ranks *ranks) {
    const tide_hostmem *mem = ranks->arena->mem;
    group_rows of = {.ranks = ranks};
    tide_status status = TIDE_OK;
    of.values = tide_hostmem_zeroed(mem, ranks->n_folds + 1, sizeof(*of.values));
    status = of.values != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    while (of.first < ranks->n_folds && status == TIDE_OK) {
        of.last = of.first + 1;
        while (of.last < ranks->n_folds &&
               ranks->folds[of.last].group == ranks->folds[of.first].group) {
            of.last++;
        }
        status = of.last - of.first > 1 ? add_group(&of) : TIDE_OK;
        of.first = of.last;
    }
    if (status == TIDE_OK && of.found != NULL) {
        qsort(of.found, ranks->n_differences, sizeof(*of.found), by_amount);
    }
    if (status == TIDE_OK) {
        ranks->differences =
            tide_arena_copy(ranks->arena, of.found, ranks->n_differences, sizeof(*of.found));
        status = ranks->differences != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    }
    mem->release(mem->ctx, of.found);
    mem->release(mem->ctx, of.values);
    return status;
}
