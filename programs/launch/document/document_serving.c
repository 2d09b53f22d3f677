/* document_serving.c - the caches of servers of language models, and XLA's figures. */
#include "programs/launch/document/document_internal.h"

/* Whether the row of the process `of` belongs to the document of `pid`. A process without a
 * history, such as an engine whose workers have the memory, has no document: each of the others has
 * the row.
 */
static bool belongs(const tide_left_list *list, int64_t of, int64_t pid) {
    bool has_document = false;
    for (size_t i = 0; i < list->n_processes; i++) {
        has_document = has_document ||
                       (list->processes[i].pid == of && tide_left_has_history(&list->processes[i]));
    }
    return of == pid || !has_document;
}

static tide_status add_pools(tide_snapshot *snapshot, const tide_left_list *list, int64_t pid) {
    tide_snapshot_kv_pool *rows = tide_arena_alloc(&snapshot->arena, list->n_pools, sizeof(*rows));
    size_t n = 0;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < list->n_pools; i++) {
        if (belongs(list, list->pools[i].pid, pid)) {
            rows[n] = list->pools[i].row;
            rows[n].library = tide_arena_text(&snapshot->arena, rows[n].library);
            if (rows[n++].library == NULL) {
                return TIDE_NO_MEMORY;
            }
        }
    }
    snapshot->kv_pools = rows;
    snapshot->n_kv_pools = n;
    return TIDE_OK;
}

static tide_status add_xla(tide_snapshot *snapshot, const tide_left_list *list, int64_t pid) {
    tide_snapshot_xla *rows = tide_arena_alloc(&snapshot->arena, list->n_xla, sizeof(*rows));
    size_t n = 0;
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < list->n_xla; i++) {
        if (belongs(list, list->xla[i].pid, pid)) {
            rows[n] = list->xla[i].row;
            rows[n].place = tide_arena_text(&snapshot->arena, rows[n].place);
            if (rows[n++].place == NULL) {
                return TIDE_NO_MEMORY;
            }
        }
    }
    snapshot->xla = rows;
    snapshot->n_xla = n;
    return TIDE_OK;
}

tide_status tide_document_add_serving(tide_snapshot *snapshot, const tide_left_list *list,
                                      int64_t pid) {
    TIDE_TRY(add_pools(snapshot, list, pid));
    return add_xla(snapshot, list, pid);
}
