/* document_types.c - the types of the program's parameters, which python/tidemark/types_held.py
 * reports under a key for each type. */
#include <stdlib.h>
#include <string.h>

#include "common/hostmem.h"
#include "programs/launch/document/document_internal.h"

#define KEY "parameters."

enum { MAX_TYPES = 64 };

static int by_bytes(const void *left, const void *right) {
    const tide_snapshot_type *a = left;
    const tide_snapshot_type *b = right;
    return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes)
                                : strcmp(a->name, b->name);
}

tide_status tide_document_add_types(tide_snapshot *snapshot, const tide_recover_notes *notes) {
    tide_snapshot_type *rows = tide_arena_alloc(&snapshot->arena, MAX_TYPES, sizeof(*rows));
    size_t n = 0;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < notes->n_texts && n < MAX_TYPES; i++) {
        const tide_recover_text *text = &notes->texts[i];
        if (strncmp(text->key, KEY, strlen(KEY)) == 0) {
            char *rest = NULL;
            int64_t bytes = strtoll(text->value, &rest, 10);
            int64_t n_tensors = strtoll(rest, NULL, 10);
            rows[n] = (tide_snapshot_type){text->key + strlen(KEY), bytes, n_tensors};
            n += bytes > 0 && n_tensors > 0;
        }
    }
    qsort(rows, n, sizeof(*rows), by_bytes);
    snapshot->parameter_types = rows;
    snapshot->n_parameter_types = n;
    return TIDE_OK;
}
