/* document_failure.c - what a process found out at its first failed request. */
#include "programs/launch/document/document_internal.h"

static tide_status copy_holders(tide_arena *arena, tide_snapshot_at_failure *at) {
    tide_snapshot_holder *rows = tide_arena_copy(arena, at->holders, at->n_holders, sizeof(*rows));
    for (size_t i = 0; rows != NULL && i < at->n_holders; i++) {
        rows[i].name = tide_arena_text(arena, rows[i].name);
        rows[i].place = tide_arena_text(arena, rows[i].place);
        if (rows[i].name == NULL || rows[i].place == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    at->holders = rows;
    return rows != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

static tide_status copy_processes(tide_arena *arena, tide_snapshot_at_failure *at) {
    tide_snapshot_process *rows =
        tide_arena_copy(arena, at->processes, at->n_processes, sizeof(*rows));
    for (size_t i = 0; rows != NULL && i < at->n_processes; i++) {
        rows[i].name = tide_arena_text(arena, rows[i].name);
        if (rows[i].name == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    at->processes = rows;
    return rows != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

tide_status tide_document_add_failure(tide_snapshot *snapshot, const tide_left *left) {
    if (left->at_failure == NULL) {
        return TIDE_OK;
    }
    tide_snapshot_at_failure at = *left->at_failure;
    TIDE_TRY(copy_holders(&snapshot->arena, &at));
    TIDE_TRY(copy_processes(&snapshot->arena, &at));
    snapshot->at_failure = at;
    return TIDE_OK;
}
