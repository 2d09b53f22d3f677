/* kernels.c - the table of kernels: launches, added up by kernel and place. The scopes lock guards
 * it, because places are paths of scopes. */
#include <stdio.h>
#include <string.h>

#include "common/assert.h"
#include "recorder/kernel_trace_internal.h"
#include "recorder/state_internal.h"

enum { MAX_DEPTH = 16, PATH_BYTES = 512 };

/* Called under the scopes lock: the scope and those around it, outermost last, without steps. */
static size_t copy_chain(const tide_recorder *recorder, tide_scope scope,
                         tide_scope_row rows[MAX_DEPTH]) {
    size_t n = 0;
    while (scope < recorder->n_scopes && n < MAX_DEPTH) {
        const tide_scope_row *row = &recorder->scopes[scope];
        if (row->kind != TIDE_SCOPE_STEP) {
            rows[n++] = *row;
        }
        scope = row->parent;
    }
    return n;
}

/* The phase and the path of a scope. *ret_phase is TIDE_NONE outside every phase, *ret_path when
 * there is no memory. */
static void place_of(tide_recorder *recorder, tide_scope scope, uint32_t *ret_phase,
                     uint32_t *ret_path) {
    tide_scope_row rows[MAX_DEPTH];
    char path[PATH_BYTES] = "";
    size_t n_used = 0;
    pthread_mutex_lock(&recorder->scopes_lock);
    size_t n = copy_chain(recorder, scope, rows);
    pthread_mutex_unlock(&recorder->scopes_lock);
    *ret_phase = TIDE_NONE;
    for (size_t i = n; i > 0; i--) {
        const tide_scope_row *row = &rows[i - 1];
        const char *name = tide_recorder_text(recorder, row->name);
        if (row->kind == TIDE_SCOPE_PHASE && *ret_phase == TIDE_NONE) {
            *ret_phase = row->name;
        }
        int written = snprintf(path + n_used, sizeof(path) - n_used, "%s%s",
                               n_used == 0 ? "" : " > ", name == NULL ? "?" : name);
        n_used += written > 0 ? (size_t)written : 0;
        n_used = n_used < sizeof(path) ? n_used : sizeof(path) - 1;
    }
    *ret_path = tide_recorder_intern(recorder, path);
}

/* Called under the scopes lock: a new row without launches; NULL without memory. */
static tide_kernel_row *add_row(tide_recorder *recorder, uint64_t key, tide_kernel_row row) {
    tide_kernel_row *kernels =
        tide_hostmem_grow(recorder->mem, recorder->kernels, &recorder->kernels_capacity,
                          recorder->n_kernels + 1, sizeof(*kernels));
    if (kernels == NULL) {
        return NULL;
    }
    recorder->kernels = kernels;
    if (tide_map_put(&recorder->kernel_rows, key, recorder->n_kernels) != TIDE_OK) {
        return NULL;
    }
    kernels[recorder->n_kernels] = row;
    return &kernels[recorder->n_kernels++];
}

tide_status tide_recorder_add_launch(tide_recorder *recorder, uint32_t name, tide_scope scope,
                                     int64_t duration_ns) {
    uint32_t phase = TIDE_NONE;
    uint32_t path = TIDE_NONE;
    uint64_t found = 0;
    place_of(recorder, scope, &phase, &path);
    if (name == TIDE_NONE || path == TIDE_NONE) {
        return TIDE_NO_MEMORY;
    }
    uint64_t key = (uint64_t)path << 32 | name;
    pthread_mutex_lock(&recorder->scopes_lock);
    tide_kernel_row *row = tide_map_find(&recorder->kernel_rows, key, &found)
                               ? &recorder->kernels[found]
                               : add_row(recorder, key,
                                         (tide_kernel_row){.name = name,
                                                           .phase = phase,
                                                           .path = path,
                                                           .min_ns = duration_ns,
                                                           .max_ns = duration_ns});
    if (row != NULL) {
        TIDE_ASSERT(row->name == name && row->path == path && duration_ns >= 0);
        row->n_launches++;
        row->total_ns += duration_ns;
        row->min_ns = duration_ns < row->min_ns ? duration_ns : row->min_ns;
        row->max_ns = duration_ns > row->max_ns ? duration_ns : row->max_ns;
    }
    pthread_mutex_unlock(&recorder->scopes_lock);
    return row != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

void tide_recorder_kernels_fini(tide_recorder *recorder) {
    tide_map_fini(&recorder->kernel_rows);
    recorder->mem->release(recorder->mem->ctx, recorder->kernels);
}
