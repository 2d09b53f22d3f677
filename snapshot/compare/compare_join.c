/* Joins rows of a comparison that differ only in their call stacks, if the pairing is unambiguous.
 */
#include <stdlib.h>

#include "snapshot/compare/compare_internal.h"

/* The sort key of a row. Texts are stored once, so equal texts have one address. */
typedef struct place {
    uintptr_t name, scope_path;
    int category;
    uint32_t row; /* its number */
} place;

static int by_place(const void *left, const void *right) {
    const place *a = left;
    const place *b = right;
    if (a->name != b->name) {
        return a->name < b->name ? -1 : 1;
    }
    if (a->scope_path != b->scope_path) {
        return a->scope_path < b->scope_path ? -1 : 1;
    }
    if (a->category != b->category) {
        return a->category < b->category ? -1 : 1;
    }
    return (a->row > b->row) - (a->row < b->row);
}

static bool is_same_place(const place *a, const place *b) {
    return a->name == b->name && a->scope_path == b->scope_path && a->category == b->category;
}

/* Whether no run has blocks in more than one of the rows. */
static bool is_unambiguous(const tide_compare_row *rows, const place *places, size_t n,
                           size_t n_runs) {
    for (size_t run = 0; run < n_runs; run++) {
        size_t n_with_blocks = 0;
        for (size_t i = 0; i < n; i++) {
            n_with_blocks += rows[places[i].row].n_blocks[run] > 0;
        }
        if (n_with_blocks > 1) {
            return false;
        }
    }
    return true;
}

/* Adds the other rows to the first, which keeps its stack, and marks them as empty. */
static void join(tide_compare_row *rows, const place *places, size_t n, size_t n_runs) {
    tide_compare_row *first = &rows[places[0].row];
    for (size_t i = 1; i < n; i++) {
        tide_compare_row *other = &rows[places[i].row];
        for (size_t run = 0; run < n_runs; run++) {
            first->bytes[run] += other->bytes[run];
            first->n_blocks[run] += other->n_blocks[run];
        }
        other->bytes = NULL;
    }
}

static size_t remove_empty(tide_compare_row *rows, size_t n_rows) {
    size_t n = 0;
    for (size_t i = 0; i < n_rows; i++) {
        if (rows[i].bytes != NULL) {
            rows[n++] = rows[i];
        }
    }
    return n;
}

tide_status tide_compare_join_rows(const tide_hostmem *mem, tide_compare_row *rows, size_t n_runs,
                                   size_t *n_rows) {
    place *places = tide_hostmem_zeroed(mem, *n_rows + 1, sizeof(*places));
    size_t n = 0;
    if (places == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < *n_rows; i++) {
        if (rows[i].name[0] != '\0') {
            places[n++] = (place){(uintptr_t)rows[i].name, (uintptr_t)rows[i].scope_path,
                                  rows[i].category, (uint32_t)i};
        }
    }
    qsort(places, n, sizeof(*places), by_place);
    for (size_t begin = 0, end = 0; begin < n; begin = end) {
        while (end < n && is_same_place(&places[begin], &places[end])) {
            end++;
        }
        if (is_unambiguous(rows, &places[begin], end - begin, n_runs)) {
            join(rows, &places[begin], end - begin, n_runs);
        }
    }
    *n_rows = remove_empty(rows, *n_rows);
    mem->release(mem->ctx, places);
    return TIDE_OK;
}
